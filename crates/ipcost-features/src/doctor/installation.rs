//! How this program came to this machine, by what lies around it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Installation, Means};

/// Where Debian's package puts the program.
const DEBIAN_PROGRAM: &str = "/usr/bin/ipcost";
const DEBIAN_LISTS: &str = "/var/lib/dpkg/info";
/// Directories of programs that have what they belong to next to them.
const PROGRAM_DIRS: [&str; 2] = ["bin", "Scripts"];
const PYTHON_PACKAGE_DIRS: [&str; 2] = ["site-packages", "dist-packages"];
/// What each tool that makes an environment for one program leaves in it.
const OWN_ENVIRONMENTS: [(&str, &str); 2] = [("pipx_metadata.json", "pipx"), ("uv-receipt.toml", "uv tool")];

/// This program; nothing if its path is not known.
pub fn installation_here(version: &str) -> Option<Installation> {
    let program = std::env::current_exe().ok()?;
    let program = fs::canonicalize(&program).unwrap_or(program);
    Some(installation(&program, version, Path::new("/")))
}

/// A program of that version, its links resolved, on a machine whose files are below `root`.
fn installation(program: &Path, version: &str, root: &Path) -> Installation {
    let files = InstalledFiles { root };
    let is_part = |name: &str| program.components().any(|part| part.as_os_str() == name);
    let means = if is_part("node_modules") {
        Means::Npm
    } else if is_part("Cellar") {
        Means::Homebrew
    } else if is_of_debian(program, &files) {
        Means::Debian
    } else if is_of_cargo(program, version, &files) {
        Means::Cargo
    } else if let Some(found) = of_python(program, &files) {
        return found;
    } else if is_in_target(program, &files) {
        Means::Checkout
    } else {
        Means::Copied
    };
    Installation { by: means, tool: None, environment: None, path: shown(program) }
}

/// The list of the package has this program. The name of a list may have an architecture.
fn is_of_debian(program: &Path, files: &InstalledFiles<'_>) -> bool {
    let is_list =
        |name: &str| name == "ipcost.list" || name.starts_with("ipcost:") && name.ends_with(".list");
    program == Path::new(DEBIAN_PROGRAM)
        && files.names(Path::new(DEBIAN_LISTS)).iter().any(|name| {
            is_list(name)
                && files.text(&Path::new(DEBIAN_LISTS).join(name)).lines().any(|line| line == DEBIAN_PROGRAM)
        })
}

/// Cargo keeps the names and versions of what it installed.
fn is_of_cargo(program: &Path, version: &str, files: &InstalledFiles<'_>) -> bool {
    let entry = format!("\"ipcost {version} ");
    let kept = [".crates2.json", ".crates.toml"];
    above_programs(program)
        .is_some_and(|above| kept.iter().any(|name| files.text(&above.join(name)).contains(&entry)))
}

/// A package of that name among those of a Python whose programs are in this directory.
fn of_python(program: &Path, files: &InstalledFiles<'_>) -> Option<Installation> {
    let above = above_programs(program)?;
    let is_python = |name: &&String| name.starts_with("python3") || name.starts_with("pypy3");
    let of_unix = files.names(&above.join("lib"));
    let of_unix = of_unix.iter().filter(is_python).map(|name| above.join("lib").join(name));
    let libraries = of_unix.chain([above.join("Lib")]);
    let mut packages =
        libraries.flat_map(|library| PYTHON_PACKAGE_DIRS.map(|packages| library.join(packages)));
    let package = packages.find_map(|packages| {
        let is_ours = |name: &&String| name.starts_with("ipcost-") && name.ends_with(".dist-info");
        files.names(&packages).iter().find(is_ours).map(|name| packages.join(name))
    })?;
    let own = OWN_ENVIRONMENTS.iter().find(|(left, _)| files.exists(&above.join(left)));
    let installer = files.text(&package.join("INSTALLER"));
    let installer = own.map_or(installer.trim(), |(_, tool)| tool);
    let is_environment = files.exists(&above.join("pyvenv.cfg"));
    Some(Installation {
        by: Means::Python,
        tool: Some(installer.to_owned()).filter(|name| !name.is_empty()),
        environment: is_environment.then(|| shown(above)),
        path: shown(program),
    })
}

