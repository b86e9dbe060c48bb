//! The binary for one system, with its wheel and its list of components.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::contents::third_party;
use super::{DistOptions, VERSION, pack, source_date};
use crate::shell::{command, path_text, root, run_command};
use crate::tools::{has_program, has_rust_target, maturin};

/// What binaries are built for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Target {
    pub triple: &'static str,
    /// The linker or compiler of C that it takes, and its Debian package.
    compiler: (&'static str, &'static str),
    /// The systems on which the wheel may be installed.
    wheel: &'static [&'static str],
    /// Features of the binary.
    pub features: &'static str,
}

impl Target {
    /// Whether it is a static binary for Linux.
    pub fn is_linux(self) -> bool {
        self.triple.contains("linux")
    }

    pub fn processor(self) -> &'static str {
        self.triple.split('-').next().unwrap_or_default()
    }
}

/// What a static binary runs on: any Linux. Installers know it by these names.
const ANY_LINUX: &[&str] = &["manylinux2014", "musllinux_1_1"];

pub const X86_64: Target = Target {
    triple: "x86_64-unknown-linux-musl",
    compiler: ("gcc", "gcc"),
    wheel: ANY_LINUX,
    features: "man,png,tls",
};
/// Linux on 64-bit ARM.
pub const AARCH64: Target = Target {
    triple: "aarch64-unknown-linux-musl",
    compiler: ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
    ..X86_64
};
pub const WINDOWS: Target = Target {
    triple: "x86_64-pc-windows-gnu",
    compiler: ("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64"),
    wheel: &[],
    features: "png",
};

/// What was built for one system.
pub struct Binary {
    pub target: Target,
    /// The licences of all that is linked into it, in addition to its own.
    pub licences: String,
    /// The directory of its build.
    pub builds: PathBuf,
    pub file: PathBuf,
    /// The wheel with it, unless there is no maturin.
    pub wheel: Option<PathBuf>,
    /// Its components as CycloneDX, which maturin writes.
    pub sbom: Option<PathBuf>,
}

/// Builds the program for a system: by maturin, which makes the wheel too, or else by cargo.
pub fn build(options: &DistOptions, target: Target) -> Result<Binary> {
    let (compiler, package) = target.compiler;
    ensure!(has_program(compiler), "{compiler} is missing; install it with: apt-get install {package}");
    ensure!(
        has_rust_target(target.triple),
        "Rust's library for it is missing; install it with: rustup target add {}",
        target.triple
    );
    let builds = options.builds.join(target.triple);
    let wheels = builds.join("wheels");
    let _ = std::fs::remove_dir_all(&wheels);
    let maturin = maturin();
    let target_dir = path_text(&builds)?;
    let mut words = match &maturin {
        Some(maturin) => vec![maturin.as_str(), "build", "--out", path_text(&wheels)?],
        None => vec!["cargo", "build", "--package", "ipcost"],
    };
    words.extend(["--target", target.triple, "--profile", &options.profile, "--target-dir", target_dir]);
    words.extend(["--features", target.features]);
    if maturin.is_some() && !target.wheel.is_empty() {
        words.push("--compatibility");
        words.extend(target.wheel);
    }
    let mut building = command(&words);
    building.env("SOURCE_DATE_EPOCH", source_date()?.to_string());
    // Added to the flags of .cargo/config.toml; messages of panics name sources, which lie below the user's home.
    let flags = format!("CARGO_TARGET_{}_RUSTFLAGS", target.triple.to_uppercase().replace('-', "_"));
    let (sources, here) = (cargo_home()?.join("registry/src"), root());
    let remapped = [(sources.as_path(), "/cargo"), (here, "/ipcost"), (builds.as_path(), "/target")];
    // Here and not in the profile: Cargo forgets `strip` where a package has a profile of its own.
    let mut rustflags = "-Cstrip=symbols".to_owned();
    for (from, to) in remapped {
        rustflags += &format!(" --remap-path-prefix={}={to}", path_text(from)?);
    }
    building.env(flags, rustflags);
    if let Some(commit) = changed_commit() {
        building.env("IPCOST_COMMIT", commit);
    }
    run_command(building, &words)?;
    let name = if target.is_linux() { "ipcost" } else { "ipcost.exe" };
    let profile = if options.profile == "dev" { "debug" } else { &options.profile };
    let file = builds.join(target.triple).join(profile).join(name);
    ensure!(file.exists(), "it was built, and is not at {}", file.display());
    let licences = third_party(target)?;
    if maturin.is_none() {
        eprintln!("xtask: no wheel and no list of components: maturin is missing; pip install maturin");
        return Ok(Binary { target, licences, builds, file, wheel: None, sbom: None });
    }
    let sbom = options.out.join(format!("ipcost-{VERSION}-{}.cdx.json", target.triple));
    let wheel = pack::wheel(&only_file(&wheels)?, &options.out, &sbom, &licences)?;
    Ok(Binary { target, licences, builds, file, wheel: Some(wheel), sbom: Some(sbom) })
}

/// Where cargo keeps what it downloads.
pub fn cargo_home() -> Result<PathBuf> {
    if let Some(set) = std::env::var_os("CARGO_HOME") {
        return Ok(set.into());
    }
    Ok(PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cargo"))
}

/// The commit as `--version` says it, if the sources differ from it.
fn changed_commit() -> Option<String> {
    let say = |words: &[&str]| {
        let output = command(words).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changed = say(&["git", "status", "--porcelain", "--untracked-files=no"])?;
    if changed.is_empty() {
        return None;
    }
    say(&["git", "log", "-1", "--abbrev=10", "--format=%h+changes %cs"])
}

/// The one file of a directory.
fn only_file(dir: &Path) -> Result<PathBuf> {
    let files: Vec<PathBuf> =
        std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    match files.as_slice() {
        [file] => Ok(file.clone()),
        _ => bail!("{} files in {} instead of one", files.len(), dir.display()),
    }
}
