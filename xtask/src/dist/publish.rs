//! Packages of Debian, npm, Homebrew and Rust's registry.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::build::{AARCH64, X86_64};
use super::contents::{ArchiveEntry, LINKED, write};
use super::{Binary, DistOptions, MadePackages, VERSION, pack, source_date, text_of};
use crate::shell::{command, path_text, run_command};
use crate::tools::CARGO_DEB;

/// Where releases are downloaded, until the repository has an address.
const NO_ADDRESS: &str = "https://REPOSITORY";

/// Who packages it for Debian, as in `package.metadata.deb`.
const MAINTAINER: &str = "The ipcost authors";

/// Debian's packages, by cargo-deb from `package.metadata.deb`.
pub fn debs(options: &DistOptions, made: &mut MadePackages) -> Result<()> {
    ensure!(
        CARGO_DEB.is_installed(),
        "cargo-deb is missing; install it with: cargo install --locked cargo-deb"
    );
    ensure!(made.linux().next().is_some(), "there is no binary for Linux");
    let mut packages = Vec::new();
    for binary in made.linux() {
        let arch = if binary.target == X86_64 { "amd64" } else { "arm64" };
        let file = options.out.join(format!("ipcost_{VERSION}_{arch}.deb"));
        let own = binary.file.with_file_name("packaged");
        let manual = std::fs::read(own.join("man/ipcost.1"))?;
        for (name, text) in [("ipcost.1.gz", manual), ("changelog.Debian.gz", changelog()?.into_bytes())] {
            write(&own.join("debian").join(name), &pack::gz(&text)?)?;
        }
        let words = [
            "cargo",
            "deb",
            "--no-build",
            "--no-strip",
            "--package",
            "ipcost",
            "--target",
            binary.target.triple,
            "--profile",
            &options.profile,
            "--output",
            path_text(&file)?,
        ];
        let mut packing = command(&words);
        packing.env("SOURCE_DATE_EPOCH", source_date()?.to_string()).env("CARGO_TARGET_DIR", &binary.builds);
        run_command(packing, &words)?;
        packages.push(file);
    }
    made.files.extend(packages);
    Ok(())
}

/// Debian's own list of changes, which names packages rather than programs.
fn changelog() -> Result<String> {
    let output =
        command(&["date", "--utc", "--rfc-email", &format!("--date=@{}", source_date()?)]).output()?;
    let date = String::from_utf8(output.stdout)?;
    Ok(format!(
        "ipcost ({VERSION}-1) unstable; urgency=medium\n\n  * Packaged by the authors; README.md and the documentation tell what changed.\n\n -- {MAINTAINER}  {date}"
    ))
}

/// npm's packages: one that starts the binary, and one for each binary, of which npm installs what fits.
pub fn npm(options: &DistOptions, made: &mut MadePackages) -> Result<()> {
    let mut optional = serde_json::Map::new();
    let mut packages = Vec::new();
    for binary in made.linux() {
        let cpu = if binary.target == X86_64 { "x64" } else { "arm64" };
        let name = format!("ipcost-linux-{cpu}");
        let manifest = manifest(&name, json!({ "os": ["linux"], "cpu": [cpu], "files": ["ipcost"] }));
        optional.insert(name.clone(), VERSION.into());
        let program =
            ArchiveEntry { path: "ipcost".to_owned(), bytes: std::fs::read(&binary.file)?, executable: true };
        let own = binary.file.with_file_name("packaged");
        let mut entries = vec![manifest, program];
        for name in LINKED {
            entries.push(ArchiveEntry::plain(name, std::fs::read(own.join(name))?));
        }
        packages.push((name, entries));
    }
    ensure!(!packages.is_empty(), "there is no binary for Linux");
    let rest = json!({ "bin": { "ipcost": "ipcost.js" }, "files": ["ipcost.js"], "engines": { "node": ">=16" }, "optionalDependencies": optional });
    let starter = ArchiveEntry {
        executable: true,
        ..ArchiveEntry::plain("ipcost.js", text_of("packaging/npm/ipcost.js")?)
    };
    packages.push(("ipcost".to_owned(), vec![manifest("ipcost", rest), starter]));
    for (name, mut entries) in packages {
        entries.push(ArchiveEntry::plain("README.md", text_of("packaging/npm/README.md")?));
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            entries.push(ArchiveEntry::plain(licence, text_of(licence)?));
        }
        let file = options.out.join(format!("npm-{name}-{VERSION}.tgz"));
        made.files.push(pack::tar_gz(&file, "package", &entries)?);
    }
    Ok(())
}

