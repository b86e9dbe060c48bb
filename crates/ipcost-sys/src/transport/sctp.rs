//! `sctp`: reliable, ordered messages over IPv4's loopback (`sctp(7)`, one association per socket).

use std::net::{IpAddr, Ipv4Addr};

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, Delivery, OptionGroup};

use super::tcp::{TcpClient, any_port, serve};
use super::unix::message_fits;
use super::{Client, Provision, Rendezvous, Server, Transport, capacity};
use crate::system::more_sockets::sctp_socket;
use crate::{Context, SysError};

pub struct Sctp;

const CAPABILITIES: Capabilities = Capabilities {
    name: "sctp",
    summary: "SCTP over 127.0.0.1, which keeps messages apart",
    connects: true,
    delivery: Delivery::Message,
    os: &["linux"],
    option_groups: &[OptionGroup::Socket, OptionGroup::Calling, OptionGroup::Listener],
    ..Capabilities::PLAIN
};

impl Transport for Sctp {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        sctp_socket().or_absent("there is no SCTP here", "; modprobe sctp")
    }

    fn fits(&self, cell: &Cell) -> Result<(), SysError> {
        message_fits(cell)
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        capacity::unix(cell)
    }

    fn provision(&self, _place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        Ok(any_port(IpAddr::V4(Ipv4Addr::LOCALHOST)))
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        serve(&CAPABILITIES, sctp_socket, address, cell)
    }

    fn reach(&self, address: &Address, cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, SysError> {
        Ok(Box::new(TcpClient::new(&CAPABILITIES, sctp_socket, address, cell, None)?))
    }
}
