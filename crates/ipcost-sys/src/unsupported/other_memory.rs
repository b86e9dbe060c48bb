//! Reading another process's memory: not supported here.

use std::io;

use super::unsupported;
use crate::SysError;

/// Always refuses, with the reason.
pub fn probe() -> Result<(), SysError> {
    Err(SysError::Unsupported("this program can read another process's memory on Linux only"))
}

/// Does nothing, as no process reads it.
pub fn allow() {}

pub fn read(_process: u32, _address: u64, _buffer: &mut [u8]) -> io::Result<usize> {
    Err(unsupported("other processes' memory cannot be read"))
}
