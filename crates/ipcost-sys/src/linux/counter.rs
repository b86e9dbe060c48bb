//! Counters of the kernel's (`eventfd(2)`).

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{EventfdFlags, eventfd};

/// Makes one that is 0.
///
/// # Errors
/// The system's answer.
pub fn create() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC)?)
}
