//! Ways of calling that this system lacks or that are not implemented for it.

use std::io;

use ipcost_model::choices::Io;

use super::unsupported;
use crate::SysError;
use crate::system::channel::SocketChannel;
use crate::transport::Channel;

/// Whether sockets support a way.
pub fn probe(io: Io) -> Result<(), SysError> {
    match io {
        Io::Blocking => Ok(()),
        _ => Err(SysError::LinuxAlone { option: "io", value: io.name() }),
    }
}

/// A socket that is called so.
pub fn over(_socket: SocketChannel, _io: Io) -> io::Result<Box<dyn Channel>> {
    Err(unsupported("only Linux has other ways of calling"))
}
