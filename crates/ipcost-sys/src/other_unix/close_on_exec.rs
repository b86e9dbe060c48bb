//! Descriptors that no child inherits. They are briefly inheritable before the flag is set; only one thread of this
//! program starts children, and it creates no descriptors meanwhile.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

/// The kernel keeps exactly the requested buffer.
pub const KEPT_TWICE: u64 = 1;

/// A new stream socket.
#[inline]
pub fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    Ok(kept(rustix::net::socket(family, SocketType::STREAM, None)?)?)
}

/// A new connection-oriented Unix socket that preserves message boundaries (`SOCK_SEQPACKET`).
///
/// # Errors
/// If a system call fails; always on macOS, which has none.
#[inline]
pub fn packet_socket() -> io::Result<OwnedFd> {
    Ok(kept(rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None)?)?)
}

/// A new Unix socket for datagrams (`SOCK_DGRAM`).
pub fn datagram_socket() -> io::Result<OwnedFd> {
    Ok(kept(rustix::net::socket(AddressFamily::UNIX, SocketType::DGRAM, None)?)?)
}

/// Two connected, unnamed Unix sockets (`socketpair(2)`).
pub fn socketpair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::empty();
    let (one, other) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    Ok((kept(one)?, kept(other)?))
}

#[inline]
pub fn accept(listener: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    kept(rustix::net::accept(listener)?)
}

/// A pipe: the read end, and the write end (`pipe(2)`).
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe()?;
    Ok((kept(read)?, kept(write)?))
}

fn kept(descriptor: OwnedFd) -> rustix::io::Result<OwnedFd> {
    fcntl_setfd(&descriptor, FdFlags::CLOEXEC)?;
    Ok(descriptor)
}
