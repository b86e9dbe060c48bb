//! What can go wrong in a peer.

use std::io;
use std::net::SocketAddr;

use ipcost_model::ModelError;
use ipcost_sys::SysError;
use ipcost_sys::private_dir::MAX_SOCKET_PATH;

/// What failed and where; its text becomes the protocol's error message.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The engine sent something invalid at this point.
    #[error("protocol: {0}")]
    Protocol(String),
    /// A system call failed, a transport could not be set up, or a connection could not be opened.
    #[error(transparent)]
    System(#[from] SysError),
    /// Sending or receiving failed.
    #[error("in operation {} of {ops}: {source}", operation + 1)]
    Moving {
        operation: u64,
        /// How many were to run.
        ops: u64,
        source: io::Error,
    },
    /// A payload differs from what was sent.
    #[error("payload mismatch: byte {index} of message {message} is {found}, not {expected}")]
    Mismatch {
        message: u64,
        /// The byte in it, from 0.
        index: u64,
        found: u8,
        expected: u8,
    },
    /// A newline-terminated message has the wrong length.
    #[error("payload mismatch: message {message} has {found} bytes, not {expected}")]
    Length {
        message: u64,
        /// Bytes received before its newline.
        found: u64,
        expected: u64,
    },
    /// A hand-over arrived out of order.
    #[error("hand-over {}: the word is {found}, not {expected}", operation + 1)]
    OutOfOrder { operation: u64, found: u32, expected: u32 },
    /// A server's reply is not of its protocol, or cannot be measured.
    #[error("{0}")]
    Reply(&'static str),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("a server is not reached over {0}; give unix, tcp")]
    UnknownTransport(String),
    #[error("--unix {0} is too long for the path of a socket; give one of at most {MAX_SOCKET_PATH} bytes")]
    SocketPath(String),
    #[error("--tcp {text} names no {lacks}; give HOST:PORT, such as 127.0.0.1:{port}")]
    HostPort { text: String, lacks: &'static str, port: u16 },
    #[error("{host} is {wrong}")]
    Host { host: String, wrong: &'static str },
    #[error(
        "no server listens at localhost:{port} ({tried}); start one there, or give no address to have a private one started"
    )]
    NoServer { port: u16, tried: String },
    #[error(
        "localhost:{port} is two servers of different users, {first} and {second}; give one of the two addresses"
    )]
    TwoServers { port: u16, first: SocketAddr, second: SocketAddr },
    /// A program that the peer drives failed, or the request to it did.
    #[error("{0}")]
    Program(String),
    /// A worker has ended.
    #[error("a worker has ended: {0}")]
    Worker(String),
}

impl From<&'static str> for PeerError {
    fn from(wrong: &'static str) -> Self {
        Self::Reply(wrong)
    }
}

/// The other side closed in the middle.
pub fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the other side closed the connection")
}
