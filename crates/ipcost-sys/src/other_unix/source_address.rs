//! Source addresses of connections.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// Binds a socket to an address; the system chooses the port at once.
///
/// # Errors
/// If a system call fails; `AddrNotAvailable` if loopback has only one address.
#[inline]
pub fn bind_source(socket: &OwnedFd, address: Ipv4Addr) -> io::Result<()> {
    Ok(rustix::net::bind(socket, &SocketAddr::new(IpAddr::V4(address), 0))?)
}
