//! Stream sockets that only Linux has.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::addr::{SocketAddrArg, SocketAddrLen, SocketAddrOpaque};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, ipproto, socket_with};

fn stream(family: AddressFamily, protocol: Option<Protocol>) -> io::Result<OwnedFd> {
    Ok(socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, protocol)?)
}

/// A Multipath TCP socket (`mptcp(7)`).
#[inline]
pub fn mptcp_socket() -> io::Result<OwnedFd> {
    stream(AddressFamily::INET, Some(ipproto::MPTCP))
}

/// An SCTP socket with one association (`sctp(7)`).
#[inline]
pub fn sctp_socket() -> io::Result<OwnedFd> {
    stream(AddressFamily::INET, Some(ipproto::SCTP))
}

/// A socket between virtual machines (`vsock(7)`).
#[inline]
pub fn vsock_socket() -> io::Result<OwnedFd> {
    stream(AddressFamily::VSOCK, None)
}

pub const ANY_VSOCK_PORT: u32 = libc::VMADDR_PORT_ANY;

/// A port on this machine's loopback.
pub struct VsockAddress(libc::sockaddr_vm);

/// A port on this machine's loopback, as an address.
pub fn vsock_address(port: u32) -> io::Result<VsockAddress> {
    // SAFETY: all bits zero are a valid address, whose fields are set below.
    let mut address: libc::sockaddr_vm = unsafe { std::mem::zeroed() };
    address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
    address.svm_cid = libc::VMADDR_CID_LOCAL;
    address.svm_port = port;
    Ok(VsockAddress(address))
}

// SAFETY: the address is valid while the closure runs, and has the given length.
unsafe impl SocketAddrArg for VsockAddress {
    unsafe fn with_sockaddr<R>(&self, f: impl FnOnce(*const SocketAddrOpaque, SocketAddrLen) -> R) -> R {
        f((&raw const self.0).cast(), size_of::<libc::sockaddr_vm>() as SocketAddrLen)
    }
}

/// The port to which a socket is bound.
pub fn vsock_port(socket: &OwnedFd) -> io::Result<u32> {
    let VsockAddress(mut address) = vsock_address(0)?;
    let mut length = size_of::<libc::sockaddr_vm>() as libc::socklen_t;
    // SAFETY: the address has room for as many bytes as the length says.
    let told = unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut address).cast(), &raw mut length) };
    if told == 0 { Ok(address.svm_port) } else { Err(io::Error::last_os_error()) }
}
