//! Transports: how bytes travel between two processes of one machine.
//!
//! A transport is one file and one line in [`REGISTRY`]. Its abilities are data ([`Capabilities`]); nothing else in the
//! workspace depends on its name. Its life in a cell:
//!
//! 1. The engine calls [`Transport::provision`], which creates what must exist before either process starts.
//! 2. The server calls [`Transport::serve`]; the engine passes the resulting address to the client.
//! 3. The client calls [`Transport::reach`] and connects; the server accepts.
//! 4. Both move bytes over [`Channel`]s.
//!
//! Floors are in the same registry: instead of moving messages they do a [`FloorPartLoop`] of a hop, named by
//! [`Capabilities::floor`].

mod cacheline;
mod capacity;
mod cma;
mod eventfd;
mod fifo;
mod hand_over;
mod inherited;
mod memcpy;
mod memfd;
mod mptcp;
mod mq;
mod npipe;
mod null;
mod part;
mod pipe;
mod sctp;
mod shm;
mod shm_slot;
mod socket;
mod socketpair;
pub(crate) mod spinning;
mod switch;
mod syscall;
mod tcp;
mod tcp6;
pub mod tls;
mod udp;
mod udp6;
mod unix;
mod unix_abstract;
mod unix_dgram;
mod unix_seqpacket;
mod vsock;

use std::io;
use std::path::Path;

use ipcost_model::choices::{Io, PipeSend};
use ipcost_model::protocol::{Address, PeerRole};
use ipcost_model::{Capabilities, Cell, OptionGroup, TransportState, choices};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use self::memcpy::Copier;
pub use self::part::{FloorPartLoop, HandOver};
pub use self::tcp::{elsewhere, lacks_congestion, usual_congestion};
use crate::contract::Pieces;
use crate::system::calling;
use crate::system::channel::{PipePair, SocketChannel};
pub use crate::system::descriptor::{Descriptor, Waitable};
use crate::system::{pieces, vmsplice};
use crate::{Context, SysError};

/// Every transport, in the order of tables and help texts.
pub const REGISTRY: &[&dyn Transport] = &[
    &pipe::Pipe,
    &fifo::Fifo,
    &npipe::Npipe,
    &unix::UNIX,
    &unix_abstract::UnixAbstract,
    &unix_seqpacket::UNIX_SEQPACKET,
    &unix_dgram::UnixDgram,
    &socketpair::Socketpair,
    &tcp::TCP,
    &tcp6::TCP6,
    &tls::TCP,
    &tls::UNIX,
    &mptcp::MPTCP,
    &sctp::SCTP,
    &vsock::Vsock,
    &udp::UDP,
    &udp6::UDP6,
    &mq::Mq,
    &eventfd::Eventfd,
    &shm::Shm,
    &shm_slot::ShmSlot,
    &cma::Cma,
    &memfd::Memfd,
    &null::Null,
    &syscall::Syscall,
    &switch::Switch,
    &cacheline::Cacheline,
    &memcpy::Memcpy,
];

/// Whether a transport goes through the network: only these have TCP's options.
pub fn uses_tcp(name: &str) -> bool {
    find(name).is_some_and(|known| known.capabilities().option_groups.contains(&OptionGroup::Tcp))
}

pub fn find(name: &str) -> Option<&'static dyn Transport> {
    REGISTRY.iter().find(|transport| transport.capabilities().name == name).copied()
}

/// Whether this machine supports a cell's demands on its transport and its way of calling.
pub fn fits(cell: &Cell) -> Result<(), SysError> {
    other_io(cell).map_or(Ok(()), calling::probe)?;
    fits_pieces(cell)?;
    if let Some(by) = lent_by(cell).filter(|_| !vmsplice::EXISTS) {
        return Err(SysError::LinuxAlone { option: "pipe_send", value: by.name() });
    }
    find(&cell.transport).map_or(Ok(()), |known| known.fits(cell))
}

/// Why this machine cannot meet what a cell's options ask of its transport, and what to do about it; `None` if it can.
pub fn lacks(cell: &Cell) -> Option<String> {
    lacks_congestion(cell.options.tcp_congestion()?)
}

/// How a cell's sockets call the system, if otherwise than by blocking in `read` and `write`.
fn other_io(cell: &Cell) -> Option<Io> {
    cell.options.io().filter(|io| *io != Io::Blocking)
}

/// How a side of a cell sends each message: in one call unless the options `writes`, `writes_by` and `join` say otherwise.
fn pieces_of(cell: &Cell, role: PeerRole) -> Option<Pieces> {
    let count = cell.options.writes().filter(|count| *count > 1)? as usize;
    let other = match role {
        PeerRole::Client => choices::WritesBy::Server,
        PeerRole::Server => choices::WritesBy::Client,
    };
    if cell.options.writes_by() == Some(other) {
        return None;
    }
    Some(Pieces { count, join: cell.options.join().unwrap_or(choices::Join::None) })
}

