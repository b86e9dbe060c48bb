//! Congestion control that a program chooses: a socket option of Linux.

use std::io;

use super::unsupported;
use crate::system::socket::Endpoint;

/// Sets the congestion control of a socket.
pub fn set_congestion(_endpoint: &Endpoint, _name: &str) -> io::Result<()> {
    Err(unsupported("this system does not let a program choose TCP's congestion control"))
}

/// The congestion control of a socket.
pub fn congestion(_endpoint: &Endpoint) -> io::Result<String> {
    Err(unsupported("this system does not name TCP's congestion control"))
}
