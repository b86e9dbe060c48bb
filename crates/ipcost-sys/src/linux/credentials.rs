//! Who is at the other end of a Unix socket (`SO_PEERCRED`, `unix(7)`).

use std::io;

use rustix::net::sockopt;

use crate::system::socket::Endpoint;

/// Linux reports the peer's credentials.
pub const KNOWS_PEER: bool = true;

/// Whether the other end belongs to this user or root: for an accepted connection, the process that connected;
/// otherwise, the one that listened.
pub fn is_of_this_user(connection: &Endpoint) -> io::Result<bool> {
    let other = sockopt::socket_peercred(connection)?.uid;
    Ok(other.is_root() || other == rustix::process::geteuid())
}
