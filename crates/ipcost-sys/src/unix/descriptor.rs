//! Descriptors to inherit and to wait on.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::{Context, SysError};

/// Something open that a child can inherit.
pub type Descriptor = OwnedFd;
/// Something to wait on until it is readable.
pub type Waitable<'a> = BorrowedFd<'a>;

/// Takes over an inherited descriptor, and keeps it from further children.
///
/// # Errors
/// If no such descriptor is open, or it is one of the standard three.
pub fn take(number: i32) -> Result<Descriptor, SysError> {
    let closed = || io::Error::from_raw_os_error(libc::EBADF);
    let action = || format!("expected to inherit descriptor {number}");
    if number <= libc::STDERR_FILENO {
        return Err(closed()).context(action);
    }
    // SAFETY: borrowed for one call that accepts any number; the kernel answers EBADF if it is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    rustix::io::fcntl_setfd(borrowed, rustix::io::FdFlags::CLOEXEC).context(action)?;
    // SAFETY: the descriptor is open, the engine passed it to this process for this purpose, and addresses name each
    // number once, so nothing else here owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// A descriptor's number, as in addresses.
pub fn number(descriptor: &Descriptor) -> i32 {
    descriptor.as_raw_fd()
}

/// What to wait on for an endpoint's connections.
pub fn waitable(endpoint: &OwnedFd) -> Waitable<'_> {
    endpoint.as_fd()
}

/// A socket as an inheritable descriptor.
pub fn to_inherit(endpoint: OwnedFd) -> Descriptor {
    endpoint
}

/// Takes over an inherited socket.
pub fn take_socket(number: i32) -> Result<OwnedFd, SysError> {
    take(number)
}
