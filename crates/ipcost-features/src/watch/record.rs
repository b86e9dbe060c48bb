//! What `ipcost watch` saw.

use std::time::Duration;

use ipcost_model::job::duration;
use ipcost_model::{Envelope, named};
use serde::{Deserialize, Serialize};

use super::slow::SlowRecord;
use super::what_if::WhatIfRecord;

/// The version of the record.
pub const WATCH_SCHEMA: &str = "ipcost-watch/1";

/// Which conversations are looked for: those that fit all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Over this TCP port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Over this Unix socket or FIFO.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Of programs with this in their name or command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(with = "duration", default, skip_serializing_if = "Option::is_none")]
    pub lasts: Option<Duration>,
    /// Processes that have the text in their command lines because they ask for it: this program and those that started it.
    #[serde(skip)]
    pub own: Vec<u32>,
}

impl WatchRequest {
    /// Whether every conversation fits.
    pub fn is_any(&self) -> bool {
        self.pid.is_none() && self.port.is_none() && self.path.is_none() && self.command.is_none()
    }
}

/// What was seen of the programs that run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// What it is, what made it, where and when.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// What was looked for.
    pub request: WatchRequest,
    /// For how long, seconds.
    pub elapsed_s: f64,
    pub looks: u32,
    /// The processor time that looking took, as a share of one processor.
    pub own_cpu: f64,
    /// To which processes strace was attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<TraceRecord>,
    /// Whether the kernel counts what calls move over Unix sockets, pipes and UDP.
    #[serde(default)]
    pub counts_calls: bool,
    /// How much of the calls was sampled, where that was permitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampleRecord>,
    /// The conversations, those that move most first.
    pub conversations: Vec<Conversation>,
    /// Requests that took long, and where the time went, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<SlowRecord>,
    /// What is wrong with them, or could be better.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<WatchFinding>,
    /// What could not be seen, and what would allow it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<Unseen>,
    /// What another transport would save the first of them, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what_if: Option<WhatIfRecord>,
}

/// Something that is wrong with a conversation, or could be better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatchFinding {
    /// The rule, as in `docs/reference/rules.md`.
    pub code: String,
    /// The process that can mend it; absent where the system has to be set otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The address of the conversation; absent where it is of the whole machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What was seen, with its figures.
    pub found: String,
    pub remedy: String,
    /// How it is known to matter.
    pub source: String,
}

/// What could not be seen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unseen {
    pub what: String,
    pub why: String,
    /// What would allow it.
    pub remedy: String,
}

named! {
    /// What two programs talk over.
    #[derive(Default)]
    WatchedTransport, "medium" {
        /// TCP.
        #[default]
        Tcp = "tcp",
        /// UDP.
        Udp = "udp",
        /// A Unix socket that carries a stream.
        Unix = "unix",
        /// A Unix socket that carries datagrams.
        UnixDgram = "unix-dgram",
        /// A Unix socket that carries packets.
        UnixSeqpacket = "unix-seqpacket",
        /// A pair of Unix sockets without a name.
        Socketpair = "socketpair",
        /// A pipe.
        Pipe = "pipe",
        /// A pipe with a name.
        Fifo = "fifo",
        /// Shared memory.
        Shm = "shm",
    }
}

impl WatchedTransport {
    /// Whether its addresses are of the network.
    pub fn is_inet(self) -> bool {
        matches!(self, Self::Tcp | Self::Udp)
    }

    /// Whether it is a Unix socket of some kind.
    pub fn is_unix(self) -> bool {
        matches!(self, Self::Unix | Self::UnixDgram | Self::UnixSeqpacket | Self::Socketpair)
    }
}

named! {
    /// How a conversation goes.
    ConversationPattern, "manner of a conversation" {
        /// One asks, the other answers.
        Requests = "requests",
        /// One sends, the other takes.
        Stream = "stream",
        /// Each request has a connection of its own.
        Connections = "connections",
        /// Nothing was moved.
        Idle = "idle",
    }
}

