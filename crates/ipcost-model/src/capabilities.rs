//! What a transport can do, as data: only a transport's own file uses its name.

use serde::Serialize;

use crate::cell::Pattern;

/// A family of options; a transport lists the families that act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptionGroup {
    /// Acts in the loop of the pattern, on any transport.
    Loop,
    /// When the client's operations begin, on any transport that moves messages; to be followed by peers that know it alone.
    Pace,
    /// Acts on where the engine starts the processes, on any transport; not sent to peers.
    Place,
    /// Where buffers begin within a page, on any transport that has some; sent to peers that know it.
    Buffers,
    /// Which memory messages come from, on any transport that has buffers.
    Memory,
    /// Where a ring or a slot begins within a page of shared memory.
    SharedMemory,
    Socket,
    /// How sockets are called.
    Calling,
    /// In how many calls a message goes into a stream socket.
    Writing,
    Tcp,
    /// How long a transfer lasts, over transports whose connections learn over time; not sent to peers.
    Lasting,
    /// A whole range of source addresses to connect from.
    SourceAddresses,
    /// The buffer of a pipe or FIFO.
    PipeBuffer,
    /// How a side of shared memory waits for the other.
    Waiting,
    /// A ring in shared memory.
    Ring,
    Tls,
    /// Anything that listens and accepts.
    Listener,
    /// Copying within one process.
    Copying,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// As a byte stream: a reader takes as many at a time as it likes.
    Stream,
    /// As separate messages: a reader takes one at a time, and loses what its buffer does not hold.
    Message,
}

/// The part of a hop that a floor measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FloorKind {
    /// Entering the kernel and leaving it again.
    SystemCall,
    /// Handing over to another process that sleeps until then.
    HandOver,
    /// Handing over to another process that polls and never sleeps.
    SpinningHandOver,
    /// Copying bytes.
    Copy,
}

impl FloorKind {
    /// Whether it depends on a size in bytes.
    pub const fn has_size(self) -> bool {
        matches!(self, Self::Copy)
    }
}

/// A transport and its capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// The name in cells, flags and documents.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// Whether it opens connections, so that pattern `connect` exists.
    pub connects: bool,
    /// Whether one channel carries both directions.
    pub both_ways: bool,
    pub delivery: Delivery,
    /// Why pattern `stream` does not exist over it; `None` if it does.
    pub no_stream: Option<&'static str>,
    /// Whether a side sees that the other has closed its end.
    pub sees_end: bool,
    /// The systems it exists on, as Rust's `std::env::consts::OS` names them.
    pub os: &'static [&'static str],
    /// Whether payload arrives; false only for a test transport, which is then not verified.
    pub carries_payload: bool,
    /// Whether a side sends from buffers and receives into buffers whose place matters.
    pub has_buffers: bool,
    /// The families of options that act on it, besides [`OptionGroup::Loop`].
    pub option_groups: &'static [OptionGroup],
    /// Kernel counters (`/proc/net/netstat`, group `TcpExt`) that reveal trouble in its connections.
    pub trouble_counters: &'static [&'static str],
    /// Whether the default suite measures it on the systems that have it.
    pub in_default_suite: bool,
    /// The part of a hop that it measures, if it is a floor: it then moves no messages.
    pub floor: Option<FloorKind>,
}

impl Capabilities {
    /// Common defaults: a byte stream in both directions, on every system, without options.
    pub const PLAIN: Self = Self {
        name: "",
        summary: "",
        connects: false,
        both_ways: true,
        delivery: Delivery::Stream,
        no_stream: None,
        sees_end: true,
        os: &["linux", "macos", "windows"],
        carries_payload: true,
        has_buffers: true,
        option_groups: &[],
        trouble_counters: &[],
        in_default_suite: false,
        floor: None,
    };

    /// Whether the default suite measures it on a system, named as in Rust's `OS`.
    pub fn is_usual_on(&self, os: &str) -> bool {
        self.in_default_suite && self.exists_on(os)
    }

    /// Whether it exists on a system, named as in Rust's `OS`.
    pub fn exists_on(&self, os: &str) -> bool {
        self.os.contains(&os)
    }

    /// Whether a pattern exists over it.
    pub const fn does(&self, pattern: Pattern) -> bool {
        match pattern {
            Pattern::Floor => self.floor.is_some(),
            Pattern::Connect => self.floor.is_none() && self.connects,
            Pattern::Rr => self.floor.is_none(),
            Pattern::Stream => self.floor.is_none() && self.no_stream.is_none(),
        }
    }
}

/// A transport on the machine at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportState {
    /// What it can do.
    pub capabilities: &'static Capabilities,
    /// Why it cannot be used here; `None` if it can.
    pub unavailable: Option<String>,
}

/// A bundled peer on the machine at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerState {
    /// Its name in cells.
    pub name: String,
    /// Why it cannot be used here; `None` if it can.
    pub unavailable: Option<String>,
    /// Its own wire format, if it has one: only peers with the same one understand it.
    pub wire: Option<&'static str>,
}
