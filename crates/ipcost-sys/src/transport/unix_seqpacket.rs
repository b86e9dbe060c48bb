//! `unix-seqpacket`: a connection-oriented socket that preserves message boundaries, bound to a path (`unix(7)`).

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, Delivery, OptionGroup};

use super::unix::{free_path, message_fits, reach_path, serve_at_path};
use super::{Client, Provision, Rendezvous, Server, Transport, capacity};
use crate::system::socket::packet_socket;
use crate::{Context, SysError};

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

    fn probe(&self) -> Result<(), SysError> {
        packet_socket().or_absent("this system has no Unix sockets that keep messages apart", "")
    }

    fn fits(&self, cell: &Cell) -> Result<(), SysError> {
        message_fits(cell)
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        capacity::unix(cell)
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        free_path(place)
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        serve_at_path(CAPABILITIES.name, packet_socket, address, cell)
    }

    fn reach(&self, address: &Address, cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, SysError> {
        reach_path(CAPABILITIES.name, packet_socket, address, cell)
    }
}
