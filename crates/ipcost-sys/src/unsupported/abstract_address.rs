//! Unix socket names outside the file system: not supported here.

use std::io;

use super::unsupported;
use crate::system::socket::UnixAddress;

const REASON: &str = "names of sockets outside the file system exist on Linux only";

/// Why this system lacks such names.
pub const LACKS: Option<&'static str> = Some(REASON);

/// A name as a socket's address.
pub fn abstract_address(_name: &str) -> io::Result<UnixAddress> {
    Err(unsupported(REASON))
}

pub fn unguessable() -> io::Result<String> {
    Err(io::ErrorKind::Unsupported.into())
}
