//! The server's end of a floor in which the client does everything.

use std::io;

use ipcost_model::protocol::Address;

use super::{Channel, Connection, Server, TransportError, Waitable};

/// Has nothing to do.
pub struct Lone;

impl Server for Lone {
    fn address(&self) -> Address {
        Address::new()
    }

    fn try_accept(&mut self) -> Result<Option<Connection>, TransportError> {
        Ok(Some(Connection::Other(Box::new(Self))))
    }

    fn accept(&self) -> io::Result<Connection> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn waiting(&self) -> Option<Waitable<'_>> {
        None
    }
}

impl Channel for Lone {
    fn send(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn receive(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
