//! No view of other programs' sockets.

use std::io;

pub use crate::observed::{LocalPorts, TcpCounts, TcpSocket, TcpState, UdpSocket, UnixKind, UnixSocket};

const WHY: &str = "only Linux shows the sockets of other programs (sock_diag)";

/// A view of the sockets of this machine, which this system does not offer.
#[derive(Debug)]
pub struct Sockets;

impl Sockets {
    pub fn open() -> io::Result<Self> {
        Err(super::unsupported(WHY))
    }

    /// Opens it in the network namespace of a process.
    pub fn open_at(_process: u32, _network: u64) -> io::Result<Self> {
        Err(super::unsupported(WHY))
    }

    pub fn tcp(&mut self) -> io::Result<Vec<TcpSocket>> {
        Err(super::unsupported(WHY))
    }

    pub fn udp(&mut self) -> io::Result<Vec<UdpSocket>> {
        Err(super::unsupported(WHY))
    }

    pub fn unix(&mut self) -> io::Result<Vec<UnixSocket>> {
        Err(super::unsupported(WHY))
    }
}

/// Messages on TCP sockets that close, which this system does not send.
#[derive(Debug)]
pub struct Closing;

impl Closing {
    /// Listens from now on.
    pub fn listen() -> io::Result<Self> {
        Err(super::unsupported(WHY))
    }

    /// Listens in the network namespace of a process.
    pub fn listen_at(_process: u32, _network: u64) -> io::Result<Self> {
        Err(super::unsupported(WHY))
    }

    /// Those that have closed since the last time, and whether some of them were lost.
    pub fn take(&mut self) -> io::Result<(Vec<TcpSocket>, bool)> {
        Err(super::unsupported(WHY))
    }
}

impl LocalPorts {
    /// Those of the network namespace of a process.
    pub fn of(_process: Option<u32>) -> io::Result<Self> {
        Err(super::unsupported(WHY))
    }
}
