//! `unix`: a stream socket bound to a path (`unix(7)`), and the common parts of all Unix sockets.

use std::io;

use ipcost_model::protocol::Address;
use ipcost_model::units::size_text;
use ipcost_model::{Capabilities, Cell, Delivery, OptionGroup, Pattern};
use serde::{Deserialize, Serialize};

use super::socket::{Inherits, Make, SocketListener, buffers, set_buffers};
use super::udp::largest_message;
use super::{
    Client, Connection, Effective, Provision, Rendezvous, Server, Transport, capacity, from_address,
    to_address,
};
use crate::private_dir::MAX_SOCKET_PATH;
use crate::system::channel::SocketChannel;
use crate::system::credentials::{KNOWS_PEER, is_of_this_user};
use crate::system::socket::{
    AddressFamily, Endpoint, UnixAddress, connect_patiently, probe_unix, stream_socket, unix_address,
};
use crate::{Context, SysError};

pub const UNIX: SocketAtPath = SocketAtPath {
    capabilities: &Capabilities {
        name: "unix",
        summary: "a Unix stream socket bound to a path",
        connects: true,
        option_groups: &[
            OptionGroup::Socket,
            OptionGroup::Calling,
            OptionGroup::Writing,
            OptionGroup::Listener,
        ],
        in_default_suite: true,
        ..Capabilities::PLAIN
    },
    make: stream_of_unix,
    probe: probe_unix,
};

#[derive(Serialize, Deserialize)]
struct SocketPath {
    path: String,
}

/// A kind of Unix socket that is bound to a path in the private directory.
pub struct SocketAtPath {
    pub(super) capabilities: &'static Capabilities,
    pub(super) make: Make,
    pub(super) probe: fn() -> Result<(), SysError>,
}

impl Transport for SocketAtPath {
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
        capacity::unix(cell)
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        let path = place.dir.join(place.name).to_string_lossy().into_owned();
        socket_address(&path)?;
        Ok(Provision { server: to_address(&SocketPath { path }), ..Provision::default() })
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        let SocketPath { path } = from_address(self.capabilities.name, address)?;
        let at = socket_address(&path)?;
        listen(self.make, &at, &path, to_address(&SocketPath { path: path.clone() }), cell)
    }

    fn reach(&self, address: &Address, cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, SysError> {
        let SocketPath { path } = from_address(self.capabilities.name, address)?;
        Ok(Box::new(UnixClient::new(self.make, socket_address(&path)?, path, cell)))
    }
}

/// A Unix stream socket.
pub(super) fn stream_of_unix() -> io::Result<Endpoint> {
    stream_socket(AddressFamily::UNIX)
}

/// Listens with a given kind of Unix socket; `shown` names it in errors.
pub(super) fn listen(
    make: Make,
    at: &UnixAddress,
    shown: &str,
    address: Address,
    cell: &Cell,
) -> Result<Box<dyn Server>, SysError> {
    Ok(Box::new(SocketListener::open(
        make(),
        Inherits::Nothing,
        at,
        shown,
        cell,
        |_| Ok(()),
        |_| Ok(address),
    )?))
}

/// What the kernel reserves of a send buffer (`unix_dgram_sendmsg` of Linux), bytes.
const OWN_BYTES: u64 = 32;

/// A message goes as a whole or not at all, so it must fit into the sender's buffer.
pub(super) fn message_fits(cell: &Cell) -> Result<(), SysError> {
    let Some(most) = capacity::unix(cell).map(|bytes| bytes.saturating_sub(OWN_BYTES)) else {
        return Ok(());
    };
    let bytes = largest_message(cell);
    if bytes <= most {
        return Ok(());
    }
    let buffer = (bytes + OWN_BYTES).div_ceil(2).next_multiple_of(1024);
    let limit = format!(": the send buffer takes {} here", size_text(most));
    let remedy = format!(
        "give --option so_sndbuf={buffer}, after sysctl -w net.core.wmem_max={buffer} where that is less"
    );
    Err(SysError::TooLarge { bytes, limit, remedy })
}

/// A path as a socket's address.
pub(super) fn socket_address(path: &str) -> Result<UnixAddress, SysError> {
    if path.len() > MAX_SOCKET_PATH {
        return Err(SysError::PathTooLong { path: path.to_owned() });
    }
    unix_address(path).context(|| format!("cannot use the socket path {path}"))
}

/// A client of a Unix socket of any kind, in either namespace.
pub struct UnixClient {
    make: Make,
    to: UnixAddress,
    shown: String,
    cell: Cell,
    retries: u64,
    effective: Vec<Effective>,
}

impl UnixClient {
    /// A client of the socket at `to`; `shown` names it in errors.
    pub fn new(make: Make, to: UnixAddress, shown: String, cell: &Cell) -> Self {
        Self { make, to, shown, cell: cell.clone(), retries: 0, effective: Vec::new() }
    }
}

impl Client for UnixClient {
    #[inline]
    fn connect(&mut self) -> Result<Connection, SysError> {
        let socket = (self.make)().context(|| "cannot make a socket".to_owned())?;
        set_buffers(&socket, &self.cell)?;
        connect_patiently(&socket, &self.to, &mut self.retries)
            .context(|| format!("cannot connect to {}", self.shown))?;
        if self.cell.pattern != Pattern::Connect {
            // Once a server is gone, any process may bind its name.
            let known = !KNOWS_PEER
                || is_of_this_user(&socket)
                    .context(|| format!("cannot determine who listens at {}", self.shown))?;
            if !known {
                return Err(SysError::OtherUser(self.shown.clone()));
            }
            self.effective = buffers(&socket, &self.cell)?;
        }
        Ok(SocketChannel(socket).into())
    }

    fn retries(&self) -> u64 {
        self.retries
    }

    fn effective(&self) -> Vec<Effective> {
        self.effective.clone()
    }
}
