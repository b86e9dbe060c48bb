//! Passing memory to another process: not supported here.

use std::io;

use super::unsupported;
use crate::system::socket::Endpoint;

/// Always refuses, with the reason.
///
/// # Errors
/// Always.
pub fn probe() -> Result<(), String> {
    Err("only Linux has anonymous memory that sockets pass on".to_owned())
}

/// Always refuses.
///
/// # Errors
/// Always.
pub fn pass(_socket: &Endpoint, _bytes: &[u8]) -> io::Result<()> {
    Err(unsupported("memory cannot be passed on"))
}

/// Always refuses.
///
/// # Errors
/// Always.
pub fn take(_socket: &Endpoint) -> io::Result<Option<Passed>> {
    Err(unsupported("memory cannot be passed on"))
}

/// A received message; never created.
#[derive(Debug)]
pub enum Passed {}

impl Passed {
    /// Never called.
    pub fn read(&mut self, _buffer: &mut [u8]) -> usize {
        match *self {}
    }

    /// Never called.
    pub fn is_over(&self) -> bool {
        match *self {}
    }
}
