//! `tcp`: TCP over IPv4's loopback (`tcp(7)`, `ip(7)`).

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, Delivery, OptionGroup, Pattern};
use serde::{Deserialize, Serialize};

use super::socket::{Inherits, Make, SocketListener, buffers, set_buffers};
use super::unix::message_fits;
use super::{
    Client, Connection, Effective, Provision, Rendezvous, Server, Transport, capacity, from_address,
    to_address,
};
use crate::system::channel::SocketChannel;
use crate::system::congestion::{congestion, set_congestion};
use crate::system::socket::{
    AddressFamily, Endpoint, claim_port, connect_patiently, local_address, set_nodelay, stream_socket,
};
use crate::system::source_address::bind_source;
use crate::{Context, SysError};

/// A port that may or may not be in use.
const ANY_PORT: u16 = 9;

/// What can be set of TCP over IPv4, whatever its paths.
pub(super) const OPTION_GROUPS: &[OptionGroup] = &[
    OptionGroup::Socket,
    OptionGroup::Calling,
    OptionGroup::Writing,
    OptionGroup::Listener,
    OptionGroup::Tcp,
    OptionGroup::Lasting,
    OptionGroup::SourceAddresses,
];

pub const TCP: LoopbackStream = LoopbackStream {
    capabilities: &Capabilities {
        name: "tcp",
        summary: "TCP over 127.0.0.1",
        connects: true,
        option_groups: OPTION_GROUPS,
        trouble_counters: &["ListenOverflows", "ListenDrops", "TCPTimeouts"],
        in_default_suite: true,
        ..Capabilities::PLAIN
    },
    loopback: IpAddr::V4(Ipv4Addr::LOCALHOST),
    make: stream_of_inet,
    probe: || {
        // Without the interface the address exists but is unreachable; a UDP socket detects this and sends nothing.
        let reached = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|socket| socket.connect((Ipv4Addr::LOCALHOST, ANY_PORT)));
        reached.context(|| "IPv4 loopback cannot be used".to_owned())
    },
};

#[derive(Serialize, Deserialize)]
pub(super) struct HostPort {
    pub(super) host: String,
    pub(super) port: u16,
}

/// A transport whose sockets have addresses as TCP's, of loopback.
pub struct LoopbackStream {
    pub(super) capabilities: &'static Capabilities,
    pub(super) loopback: IpAddr,
    pub(super) make: Make,
    pub(super) probe: fn() -> Result<(), SysError>,
}

impl LoopbackStream {
    fn takes(&self, group: OptionGroup) -> bool {
        self.capabilities.option_groups.contains(&group)
    }

    /// Whether its sockets set `TCP_NODELAY`, as TCP's do if the cell says so.
    fn sets_nodelay(&self, cell: &Cell) -> bool {
        self.takes(OptionGroup::Tcp) && cell.options.sets_nodelay(cell.pattern)
    }
}

