//! Transports: how bytes travel between two processes of one machine.
//!
//! One transport is one file and one line in [`REGISTRY`]. What it can do is data ([`Capabilities`]), and
//! nothing else in the workspace asks for its name. Its life in a cell:
//!
//! 1. The engine calls [`Transport::provision`]: what must exist before either process starts.
//! 2. The server calls [`Transport::serve`]; the address it answers travels to the client.
//! 3. The client calls [`Transport::reach`] and connects; the server accepts.
//! 4. Both move bytes over [`Channel`]s.
//!
//! Floors are in the same registry: they move no messages, but do a [`Part`] of what moving one takes, and
//! [`Capabilities::floor`] says which.

mod cacheline;
mod capacity;
mod cma;
mod eventfd;
mod fifo;
mod handing;
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
mod tls;
mod udp;
mod udp6;
mod unix;
mod unix_abstract;
mod unix_dgram;
mod unix_seqpacket;
mod vsock;

use std::io;
use std::path::Path;

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, OptionGroup, TransportState};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use self::memcpy::Copier;
pub use self::part::{HandOver, Part};
use crate::system::calling;
use crate::system::channel::{PipePair, Socket};
pub use crate::system::descriptor::{Descriptor, Waitable};
use crate::system::lending;
use crate::{Context, SysError};

/// Every transport, in the order of tables and help texts.
pub const REGISTRY: &[&dyn Transport] = &[
    &pipe::Pipe,
    &fifo::Fifo,
    &npipe::Npipe,
    &unix::Unix,
    &unix_abstract::UnixAbstract,
    &unix_seqpacket::UnixSeqpacket,
    &unix_dgram::UnixDgram,
    &socketpair::Socketpair,
    &tcp::Tcp,
    &tcp6::Tcp6,
    &tls::TCP,
    &tls::UNIX,
    &mptcp::Mptcp,
    &sctp::Sctp,
    &vsock::Vsock,
    &udp::Udp,
    &udp6::Udp6,
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

/// Whether a transport goes through the network: only such have TCP's options.
pub fn uses_tcp(name: &str) -> bool {
    find(name).is_some_and(|known| known.capabilities().option_groups.contains(&OptionGroup::Tcp))
}

/// Finds a transport by its name.
pub fn find(name: &str) -> Option<&'static dyn Transport> {
    REGISTRY.iter().find(|transport| transport.capabilities().name == name).copied()
}

/// Whether this machine has room for what a cell asks of its transport, and the way of calling that it asks for.
///
/// # Errors
/// What is lacking, and what to do about it, in one line.
pub fn fits(cell: &Cell) -> Result<(), String> {
    calling::probe(io_of(cell))?;
    lending::probe(pipe_send_of(cell))?;
    find(&cell.transport).map_or(Ok(()), |known| known.fits(cell))
}

/// The way in which a cell's sockets call the system (option `io`).
fn io_of(cell: &Cell) -> &str {
    cell.options.text("io").unwrap_or(calling::BLOCKING)
}

/// How a cell's pipes are sent to (option `pipe_send`).
fn pipe_send_of(cell: &Cell) -> &str {
    cell.options.text("pipe_send").unwrap_or(WRITE)
}

/// To copy into a pipe.
const WRITE: &str = "write";

/// Every transport with whether it can be used here.
pub fn states() -> Vec<TransportState> {
    REGISTRY
        .iter()
        .map(|transport| TransportState {
            capabilities: transport.capabilities(),
            unavailable: transport.probe().err(),
        })
        .collect()
}

/// How bytes travel: the contract of one transport.
pub trait Transport: Sync {
    /// What it can do.
    fn capabilities(&self) -> &'static Capabilities;

