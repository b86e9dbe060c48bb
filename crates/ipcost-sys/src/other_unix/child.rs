//! Controlling a child without Linux.

use std::io;
use std::os::fd::OwnedFd;

/// A descriptor that becomes readable when the child has ended; always `None`.
pub fn exit_descriptor(_child: u32) -> Option<OwnedFd> {
    None
}

/// Does nothing: here a child leaves at the end of its input, or the guard kills it.
pub fn die_with_parent() -> io::Result<()> {
    Ok(())
}

/// Keeps the calling process on one processor.
pub fn pin(_cpu: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Bounds what is about to be executed.
///
/// # Safety
/// To be called between fork and exec.
pub unsafe fn bound(_bounds: crate::contract::Bounds) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
