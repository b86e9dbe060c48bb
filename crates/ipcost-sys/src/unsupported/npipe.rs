//! Windows named pipes: not supported here.

use std::io;

use super::unsupported;
use crate::transport::Channel;

const REASON: &str = "named pipes of this kind exist on Windows only; fifo is the closest here";

/// Whether they work here.
///
/// # Errors
/// Always: they exist on Windows only.
pub fn probe() -> Result<(), String> {
    Err(REASON.to_owned())
}

/// A server's end; never created.
#[derive(Debug)]
pub enum Listener {}

impl Listener {
    /// Creates one.
    ///
    /// # Errors
    /// Always.
    pub fn open(_path: &str, _buffer_bytes: u32) -> io::Result<Self> {
        Err(unsupported(REASON))
    }

    /// The system's buffer for each direction, bytes.
    ///
    /// # Errors
    /// Infallible.
    pub fn buffer(&self) -> io::Result<u64> {
        match *self {}
    }

    /// The next connection, if one is ready.
    ///
    /// # Errors
    /// Infallible.
    pub fn try_accept(&mut self) -> io::Result<Option<Box<dyn Channel>>> {
        match *self {}
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// Infallible.
    pub fn accept(&self) -> io::Result<Box<dyn Channel>> {
        match *self {}
    }
}

/// Connects.
///
/// # Errors
/// Always.
pub fn connect(_path: &str) -> io::Result<Box<dyn Channel>> {
    Err(unsupported(REASON))
}
