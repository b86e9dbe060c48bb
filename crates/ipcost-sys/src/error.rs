//! What can go wrong between this program and the system.

use std::io;
use std::net::SocketAddr;

use ipcost_model::Placement;
use ipcost_model::units::size_text;

use crate::private_dir::MAX_SOCKET_PATH;

/// A failed system call, or what this system or a transport does not offer; the text names the way out.
#[derive(Debug, thiserror::Error)]
pub enum SysError {
    /// A system call failed: the attempted action with its object, and the system's error.
    #[error("{action}: {source}")]
    Call { action: String, source: io::Error },
    /// The system lacks or refuses something; `remedy` begins with its separator.
    #[error("{what} ({error}){remedy}")]
    Absent { what: String, error: io::Error, remedy: &'static str },
    /// Another system or another build has it.
    #[error("{0}")]
    Unsupported(&'static str),
    #[error("{option}={value} exists on Linux alone")]
    LinuxAlone { option: &'static str, value: &'static str },
    #[error("{0} takes writes of at least 2")]
    FewWrites(&'static str),
    /// Options or addresses that contradict each other or their transport.
    #[error("{0}")]
    Invalid(&'static str),
    #[error("there is no transport {0}")]
    UnknownTransport(&'static str),
    #[error("the address {address} is not one of transport {transport}: {reason}")]
    Address { transport: &'static str, address: String, reason: String },
    #[error("the address names no channel for worker {0}")]
    NoChannel(u32),
    /// `limit` begins with its separator.
    #[error("a message of {} does not fit{limit}; {remedy}", size_text(*bytes))]
    TooLarge { bytes: u64, limit: String, remedy: String },
    #[error(
        "the socket path {path} has {} bytes, and a Unix socket takes at most {MAX_SOCKET_PATH}; set TMPDIR to a shorter directory",
        path.len()
    )]
    PathTooLong { path: String },
    #[error("a process of another user listens at {0}; nothing is sent to it")]
    OtherUser(String),
    #[error(
        "no local port is left for {transport} to {to}: all are in use or in TIME_WAIT; let the server close first (closes_first=server), spread sources (spread_sources=true, over tcp), widen net.ipv4.ip_local_port_range or set net.ipv4.tcp_tw_reuse=2 where it is 0"
    )]
    NoPort { transport: &'static str, to: SocketAddr },
    #[error(
        "cannot make a message queue: {0}; ulimit -q limits what all queues of a user hold, fs.mqueue.queues_max how many there are"
    )]
    MessageQueue(io::Error),
    #[error(
        "only root may read another process's memory here; sysctl -w kernel.yama.ptrace_scope=1 instead of {0}"
    )]
    PtraceScope(u64),
    #[error("placement {0} needs to know the processors, and they cannot be read")]
    UnknownProcessors(Placement),
    /// A program that a peer drives failed; `how` ends with its last complaint.
    #[error("{program} {how}")]
    Ended { program: String, how: String },
    #[error("{what} belongs to user {owner}")]
    Owner { what: &'static str, owner: u32 },
    #[error("others can write to {0}")]
    Writable(&'static str),
}

impl From<SysError> for io::Error {
    fn from(error: SysError) -> Self {
        match error {
            SysError::Call { source, .. } => source,
            other => Self::other(other),
        }
    }
}

/// Adds the attempted action to a system error.
pub trait Context<T> {
    /// Names the action that failed.
    fn context(self, action: impl FnOnce() -> String) -> Result<T, SysError>;

    /// Drops the value; names what an error shows to be absent, and the remedy.
    fn or_absent(self, what: impl Into<String>, remedy: &'static str) -> Result<(), SysError>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn context(self, action: impl FnOnce() -> String) -> Result<T, SysError> {
        self.map_err(|error| SysError::Call { action: action(), source: error.into() })
    }

    fn or_absent(self, what: impl Into<String>, remedy: &'static str) -> Result<(), SysError> {
        let absent = |error: E| SysError::Absent { what: what.into(), error: error.into(), remedy };
        self.map(drop).map_err(absent)
    }
}
