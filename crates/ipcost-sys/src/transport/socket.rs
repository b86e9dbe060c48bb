//! Common parts of the listening sockets: buffers, listening, accepting, connecting.

use std::io;

use ipcost_model::Cell;
use ipcost_model::protocol::Address;

use super::{Connection, Effective, Server, Waitable};
use crate::system::channel::SocketChannel;
use crate::system::credentials::{KNOWS_PEER, is_of_this_user};
use crate::system::descriptor::waitable;
use crate::system::socket::{
    Endpoint, KEPT_TWICE, SocketAddress, accept, bind, has_visitor, listen, receive_buffer, send_buffer,
    set_receive_buffer, set_send_buffer,
};
use crate::{Context, SysError};

/// The accept queue's length unless the cell sets it or has more workers; the kernel lowers it to `net.core.somaxconn`.
const BACKLOG: u64 = 4096;

/// Sets the buffers that a cell asks for (`SO_SNDBUF`, `SO_RCVBUF`, `socket(7)`).
#[inline]
pub fn set_buffers(socket: &Endpoint, cell: &Cell) -> Result<(), SysError> {
    if cell.options.is_empty() {
        return Ok(());
    }
    if let Some(asked) = cell.options.so_sndbuf() {
        set_send_buffer(socket, asked as usize).context(|| format!("cannot set SO_SNDBUF to {asked}"))?;
    }
    if let Some(asked) = cell.options.so_rcvbuf() {
        set_receive_buffer(socket, asked as usize).context(|| format!("cannot set SO_RCVBUF to {asked}"))?;
    }
    Ok(())
}

/// Effective sizes of the buffers that a cell asks for.
///
/// Linux doubles the requested size for its own bookkeeping; it is reported halved, so that equal numbers mean that
/// nothing was clamped.
pub fn buffers(socket: &Endpoint, cell: &Cell) -> Result<Vec<Effective>, SysError> {
    let mut effective = Vec::new();
    if let Some(asked) = cell.options.so_sndbuf() {
        let bytes = send_buffer(socket).context(|| "cannot read SO_SNDBUF".to_owned())?;
        effective.push(Effective { name: "so_sndbuf", asked, became: bytes as u64 / KEPT_TWICE });
    }
    if let Some(asked) = cell.options.so_rcvbuf() {
        let bytes = receive_buffer(socket).context(|| "cannot read SO_RCVBUF".to_owned())?;
        effective.push(Effective { name: "so_rcvbuf", asked, became: bytes as u64 / KEPT_TWICE });
    }
    Ok(effective)
}

pub type Make = fn() -> io::Result<Endpoint>;

/// What a connection inherits from its listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inherits {
    /// Its buffers, as over TCP.
    Buffers,
    /// Nothing, but the system identifies who connects: a Unix socket (shown by a test).
    Nothing,
}

pub struct SocketListener {
    socket: Endpoint,
    address: Address,
    effective: Vec<Effective>,
    /// Options to set on every connection, if the system does not pass on the listener's buffers.
    each: Option<Cell>,
    /// Whether the system identifies who connects.
    tells_who: bool,
}

impl SocketListener {
    /// Binds a new socket and listens; `prepare` sets what connections inherit, `name` reads its address.
    pub fn open(
        socket: io::Result<Endpoint>,
        inherits: Inherits,
        at: &impl SocketAddress,
        shown: &str,
        cell: &Cell,
        prepare: impl FnOnce(&Endpoint) -> Result<(), SysError>,
        name: impl FnOnce(&Endpoint) -> io::Result<Address>,
    ) -> Result<Self, SysError> {
        let socket = socket.context(|| "cannot make a socket".to_owned())?;
        set_buffers(&socket, cell)?;
        let effective = buffers(&socket, cell)?;
        prepare(&socket)?;
        bind(&socket, at).context(|| format!("cannot bind {shown}"))?;
        let backlog = cell.options.backlog().unwrap_or(BACKLOG.max(cell.concurrency.into()));
        listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))
            .context(|| format!("cannot listen on {shown}"))?;
        let address = name(&socket).context(|| format!("cannot determine the address of {shown}"))?;
        let is_unix = inherits == Inherits::Nothing;
        let each = (is_unix && !effective.is_empty()).then(|| cell.clone());
        Ok(Self { socket, address, effective, each, tells_who: KNOWS_PEER && is_unix })
    }

    #[inline]
    fn channel(&self, connection: Endpoint) -> io::Result<Connection> {
        if let Some(cell) = &self.each {
            set_buffers(&connection, cell)?;
        }
        Ok(SocketChannel(connection).into())
    }
}

impl Server for SocketListener {
    fn address(&self) -> Address {
        self.address.clone()
    }

    fn try_accept(&mut self) -> Result<Option<Connection>, SysError> {
        if !has_visitor(&self.socket).context(|| "cannot look for connections".to_owned())? {
            return Ok(None);
        }
        let action = || "cannot accept a connection".to_owned();
        let connection = accept(&self.socket).context(action)?;
        // Drops a stranger's connection; the expected one is still to come.
        if self.tells_who && !is_of_this_user(&connection).context(action)? {
            return Ok(None);
        }
        Ok(Some(self.channel(connection).context(action)?))
    }

    #[inline]
    fn accept(&self) -> io::Result<Connection> {
        self.channel(accept(&self.socket)?)
    }

    fn accept_known(&self) -> io::Result<Connection> {
        loop {
            let connection = accept(&self.socket)?;
            if !self.tells_who || is_of_this_user(&connection)? {
                return self.channel(connection);
            }
        }
    }

    fn waiting(&self) -> Option<Waitable<'_>> {
        Some(waitable(&self.socket))
    }

    fn effective(&self) -> Vec<Effective> {
        self.effective.clone()
    }
}
