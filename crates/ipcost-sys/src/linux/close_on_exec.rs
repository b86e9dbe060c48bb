//! Descriptors created close-on-exec, so that no child inherits them.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, accept_with, socket_with};
use rustix::pipe::{PipeFlags, pipe_with};

/// Linux keeps twice the requested buffer, for its own bookkeeping.
pub const KEPT_TWICE: u64 = 2;

/// A new stream socket.
#[inline]
pub fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    Ok(socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// A new connection-oriented Unix socket that preserves message boundaries (`SOCK_SEQPACKET`, `unix(7)`).
#[inline]
pub fn packet_socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// A new Unix socket for datagrams (`SOCK_DGRAM`, `unix(7)`).
pub fn datagram_socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?)
}

/// Two connected, unnamed Unix sockets (`socketpair(2)`).
pub fn socketpair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

#[inline]
pub fn accept(listener: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    accept_with(listener, SocketFlags::CLOEXEC)
}

/// A pipe: the read end, and the write end (`pipe(2)`).
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}
