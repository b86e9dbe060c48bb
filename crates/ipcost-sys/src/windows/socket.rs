//! Stream sockets (Winsock 2).

use std::io;
use std::net::SocketAddr;
use std::os::windows::io::{AsRawSocket, FromRawSocket, OwnedSocket};
use std::sync::OnceLock;

use windows_sys::Win32::Networking::WinSock::{
    AF_INET, AF_INET6, AF_UNIX, INVALID_SOCKET, IPPROTO_TCP, POLLRDNORM, SO_EXCLUSIVEADDRUSE, SO_RCVBUF,
    SO_SNDBUF, SOCK_STREAM, SOCKADDR_STORAGE, SOCKET, SOL_SOCKET, TCP_NODELAY, WSA_FLAG_NO_HANDLE_INHERIT,
    WSA_FLAG_OVERLAPPED, WSADATA, WSAECONNRESET, WSAEWOULDBLOCK, WSAGetLastError, WSAPOLLFD, WSAPoll,
    WSASocketW, WSAStartup, accept as accept_next, bind as bind_to, connect as connect_to, getsockname,
    getsockopt, listen as listen_for, setsockopt,
};

use super::socket_address::internet_address;
pub use super::socket_address::{SocketAddress, UnixAddress};

use crate::{Context, SysError};

pub type Endpoint = OwnedSocket;

/// The system keeps exactly the requested buffer.
pub const KEPT_TWICE: u64 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressFamily(u16);

impl AddressFamily {
    pub const INET: Self = Self(AF_INET);
    pub const INET6: Self = Self(AF_INET6);
    /// Unix sockets, addressed by path.
    pub const UNIX: Self = Self(AF_UNIX);
}

/// Why this system lacks `socketpair`.
pub const LACKS_PAIRS: Option<&'static str> =
    Some("Windows has no pairs of connected sockets without a name");

/// Two connected, unnamed sockets.
pub fn pair() -> io::Result<(Endpoint, Endpoint)> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Whether sockets bound to a path work here.
pub fn probe_unix() -> Result<(), SysError> {
    let what = "this Windows has no Unix sockets, which came with Windows 10 1803";
    stream_socket(AddressFamily::UNIX).or_absent(what, "")
}

/// A path as a socket's address.
pub fn unix_address(path: &str) -> io::Result<UnixAddress> {
    UnixAddress::new(path)
}

/// A new stream socket that no child inherits.
#[inline]
pub fn stream_socket(family: AddressFamily) -> io::Result<Endpoint> {
    begin()?;
    let flags = WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT;
    // SAFETY: the call takes plain values, and null for the optional protocol description.
    owned(unsafe { WSASocketW(family.0.into(), SOCK_STREAM, 0, std::ptr::null(), 0, flags) })
}

/// A new Unix socket for datagrams.
pub fn datagram_socket() -> io::Result<Endpoint> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A new Unix socket that preserves message boundaries.
pub fn packet_socket() -> io::Result<Endpoint> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn bind(endpoint: &Endpoint, at: &impl SocketAddress) -> io::Result<()> {
    // SAFETY: the socket is open; the address is lent for the call.
    checked(at.lend(|address, length| unsafe { bind_to(raw(endpoint), address, length) }))
}

pub fn listen(endpoint: &Endpoint, backlog: i32) -> io::Result<()> {
    /// Windows takes the number as it is up to here; beyond, it must be negated (`SOMAXCONN_HINT`).
    const PLAIN: i32 = 200;
    let backlog = if backlog > PLAIN { -backlog.min(65_535) } else { backlog };
    // SAFETY: the socket is open.
    checked(unsafe { listen_for(raw(endpoint), backlog) })
}

/// The Internet address that a socket is bound to.
pub fn local_address(endpoint: &Endpoint) -> io::Result<SocketAddr> {
    let mut storage = SOCKADDR_STORAGE::default();
    let mut length = size_of::<SOCKADDR_STORAGE>() as i32;
    // SAFETY: the socket is open; the pointers are to room for any address, and its length.
    checked(unsafe { getsockname(raw(endpoint), (&raw mut storage).cast(), &mut length) })?;
    internet_address(&storage)
}

/// Whether a connection waits to be accepted.
pub fn has_visitor(endpoint: &Endpoint) -> io::Result<bool> {
    let mut watched = [WSAPOLLFD { fd: raw(endpoint), events: POLLRDNORM, revents: 0 }];
    // SAFETY: the pointer is to the stated number of entries.
    match unsafe { WSAPoll(watched.as_mut_ptr(), watched.len() as u32, 0) } {
        count @ 0.. => Ok(count > 0),
        _ => Err(last_error()),
    }
}

