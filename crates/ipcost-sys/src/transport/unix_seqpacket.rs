//! `unix-seqpacket`: a connection-oriented socket that preserves message boundaries, bound to a path (`unix(7)`).

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, Delivery, OptionGroup};

use super::unix::{free_path, message_fits, reach_path, serve_at_path};
use super::{Client, Provision, Rendezvous, Server, Transport, TransportError, capacity};
use crate::system::socket::packet_socket;

pub struct UnixSeqpacket;

const CAPABILITIES: Capabilities = Capabilities {
    name: "unix-seqpacket",
    summary: "a Unix socket bound to a path that keeps messages apart",
    connects: true,
    delivery: Delivery::Message,
    os: &["linux"],
    option_groups: &[OptionGroup::Socket, OptionGroup::Calling, OptionGroup::Listener],
    ..Capabilities::PLAIN
};

impl Transport for UnixSeqpacket {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), String> {
        packet_socket()
            .map(drop)
            .map_err(|error| format!("this system has no Unix sockets that keep messages apart ({error})"))
    }

    fn fits(&self, cell: &Cell) -> Result<(), String> {
        message_fits(cell)
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        capacity::unix(cell)
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, TransportError> {
        free_path(place)
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, TransportError> {
        serve_at_path(CAPABILITIES.name, packet_socket, address, cell)
    }

    fn reach(&self, address: &Address, cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, TransportError> {
        reach_path(CAPABILITIES.name, packet_socket, address, cell)
    }
}
