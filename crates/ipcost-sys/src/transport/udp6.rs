//! `udp6`: datagrams over IPv6's loopback.

use std::net::{IpAddr, Ipv6Addr};

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, Delivery, OptionGroup};

use super::udp::{LOST, UdpClient, UdpServer, any_ports, fits, probe};
use super::{Client, Provision, Rendezvous, Server, Transport};
use crate::SysError;

pub struct Udp6;

const CAPABILITIES: Capabilities = Capabilities {
    name: "udp6",
    summary: "datagrams over ::1; pattern rr only, as they may be lost",
    delivery: Delivery::Message,
    no_stream: Some(LOST),
    sees_end: false,
    option_groups: &[OptionGroup::Socket, OptionGroup::Calling],
    trouble_counters: &["Udp6RcvbufErrors", "Udp6SndbufErrors", "Udp6MemErrors"],
    ..Capabilities::PLAIN
};

/// The largest IPv6 datagram: 65 535 without UDP's header; IPv6's length does not count its own.
const LARGEST: u64 = 65_527;

impl Transport for Udp6 {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        probe(IpAddr::V6(Ipv6Addr::LOCALHOST))
    }

    fn fits(&self, cell: &Cell) -> Result<(), SysError> {
        fits(cell, LARGEST)
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        Ok(any_ports(IpAddr::V6(Ipv6Addr::LOCALHOST), place.cell))
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        Ok(Box::new(UdpServer::new(CAPABILITIES.name, address, cell)?))
    }

    fn reach(&self, address: &Address, cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        Ok(Box::new(UdpClient::new(CAPABILITIES.name, address, cell, worker)?))
    }
}