/// A package's `package.json`.
fn manifest(name: &str, rest: Value) -> ArchiveEntry {
    let mut manifest = json!({
        "name": name, "version": VERSION, "license": env!("CARGO_PKG_LICENSE"), "author": "The ipcost authors",
        "description": "What local inter-process communication costs, how sure that is, and why",
    });
    if let (Value::Object(manifest), Value::Object(rest)) = (&mut manifest, rest) {
        manifest.extend(rest);
    }
    ArchiveEntry::plain("package.json", format!("{manifest:#}\n"))
}

/// Homebrew's formula, with the sums of the tarballs.
pub fn homebrew(options: &DistOptions, made: &mut MadePackages) -> Result<()> {
    let mut formula = text_of("packaging/homebrew/ipcost.rb")?;
    let address =
        option_env!("CARGO_PKG_REPOSITORY").filter(|address| !address.is_empty()).unwrap_or(NO_ADDRESS);
    let sum = |binary: &Binary| {
        pack::sha256(&options.out.join(format!("ipcost-{VERSION}-{}.tar.gz", binary.target.triple)))
    };
    let (x86_64, aarch64) = (sum(made.binary(X86_64)?)?, sum(made.binary(AARCH64)?)?);
    let filled = [
        ("@REPOSITORY@", address),
        ("@VERSION@", VERSION),
        ("@SUM_X86_64@", &x86_64),
        ("@SUM_AARCH64@", &aarch64),
    ];
    for (name, value) in filled {
        ensure!(formula.contains(name), "packaging/homebrew/ipcost.rb has no {name}");
        formula = formula.replace(name, value);
    }
    let file = options.out.join("homebrew-ipcost.rb");
    std::fs::write(&file, formula).with_context(|| format!("cannot write {}", file.display()))?;
    made.files.push(file);
    Ok(())
}

/// Packages that are not published, as patterns. `cargo publish` leaves them out by itself, `cargo package` does not, and fails at those
/// that need one another. The workflow of a release names them, too.
const NOT_PUBLISHED: [&str; 6] =
    ["ipcost-peer-*", "ipcost-testing", "ipcost-endpoints", "ipcost-rpc", "ipcost-bench", "xtask"];

/// The crates, as `cargo publish` would upload them, in the order in which they need one another.
pub fn crates(options: &DistOptions, made: &mut MadePackages) -> Result<()> {
    let all = ["cargo", "package", "--workspace", "--no-verify", "--quiet", "--allow-dirty"];
    let others = NOT_PUBLISHED.iter().flat_map(|name| ["--exclude", name]);
    let words: Vec<&str> = all.into_iter().chain(others).collect();
    let mut packing = command(&words);
    packing.env("CARGO_TARGET_DIR", &options.builds);
    run_command(packing, &words)?;
    let dir = options.out.join("crates");
    std::fs::create_dir_all(&dir)?;
    let mut packed: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(options.builds.join("package"))? {
        let file = entry?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("ipcost") && name.ends_with(&format!("-{VERSION}.crate")) {
            std::fs::copy(&file, dir.join(&name))?;
            packed.push(dir.join(name));
        }
    }
    ensure!(!packed.is_empty(), "cargo package left no crate");
    made.files.extend(packed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    #[test]
    fn what_is_not_published_is_left_out_here_and_in_the_workflow_of_a_release() {
        let output = command(&["cargo", "metadata", "--format-version", "1", "--no-deps"]).output().unwrap();
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let matches = |name: &str, pattern: &str| match pattern.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => name == pattern,
        };
        for package in metadata["packages"].as_array().unwrap() {
            let name = package["name"].as_str().unwrap();
            let is_left_out = NOT_PUBLISHED.iter().any(|pattern| matches(name, pattern));
            assert_eq!(is_left_out, package["publish"] == serde_json::json!([]), "{name}");
        }
        let release = std::fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
        let packing = release.lines().find(|line| line.contains("run: cargo package")).unwrap();
        for pattern in NOT_PUBLISHED {
            assert!(
                packing.replace('"', "").contains(&format!("--exclude {pattern}")),
                "{pattern}: {packing}"
            );
        }
    }
}