/// Waits for the next connection; skips one that was aborted meanwhile.
#[inline]
pub fn accept(endpoint: &Endpoint) -> io::Result<Endpoint> {
    loop {
        // SAFETY: the socket is open; the client's address is not requested.
        match owned(unsafe { accept_next(raw(endpoint), std::ptr::null_mut(), std::ptr::null_mut()) }) {
            // Of several waiting workers, another may have been faster.
            Err(error) if matches!(error.raw_os_error(), Some(WSAECONNRESET | WSAEWOULDBLOCK)) => {}
            result => return result,
        }
    }
}

/// Connects. A listener with a full queue refuses here, and that is an error: Windows has already retried.
#[inline]
pub fn connect_patiently(endpoint: &Endpoint, to: &impl SocketAddress, _retries: &mut u64) -> io::Result<()> {
    // SAFETY: the socket is open; the address is lent for the call.
    checked(to.lend(|address, length| unsafe { connect_to(raw(endpoint), address, length) }))
}

/// Sets `TCP_NODELAY`.
#[inline]
pub fn set_nodelay(endpoint: &Endpoint) -> io::Result<()> {
    set(endpoint, IPPROTO_TCP, TCP_NODELAY, 1)
}

/// Prevents others from binding a listener's port. (`SO_REUSEADDR`, which other systems use here, would allow it.)
pub fn claim_port(endpoint: &Endpoint) -> io::Result<()> {
    set(endpoint, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, 1)
}

/// Sets the send buffer (`SO_SNDBUF`), bytes.
pub fn set_send_buffer(endpoint: &Endpoint, bytes: usize) -> io::Result<()> {
    set(endpoint, SOL_SOCKET, SO_SNDBUF, i32::try_from(bytes).unwrap_or(i32::MAX))
}

/// Sets the receive buffer (`SO_RCVBUF`), bytes.
pub fn set_receive_buffer(endpoint: &Endpoint, bytes: usize) -> io::Result<()> {
    set(endpoint, SOL_SOCKET, SO_RCVBUF, i32::try_from(bytes).unwrap_or(i32::MAX))
}

/// The send buffer, bytes.
pub fn send_buffer(endpoint: &Endpoint) -> io::Result<usize> {
    get(endpoint, SO_SNDBUF)
}

/// The receive buffer, bytes.
pub fn receive_buffer(endpoint: &Endpoint) -> io::Result<usize> {
    get(endpoint, SO_RCVBUF)
}

/// Winsock's error for the call that has just failed.
pub(super) fn last_error() -> io::Error {
    // SAFETY: the call takes nothing.
    io::Error::from_raw_os_error(unsafe { WSAGetLastError() })
}

#[inline]
fn raw(endpoint: &Endpoint) -> SOCKET {
    endpoint.as_raw_socket() as SOCKET
}

fn checked(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(last_error()) }
}

fn owned(socket: SOCKET) -> io::Result<Endpoint> {
    if socket == INVALID_SOCKET {
        return Err(last_error());
    }
    // SAFETY: a call has just given this socket to us alone.
    Ok(unsafe { OwnedSocket::from_raw_socket(socket as _) })
}

#[inline]
fn set(endpoint: &Endpoint, level: i32, option: i32, value: i32) -> io::Result<()> {
    let length = size_of::<i32>() as i32;
    // SAFETY: the socket is open; pointer and length describe one number.
    checked(unsafe { setsockopt(raw(endpoint), level, option, (&raw const value).cast(), length) })
}

fn get(endpoint: &Endpoint, option: i32) -> io::Result<usize> {
    let (mut value, mut length) = (0_i32, size_of::<i32>() as i32);
    // SAFETY: the socket is open; the pointers are to room for one number, and its length.
    checked(unsafe { getsockopt(raw(endpoint), SOL_SOCKET, option, (&raw mut value).cast(), &mut length) })?;
    Ok(value.max(0) as usize)
}

/// Winsock must be initialised once per process; it ends with the process.
fn begin() -> io::Result<()> {
    const VERSION_2_2: u16 = 0x0202;
    static BEGUN: OnceLock<i32> = OnceLock::new();
    let result = BEGUN.get_or_init(|| {
        let mut about = WSADATA::default();
        // SAFETY: the pointer is to a structure that outlives the call.
        unsafe { WSAStartup(VERSION_2_2, &mut about) }
    });
    if *result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(*result)) }
}
