//! What the twins of a module have in common: the types that they give and take.

use std::fs::File;

/// How much a peer may write to standard error in its life, bytes: a reason to fail and some warnings, and not a
/// stream that takes the engine's time while it measures.
pub const MOST_COMPLAINT_BYTES: u64 = 1 << 20;

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
    /// The version of Wine, where that stands in the place of Windows.
    pub wine: Option<String>,
}
