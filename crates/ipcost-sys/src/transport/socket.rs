//! What the listening sockets have in common: buffers, listening, accepting, connecting.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ipcost_model::Cell;
use ipcost_model::protocol::Address;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketFlags, SocketType, accept_with, bind, connect, listen, socket_with};

use super::channel::Socket;
use super::{Channel, Effective, Server, TransportError};
use crate::{Context, SysError};

/// The queue of connections that wait to be accepted, where the cell does not say and has no more workers; the kernel
/// lowers it to `net.core.somaxconn`.
const BACKLOG: u64 = 4096;

/// A new stream socket that no child inherits.
pub fn stream_socket(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)
}

/// Sets the buffers a cell asks for (`SO_SNDBUF`, `SO_RCVBUF`, `socket(7)`).
///
/// # Errors
/// Where one cannot be set.
#[inline]
pub fn set_buffers(socket: impl AsFd, cell: &Cell) -> Result<(), SysError> {
    if cell.options.is_empty() {
        return Ok(());
    }
    let socket = socket.as_fd();
    if let Some(asked) = cell.options.int("so_sndbuf") {
        sockopt::set_socket_send_buffer_size(socket, asked as usize)
            .context(|| format!("cannot set SO_SNDBUF to {asked}"))?;
    }
    if let Some(asked) = cell.options.int("so_rcvbuf") {
        sockopt::set_socket_recv_buffer_size(socket, asked as usize)
            .context(|| format!("cannot set SO_RCVBUF to {asked}"))?;
    }
    Ok(())
}

/// What the buffers that a cell asks for became.
///
/// Linux doubles what is asked for, for its own bookkeeping; it is reported halved, so that equal numbers mean
/// that nothing was clamped.
///
/// # Errors
/// Where one cannot be read.
pub fn buffers(socket: impl AsFd, cell: &Cell) -> Result<Vec<Effective>, SysError> {
    let mut effective = Vec::new();
    let socket = socket.as_fd();
    if let Some(asked) = cell.options.int("so_sndbuf") {
        let bytes =
            sockopt::socket_send_buffer_size(socket).context(|| "cannot read SO_SNDBUF".to_owned())?;
        effective.push(Effective { name: "so_sndbuf", asked, became: bytes as u64 / KEPT_TWICE });
    }
    if let Some(asked) = cell.options.int("so_rcvbuf") {
        let bytes =
            sockopt::socket_recv_buffer_size(socket).context(|| "cannot read SO_RCVBUF".to_owned())?;
        effective.push(Effective { name: "so_rcvbuf", asked, became: bytes as u64 / KEPT_TWICE });
    }
    Ok(effective)
}

const KEPT_TWICE: u64 = if cfg!(target_os = "linux") { 2 } else { 1 };

/// A listening socket.
pub struct Listener {
    socket: OwnedFd,
    address: Address,
    effective: Vec<Effective>,
    /// What to set on every connection, where the system does not hand the listener's buffers down.
    each: Option<Cell>,
}

impl Listener {
    /// Binds and listens; `prepare` sets what connections are to inherit, `name` tells the address it has.
    ///
    /// # Errors
    /// What failed, on which address.
    pub fn open(
        family: AddressFamily,
        at: &impl SocketAddrArg,
        shown: &str,
        cell: &Cell,
        prepare: impl FnOnce(BorrowedFd<'_>) -> Result<(), SysError>,
        name: impl FnOnce(BorrowedFd<'_>) -> rustix::io::Result<Address>,
    ) -> Result<Self, TransportError> {
        let socket = stream_socket(family).context(|| "cannot make a socket".to_owned())?;
        set_buffers(&socket, cell)?;
        let effective = buffers(&socket, cell)?;
        prepare(socket.as_fd())?;
        bind(&socket, at).context(|| format!("cannot bind {shown}"))?;
        let backlog = cell.options.int("backlog").unwrap_or(BACKLOG.max(cell.concurrency.into()));
        listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))
            .context(|| format!("cannot listen on {shown}"))?;
        let address = name(socket.as_fd()).context(|| format!("cannot tell the address of {shown}"))?;
        // TCP's connections inherit the listener's buffers, a Unix socket's do not (shown by a test).
        let each = (family == AddressFamily::UNIX && !effective.is_empty()).then(|| cell.clone());
        Ok(Self { socket, address, effective, each })
    }
}

impl Server for Listener {
    fn address(&self) -> Address {
        self.address.clone()
    }

    fn try_accept(&mut self) -> Result<Option<Box<dyn Channel>>, TransportError> {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let ready = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&now))
            .context(|| "cannot look for connections".to_owned())?;
        if ready == 0 {
            return Ok(None);
        }
        Ok(Some(self.accept().context(|| "cannot accept a connection".to_owned())?))
    }

    #[inline]
    fn accept(&self) -> io::Result<Box<dyn Channel>> {
        loop {
            match accept_with(&self.socket, SocketFlags::CLOEXEC) {
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                result => {
                    let connection = result?;
                    if let Some(cell) = &self.each {
                        set_buffers(&connection, cell).map_err(|error| error.source)?;
                    }
                    return Ok(Box::new(Socket(connection)));
                }
            }
        }
    }

    fn waiting(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn effective(&self) -> Vec<Effective> {
        self.effective.clone()
    }
}

/// Connects; where the listener's queue is full (`EAGAIN`, `unix(7)`), steps aside and tries again.
///
/// # Errors
/// The system's answer, except for a full queue and interruptions.
#[inline]
pub fn connect_patiently(
    socket: &OwnedFd,
    to: &impl SocketAddrArg,
    retries: &mut u64,
) -> rustix::io::Result<()> {
    loop {
        match connect(socket, to) {
            Err(Errno::AGAIN) => {
                *retries += 1;
                std::thread::yield_now();
            }
            // The connection goes on being made after a signal; asking again tells when it is (connect(2)).
            Err(Errno::INTR | Errno::ALREADY) => {}
            Err(Errno::ISCONN) => return Ok(()),
            result => return result,
        }
    }
}