fn fits_pieces(cell: &Cell) -> Result<(), SysError> {
    let (options, in_pieces) = (&cell.options, cell.options.writes().is_some_and(|count| count > 1));
    if !in_pieces {
        let alone = ["join", "writes_by"].into_iter().find(|name| options.get(name).is_some());
        return alone.map_or(Ok(()), |option| Err(SysError::FewWrites(option)));
    }
    supported(pieces::LACKS)?;
    if other_io(cell).is_some() {
        return Err(SysError::Invalid("writes takes io=blocking"));
    }
    match options.join() {
        Some(choices::Join::Cork) if !uses_tcp(&cell.transport) => {
            Err(SysError::Invalid("join=cork exists for TCP alone"))
        }
        _ => Ok(()),
    }
}

/// Whether this system has something, by why it lacks it.
fn supported(lacks: Option<&'static str>) -> Result<(), SysError> {
    lacks.map_or(Ok(()), |why| Err(SysError::Unsupported(why)))
}

/// How a cell lends its pages to pipes, if it does not copy (`write`).
fn lent_by(cell: &Cell) -> Option<PipeSend> {
    cell.options.pipe_send().filter(|by| *by != PipeSend::Write)
}

/// Every transport, with whether it works here.
pub fn states() -> Vec<TransportState> {
    REGISTRY
        .iter()
        .map(|transport| TransportState {
            capabilities: transport.capabilities(),
            unavailable: transport.probe().err().map(|error| error.to_string()),
        })
        .collect()
}

/// The contract of one transport.
pub trait Transport: Sync {
    fn capabilities(&self) -> &'static Capabilities;

    /// Whether it works here.
    fn probe(&self) -> Result<(), SysError> {
        Ok(())
    }

    /// Whether it can meet a cell's demands here, such as its message size.
    fn fits(&self, _cell: &Cell) -> Result<(), SysError> {
        Ok(())
    }

    /// The most bytes in flight between the two sides of a cell here; `None` if unknown.
    fn capacity_bytes(&self, _cell: &Cell) -> Option<u64> {
        None
    }

    /// Creates what must exist before either process starts; called by the engine.
    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError>;

    /// Sets up the server's end; connections are accepted later.
    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError>;

    /// Sets up the client's end for worker number `worker`, from 0; connects nothing yet.
    fn reach(&self, address: &Address, cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError>;
}

/// Where the engine lets a transport put its files and names.
#[derive(Debug, Clone, Copy)]
pub struct Rendezvous<'a> {
    pub dir: &'a Path,
    /// A name that is unique among the run's current cells; letters, digits and `-`.
    pub name: &'a str,
    pub cell: &'a Cell,
}

/// What the engine made for a cell.
#[derive(Debug, Default)]
pub struct Provision {
    /// The server's address object.
    pub server: Address,
    /// The client's address object; `None` for the address that the server returns.
    pub client: Option<Address>,
    /// Descriptors that the server inherits, under the same numbers as here.
    pub server_inherits: Vec<Descriptor>,
    /// Descriptors that the client inherits, under the same numbers as here.
    pub client_inherits: Vec<Descriptor>,
    pub effective: Vec<Effective>,
}

/// The server's end of a cell.
pub trait Server: Sync + Send {
    fn address(&self) -> Address;

    /// The next channel, if one is ready; never waits.
    fn try_accept(&mut self) -> Result<Option<Connection>, SysError>;

    /// Waits for the next connection; several workers may call it at once; only for transports that connect.
    fn accept(&self) -> io::Result<Connection>;

    /// The same, but skips connections from other users if the system identifies them; outside the timed part.
    fn accept_known(&self) -> io::Result<Connection> {
        self.accept()
    }

    /// Becomes readable when a channel may be ready; `None` if the caller must poll.
    fn waiting(&self) -> Option<Waitable<'_>>;

    fn effective(&self) -> Vec<Effective> {
        Vec::new()
    }
}

/// One client worker's end of a cell.
pub trait Client: Send {
    fn connect(&mut self) -> Result<Connection, SysError>;

    /// How many attempts were repeated because the listener's queue was full.
    fn retries(&self) -> u64 {
        0
    }

    /// Effective option values; known once connected, and never in pattern `connect`, where they would cost every
    /// connection a call.
    fn effective(&self) -> Vec<Effective> {
        Vec::new()
    }
}

/// A two-way stream of bytes.
pub trait Channel: Send {
    /// Sends some of the bytes; returns how many.
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Receives some bytes; returns how many, 0 at the end.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Whether received bytes will be checked: a channel that can read them in place then copies them.
    fn expect_checks(&mut self, _checked: bool) {}