named! {
    /// How figures of a conversation are known.
    #[derive(Default)]
    Known, "source of a figure" {
        /// From the kernel's counters.
        #[default]
        Counted = "counted",
        /// From counters of whole processes, which may count more than this.
        Estimated = "estimated",
        /// From a sample of the calls.
        Sampled = "sampled",
        /// From calls while strace was attached, which made them slower.
        Traced = "traced",
    }
}

/// Two running programs and what they exchange.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// Who connected, or writes; of shared memory, the one that runs longer.
    pub client: Party,
    /// Who was connected to, or reads.
    pub server: Party,
    /// What they talk over.
    pub medium: WatchedTransport,
    /// Where: `127.0.0.1:6379`, `/run/redis.sock`, `pipe 4711`.
    pub address: String,
    /// Connections that were open at the last look.
    pub connections: u32,
    /// Connections that were opened while it was looked at.
    pub opened: u64,
    /// The same in a second.
    pub opened_per_s: f64,
    /// From the client to the server; absent where nothing counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub there: Option<Flow>,
    /// From the server to the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Flow>,
    /// How it goes, where that can be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manner: Option<ConversationPattern>,
    /// Requests a second, of one that asks and answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_s: Option<f64>,
    /// From a request to its answer as the client sees it, microseconds; where calls were sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_us: Option<Spread>,
    /// From an answer to the client's next request, microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_us: Option<Spread>,
    /// From a request to the answer as the server sees it, microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_us: Option<Spread>,
    /// Whether these times, or the requests a second, are of calls that strace made slower.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slowed: bool,
    /// What TCP says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpState>,
    /// Bytes that waited to be read at the last look, at the server and at the client.
    pub waiting: (u64, u64),
}

impl Conversation {
    /// What the client waits for an answer, nanoseconds, in the median; `None` where nothing told that while the programs ran as they do.
    pub fn waits_ns(&self) -> Option<f64> {
        self.round_trip_us.filter(|_| !self.slowed).map(|spread| spread.median * 1e3)
    }

    /// Whether another observation's is the same: between the same programs, over the same address.
    pub fn is_same(&self, other: &Self) -> bool {
        let side =
            |party: &Party| (party.pid, if party.pid.is_none() { party.name.clone() } else { String::new() });
        let place = |conversation: &Self| {
            (
                side(&conversation.client),
                side(&conversation.server),
                conversation.medium,
                conversation.address.clone(),
            )
        };
        place(self) == place(other)
    }
}

/// One side of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Party {
    /// Its number; `None` if no process was seen that has the socket.
    pub pid: Option<u32>,
    /// Its name; empty if no one knows it.
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Its processor time, as a share of one processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// How many processes it is, where many hold the same end of a pipe; they have no one number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
}

/// What goes in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Bytes while it was looked at.
    pub bytes: u64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Segments with data, where they are counted: TCP may put several messages into one, or one into several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<u64>,
    /// Messages a second, where calls were sampled: what goes one way until something goes the other way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_per_s: Option<f64>,
    /// Bytes of a message, where calls were sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_bytes: Option<Spread>,
    /// Calls that moved messages of unknown size (`sendmmsg`, `recvmmsg`), where calls are counted: their bytes are not in it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unsized_calls: u64,
    pub known: Known,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// How values are spread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// What half of them do not exceed.
    pub median: f64,
    /// What 99 % of them do not exceed.
    pub p99: f64,
}

/// To which processes strace was attached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceRecord {
    pub processes: Vec<u32>,
    pub seconds: f64,
}

/// How much of the calls was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SampleRecord {
    /// The share of the time.
    pub share: f64,
    pub windows: u64,
    /// Records that the kernel had no room for.
    pub lost: u64,
}

/// What TCP says of the connections of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpState {
    /// How they share the network, such as `cubic`.
    pub congestion: String,
    /// The median of the smoothed round trips, microseconds; it includes how long an end waits before it acknowledges.
    pub rtt_us: u32,
    /// Segments that were sent again.
    pub retransmitted: u64,
    /// Of the time that was looked at, the share in which a usual client's end waited for room in the server's full buffer.
    pub there_held_up: f64,
    /// The same of the server's ends and the client's buffers.
    pub back_held_up: f64,
}
