//! `memfd`: each message in its own memory, whose descriptor goes over a socketpair (`memfd_create(2)`, SCM_RIGHTS of
//! `unix(7)`); the receiver maps it, reads it in place and unmaps it.

use std::io;

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, OptionGroup};

use super::socketpair::{reach, serve, share};
use super::{Channel, Client, Connection, Provision, Rendezvous, Server, Transport, supported};
use crate::SysError;
use crate::system::passed_memory::{self, PassedMemory};
use crate::system::socket::{Endpoint, LACKS_PAIRS};

pub struct Memfd;

const CAPABILITIES: Capabilities = Capabilities {
    name: "memfd",
    summary: "each message in its own memory, which a socketpair passes on",
    os: &["linux"],
    option_groups: &[OptionGroup::Socket],
    ..Capabilities::PLAIN
};

impl Transport for Memfd {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        supported(LACKS_PAIRS)?;
        supported(passed_memory::LACKS)
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        share(place.cell)
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        serve(CAPABILITIES.name, address, Passing::new)
    }

    fn reach(&self, address: &Address, _cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        reach(CAPABILITIES.name, address, worker, Passing::new)
    }
}

struct Passing {
    socket: Endpoint,
    /// A message not yet read to its end.
    left: Option<PassedMemory>,
}

impl Passing {
    fn new(socket: Endpoint) -> Self {
        Self { socket, left: None }
    }
}

impl Channel for Passing {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        passed_memory::pass(&self.socket, bytes)?;
        Ok(bytes.len())
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut message = match self.left.take() {
            Some(message) => message,
            None => match passed_memory::take(&self.socket)? {
                Some(message) => message,
                None => return Ok(0),
            },
        };
        let count = message.read(buffer);
        if !message.is_over() {
            self.left = Some(message);
        }
        Ok(count)
    }
}

impl From<Passing> for Connection {
    fn from(passing: Passing) -> Self {
        Self::Other(Box::new(passing))
    }
}
