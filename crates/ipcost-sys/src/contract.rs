//! What the twins of a module have in common: the types that they give and take.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use crate::Descriptor;
use crate::net_namespace::Entrance;
use crate::process::GuardLine;

/// How much of what a peer writes to standard error is kept, in bytes.
pub const COMPLAINT_BYTES: usize = 4096;
/// How much of what a peer says is read at once, bytes.
pub const CHUNK_BYTES: usize = 65_536;
/// How often one stream of a peer is read before something else has its turn, so that who writes endlessly is noticed.
pub const MOST_READS: usize = 16;

/// How much a peer may write to standard error in its life, bytes: a reason to fail and some warnings, and not a
/// stream that takes the engine's time while it measures.
pub const MOST_COMPLAINT_BYTES: u64 = 1 << 20;

/// How a peer is started.
#[derive(Debug, Default)]
pub struct Spawn<'a> {
    /// The program, then its arguments.
    pub command: &'a [String],
    /// What the peer inherits under its numbers here; closed here afterwards.
    pub inherit: Vec<Descriptor>,
    /// The one processor it may run on; any where `None`.
    pub cpu: Option<usize>,
    /// The network namespace it is in; this process's where `None`.
    pub network: Option<Entrance>,
    /// What its descendants are known by, wherever they go; nothing else may have it. Windows knows them by their job.
    pub mark: Option<&'a str>,
    /// Where it says `watch` and its number before it starts, so that a guard knows it whenever its parent is killed. On
    /// Windows its job ends it then.
    pub guard: Option<GuardLine<'a>>,
}

/// How a program is started that a peer drives.
#[derive(Debug, Default)]
pub struct Launch<'a> {
    /// Its name, which is looked up as a shell does.
    pub program: &'a str,
    /// Its arguments.
    pub arguments: &'a [String],
    /// What it reads; nothing where `None`.
    pub input: Option<Stdio>,
    /// What it writes to; nowhere where `None`.
    pub output: Option<Stdio>,
    /// Whether it complains on its standard output, too, which then is kept like its errors.
    pub complains_on_output: bool,
    /// Where it works; where this process does where `None`.
    pub directory: Option<&'a Path>,
}

/// Why waiting for a program that a peer drives ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// What was waited for is there.
    Ready,
    /// The other side is gone.
    OtherGone,
}

/// What a peer has said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A line, without its newline.
    Line(Vec<u8>),
    /// Nothing yet.
    Nothing,
    /// Its standard output has ended.
    End,
    /// A line that is longer than the protocol allows.
    TooLong,
    /// More than [`MOST_COMPLAINT_BYTES`] on its standard error.
    TooMuchComplaint,
}

/// Why waiting for peers ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// At least one of them may have said something.
    Heard,
    /// The time is up.
    Deadline,
    /// This program was asked to stop.
    Interrupted,
}

/// What a peer has to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A line, or the end of input, is there.
    Control,
    /// The server should be asked for a channel.
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
    /// This user may not.
    Forbidden,
    /// The processor, or the hypervisor, offers no such event; or the kernel has no events at all.
    Absent,
}

/// What the loopback interface is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Whether it carries packets.
    pub up: bool,
    /// The largest packet, bytes.
    pub mtu: Option<u32>,
    /// What queues its packets.
    pub queue: Option<String>,
}

/// What the system says of itself; what it keeps in files is read elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Its name in the network.
    pub name: String,
    /// The kernel's release.
    pub kernel: String,
    /// The kernel's version, with what it was built with.
    pub version: String,
    /// The processor's model name, where no file has it.
    pub cpu: Option<String>,
    /// Memory, bytes, where no file has it.
    pub memory_bytes: Option<u64>,
    /// The version of Wine, where that replaces Windows.
    pub wine: Option<String>,
}

/// What is left of the system's room for one run; a limit that the system does not tell is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    /// Descriptors that a process may open; the soft limit has been raised as far as it goes.
    pub descriptors: u64,
    /// How many processes and threads may still start, by what limits them.
    pub tasks: Vec<TaskLimit>,
    /// Mappings of memory that a process may have.
    pub mappings: Option<u64>,
    /// Memory that is available, bytes.
    pub memory_bytes: Option<u64>,
    /// The longest queue of connections that wait to be accepted.
    pub somaxconn: Option<u64>,
    /// How many local ports connections may have towards one listener from one address.
    pub ports: Option<u64>,
}

/// Something that limits how many processes and threads there may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLimit {
    /// Its name.
    pub name: &'static str,
    /// How many may still start.
    pub left: u64,
    /// How it is raised.
    pub remedy: &'static str,
}
