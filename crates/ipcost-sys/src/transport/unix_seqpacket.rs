//! `unix-seqpacket`: a socket that connects and keeps messages apart, bound to a path (`unix(7)`).

use ipcost_model::protocol::Address;
use ipcost_model::units::size_text;
use ipcost_model::{Capabilities, Cell, Delivery, OptionGroup};

use super::unix::{free_path, reach_path, serve_at_path};
use super::{Client, Place, Provision, Server, Transport, TransportError, capacity};
use crate::system::socket::packet_socket;

/// The transport.
pub struct UnixSeqpacket;

const CAPABILITIES: Capabilities = Capabilities {
    name: "unix-seqpacket",
    summary: "a Unix socket bound to a path that keeps messages apart",
    connects: true,
    both_ways: true,
    delivery: Delivery::Message,
    os: &["linux"],
    carries_payload: true,
    option_groups: &[OptionGroup::Socket, OptionGroup::Listener],
    trouble_counters: &[],
    in_default_suite: false,
    floor: None,
};

/// What the kernel keeps of a send buffer for itself (`unix_dgram_sendmsg` of Linux), bytes.
const OWN_BYTES: u64 = 32;

impl Transport for UnixSeqpacket {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), String> {
        packet_socket()
            .map(drop)
            .map_err(|error| format!("this system has no Unix sockets that keep messages apart ({error})"))
    }

    /// A message goes as a whole, or not at all: it must fit into the sender's buffer.
    fn fits(&self, cell: &Cell) -> Result<(), String> {
        let Some(most) = capacity::unix(cell).map(|bytes| bytes.saturating_sub(OWN_BYTES)) else {
            return Ok(());
        };
        let newline = u64::from(cell.options.text("framing") == Some("newline"));
        let largest = (cell.size + newline).max(cell.reply);
        if largest <= most {
            return Ok(());
        }
        Err(format!(
            "a message of {} does not fit: the send buffer takes {} here; give --option so_sndbuf={buffer}, after sysctl -w net.core.wmem_max={buffer} where that is less",
            size_text(largest),
            size_text(most),
            buffer = (largest + OWN_BYTES).div_ceil(2).next_multiple_of(1024)
        ))
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        capacity::unix(cell)
    }

    fn provision(&self, place: &Place<'_>) -> Result<Provision, TransportError> {
        free_path(place)
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, TransportError> {
        serve_at_path(CAPABILITIES.name, packet_socket, address, cell)
    }

    fn reach(&self, address: &Address, cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, TransportError> {
        reach_path(CAPABILITIES.name, packet_socket, address, cell)
    }
}
