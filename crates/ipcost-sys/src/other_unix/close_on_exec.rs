//! Descriptors that no child inherits. There is a moment between making one and saying so; only one thread of
//! this program starts children, and it makes no descriptors meanwhile.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

/// What is asked for is what is kept.
pub const KEPT_TWICE: u64 = 1;

/// A new stream socket.
///
/// # Errors
/// The system's answer.
#[inline]
pub fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    Ok(kept(rustix::net::socket(family, SocketType::STREAM, None)?)?)
}

/// A new Unix socket that connects and keeps messages apart (`SOCK_SEQPACKET`).
///
/// # Errors
/// The system's answer; macOS has none.
#[inline]
pub fn packet_socket() -> io::Result<OwnedFd> {
    Ok(kept(rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None)?)?)
}

/// A new Unix socket for datagrams (`SOCK_DGRAM`).
///
/// # Errors
/// The system's answer.
pub fn datagram_socket() -> io::Result<OwnedFd> {
    Ok(kept(rustix::net::socket(AddressFamily::UNIX, SocketType::DGRAM, None)?)?)
}

/// Two connected Unix sockets without a name (`socketpair(2)`).
///
/// # Errors
/// The system's answer.
pub fn socketpair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::empty();
    let (one, other) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    Ok((kept(one)?, kept(other)?))
}

/// The next connection.
///
/// # Errors
/// The system's answer.
#[inline]
pub fn accept(listener: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    kept(rustix::net::accept(listener)?)
}

/// A pipe: the end to read from, and the end to write to (`pipe(2)`).
///
/// # Errors
/// The system's answer.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe()?;
    Ok((kept(read)?, kept(write)?))
}

fn kept(descriptor: OwnedFd) -> rustix::io::Result<OwnedFd> {
    fcntl_setfd(&descriptor, FdFlags::CLOEXEC)?;
    Ok(descriptor)
}
