//! What the kernel tells of the places in it that can be traced (tracefs).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// Opens one of its directories, such as `events/syscalls`. Where no one has mounted it, it is mounted where no path leads to.
///
/// # Errors
/// If this user may not look, or the kernel does not have it.
pub fn open(within: &str) -> io::Result<OwnedFd> {
    const MOUNTED: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    let directory = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = |root: &&str| rustix::fs::open(format!("{root}/{within}"), directory, Mode::empty()).ok();
    if let Some(found) = MOUNTED.iter().find_map(open) {
        return Ok(found);
    }
    let made = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&made)?;
    let root = fsmount(&made, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    Ok(openat(&root, within, directory, Mode::empty())?)
}

/// Reads one of its files.
///
/// # Errors
/// If there is no such file, or this user may not read it.
pub fn read(directory: &OwnedFd, path: &str) -> io::Result<String> {
    let file = openat(directory, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = String::new();
    File::from(file).read_to_string(&mut text)?;
    Ok(text)
}
