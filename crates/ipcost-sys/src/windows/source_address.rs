//! Source addresses of connections.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::socket::{Endpoint, bind};

/// Binds a socket to an address; the system chooses the port at once.
#[inline]
pub fn bind_source(socket: &Endpoint, address: Ipv4Addr) -> io::Result<()> {
    bind(socket, &SocketAddr::new(IpAddr::V4(address), 0))
}
