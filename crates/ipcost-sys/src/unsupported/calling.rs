//! Ways of calling that this system lacks or that are not implemented for it.

use std::io;

use super::unsupported;
use crate::system::channel::SocketChannel;
use crate::transport::Channel;

/// The way that every system has.
pub const BLOCKING: &str = "blocking";

/// Whether sockets support a way, as the option `io` names it.
pub fn probe(io: &str) -> Result<(), String> {
    if io == BLOCKING { Ok(()) } else { Err(format!("io={io} exists on Linux alone")) }
}

/// A socket called in the way that `io` names.
pub fn over(_socket: SocketChannel, _io: &str) -> io::Result<Box<dyn Channel>> {
    Err(unsupported("only Linux has other ways of calling"))
}
