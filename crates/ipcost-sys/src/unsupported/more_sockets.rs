//! Stream sockets that only Linux has.

use std::io;

use super::unsupported;
use crate::system::socket::{Endpoint, UnixAddress};

pub fn mptcp_socket() -> io::Result<Endpoint> {
    Err(unsupported("only Linux's is known to this program"))
}

pub fn sctp_socket() -> io::Result<Endpoint> {
    Err(unsupported("only Linux's is known to this program"))
}

pub fn vsock_socket() -> io::Result<Endpoint> {
    Err(unsupported("only Linux has them"))
}

pub const ANY_VSOCK_PORT: u32 = u32::MAX;

pub fn vsock_address(_port: u32) -> io::Result<UnixAddress> {
    Err(unsupported("only Linux has them"))
}

pub fn vsock_port(_socket: &Endpoint) -> io::Result<u32> {
    Err(unsupported("only Linux has them"))
}
