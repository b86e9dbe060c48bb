//! Who is at the other end of a Unix socket (`SO_PEERCRED`, `unix(7)`).

use std::io;

use rustix::net::sockopt;

use crate::system::socket::Endpoint;

/// Linux tells.
pub const TELLS_WHO: bool = true;

/// Whether the other end is a process of this user, or of root: of a connection that was accepted it is who connected, of
/// one that was made it is who listened.
///
/// # Errors
/// The system's answer.
pub fn is_of_this_user(connection: &Endpoint) -> io::Result<bool> {
    let other = sockopt::socket_peercred(connection)?.uid;
    Ok(other.is_root() || other == rustix::process::geteuid())
}