impl Transport for LoopbackStream {
    fn capabilities(&self) -> &'static Capabilities {
        self.capabilities
    }

    fn probe(&self) -> Result<(), SysError> {
        (self.probe)()
    }

    fn fits(&self, cell: &Cell) -> Result<(), SysError> {
        if self.capabilities.delivery == Delivery::Message { message_fits(cell) } else { Ok(()) }
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        if self.takes(OptionGroup::Tcp) { capacity::tcp(cell) } else { capacity::unix(cell) }
    }

    /// Any free port.
    fn provision(&self, _place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        let server = to_address(&HostPort { host: self.loopback.to_string(), port: 0 });
        Ok(Provision { server, ..Provision::default() })
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        let at = socket_address(self.capabilities.name, address)?;
        let nodelay = self.sets_nodelay(cell);
        let congestion = asked_congestion(cell);
        // Accepted connections inherit the listener's options, so accepting costs no further calls.
        let prepare = |socket: &Endpoint| {
            claim_port(socket)
                .and_then(|()| if nodelay { set_nodelay(socket) } else { Ok(()) })
                .and_then(|()| congestion.map_or(Ok(()), |name| set_congestion(socket, &name)))
                .context(|| "cannot set TCP options".to_owned())
        };
        let name = |socket: &Endpoint| {
            let bound = local_address(socket)?;
            Ok(to_address(&HostPort { host: bound.ip().to_string(), port: bound.port() }))
        };
        let (socket, shown) = ((self.make)(), at.to_string());
        Ok(Box::new(SocketListener::open(socket, Inherits::Buffers, &at, &shown, cell, prepare, name)?))
    }

    fn reach(&self, address: &Address, cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        let spreads = self.takes(OptionGroup::SourceAddresses);
        Ok(Box::new(TcpClient {
            transport: self.capabilities.name,
            make: self.make,
            to: socket_address(self.capabilities.name, address)?,
            nodelay: self.sets_nodelay(cell),
            congestion: asked_congestion(cell),
            sources: spreads.then(|| Sources::of_worker(cell, worker)).flatten(),
            cell: cell.clone(),
            retries: 0,
            effective: Vec::new(),
        }))
    }
}

fn stream_of_inet() -> io::Result<Endpoint> {
    stream_socket(AddressFamily::INET)
}

/// The congestion control that connections here use unless they choose another; `None` if the system does not name it.
pub fn usual_congestion() -> Option<String> {
    stream_of_inet().and_then(|socket| congestion(&socket)).ok()
}

/// Why connections cannot use this congestion control here, and what to do about it; `None` if they can.
pub fn lacks_congestion(name: &str) -> Option<String> {
    let error = stream_of_inet().and_then(|socket| set_congestion(&socket, name)).err()?;
    Some(match error.kind() {
        io::ErrorKind::NotFound => format!(
            "the kernel has no congestion control {name}; load its module (modprobe tcp_{name}), or take one of net.ipv4.tcp_available_congestion_control"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "only root may use congestion control {name} here; add it to net.ipv4.tcp_allowed_congestion_control"
        ),
        _ => format!("congestion control {name} cannot be used: {error}"),
    })
}

/// The congestion control that a cell asks for.
fn asked_congestion(cell: &Cell) -> Option<String> {
    cell.options.tcp_congestion().map(str::to_owned)
}

/// A client of a server that is on no loopback address, for callers whose user has asked for just that one.
///
/// Transports themselves reach nothing there.
pub fn elsewhere(to: SocketAddr, nodelay: bool) -> Box<dyn Client> {
    let (make, transport): (Make, _) = match to.is_ipv4() {
        true => (|| stream_socket(AddressFamily::INET), "tcp"),
        false => (|| stream_socket(AddressFamily::INET6), "tcp6"),
    };
    // Pattern connect alone accepts another user's server.
    let cell = Cell::new(Pattern::Connect, transport, 1);
    Box::new(TcpClient {
        transport,
        make,
        to,
        nodelay,
        congestion: None,
        sources: None,
        cell,
        retries: 0,
        effective: Vec::new(),
    })
}

/// Reads an address and refuses any outside loopback: nothing is ever measured, or offered, beyond it.
pub(super) fn socket_address(transport: &'static str, address: &Address) -> Result<SocketAddr, SysError> {
    let HostPort { host, port } = from_address(transport, address)?;
    let wrong = |reason: &str| SysError::Address {
        transport,
        address: format!("{host}:{port}"),
        reason: reason.to_owned(),
    };
    let ip: IpAddr = host.parse().map_err(|_| wrong("host is not an IP address"))?;
    if !ip.is_loopback() {
        return Err(wrong("host is not a loopback address"));
    }
    Ok(SocketAddr::new(ip, port))
}