    /// Sends at once what the transport holds back to send it with more, if it does so and can be told.
    fn push(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An open channel. Descriptors have their own variants, so that opening one allocates nothing; rings too, as a message
/// over them takes less time than a dynamic call.
pub enum Connection {
    Socket(SocketChannel),
    Pipes(PipePair),
    /// Two rings in shared memory.
    Rings(shm::RingEnds),
    /// A slot in shared memory.
    Slot(shm_slot::SlotSide),
    /// Not a channel but a part of a hop, for floors.
    FloorPart(FloorPartLoop),
    Other(Box<dyn Channel>),
}

impl Connection {
    /// The same channel with the way of calling that the cell asks for on a side; pattern `connect` ignores it.
    pub fn called_as(self, cell: &Cell, role: PeerRole) -> Result<Self, SysError> {
        let channel = match (self, pieces_of(cell, role), other_io(cell), lent_by(cell)) {
            (Self::Socket(socket), Some(count), _, _) => pieces::over(socket, count),
            (Self::Socket(socket), None, Some(io), _) => calling::over(socket, io),
            (Self::Pipes(pipes), _, _, Some(by)) => vmsplice::over(pipes, by),
            (connection, ..) => return Ok(connection),
        };
        Ok(Self::Other(channel.context(|| "cannot set up other calls".to_owned())?))
    }
}

impl Channel for Connection {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => socket.send(bytes),
            Self::Pipes(pipes) => pipes.send(bytes),
            Self::Rings(rings) => rings.send(bytes),
            Self::Slot(slot) => slot.send(bytes),
            Self::FloorPart(_) => Err(io::ErrorKind::Unsupported.into()),
            Self::Other(channel) => channel.send(bytes),
        }
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => socket.receive(buffer),
            Self::Pipes(pipes) => pipes.receive(buffer),
            Self::Rings(rings) => rings.receive(buffer),
            Self::Slot(slot) => slot.receive(buffer),
            Self::FloorPart(_) => Err(io::ErrorKind::Unsupported.into()),
            Self::Other(channel) => channel.receive(buffer),
        }
    }

    fn expect_checks(&mut self, checked: bool) {
        match self {
            // These copy in either case.
            Self::Socket(_) | Self::Pipes(_) | Self::Slot(_) | Self::FloorPart(_) => {}
            Self::Rings(rings) => rings.expect_checks(checked),
            Self::Other(channel) => channel.expect_checks(checked),
        }
    }

    fn push(&mut self) -> io::Result<()> {
        match self {
            Self::Socket(socket) => socket.push(),
            Self::Other(channel) => channel.push(),
            Self::Pipes(_) | Self::Rings(_) | Self::Slot(_) | Self::FloorPart(_) => Ok(()),
        }
    }
}

impl From<SocketChannel> for Connection {
    fn from(socket: SocketChannel) -> Self {
        Self::Socket(socket)
    }
}

impl From<FloorPartLoop> for Connection {
    fn from(part: FloorPartLoop) -> Self {
        Self::FloorPart(part)
    }
}

impl From<PipePair> for Connection {
    fn from(pipes: PipePair) -> Self {
        Self::Pipes(pipes)
    }
}

/// An option's requested value and the kernel's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    pub name: &'static str,
    pub asked: u64,
    /// The effective value, in the same unit.
    pub became: u64,
}

/// Writes a transport's address as the protocol's object.
fn to_address(address: &impl Serialize) -> Address {
    match serde_json::to_value(address) {
        Ok(Value::Object(address)) => address,
        other => unreachable!("an address is an object of plain values: {other:?}"),
    }
}

/// Reads a transport's address from the protocol's object.
fn from_address<T: DeserializeOwned>(transport: &'static str, address: &Address) -> Result<T, SysError> {
    serde_json::from_value(Value::Object(address.clone())).map_err(|error| SysError::Address {
        transport,
        address: Value::Object(address.clone()).to_string(),
        reason: error.to_string(),
    })
}

/// Lists the addresses for transports that need one per worker: the object itself, then those under `more`.
fn address_list<T: DeserializeOwned>(transport: &'static str, address: &Address) -> Result<Vec<T>, SysError> {
    let mut list = vec![from_address(transport, address)?];
    match address.get("more") {
        None => {}
        Some(Value::Array(more)) => {
            for entry in more {
                let entry = entry.as_object().cloned().unwrap_or_default();
                list.push(from_address(transport, &entry)?);
            }
        }
        Some(other) => {
            return Err(SysError::Address {
                transport,
                address: other.to_string(),
                reason: "\"more\" must be a list of addresses".to_owned(),
            });
        }
    }
    Ok(list)
}

/// The inverse of [`address_list`].
fn list_address<T: Serialize>(addresses: &[T]) -> Address {
    let mut list = addresses.iter().map(to_address);
    let mut first = list.next().unwrap_or_default();
    let more: Vec<Value> = list.map(Value::Object).collect();
    if !more.is_empty() {
        first.insert("more".to_owned(), Value::Array(more));
    }
    first
}

#[cfg(test)]
pub(crate) mod tests;
