//! FIFOs (`fifo(7)`).

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use rustix::io::Errno;

pub use crate::system::pipe_buffer::set as set_buffer;

/// Why this system lacks FIFOs.
pub const LACKS: Option<&'static str> = None;

/// Creates one that only this user can open.
pub fn make(path: &Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the string ends in NUL and outlives the call.
    let result = unsafe { libc::mkfifo(path.as_ptr(), libc::S_IRUSR | libc::S_IWUSR) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Opens without waiting for a writer; later reads wait as usual.
pub fn open_to_read(path: &Path) -> io::Result<OwnedFd> {
    let read = open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
    wait_on_calls(&read)?;
    Ok(read)
}

/// Opens for writing if there is a reader; later writes wait as usual.
pub fn try_open_to_write(path: &Path) -> io::Result<Option<OwnedFd>> {
    let write = match open(path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
        Err(Errno::NXIO) => return Ok(None),
        result => result?,
    };
    wait_on_calls(&write)?;
    Ok(Some(write))
}

/// Opens for writing; waits for a reader.
pub fn open_to_write(path: &Path) -> io::Result<OwnedFd> {
    Ok(open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?)
}

fn wait_on_calls(descriptor: impl AsFd) -> rustix::io::Result<()> {
    let flags = fcntl_getfl(descriptor.as_fd())?;
    fcntl_setfl(descriptor, flags.difference(OFlags::NONBLOCK))
}
