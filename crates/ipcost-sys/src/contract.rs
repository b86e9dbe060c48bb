//! Types shared by a module's twins.

use ipcost_model::choices::Join;
use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use crate::Descriptor;
use crate::net_namespace::Entrance;
use crate::process::GuardLine;

/// How much of a peer's standard error is kept, bytes.
pub const COMPLAINT_BYTES: usize = 4096;
/// How much of a peer's output is read at once, bytes.
pub const CHUNK_BYTES: usize = 65_536;
/// Reads of one peer's stream before others get their turn, so that a peer that writes endlessly is noticed.
pub const MOST_READS: usize = 16;

/// How much a peer may write to standard error in its life, bytes: enough for an error and some warnings, too little
/// for a stream that takes the engine's time while it measures.
pub const MOST_COMPLAINT_BYTES: u64 = 1 << 20;

/// How a peer is started.
#[derive(Debug, Default)]
pub struct Spawn<'a> {
    /// The program, then its arguments.
    pub command: &'a [String],
    /// Environment variables besides those of this process.
    pub env: &'a [(String, String)],
    /// Descriptors that the peer inherits under the same numbers; closed here afterwards.
    pub inherit: Vec<Descriptor>,
    /// The one processor it may run on; any if `None`.
    pub cpu: Option<usize>,
    /// Its network namespace; this process's if `None`.
    pub network: Option<Entrance>,
    /// Whether it leads a session of its own; otherwise it stays in this process's.
    pub own_session: bool,
    /// Identifies its descendants wherever they go; must be unique. Windows identifies them by their job.
    pub mark: Option<&'a str>,
    /// Where it writes `watch` and its number before it starts, so that a guard finds it even if its parent is killed.
    /// On Windows its job ends it then.
    pub guard: Option<GuardLine<'a>>,
    /// Bounds that hold even if this process is stopped or killed. Only Unix has them.
    pub bounds: Option<Bounds>,
}

/// What ends a program that its parent may not be able to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// It is killed after so many seconds.
    pub seconds: u32,
    /// No file that it writes grows longer, bytes (`RLIMIT_FSIZE`).
    pub file_bytes: u64,
}

/// How to start a program that a peer drives.
#[derive(Debug, Default)]
pub struct Launch<'a> {
    /// Its name, looked up as a shell does.
    pub program: &'a str,
    pub arguments: &'a [String],
    /// Its standard input; empty if `None`.
    pub input: Option<Stdio>,
    /// Its standard output; discarded if `None`.
    pub output: Option<Stdio>,
    /// Whether it also writes errors to its standard output, which is then kept like its standard error.
    pub complains_on_output: bool,
    /// Its working directory; this process's if `None`.
    pub directory: Option<&'a Path>,
    /// The user it runs as; this process's if `None`.
    pub user: Option<User>,
    /// Whether it gets none of this process's environment, which may hold passwords: another user's program never does.
    pub without_environment: bool,
    /// Variables that it gets besides.
    pub env: &'a [(&'a str, &'a str)],
    /// Whether it is interrupted rather than killed when this process dies, since it has something to clean up.
    pub cleans_up: bool,
}

/// A user of this system, by numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    pub id: u32,
    pub group: u32,
}

/// Where a server listens.
#[derive(Debug, Clone, Copy)]
pub enum Listens<'a> {
    /// The path of a Unix socket.
    Path(&'a str),
    Port(SocketAddr),
}

/// Why a wait for a driven program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The awaited event happened.
    Ready,
    /// The other side is gone.
    OtherGone,
}

/// What a peer has said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A line, without its newline.
    Line(Vec<u8>),
    Nothing,
    /// Its standard output has ended.
    End,
    /// A line that is longer than the protocol allows.
    TooLong,
    /// More than [`MOST_COMPLAINT_BYTES`] on its standard error.
    TooMuchComplaint,
}

/// Why a wait for peers ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// At least one of them may have said something.
    Heard,
    /// The deadline has passed.
    Deadline,
    /// This program was asked to stop.
    Interrupted,
}

/// A peer's next task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A line, or the end of input, is ready.
    Control,
    /// The server should accept a channel.
    Server,
}

/// The worker's side of the pipes to its parent.
#[derive(Debug)]
pub struct Link {
    /// What the parent writes.
    pub orders: File,
    /// What the parent reads.
    pub answers: File,
}

/// Why an event cannot be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// This user lacks permission.
    Forbidden,
    /// The processor or hypervisor does not offer this event, or the kernel has no events at all.
    Absent,
}

/// Who owns the socket that listens at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenerOwner {
    /// A user of this machine.
    User(u32),
    /// This system does not tell: it listens in another network namespace, behind a NAT, or nowhere any more.
    Unknown,
    /// It is not on this machine, or reached over more than loopback.
    Elsewhere,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Whether it is up.
    pub up: bool,
    /// Its MTU, bytes.
    pub mtu: Option<u32>,
    pub queue: Option<String>,
}

/// What the system reports about itself, except what it keeps in files.
#[derive(Debug, Clone, Default)]
pub struct SystemReport {
    pub name: String,
    pub kernel: String,
    /// The kernel's version and build.
    pub version: String,
    /// The processor's model name, if no file has it.
    pub cpu: Option<String>,
    /// Memory, bytes, if no file has it.
    pub memory_bytes: Option<u64>,
    /// The version of Wine, if it replaces Windows.
    pub wine: Option<String>,
}

/// What the system has left for one run; a limit that it does not report is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    /// Descriptors that a process may open; the soft limit has already been raised to its maximum.
    pub descriptors: u64,
    /// How many processes and threads may still start, by limit.
    pub tasks: Vec<TaskLimit>,
    /// Memory mappings that a process may have.
    pub mappings: Option<u64>,
    /// Available memory, bytes.
    pub memory_bytes: Option<u64>,
    /// The longest accept queue.
    pub somaxconn: Option<u64>,
    /// Local ports for connections from one address to one listener.
    pub ports: Option<u64>,
}

/// A limit on the number of processes and threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLimit {
    pub name: &'static str,
    /// How many may still start.
    pub left: u64,
    /// How to raise it.
    pub remedy: &'static str,
}

/// Another process of this program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbour {
    pub process: u32,
    /// Its user, by name, or by number if that has none.
    pub user: String,
}

/// In how many pieces a message is sent, and what joins them again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    pub count: usize,
    pub join: Join,
}

/// One end of an open TCP connection (`struct tcp_info` of `linux/tcp.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpEnd {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    /// The number of its socket; 0 if no process has it open.
    pub inode: u32,
    /// The user that it belongs to, by number.
    pub user: u32,
    /// Segments that are sent and not acknowledged.
    pub unacknowledged: u32,
    /// Bytes that the program has written and that are not sent.
    pub unsent_bytes: u32,
    /// The most that a segment holds, bytes.
    pub segment_bytes: u32,
    /// Segments that congestion control allows to be unacknowledged.
    pub window: u32,
    /// Bytes acknowledged so far.
    pub acknowledged_bytes: u64,
}

impl TcpEnd {
    /// Whether less than a segment waits for what was sent to be acknowledged, although it may be sent: what Nagle's algorithm does
    /// (RFC 896).
    pub fn is_held_back(&self) -> bool {
        (1..self.segment_bytes).contains(&self.unsent_bytes)
            && (1..self.window).contains(&self.unacknowledged)
    }
}
