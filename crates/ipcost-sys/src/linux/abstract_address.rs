//! Names of Unix sockets outside the file system (`unix(7)`).

use std::io;

use crate::system::socket::UnixAddress;

/// Whether this system has such names.
///
/// # Errors
/// Never: Linux has.
pub fn probe() -> Result<(), String> {
    Ok(())
}

/// A name as a socket's address.
///
/// # Errors
/// Where it cannot be one.
pub fn abstract_address(name: &str) -> io::Result<UnixAddress> {
    Ok(UnixAddress::new_abstract_name(name.as_bytes())?)
}
