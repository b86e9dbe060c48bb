//! Descriptors that no child inherits, made so by the call that makes them.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, accept_with, socket_with};
use rustix::pipe::{PipeFlags, pipe_with};

/// Linux keeps twice the buffer that is asked for, for its own bookkeeping.
pub const KEPT_TWICE: u64 = 2;

/// A new stream socket.
///
/// # Errors
/// The system's answer.
#[inline]
pub fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    Ok(socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// A new Unix socket that connects and keeps messages apart (`SOCK_SEQPACKET`, `unix(7)`).
///
/// # Errors
/// The system's answer.
#[inline]
pub fn packet_socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// A new Unix socket for datagrams (`SOCK_DGRAM`, `unix(7)`).
///
/// # Errors
/// The system's answer.
pub fn datagram_socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?)
}

/// Two connected Unix sockets without a name (`socketpair(2)`).
///
/// # Errors
/// The system's answer.
pub fn socketpair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// The next connection.
///
/// # Errors
/// The system's answer.
#[inline]
pub fn accept(listener: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    accept_with(listener, SocketFlags::CLOEXEC)
}

/// A pipe: the end to read from, and the end to write to (`pipe(2)`).
///
/// # Errors
/// The system's answer.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}
