//! Packages of Python that read what the program writes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{missing, one_by_one, text};

/// The directory of programs in an environment with these packages, made once; `None` if they cannot be installed and may be
/// missing.
pub fn environment(name: &str, packages: &[&str]) -> Option<PathBuf> {
    let _making = one_by_one(&format!("python-{name}"));
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("python-{name}"));
    let (bin, complete) = (dir.join("bin"), dir.join("complete"));
    // An environment with other packages is made again.
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&complete).is_ok_and(|installed| installed == wanted) {
        return Some(bin);
    }
    let skip = |output: &Output| {
        // Named by the first, which is what the others are for.
        missing(packages[0].split('=').next().unwrap(), &text(&output.stderr));
        None
    };
    let made =
        Command::new("python3").args(["-m", "venv", "--clear"]).arg(&dir).output().expect("python3 is there");
    if !made.status.success() {
        return skip(&made);
    }
    let mut pip = Command::new(bin.join("python"));
    pip.args([
        "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", "--retries", "1",
    ]);
    let installed = pip.args(packages).output().unwrap();
    if !installed.status.success() {
        return skip(&installed);
    }
    std::fs::write(&complete, wanted).unwrap();
    Some(bin)
}
