//! Source addresses of connections.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

/// Binds a socket to an address, and leaves the port to `connect`.
#[inline]
pub fn bind_source(socket: &OwnedFd, address: Ipv4Addr) -> io::Result<()> {
    bind_without_port(socket)?;
    Ok(rustix::net::bind(socket, &SocketAddr::new(IpAddr::V4(address), 0))?)
}

/// Makes `bind` take only an address and leaves the port to `connect`, which knows the whole connection and so may use
/// a port that another connection from there already uses (`IP_BIND_ADDRESS_NO_PORT`, `ip(7)`).
fn bind_without_port(socket: &OwnedFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open for the call, and the pointer and length describe one int.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
