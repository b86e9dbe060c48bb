//! What one look at the machine shows, as plain data: what is said of it is decided elsewhere, so that a test can plant it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::time::Duration;

use ipcost_sys::observed::{
    Connected, CountedCalls, Held, Program, SampleError, TcpSocket, UdpSocket, UnixSocket,
};

use ipcost_sys::sockets::LocalPorts;

use super::sampling::Window;

/// Why nothing can be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The kernel shows no sockets.
    #[error("the sockets of other programs cannot be seen here: {0}")]
    NoSockets(#[source] io::Error),
    /// The processes cannot be read.
    #[error("the processes cannot be seen here: {0}")]
    NoProcesses(#[source] io::Error),
    /// A process that was asked for is not there.
    #[error("there is no process {0}; ipcost watch without --pid shows those that talk to each other")]
    NoProcess(u32),
    /// A process of another user was asked for.
    #[error("process {0} is another user's; run as root to see what it says")]
    NotYours(u32),
    /// Calls cannot be sampled.
    #[error(transparent)]
    NoSamples(#[from] SampleError),
    #[error("strace is attached instead")]
    TracedInstead,
    #[error("requests are followed instead")]
    FollowedInstead,
}

/// All that is seen at a moment, and was counted and sampled since the one before.
#[derive(Debug, Clone, Default)]
pub struct Observation {
    pub at: Duration,
    /// Whether it is the first one, or the first since a pause: what was counted before was not seen.
    pub is_baseline: bool,
    pub tcp: Vec<TcpSocket>,
    pub udp: Vec<UdpSocket>,
    pub unix: Vec<UnixSocket>,
    /// Those TCP sockets that have closed since the last observation.
    pub closed: Vec<TcpSocket>,
    /// Who opened connections since then, by the client's own and its server's address.
    pub connected: Vec<Connected>,
    /// What calls have moved over each socket and pipe so far, where that is counted.
    pub counted: Option<Vec<CountedCalls>>,
    /// Calls that are in no count so far, for want of room.
    pub uncounted: u64,
    /// The calls that were sampled since the last observation.
    pub windows: Vec<Window>,
    /// What descriptors of those calls are that this observation does not show otherwise.
    pub late: HashMap<(u32, i32), Held>,
    /// Connections that no listener had room for since the system began, in this program's network.
    pub overflows: Option<u64>,
    /// What pipes hold that processes have open, bytes, by number; as far as this user may ask.
    pub pipe_bytes: HashMap<u64, u64>,
    /// How many pages in pipes a user may have before new pipes hold less, if there is a limit.
    pub pipe_pages_limit: Option<u64>,
    /// The local ports of network namespaces in which many connections are in TIME_WAIT.
    pub ports: BTreeMap<u64, LocalPorts>,
    /// Whether the kernel had no room for some messages on what has closed.
    pub lost: bool,
    pub programs: BTreeMap<u32, Program>,
    /// The network namespace that this program is in, by number.
    pub own_network: u64,
    /// What was left out, since it was more than is taken from others.
    pub beyond: Beyond,
}

impl Observation {
    /// The numbers of all sockets.
    pub(super) fn inodes(&self) -> HashSet<u32> {
        let inet =
            self.tcp.iter().map(|socket| socket.inode).chain(self.udp.iter().map(|socket| socket.inode));
        inet.chain(self.unix.iter().map(|socket| socket.inode)).collect()
    }

    /// The network namespace of a program as sockets tell it, 0 for this program's own; `None` if this user may not look.
    pub fn network_of(&self, program: &Program) -> Option<u64> {
        match program.network {
            0 => None,
            own if own == self.own_network => Some(0),
            other => Some(other),
        }
    }
}

/// How much was left out of an observation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beyond {
    pub networks: u64,
    /// Network namespaces whose connections that open and close between two observations are not seen.
    pub closing: u64,
    pub descriptors: u64,
    pub sockets: u64,
    pub processes: u64,
}
