//! Stream sockets (`socket(7)`).

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt;

pub use rustix::net::AddressFamily;
pub use rustix::net::SocketAddrUnix as UnixAddress;
pub use rustix::net::addr::SocketAddrArg as SocketAddress;

use crate::SysError;
use crate::system::close_on_exec;
pub use crate::system::close_on_exec::{
    KEPT_TWICE, datagram_socket, packet_socket, socketpair as pair, stream_socket,
};

pub type Endpoint = OwnedFd;

/// Why this system lacks `socketpair`.
pub const LACKS_PAIRS: Option<&'static str> = None;

/// Whether sockets bound to a path work here.
pub fn probe_unix() -> Result<(), SysError> {
    Ok(())
}

/// A path as a socket's address.
pub fn unix_address(path: &str) -> io::Result<UnixAddress> {
    Ok(UnixAddress::new(Path::new(path))?)
}

pub fn bind(endpoint: &Endpoint, at: &impl SocketAddress) -> io::Result<()> {
    Ok(rustix::net::bind(endpoint, at)?)
}

pub fn listen(endpoint: &Endpoint, backlog: i32) -> io::Result<()> {
    Ok(rustix::net::listen(endpoint, backlog)?)
}

/// The Internet address that a socket is bound to.
pub fn local_address(endpoint: &Endpoint) -> io::Result<SocketAddr> {
    Ok(rustix::net::getsockname(endpoint)?.try_into()?)
}

/// Whether a connection waits to be accepted.
pub fn has_visitor(endpoint: &Endpoint) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    Ok(poll(&mut [PollFd::new(endpoint, PollFlags::IN)], Some(&now))? > 0)
}

/// Waits for the next connection; skips one that was aborted meanwhile.
#[inline]
pub fn accept(endpoint: &Endpoint) -> io::Result<Endpoint> {
    loop {
        match close_on_exec::accept(endpoint) {
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            result => return Ok(result?),
        }
    }
}

/// Connects; if the listener's queue is full (`EAGAIN`, `unix(7)`), yields and retries.
///
/// # Errors
/// If a system call fails, except for a full queue and interruptions.
#[inline]
pub fn connect_patiently(endpoint: &Endpoint, to: &impl SocketAddress, retries: &mut u64) -> io::Result<()> {
    loop {
        match rustix::net::connect(endpoint, to) {
            Err(Errno::AGAIN) => {
                *retries += 1;
                std::thread::yield_now();
            }
            // After a signal the connection attempt continues; calling again tells when it is ready (connect(2)).
            Err(Errno::INTR | Errno::ALREADY) => {}
            Err(Errno::ISCONN) => return Ok(()),
            result => return Ok(result?),
        }
    }
}

/// Sets `TCP_NODELAY` (`tcp(7)`).
#[inline]
pub fn set_nodelay(endpoint: &Endpoint) -> io::Result<()> {
    Ok(sockopt::set_tcp_nodelay(endpoint, true)?)
}

/// Lets a listener take a port with lingering connections (`SO_REUSEADDR`, `socket(7)`).
pub fn claim_port(endpoint: &Endpoint) -> io::Result<()> {
    Ok(sockopt::set_socket_reuseaddr(endpoint, true)?)
}

/// Sets the send buffer (`SO_SNDBUF`), bytes.
pub fn set_send_buffer(endpoint: &Endpoint, bytes: usize) -> io::Result<()> {
    Ok(sockopt::set_socket_send_buffer_size(endpoint, bytes)?)
}

/// Sets the receive buffer (`SO_RCVBUF`), bytes.
pub fn set_receive_buffer(endpoint: &Endpoint, bytes: usize) -> io::Result<()> {
    Ok(sockopt::set_socket_recv_buffer_size(endpoint, bytes)?)
}

/// The send buffer, bytes.
pub fn send_buffer(endpoint: &Endpoint) -> io::Result<usize> {
    Ok(sockopt::socket_send_buffer_size(endpoint)?)
}

/// The receive buffer, bytes.
pub fn receive_buffer(endpoint: &Endpoint) -> io::Result<usize> {
    Ok(sockopt::socket_recv_buffer_size(endpoint)?)
}
