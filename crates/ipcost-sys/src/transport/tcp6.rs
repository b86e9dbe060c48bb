//! `tcp6`: TCP over IPv6's loopback.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, OptionGroup};

use super::tcp::{TcpClient, any_port, serve};
use super::{Client, Provision, Rendezvous, Server, Transport, capacity};
use crate::system::socket::{AddressFamily, Endpoint, bind, stream_socket};
use crate::{Context, SysError};

pub struct Tcp6;

const CAPABILITIES: Capabilities = Capabilities {
    name: "tcp6",
    summary: "TCP over ::1",
    connects: true,
    option_groups: &[
        OptionGroup::Socket,
        OptionGroup::Calling,
        OptionGroup::Writing,
        OptionGroup::Listener,
        OptionGroup::Tcp,
        OptionGroup::Lasting,
    ],
    trouble_counters: &["ListenOverflows", "ListenDrops", "TCPTimeouts"],
    ..Capabilities::PLAIN
};

impl Transport for Tcp6 {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        let loopback = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 0);
        stream_of_inet6()
            .and_then(|socket| bind(&socket, &loopback))
            .context(|| "IPv6 loopback cannot be used".to_owned())
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        capacity::tcp(cell)
    }

    fn provision(&self, _place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        Ok(any_port(IpAddr::V6(Ipv6Addr::LOCALHOST)))
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        serve(&CAPABILITIES, stream_of_inet6, address, cell)
    }

    fn reach(&self, address: &Address, cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, SysError> {
        Ok(Box::new(TcpClient::new(&CAPABILITIES, stream_of_inet6, address, cell, None)?))
    }
}

fn stream_of_inet6() -> io::Result<Endpoint> {
    stream_socket(AddressFamily::INET6)
}
