//! `mptcp`: Multipath TCP over IPv4's loopback (`mptcp(7)`), with its single path.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell};

use super::tcp::{OPTION_GROUPS, Sources, TcpClient, any_port, serve};
use super::{Client, Provision, Rendezvous, Server, Transport, capacity};
use crate::system::more_sockets::mptcp_socket;
use crate::{Context, SysError};

pub struct Mptcp;

const CAPABILITIES: Capabilities = Capabilities {
    name: "mptcp",
    summary: "Multipath TCP over 127.0.0.1, with a single path",
    connects: true,
    os: &["linux"],
    option_groups: OPTION_GROUPS,
    trouble_counters: &["ListenOverflows", "ListenDrops", "TCPTimeouts"],
    ..Capabilities::PLAIN
};

impl Transport for Mptcp {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        let socket = mptcp_socket();
        let remedy = match &socket {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => "",
            _ => "; it takes Linux 5.6 or later with sysctl -w net.mptcp.enabled=1",
        };
        socket.or_absent("there is no Multipath TCP here", remedy)
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        capacity::tcp(cell)
    }

    fn provision(&self, _place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        Ok(any_port(IpAddr::V4(Ipv4Addr::LOCALHOST)))
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        serve(&CAPABILITIES, mptcp_socket, address, cell)
    }

    fn reach(&self, address: &Address, cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        let sources = Sources::of_worker(cell, worker);
        Ok(Box::new(TcpClient::new(&CAPABILITIES, mptcp_socket, address, cell, sources)?))
    }
}