    /// Whether it can be used here.
    ///
    /// # Errors
    /// Why not, in one line.
    fn probe(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether it has room here for what a cell asks of it, such as messages of its size.
    ///
    /// # Errors
    /// What does not fit, which limit of this machine says so, and how to raise it, in one line.
    fn fits(&self, _cell: &Cell) -> Result<(), String> {
        Ok(())
    }

    /// The most bytes that may lie between the two sides of a cell here; `None` where that is not known.
    fn capacity_bytes(&self, _cell: &Cell) -> Option<u64> {
        None
    }

    /// Makes what must exist before either process starts; called by the engine.
    ///
    /// # Errors
    /// What could not be made.
    fn provision(&self, place: &Place<'_>) -> Result<Provision, TransportError>;

    /// Sets up the server's end; connections are accepted later.
    ///
    /// # Errors
    /// What failed.
    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, TransportError>;

    /// Sets up the client's end for one of its workers, counted from 0; nothing is connected yet.
    ///
    /// # Errors
    /// What failed.
    fn reach(&self, address: &Address, cell: &Cell, worker: u32) -> Result<Box<dyn Client>, TransportError>;
}

/// Where the engine may put what a transport needs.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// A private directory.
    pub dir: &'a Path,
    /// A name that no other cell of the run has at this moment; letters, digits and `-`.
    pub name: &'a str,
    /// The cell.
    pub cell: &'a Cell,
}

/// What the engine made for a cell.
#[derive(Debug, Default)]
pub struct Provision {
    /// What the server is told.
    pub server: Address,
    /// What the client is told; `None` where it is the address that the server answers.
    pub client: Option<Address>,
    /// Descriptors that the server inherits, under the numbers they have here.
    pub server_inherits: Vec<Descriptor>,
    /// Descriptors that the client inherits, under the numbers they have here.
    pub client_inherits: Vec<Descriptor>,
    /// What options became.
    pub effective: Vec<Effective>,
}

/// The server's end of a cell.
pub trait Server: Sync + Send {
    /// The address it really has.
    fn address(&self) -> Address;

    /// The next channel, if one is there; never waits.
    ///
    /// # Errors
    /// What failed.
    fn try_accept(&mut self) -> Result<Option<Connection>, TransportError>;

    /// Waits for the next connection; called by several workers at once, only where the transport connects.
    ///
    /// # Errors
    /// The system's answer.
    fn accept(&self) -> io::Result<Connection>;

    /// The same, past connections of other users where the system tells who connects; outside the timed part.
    ///
    /// # Errors
    /// The system's answer.
    fn accept_known(&self) -> io::Result<Connection> {
        self.accept()
    }

    /// Becomes readable when a channel may be there; `None` where one has to ask again after a moment.
    fn waiting(&self) -> Option<Waitable<'_>>;

    /// What options became.
    fn effective(&self) -> Vec<Effective> {
        Vec::new()
    }
}

/// One client worker's end of a cell.
pub trait Client: Send {
    /// Opens a channel.
    ///
    /// # Errors
    /// What failed, with the way out where one is known.
    fn connect(&mut self) -> Result<Connection, TransportError>;

    /// How often an attempt had to be repeated because the listener's queue was full.
    fn retries(&self) -> u64 {
        0
    }

    /// What options became; known once connected, and never in pattern `connect`, where it would cost every
    /// connection a call.
    fn effective(&self) -> Vec<Effective> {
        Vec::new()
    }
}

/// A two-way stream of bytes.
pub trait Channel: Send {
    /// Sends some of the bytes; how many.
    ///
    /// # Errors
    /// The system's answer; an interrupted call is repeated.
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Receives some bytes; how many, 0 at the end.
    ///
    /// # Errors
    /// The system's answer; an interrupted call is repeated.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Whether what comes now is checked: a channel whose bytes may be read where they lie copies them then.
    fn expect_checks(&mut self, _checked: bool) {}
}

/// An open channel. Those of descriptors have a place of their own, so that opening one allocates nothing, and so have rings, over
/// which a message takes less than a call that is looked up.
pub enum Connection {
    /// A socket.
    Socket(Socket),
    /// Two pipes.
    Pipes(PipePair),
    /// Two rings in shared memory.
    Rings(shm::Ends),
    /// A slot in shared memory.
    Slot(shm_slot::Side),
    /// No channel, but a part of a hop: what a floor has.
    Part(Part),
    /// Anything else.
    Other(Box<dyn Channel>),
}

impl Connection {
    /// The same channel, whose calls are those that a cell asks for; pattern `connect` leaves them as they are.
    ///
    /// # Errors
    /// The system's answer.
    pub fn called_as(self, cell: &Cell) -> Result<Self, TransportError> {
        let channel = match self {
            Self::Socket(socket) if io_of(cell) != calling::BLOCKING => calling::over(socket, io_of(cell)),
            Self::Pipes(pipes) if pipe_send_of(cell) != WRITE => lending::over(pipes, pipe_send_of(cell)),
            connection => return Ok(connection),
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
            Self::Part(_) => Err(io::ErrorKind::Unsupported.into()),
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
            Self::Part(_) => Err(io::ErrorKind::Unsupported.into()),
            Self::Other(channel) => channel.receive(buffer),
        }
    }

