//! Passing memory to another process: not supported here.

use std::io;

use super::unsupported;
use crate::system::socket::Endpoint;

/// Why this system lacks such memory.
pub const LACKS: Option<&'static str> = Some("only Linux has anonymous memory that sockets pass on");

pub fn pass(_socket: &Endpoint, _bytes: &[u8]) -> io::Result<()> {
    Err(unsupported("memory cannot be passed on"))
}

pub fn take(_socket: &Endpoint) -> io::Result<Option<PassedMemory>> {
    Err(unsupported("memory cannot be passed on"))
}

/// A received message; never created.
#[derive(Debug)]
pub enum PassedMemory {}

impl PassedMemory {
    pub fn read(&mut self, _buffer: &mut [u8]) -> usize {
        match *self {}
    }

    pub fn is_over(&self) -> bool {
        match *self {}
    }
}
