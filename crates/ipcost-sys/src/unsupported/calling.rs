//! Ways of calling that this system lacks or that are not implemented for it.

use std::io;

use super::unsupported;
use crate::SysError;
use crate::system::channel::SocketChannel;
use crate::transport::Channel;

/// The way that every system has.
pub const BLOCKING: &str = "blocking";

/// Whether sockets support a way, as the option `io` names it.
pub fn probe(io: &str) -> Result<(), SysError> {
    match io {
        BLOCKING => Ok(()),
        _ => Err(SysError::LinuxAlone { option: "io", value: io.to_owned() }),
    }
}

/// A socket called in the way that `io` names.
pub fn over(_socket: SocketChannel, _io: &str) -> io::Result<Box<dyn Channel>> {
    Err(unsupported("only Linux has other ways of calling"))
}
