//! This machine's programs, and how to build them.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The C compiler's usual name: MinGW-w64's.
pub const C_COMPILER: &str = "gcc";
/// Libraries for a C program with sockets and threads, beyond the default ones.
pub const C_LIBRARIES: &[&str] = &["-static", "-lws2_32"];
/// Where Go gets other authors' modules: the user's setting.
pub const GO_MODULES: &[(&str, &str)] = &[];
/// The directory in a C program's sources with support for this system, to be included first.
pub const C_SUPPORT: Option<&str> = Some("windows");
/// How to install a package, by Debian's names.
pub const INSTALL: &str = "install what Debian calls";

/// Whether a program of this name can be started.
pub fn is_there(name: &str) -> bool {
    find(name).is_some()
}

/// The path of a program; what other systems call their places is none here.
pub fn search(name: &str, _places: &[&str]) -> Option<PathBuf> {
    find(name)
}

/// A program's file: the given path if it has a directory, else searched along `PATH`; with `.exe` if it has no other
/// extension. The current directory counts only if `PATH` names it.
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

/// Runs a program to its end without input, and gives what it has written. It outlives this one if that is killed.
pub fn output<S: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: &[S],
    env: &[(&str, &str)],
    directory: Option<&Path>,
) -> io::Result<Output> {
    let mut command = Command::new(program);
    command.args(arguments).envs(env.iter().copied()).stdin(Stdio::null());
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    command.output()
}

/// Never: there are no such modes, and only this user can read what is in the user's own directory.
pub fn others_can_read(_path: &Path) -> bool {
    false
}
