//! What can go wrong in a peer.

use std::io;

use ipcost_sys::SysError;
use ipcost_sys::transport::TransportError;

/// What failed and where; its text becomes the protocol's error message.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The engine said something that makes no sense here.
    #[error("protocol: {0}")]
    Protocol(String),
    /// A transport could not be set up, or a connection not be made.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// A system call outside the transports failed.
    #[error(transparent)]
    System(#[from] SysError),
    /// Bytes could not be moved.
    #[error("in operation {} of {ops}: {source}", operation + 1)]
    Moving {
        /// The operation, from 0.
        operation: u64,
        /// How many there were to be.
        ops: u64,
        /// The system's answer.
        source: io::Error,
    },
    /// The payload was not what was sent.
    #[error("payload mismatch: byte {index} of message {message} is {found}, not {expected}")]
    Mismatch {
        /// The message, from 0.
        message: u64,
        /// The byte in it, from 0.
        index: u64,
        /// What arrived.
        found: u8,
        /// What was sent.
        expected: u8,
    },
    /// A message that a newline ends had another length.
    #[error("payload mismatch: message {message} has {found} bytes, not {expected}")]
    Length {
        /// The message, from 0.
        message: u64,
        /// Bytes that arrived before its newline.
        found: u64,
        /// Bytes that were sent.
        expected: u64,
    },
    /// What was handed over came out of order.
    #[error("hand-over {}: the word is {found}, not {expected}", operation + 1)]
    OutOfOrder {
        /// The operation, from 0.
        operation: u64,
        /// What the word was.
        found: u32,
        /// What it should have been.
        expected: u32,
    },
    /// A program that the peer drives, or what it was asked to do with it.
    #[error("{0}")]
    Program(String),
    /// A worker has ended.
    #[error("a worker has ended: {0}")]
    Worker(String),
}

/// The other side closed in the middle.
pub fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the other side closed the connection")
}
