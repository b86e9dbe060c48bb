//! Other processes' memory cannot be read.

use std::io;

use super::unsupported;

/// Why not.
///
/// # Errors
/// Always.
pub fn probe() -> Result<(), String> {
    Err("only Linux's way to read another process's memory is known to this program".to_owned())
}

/// Nobody reads it anyway.
pub fn allow() {}

/// Nothing.
///
/// # Errors
/// Always.
pub fn read(_process: u32, _address: u64, _buffer: &mut [u8]) -> io::Result<usize> {
    Err(unsupported("other processes' memory cannot be read"))
}