/// Cargo marks the directory it builds in, `target/[TRIPLE/]PROFILE/ipcost`: with a tag if it made the directory, and
/// always with what it knows of the compiler.
fn is_in_target(program: &Path, files: &InstalledFiles<'_>) -> bool {
    let of_cargo = |dir: &Path| {
        files.text(&dir.join("CACHEDIR.TAG")).contains("created by cargo")
            || files.exists(&dir.join(".rustc_info.json"))
    };
    program.ancestors().skip(2).take(2).any(of_cargo)
}

/// The directory above that of programs.
fn above_programs(program: &Path) -> Option<&Path> {
    let dir = program.parent()?;
    let is_known = PROGRAM_DIRS.iter().any(|name| dir.file_name() == Some(OsStr::new(name)));
    dir.parent().filter(|_| is_known)
}

/// A path as a user writes it: resolved ones begin with a mark on Windows.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.strip_prefix(r"\\?\").unwrap_or(&text).to_owned()
}

/// What exists on the machine. What cannot be read is no evidence.
struct InstalledFiles<'a> {
    root: &'a Path,
}

impl InstalledFiles<'_> {
    fn place(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn exists(&self, path: &Path) -> bool {
        self.place(path).exists()
    }

    /// Empty if there is none.
    fn text(&self, path: &Path) -> String {
        fs::read_to_string(self.place(path)).unwrap_or_default()
    }

    /// The names in a directory, in their order.
    fn names(&self, path: &Path) -> Vec<String> {
        let entries = fs::read_dir(self.place(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# This file is a cache directory tag created by cargo.\n";
    const VENV: &str = "/srv/venv/lib/python3.11/site-packages/ipcost-0.1.0.dist-info/INSTALLER";
    const CRATES: &str =
        "[v1]\n\"ipcost 0.1.0 (registry+https://github.com/rust-lang/crates.io-index)\" = [\"ipcost\"]\n";

    /// Where the program is, the files around it with their text, and how it is told.
    type Row = (&'static str, &'static [(&'static str, &'static str)], Means, &'static str);

    const ROWS: &[Row] = &[
        (
            "/usr/bin/ipcost",
            &[("/var/lib/dpkg/info/ipcost.list", "/.\n/usr/bin\n/usr/bin/ipcost\n")],
            Means::Debian,
            "Debian package (/usr/bin/ipcost)",
        ),
        (
            "/usr/bin/ipcost",
            &[("/var/lib/dpkg/info/ipcost:arm64.list", "/usr/bin/ipcost\n")],
            Means::Debian,
            "Debian package (/usr/bin/ipcost)",
        ),
        (
            "/usr/bin/ipcost",
            &[
                ("/var/lib/dpkg/info/ipcost-doc.list", "/usr/bin/ipcost\n"),
                ("/var/lib/dpkg/info/ipcost.list", "/.\n"),
            ],
            Means::Copied,
            "a copied binary (/usr/bin/ipcost)",
        ),
        (
            "/usr/local/bin/ipcost",
            &[("/var/lib/dpkg/info/ipcost.list", "/usr/bin/ipcost\n")],
            Means::Copied,
            "a copied binary (/usr/local/bin/ipcost)",
        ),
        (
            "/root/.cargo/bin/ipcost",
            &[("/root/.cargo/.crates.toml", CRATES)],
            Means::Cargo,
            "cargo install (/root/.cargo/bin/ipcost)",
        ),
        (
            "/opt/bin/ipcost",
            &[("/opt/.crates2.json", r#"{"installs":{"ipcost 0.1.0 (path+file:///w)":{}}}"#)],
            Means::Cargo,
            "cargo install (/opt/bin/ipcost)",
        ),
        (
            "/root/.cargo/bin/ipcost",
            &[("/root/.cargo/.crates.toml", "\"ipcost 0.0.9 (x)\" = []\n\"ipcost-more 0.1.0 (x)\" = []\n")],
            Means::Copied,
            "a copied binary (/root/.cargo/bin/ipcost)",
        ),
        (
            "/srv/venv/bin/ipcost",
            &[("/srv/venv/pyvenv.cfg", ""), (VENV, "pip\n")],
            Means::Python,
            "pip, into the virtual environment /srv/venv",
        ),
        (
            "/srv/venv/bin/ipcost",
            &[("/srv/venv/pyvenv.cfg", ""), (VENV, "uv")],
            Means::Python,
            "uv, into the virtual environment /srv/venv",
        ),
        (
            "/srv/venv/bin/ipcost",
            &[("/srv/venv/pyvenv.cfg", ""), (VENV, "")],
            Means::Python,
            "pip or uv, into the virtual environment /srv/venv",
        ),
        (
            "/srv/venv/bin/ipcost",
            &[("/srv/venv/pyvenv.cfg", ""), (VENV, "pip\n"), ("/srv/venv/pipx_metadata.json", "{}")],
            Means::Python,
            "pipx, into the virtual environment /srv/venv",
        ),
        (
            "/srv/venv/bin/ipcost",
            &[("/srv/venv/pyvenv.cfg", ""), (VENV, "uv"), ("/srv/venv/uv-receipt.toml", "")],
            Means::Python,
            "uv tool, into the virtual environment /srv/venv",
        ),
        (
            "/srv/venv/Scripts/ipcost.exe",
            &[
                ("/srv/venv/pyvenv.cfg", ""),
                ("/srv/venv/Lib/site-packages/ipcost-0.1.0.dist-info/INSTALLER", "pip\r\n"),
            ],
            Means::Python,
            "pip, into the virtual environment /srv/venv",
        ),
        (
            "/usr/local/bin/ipcost",
            &[("/usr/local/lib/python3.11/dist-packages/ipcost-0.1.0.dist-info/INSTALLER", "pip\n")],
            Means::Python,
            "pip (/usr/local/bin/ipcost)",
        ),
        (
            "/srv/venv/bin/ipcost",
            &[
                ("/srv/venv/pyvenv.cfg", ""),
                ("/srv/venv/lib/python3.11/site-packages/other-1.dist-info/INSTALLER", "pip"),
            ],
            Means::Copied,
            "a copied binary (/srv/venv/bin/ipcost)",
        ),
        (
            "/w/node_modules/ipcost-linux-x64/bin/ipcost",
            &[],
            Means::Npm,
            "npm (/w/node_modules/ipcost-linux-x64/bin/ipcost)",
        ),
        (
            "/opt/homebrew/Cellar/ipcost/0.1.0/bin/ipcost",
            &[],
            Means::Homebrew,
            "Homebrew (/opt/homebrew/Cellar/ipcost/0.1.0/bin/ipcost)",
        ),
        (
            "/w/target/release/ipcost",
            &[("/w/target/CACHEDIR.TAG", TAG)],
            Means::Checkout,
            "built in a checkout (/w/target/release/ipcost)",
        ),
        (
            "/w/target/x86_64-unknown-linux-musl/dist/ipcost",
            &[("/w/target/CACHEDIR.TAG", TAG)],
            Means::Checkout,
            "built in a checkout (/w/target/x86_64-unknown-linux-musl/dist/ipcost)",
        ),
        ("/w/target/ipcost/ipcost", &[], Means::Copied, "a copied binary (/w/target/ipcost/ipcost)"),
        (
            "/build/debug/ipcost",
            &[("/build/.rustc_info.json", "{}")],
            Means::Checkout,
            "built in a checkout (/build/debug/ipcost)",
        ),
        ("/ipcost", &[], Means::Copied, "a copied binary (/ipcost)"),
    ];

    #[test]
    fn what_lies_around_a_program_tells_how_it_came_there() {
        for (program, files, means, words) in ROWS {
            let root = TempDir::new().unwrap();
            for (path, text) in *files {
                let path = root.path().join(path.trim_start_matches('/'));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let found = installation(Path::new(program), "0.1.0", root.path());
            assert_eq!((found.by, found.to_string().as_str()), (*means, *words), "{files:?}");
            assert_eq!(found.path, *program);
        }
    }

    #[test]
    fn every_means_has_a_row_and_this_test_was_built_by_cargo() {
        for means in Means::ALL {
            assert!(ROWS.iter().any(|(_, _, known, _)| known == means), "{means}");
        }
        // target/PROFILE/deps/NAME is as deep as target/TRIPLE/PROFILE/ipcost.
        let here = installation_here("0.1.0").unwrap();
        assert!(here.path.contains("ipcost_features"), "{here}");
    }
}