/// Source addresses all over 127.0.0.0/8.
///
/// Two addresses and two ports identify a connection. Towards one listener, one source address has about 28 000 ports,
/// and if this side closes first, each stays in use for a minute.
struct Sources {
    next: u32,
    uses_left: u32,
}

/// Connections from one source address before the next one's turn: far fewer than it has ports.
const USES_OF_A_SOURCE: u32 = 256;
/// How many sources in a row may run out of ports before that is an error.
const MOST_SOURCES_TRIED: u32 = 16;
/// 127.1.0.0 to 127.255.255.255: outside 127.0.0.0/16, where other services listen.
const FIRST_SOURCE: u32 = 0x7f01_0000;
const SOURCES: u32 = 0x00ff_0000;

impl Sources {
    /// A worker's sources, if the cell spreads them. Workers and processes start far apart, so that they seldom meet.
    fn of_worker(cell: &Cell, worker: u32) -> Option<Self> {
        if cell.pattern != Pattern::Connect || cell.options.spread_sources() == Some(false) {
            return None;
        }
        let start = std::process::id().wrapping_mul(0x9E37_79B9) ^ worker.wrapping_mul(0x85EB_CA6B);
        Some(Self { next: start % SOURCES, uses_left: USES_OF_A_SOURCE })
    }

    fn next(&mut self) -> Ipv4Addr {
        if self.uses_left == 0 {
            self.advance();
        }
        self.uses_left -= 1;
        // Neither 127.x.y.0 nor 127.x.y.255 is special on loopback.
        Ipv4Addr::from_bits(FIRST_SOURCE + self.next)
    }

    fn advance(&mut self) {
        self.uses_left = USES_OF_A_SOURCE;
        self.next = (self.next + 1) % SOURCES;
    }
}

/// One worker that connects over TCP, or a protocol with the same addresses.
struct TcpClient {
    transport: &'static str,
    make: Make,
    to: SocketAddr,
    nodelay: bool,
    congestion: Option<String>,
    sources: Option<Sources>,
    cell: Cell,
    retries: u64,
    effective: Vec<Effective>,
}

impl TcpClient {
    #[inline]
    fn prepare(&mut self, socket: &Endpoint) -> io::Result<()> {
        if self.nodelay {
            set_nodelay(socket)?;
        }
        if let Some(name) = &self.congestion {
            set_congestion(socket, name)?;
        }
        if let Some(sources) = &mut self.sources {
            bind_source(socket, sources.next())?;
        }
        Ok(())
    }

    fn explain(&self, error: io::Error) -> SysError {
        if error.kind() != io::ErrorKind::AddrNotAvailable {
            let action = format!("cannot connect to {}", self.to);
            return SysError::Call { action, source: error };
        }
        SysError::NoPort { transport: self.transport, to: self.to }
    }
}

impl Client for TcpClient {
    #[inline]
    fn connect(&mut self) -> Result<Connection, SysError> {
        let mut sources_left = MOST_SOURCES_TRIED;
        loop {
            let socket = (self.make)().context(|| "cannot make a socket".to_owned())?;
            self.prepare(&socket).context(|| "cannot set up a TCP socket".to_owned())?;
            set_buffers(&socket, &self.cell)?;
            let error = match connect_patiently(&socket, &self.to, &mut self.retries) {
                Ok(()) => {
                    if self.cell.pattern != Pattern::Connect {
                        self.effective = buffers(&socket, &self.cell)?;
                    }
                    return Ok(SocketChannel(socket).into());
                }
                Err(error) => error,
            };
            match &mut self.sources {
                // Few ports, or many other connections from there: the next source has its own.
                Some(sources) if error.kind() == io::ErrorKind::AddrNotAvailable && sources_left > 0 => {
                    sources.advance()
                }
                _ => return Err(self.explain(error)),
            }
            sources_left -= 1;
        }
    }

    fn retries(&self) -> u64 {
        self.retries
    }

    fn effective(&self) -> Vec<Effective> {
        self.effective.clone()
    }
}
