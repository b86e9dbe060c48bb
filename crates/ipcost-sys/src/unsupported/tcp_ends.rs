//! No view of TCP connections.

use std::io;
use std::net::SocketAddr;

pub use crate::contract::TcpEnd;

/// A view of the TCP connections of this program's network, which this system does not offer.
#[derive(Debug)]
pub struct TcpEnds;

impl TcpEnds {
    pub fn open() -> io::Result<Self> {
        Err(super::unsupported("only Linux shows the state of other programs' connections (sock_diag)"))
    }

    /// Opens it for the network that a process is in.
    pub fn open_at(_process: u32) -> io::Result<Self> {
        Err(super::unsupported("only Linux shows the state of other programs' connections (sock_diag)"))
    }

    /// Every end of an open connection.
    pub fn all(&mut self) -> io::Result<Vec<TcpEnd>> {
        Err(super::unsupported("only Linux shows the state of other programs' connections (sock_diag)"))
    }

    /// Those ends of these that are open.
    pub fn of(
        &mut self,
        _ends: impl IntoIterator<Item = (SocketAddr, SocketAddr)>,
    ) -> io::Result<Vec<TcpEnd>> {
        Err(super::unsupported("only Linux shows the state of other programs' connections (sock_diag)"))
    }

    /// The socket that listens at an address.
    pub fn listener(&mut self, _at: SocketAddr) -> io::Result<Option<TcpEnd>> {
        Err(super::unsupported("only Linux shows which sockets listen (sock_diag)"))
    }
}

/// The sockets that a process has open.
pub fn sockets_of(_process: u32) -> Vec<(u32, i32)> {
    Vec::new()
}

/// A process that has a socket open, and its descriptor.
pub fn owner_of(_inode: u32) -> Option<(u32, i32)> {
    None
}

/// Whether a socket of another process has `TCP_NODELAY` set.
pub fn nodelay_of(_process: u32, _descriptor: i32) -> Option<bool> {
    None
}
