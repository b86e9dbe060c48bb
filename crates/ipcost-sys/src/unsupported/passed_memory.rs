//! Memory that cannot be passed to another process.

use std::io;

use super::unsupported;
use crate::system::socket::Endpoint;

/// Why not.
///
/// # Errors
/// Always.
pub fn probe() -> Result<(), String> {
    Err("only Linux has memory without a name that sockets pass on".to_owned())
}

/// Nothing.
///
/// # Errors
/// Always.
pub fn pass(_socket: &Endpoint, _bytes: &[u8]) -> io::Result<()> {
    Err(unsupported("memory cannot be passed on"))
}

/// Nothing.
///
/// # Errors
/// Always.
pub fn take(_socket: &Endpoint) -> io::Result<Option<Passed>> {
    Err(unsupported("memory cannot be passed on"))
}

/// A message that never comes.
#[derive(Debug)]
pub enum Passed {}

impl Passed {
    /// Nothing.
    pub fn read(&mut self, _buffer: &mut [u8]) -> usize {
        match *self {}
    }

    /// Never.
    pub fn is_over(&self) -> bool {
        match *self {}
    }
}
