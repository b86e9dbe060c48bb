//! Directories that are opened once (`path_resolution(7)`).

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;

/// As many links as the kernel follows.
const MOST_LINKS: u32 = 40;
/// Names a file and does nothing with it, so that it takes no right to read it.
const NAMED: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a directory. Links on the way are followed if they are this user's or root's: another user's could lead anywhere.
///
/// # Errors
/// If there is none, or a link of another user is on the way.
pub fn open(path: &Path) -> io::Result<OwnedFd> {
    open_with(path, &mut |_| Ok(()))
}

/// The same; `check` is given each directory in which a name on the way was looked up.
pub fn open_with(path: &Path, check: &mut dyn FnMut(&OwnedFd) -> io::Result<()>) -> io::Result<OwnedFd> {
    let mut left: VecDeque<OsString> = components(path).collect();
    let mut dir = openat(CWD, start(path), NAMED, Mode::empty())?;
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        check(&dir)?;
        let next = openat(&dir, &name, NAMED, Mode::empty())?;
        let found = fstat(&next)?;
        match FileType::from_raw_mode(found.st_mode) {
            // Once more, as a directory: that mounts what is mounted when it is first used.
            FileType::Directory => dir = openat(&dir, &name, NAMED | OFlags::DIRECTORY, Mode::empty())?,
            FileType::Symlink if !is_trusted_owner(found.st_uid)? => {
                let reason = format!(
                    "{} is a link of user {}, which is not followed; name the directory that it leads to",
                    path_of(&dir)?.join(&name).display(),
                    found.st_uid
                );
                return Err(io::Error::new(ErrorKind::PermissionDenied, reason));
            }
            FileType::Symlink => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP.into());
                }
                let target = readlinkat(&next, "", Vec::new())?;
                let target = Path::new(OsStr::from_bytes(target.as_bytes()));
                if target.is_absolute() {
                    dir = openat(CWD, "/", NAMED, Mode::empty())?;
                }
                components(target).rev().for_each(|name| left.push_front(name));
            }
            _ => return Err(Errno::NOTDIR.into()),
        }
    }
    Ok(dir)
}

fn start(path: &Path) -> &'static str {
    if path.is_absolute() { "/" } else { "." }
}

fn components(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

/// Whether files of a user can be relied on: this user's, root's, and those of the owner of `/`, who could replace everything; in a user
/// namespace that may be an unknown user.
pub fn is_trusted_owner(user: u32) -> io::Result<bool> {
    Ok(user == 0 || user == rustix::process::geteuid().as_raw() || user == fs::symlink_metadata("/")?.uid())
}

/// Where an open directory is.
pub fn path_of(dir: &OwnedFd) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}

/// Whether a directory lists this process's own descriptors.
pub fn lists_own_descriptors(dir: &Path) -> bool {
    // As /proc numbers it, which may be that of another namespace.
    let Ok(own) = fs::read_link("/proc/self") else { return false };
    let mut parts = dir.strip_prefix("/proc").into_iter().flat_map(Path::iter);
    parts.next() == Some(own.as_os_str()) && dir.ends_with("fd")
}