    fn expect_checks(&mut self, checked: bool) {
        match self {
            // What they carry is copied either way.
            Self::Socket(_) | Self::Pipes(_) | Self::Slot(_) | Self::Part(_) => {}
            Self::Rings(rings) => rings.expect_checks(checked),
            Self::Other(channel) => channel.expect_checks(checked),
        }
    }
}

impl From<Socket> for Connection {
    fn from(socket: Socket) -> Self {
        Self::Socket(socket)
    }
}

impl From<Part> for Connection {
    fn from(part: Part) -> Self {
        Self::Part(part)
    }
}

impl From<PipePair> for Connection {
    fn from(pipes: PipePair) -> Self {
        Self::Pipes(pipes)
    }
}

/// What an option was asked to be and what the kernel made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    /// The option.
    pub name: &'static str,
    /// What was asked for.
    pub asked: u64,
    /// What it became, in the same measure.
    pub became: u64,
}

/// Why a transport cannot do what was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// A system call failed.
    #[error(transparent)]
    System(#[from] SysError),
    /// The address is not one of this transport.
    #[error("the address {address} is not one of transport {transport}: {reason}")]
    Address {
        /// The transport.
        transport: &'static str,
        /// The address.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Something else, with the way out.
    #[error("{0}")]
    Refused(String),
}

/// Writes a transport's own address as the protocol's object.
fn to_address(address: &impl Serialize) -> Address {
    match serde_json::to_value(address) {
        Ok(Value::Object(address)) => address,
        other => unreachable!("an address is an object of plain values: {other:?}"),
    }
}

/// Reads a transport's own address from the protocol's object.
fn from_address<T: DeserializeOwned>(
    transport: &'static str,
    address: &Address,
) -> Result<T, TransportError> {
    serde_json::from_value(Value::Object(address.clone())).map_err(|error| TransportError::Address {
        transport,
        address: Value::Object(address.clone()).to_string(),
        reason: error.to_string(),
    })
}

/// Lists the addresses of transports that need one a worker: the object itself, then those under `more`.
fn address_list<T: DeserializeOwned>(
    transport: &'static str,
    address: &Address,
) -> Result<Vec<T>, TransportError> {
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
            return Err(TransportError::Address {
                transport,
                address: other.to_string(),
                reason: "\"more\" must be a list of addresses".to_owned(),
            });
        }
    }
    Ok(list)
}

/// The reverse of [`address_list`].
fn list_address<T: Serialize>(addresses: &[T]) -> Address {
    let mut list = addresses.iter().map(to_address);
    let mut first = list.next().unwrap_or_default();
    let more: Vec<Value> = list.map(Value::Object).collect();
    if !more.is_empty() {
        first.insert("more".to_owned(), Value::Array(more));
    }
    first
}

/// The option's value as a switch or its default.
fn switch(cell: &Cell, name: &str, default: bool) -> bool {
    cell.options.bool(name).unwrap_or(default)
}

#[cfg(test)]
pub(crate) mod tests;
