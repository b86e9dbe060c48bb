//! `udp`: datagrams over IPv4's loopback (`udp(7)`), and the parts common to both IP versions.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, Delivery, OptionGroup, choices};

use super::inherited::of_worker;
use super::socket::{buffers, set_buffers};
use super::tcp::{HostPort, socket_address};
use super::{
    Client, Connection, Effective, Provision, Rendezvous, Server, Transport, Waitable, address_list,
    list_address, to_address,
};
use crate::system::channel::SocketChannel;
use crate::system::socket::Endpoint;
use crate::{Context, SysError};

/// Why datagrams have no pattern `stream`.
pub(super) const LOST: &str =
    "a datagram for which its receiver has no room is lost, and its sender is not told";

pub const UDP: Datagrams = Datagrams {
    capabilities: &Capabilities {
        name: "udp",
        summary: "datagrams over 127.0.0.1; pattern rr only, as they may be lost",
        delivery: Delivery::Message,
        no_stream: Some(LOST),
        sees_end: false,
        option_groups: &[OptionGroup::Socket, OptionGroup::Calling],
        trouble_counters: &["UdpRcvbufErrors", "UdpSndbufErrors", "UdpMemErrors"],
        ..Capabilities::PLAIN
    },
    loopback: IpAddr::V4(Ipv4Addr::LOCALHOST),
    // 65 535 bytes without both headers.
    largest: 65_507,
};

/// Datagrams over an IP version.
pub struct Datagrams {
    pub(super) capabilities: &'static Capabilities,
    pub(super) loopback: IpAddr,
    /// The largest datagram, bytes.
    pub(super) largest: u64,
}

impl Transport for Datagrams {
    fn capabilities(&self) -> &'static Capabilities {
        self.capabilities
    }

    fn probe(&self) -> Result<(), SysError> {
        let socket = UdpSocket::bind((self.loopback, 0));
        let reached = socket.and_then(|socket| socket.connect(socket.local_addr()?));
        reached.context(|| format!("loopback at {} cannot be used", self.loopback))
    }

    fn fits(&self, cell: &Cell) -> Result<(), SysError> {
        let (bytes, most) = (largest_message(cell), self.largest);
        if bytes <= most {
            return Ok(());
        }
        let limit = format!(" into a datagram, which holds {most} bytes at most");
        Err(SysError::TooLarge { bytes, limit, remedy: format!("give --sizes {most} or less") })
    }

    /// A free port for every worker.
    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        let any = |_| HostPort { host: self.loopback.to_string(), port: 0 };
        let all: Vec<HostPort> = (0..place.cell.concurrency).map(any).collect();
        Ok(Provision { server: list_address(&all), ..Provision::default() })
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        Ok(Box::new(UdpServer::new(self.capabilities.name, address, cell)?))
    }

    fn reach(&self, address: &Address, cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        let transport = self.capabilities.name;
        let place = of_worker(address_list::<HostPort>(transport, address)?, worker)?;
        let to = socket_address(transport, &to_address(&place))?;
        Ok(Box::new(UdpClient { to, cell: cell.clone(), effective: Vec::new() }))
    }
}

/// Bytes of the largest message of a cell.
pub(super) fn largest_message(cell: &Cell) -> u64 {
    let newline = u64::from(cell.options.framing() == Some(choices::Framing::Newline));
    (cell.size + newline).max(cell.reply)
}

/// Binds a socket with a cell's buffers.
fn bound(at: SocketAddr, cell: &Cell) -> Result<(UdpSocket, Vec<Effective>), SysError> {
    let socket = UdpSocket::bind(at).context(|| format!("cannot bind {at} for datagrams"))?;
    let endpoint = Endpoint::from(socket);
    set_buffers(&endpoint, cell)?;
    let effective = buffers(&endpoint, cell)?;
    Ok((endpoint.into(), effective))
}

/// Sockets that each wait for their client's first datagram, and from then on are the channel to that client.
struct UdpServer {
    address: Address,
    waiting: Vec<UdpSocket>,
    effective: Vec<Effective>,
}

impl UdpServer {
    fn new(transport: &'static str, address: &Address, cell: &Cell) -> Result<Self, SysError> {
        let mut server = Self { address: Address::new(), waiting: Vec::new(), effective: Vec::new() };
        let mut places = Vec::new();
        for place in address_list::<HostPort>(transport, address)? {
            let at = socket_address(transport, &to_address(&place))?;
            let (socket, effective) = bound(at, cell)?;
            let action = || "cannot set up a socket for datagrams".to_owned();
            socket.set_nonblocking(true).context(action)?;
            let at = socket.local_addr().context(action)?;
            places.push(HostPort { host: at.ip().to_string(), port: at.port() });
            server.waiting.push(socket);
            server.effective = effective;
        }
        server.address = list_address(&places);
        Ok(server)
    }
}

impl Server for UdpServer {
    fn address(&self) -> Address {
        self.address.clone()
    }

    fn try_accept(&mut self) -> Result<Option<Connection>, SysError> {
        let action = || "cannot receive the first datagram of a client".to_owned();
        for index in 0..self.waiting.len() {
            match self.waiting[index].recv_from(&mut [0; 1]) {
                Ok((_, from)) => {
                    let socket = self.waiting.remove(index);
                    socket.connect(from).and_then(|()| socket.set_nonblocking(false)).context(action)?;
                    return Ok(Some(SocketChannel(socket.into()).into()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error).context(action)?,
            }
        }
        Ok(None)
    }

    fn accept(&self) -> io::Result<Connection> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn waiting(&self) -> Option<Waitable<'_>> {
        None
    }

    fn effective(&self) -> Vec<Effective> {
        self.effective.clone()
    }
}

/// One worker's socket; its first datagram tells the server its address.
struct UdpClient {
    to: SocketAddr,
    cell: Cell,
    effective: Vec<Effective>,
}

impl Client for UdpClient {
    fn connect(&mut self) -> Result<Connection, SysError> {
        let (socket, effective) = bound(SocketAddr::new(self.to.ip(), 0), &self.cell)?;
        let told = socket.connect(self.to).and_then(|()| socket.send(b"c"));
        told.context(|| format!("cannot reach {} with datagrams", self.to))?;
        self.effective = effective;
        Ok(SocketChannel(socket.into()).into())
    }

    fn effective(&self) -> Vec<Effective> {
        self.effective.clone()
    }
}
