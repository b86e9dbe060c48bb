//! No sending in pieces: it is not implemented for this system.

use std::io;

use super::unsupported;
use crate::contract::Pieces;
use crate::system::channel::SocketChannel;
use crate::transport::Channel;

/// Why this system does not send in pieces.
pub const LACKS: Option<&'static str> = Some("writes exists on Linux alone");

/// A socket that sends each message so.
pub fn over(_socket: SocketChannel, _pieces: Pieces) -> io::Result<Box<dyn Channel>> {
    Err(unsupported("only Linux sends in pieces"))
}
