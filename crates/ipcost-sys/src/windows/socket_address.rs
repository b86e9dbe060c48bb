//! Addresses for Winsock.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use windows_sys::Win32::Networking::WinSock::{
    AF_INET, AF_INET6, AF_UNIX, IN_ADDR, IN_ADDR_0, IN6_ADDR, IN6_ADDR_0, SOCKADDR, SOCKADDR_IN,
    SOCKADDR_IN6, SOCKADDR_STORAGE, SOCKADDR_UN,
};

/// An address that a socket can be bound or connected to.
pub trait SocketAddress {
    /// Lends it to a call: a pointer, and its length in bytes.
    fn lend<R>(&self, call: impl FnOnce(*const SOCKADDR, i32) -> R) -> R;
}

impl SocketAddress for SocketAddr {
    #[inline]
    fn lend<R>(&self, call: impl FnOnce(*const SOCKADDR, i32) -> R) -> R {
        match self {
            SocketAddr::V4(address) => {
                let number = u32::from_ne_bytes(address.ip().octets());
                let plain = SOCKADDR_IN {
                    sin_family: AF_INET,
                    sin_port: address.port().to_be(),
                    sin_addr: IN_ADDR { S_un: IN_ADDR_0 { S_addr: number } },
                    sin_zero: [0; 8],
                };
                call((&raw const plain).cast(), size_of::<SOCKADDR_IN>() as i32)
            }
            SocketAddr::V6(address) => {
                let mut plain = SOCKADDR_IN6 {
                    sin6_family: AF_INET6,
                    sin6_port: address.port().to_be(),
                    ..SOCKADDR_IN6::default()
                };
                plain.sin6_addr = IN6_ADDR { u: IN6_ADDR_0 { Byte: address.ip().octets() } };
                call((&raw const plain).cast(), size_of::<SOCKADDR_IN6>() as i32)
            }
        }
    }
}

/// A path as a socket's address.
#[derive(Clone, Copy)]
pub struct UnixAddress(SOCKADDR_UN);

impl UnixAddress {
    /// A path as a socket's address.
    pub fn new(path: &str) -> io::Result<Self> {
        let mut plain = SOCKADDR_UN { sun_family: AF_UNIX, ..SOCKADDR_UN::default() };
        // Leaves room for the final NUL.
        if path.len() >= plain.sun_path.len() || path.contains('\0') {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a valid socket path"));
        }
        for (place, byte) in plain.sun_path.iter_mut().zip(path.bytes()) {
            *place = byte as i8;
        }
        Ok(Self(plain))
    }
}

impl SocketAddress for UnixAddress {
    #[inline]
    fn lend<R>(&self, call: impl FnOnce(*const SOCKADDR, i32) -> R) -> R {
        call((&raw const self.0).cast(), size_of::<SOCKADDR_UN>() as i32)
    }
}

/// The Internet address that a call has written.
pub fn internet_address(storage: &SOCKADDR_STORAGE) -> io::Result<SocketAddr> {
    let place = &raw const *storage;
    match storage.ss_family {
        AF_INET => {
            // SAFETY: the family determines the structure; storage is large enough and aligned for each.
            let plain = unsafe { &*place.cast::<SOCKADDR_IN>() };
            // SAFETY: any bits are a valid number.
            let number = unsafe { plain.sin_addr.S_un.S_addr };
            let ip = Ipv4Addr::from(number.to_ne_bytes());
            Ok(SocketAddr::from((ip, u16::from_be(plain.sin_port))))
        }
        AF_INET6 => {
            // SAFETY: as above.
            let plain = unsafe { &*place.cast::<SOCKADDR_IN6>() };
            // SAFETY: any bytes are a valid address.
            let ip = Ipv6Addr::from(unsafe { plain.sin6_addr.u.Byte });
            Ok(SocketAddr::from((ip, u16::from_be(plain.sin6_port))))
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it is not an Internet address")),
    }
}
