//! Directories that are opened once. Links on the way are followed as the system does: it has no descriptor that only names a file.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

pub fn open(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// The same: directories on the way are not shown to `check` here.
pub fn open_with(path: &Path, _check: &mut dyn FnMut(&OwnedFd) -> io::Result<()>) -> io::Result<OwnedFd> {
    open(path)
}

/// Whether files of a user can be relied on: this user's and those of the owner of `/`.
pub fn is_trusted_owner(user: u32) -> io::Result<bool> {
    Ok(user == rustix::process::geteuid().as_raw() || user == fs::symlink_metadata("/")?.uid())
}

/// Where an open directory is.
pub fn path_of(dir: &OwnedFd) -> io::Result<PathBuf> {
    let path = rustix::fs::getpath(dir)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}

/// Whether a directory lists this process's own descriptors.
pub fn lists_own_descriptors(dir: &Path) -> bool {
    dir == Path::new("/dev/fd")
}
