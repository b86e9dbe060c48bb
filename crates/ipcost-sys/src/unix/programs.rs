//! This machine's programs, and how to build them.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::system::child::die_with_parent;

/// The C compiler's usual name.
pub const C_COMPILER: &str = "cc";
/// Libraries for a C program with sockets and threads, beyond the default ones.
pub const C_LIBRARIES: &[&str] = &[];
/// Where Go gets other authors' modules: nowhere, as the peer needs none here.
pub const GO_MODULES: &[(&str, &str)] = &[("GOPROXY", "off")];
/// The directory in a C program's sources with support for this system; `None` on POSIX.
pub const C_SUPPORT: Option<&str> = None;
/// How to install a package, by Debian's names.
pub const INSTALL: &str = "on Debian: apt-get install";

/// Whether a program of this name can be started.
pub fn is_there(name: &str) -> bool {
    search(name, &[]).is_some()
}

/// The path of a program: in one of the places, in whose names `*` stands for any directory, the latest version first; else on
/// the user's path, or where Debian keeps servers.
pub fn search(name: &str, places: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let runs = |file: &PathBuf| {
        file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    // Debian keeps some servers on root's PATH only.
    let beyond = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let dirs = places.iter().flat_map(|place| dirs_of(place)).chain(env::split_paths(&path)).chain(beyond);
    dirs.map(|dir| dir.join(name)).find(runs)
}

/// Runs a program to its end without input, and gives what it has written; it dies with this one.
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
    // SAFETY: between fork and exec it makes one system call, and allocates nothing.
    unsafe {
        command.pre_exec(die_with_parent);
    }
    command.output()
}

/// The directories that a place names, those of the highest number first.
fn dirs_of(place: &str) -> Vec<PathBuf> {
    let Some((before, after)) = place.split_once('*') else { return vec![place.into()] };
    let (parent, start) = before.rsplit_once('/').unwrap_or(("", before));
    let names = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<(u64, PathBuf)> = names
        .filter_map(|entry| {
            let name = entry.file_name().to_str()?.to_owned();
            let version = name.strip_prefix(start)?.parse().unwrap_or(0);
            Some((version, format!("{parent}/{name}{after}").into()))
        })
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// Whether anybody but its owner can read a file, or write to it.
pub fn others_can_read(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.mode() & 0o077 != 0)
}
