//! Programs of this machine, and how they are built.

use std::env;
use std::path::{Path, PathBuf};

/// The C compiler's usual name: that of MinGW-w64.
pub const C_COMPILER: &str = "gcc";
/// What a C program with sockets and threads is linked with, beside what every one is.
pub const C_LIBRARIES: &[&str] = &["-static", "-lws2_32"];
/// Where Go gets the modules of others from: where the user has it get them.
pub const GO_MODULES: &[(&str, &str)] = &[];
/// The directory among a C program's sources with what it takes for this system, to be included first.
pub const C_SUPPORT: Option<&str> = Some("windows");
/// How one gets a package of Debian's names.
pub const INSTALL: &str = "install what Debian calls";

/// Whether a program of this name can be started.
pub fn is_there(name: &str) -> bool {
    find(name).is_some()
}

/// The file of a program: as it is named where that has a directory in it, else along `PATH`; `.exe` where there is
/// no other ending. The current directory counts only if `PATH` names it.
pub fn find(name: &str) -> Option<PathBuf> {
    let with_ending = |path: PathBuf| {
        if path.extension().is_some() {
            return path.is_file().then_some(path);
        }
        let with = path.with_extension("exe");
        if with.is_file() { Some(with) } else { path.is_file().then_some(path) }
    };
    if Path::new(name).components().count() > 1 {
        return with_ending(PathBuf::from(name));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|dir| dir.is_absolute()).find_map(|dir| with_ending(dir.join(name)))
}
