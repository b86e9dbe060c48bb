//! Windows named pipes: not supported here.

use std::io;

use super::unsupported;
use crate::transport::Channel;

const REASON: &str = "named pipes of this kind exist on Windows only; fifo is the closest here";

/// Why this system lacks them.
pub const LACKS: Option<&'static str> = Some(REASON);

/// A server's end; never created.
#[derive(Debug)]
pub enum NamedPipeListener {}

impl NamedPipeListener {
    pub fn open(_path: &str, _buffer_bytes: u32) -> io::Result<Self> {
        Err(unsupported(REASON))
    }

    /// The system's buffer for each direction, bytes.
    pub fn buffer(&self) -> io::Result<u64> {
        match *self {}
    }

    /// The next connection, if one is ready.
    pub fn try_accept(&mut self) -> io::Result<Option<Box<dyn Channel>>> {
        match *self {}
    }

    /// Waits for the next connection.
    pub fn accept(&self) -> io::Result<Box<dyn Channel>> {
        match *self {}
    }
}

pub fn connect(_path: &str) -> io::Result<Box<dyn Channel>> {
    Err(unsupported(REASON))
}
