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

use crate::system::close_on_exec;
pub use crate::system::close_on_exec::{
    KEPT_TWICE, datagram_socket, packet_socket, socketpair as pair, stream_socket,
};

/// An open socket.
pub type Endpoint = OwnedFd;

/// Why `socketpair` cannot be used here.
///
/// # Errors
/// Never: every Unix has it.
pub fn probe_pair() -> Result<(), String> {
    Ok(())
}

/// Whether sockets that are bound to a path can be used here.
///
/// # Errors
/// Never: every Unix has them.
pub fn probe_unix() -> Result<(), String> {
    Ok(())
}

/// A path as a socket's address.
///
/// # Errors
/// Where it cannot be one.
pub fn unix_address(path: &str) -> io::Result<UnixAddress> {
    Ok(UnixAddress::new(Path::new(path))?)
}

/// Binds a socket to an address.
///
/// # Errors
/// The system's answer.
pub fn bind(endpoint: &Endpoint, at: &impl SocketAddress) -> io::Result<()> {
    Ok(rustix::net::bind(endpoint, at)?)
}

/// Begins to listen.
///
/// # Errors
/// The system's answer.
pub fn listen(endpoint: &Endpoint, backlog: i32) -> io::Result<()> {
    Ok(rustix::net::listen(endpoint, backlog)?)
}

/// The Internet address that a socket is bound to.
///
/// # Errors
/// The system's answer.
pub fn local_address(endpoint: &Endpoint) -> io::Result<SocketAddr> {
    Ok(rustix::net::getsockname(endpoint)?.try_into()?)
}

/// Whether a connection waits to be accepted.
///
/// # Errors
/// The system's answer.
pub fn has_visitor(endpoint: &Endpoint) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    Ok(poll(&mut [PollFd::new(endpoint, PollFlags::IN)], Some(&now))? > 0)
}

/// Waits for the next connection; one that was given up meanwhile is passed over.
///
/// # Errors
/// The system's answer.
#[inline]
pub fn accept(endpoint: &Endpoint) -> io::Result<Endpoint> {
    loop {
        match close_on_exec::accept(endpoint) {
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            result => return Ok(result?),
        }
    }
}

/// Connects; where the listener's queue is full (`EAGAIN`, `unix(7)`), steps aside and tries again.
///
/// # Errors
/// The system's answer, except for a full queue and interruptions.
#[inline]
pub fn connect_patiently(endpoint: &Endpoint, to: &impl SocketAddress, retries: &mut u64) -> io::Result<()> {
    loop {
        match rustix::net::connect(endpoint, to) {
            Err(Errno::AGAIN) => {
                *retries += 1;
                std::thread::yield_now();
            }
            // The connection goes on being made after a signal; asking again tells when it is (connect(2)).
            Err(Errno::INTR | Errno::ALREADY) => {}
            Err(Errno::ISCONN) => return Ok(()),
            result => return Ok(result?),
        }
    }
}

/// Sets `TCP_NODELAY` (`tcp(7)`).
///
/// # Errors
/// The system's answer.
#[inline]
pub fn set_nodelay(endpoint: &Endpoint) -> io::Result<()> {
    Ok(sockopt::set_tcp_nodelay(endpoint, true)?)
}

/// Lets a listener have a port whose former connections linger (`SO_REUSEADDR`, `socket(7)`).
///
/// # Errors
/// The system's answer.
pub fn claim_port(endpoint: &Endpoint) -> io::Result<()> {
    Ok(sockopt::set_socket_reuseaddr(endpoint, true)?)
}

/// Sets the send buffer (`SO_SNDBUF`), bytes.
///
/// # Errors
/// The system's answer.
pub fn set_send_buffer(endpoint: &Endpoint, bytes: usize) -> io::Result<()> {
    Ok(sockopt::set_socket_send_buffer_size(endpoint, bytes)?)
}

/// Sets the receive buffer (`SO_RCVBUF`), bytes.
///
/// # Errors
/// The system's answer.
pub fn set_receive_buffer(endpoint: &Endpoint, bytes: usize) -> io::Result<()> {
    Ok(sockopt::set_socket_recv_buffer_size(endpoint, bytes)?)
}

/// The send buffer, bytes.
///
/// # Errors
/// The system's answer.
pub fn send_buffer(endpoint: &Endpoint) -> io::Result<usize> {
    Ok(sockopt::socket_send_buffer_size(endpoint)?)
}

/// The receive buffer, bytes.
///
/// # Errors
/// The system's answer.
pub fn receive_buffer(endpoint: &Endpoint) -> io::Result<usize> {
    Ok(sockopt::socket_recv_buffer_size(endpoint)?)
}
