//! Named pipes of Windows, where there are none.

use std::io;

use super::unsupported;
use crate::transport::Channel;

const REASON: &str = "named pipes of this kind exist on Windows only; fifo is what comes closest here";

/// Whether they can be used here.
///
/// # Errors
/// Always: they exist on Windows only.
pub fn probe() -> Result<(), String> {
    Err(REASON.to_owned())
}

/// A server's end; there is never one.
#[derive(Debug)]
pub enum Listener {}

impl Listener {
    /// Makes one.
    ///
    /// # Errors
    /// Always.
    pub fn open(_path: &str, _buffer_bytes: u32) -> io::Result<Self> {
        Err(unsupported(REASON))
    }

    /// The buffer that the system keeps for either direction, bytes.
    ///
    /// # Errors
    /// Never.
    pub fn buffer(&self) -> io::Result<u64> {
        match *self {}
    }

    /// The next connection, if one is there.
    ///
    /// # Errors
    /// Never.
    pub fn try_accept(&mut self) -> io::Result<Option<Box<dyn Channel>>> {
        match *self {}
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// Never.
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
