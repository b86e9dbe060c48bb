//! Which congestion control a TCP socket uses.

use std::io;

use rustix::net::sockopt;

use crate::system::socket::Endpoint;

/// Sets the congestion control of a socket, and of what it accepts (`TCP_CONGESTION`, `tcp(7)`). The kernel may load a module for it.
///
/// # Errors
/// If the kernel lacks it, or does not allow it to this user.
#[inline]
pub fn set_congestion(endpoint: &Endpoint, name: &str) -> io::Result<()> {
    Ok(sockopt::set_tcp_congestion(endpoint, name)?)
}

/// The congestion control of a socket.
pub fn congestion(endpoint: &Endpoint) -> io::Result<String> {
    Ok(sockopt::tcp_congestion(endpoint)?)
}
