//! `null`: moves nothing. Its cost is that of the tool's own loop; it exists to test the tool.

use std::io;

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell};

use super::{Channel, Client, Connection, Provision, Rendezvous, Server, Transport, Waitable};
use crate::SysError;

pub struct Null;

const CAPABILITIES: Capabilities = Capabilities {
    name: "null",
    summary: "moves nothing: the cost of the tool's own loop, for tests",
    carries_payload: false,
    has_buffers: false,
    ..Capabilities::PLAIN
};

impl Transport for Null {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn provision(&self, _place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        Ok(Provision::default())
    }

    fn serve(&self, _address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        Ok(Box::new(Nothing))
    }

    fn reach(&self, _address: &Address, _cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, SysError> {
        Ok(Box::new(Nothing))
    }
}

struct Nothing;

impl Server for Nothing {
    fn address(&self) -> Address {
        Address::new()
    }

    fn try_accept(&mut self) -> Result<Option<Connection>, SysError> {
        Ok(Some(Connection::Other(Box::new(Nothing))))
    }

    fn accept(&self) -> io::Result<Connection> {
        Ok(Connection::Other(Box::new(Nothing)))
    }

    fn waiting(&self) -> Option<Waitable<'_>> {
        None
    }
}

impl Client for Nothing {
    fn connect(&mut self) -> Result<Connection, SysError> {
        Ok(Connection::Other(Box::new(Nothing)))
    }
}

impl Channel for Nothing {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A search for the end of a line succeeds.
        if let Some(last) = buffer.last_mut() {
            *last = b'\n';
        }
        Ok(buffer.len())
    }
}
