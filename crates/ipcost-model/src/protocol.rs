//! The control protocol, version 1: JSON Lines between the engine and a peer.
//!
//! The engine writes [`FromEngine`] to a peer's standard input, the peer writes [`FromPeer`] to its
//! standard output; standard error is free text. One process plays one role in one cell for one epoch.
//! Readers skip unknown fields, so that later versions may add some.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::cell::{Cell, Pattern};
use crate::named;
use crate::sample::Usage;

/// The version this program speaks.
pub const PROTOCOL: u32 = 1;

/// The longest line either side may write, in bytes.
pub const MAX_LINE_BYTES: usize = 4 << 20;

/// The most latency values in one `done`.
pub const MAX_LATENCY_VALUES: usize = 10_000;

named! {
    /// The part a peer plays in a cell.
    PeerRole, "role" {
        /// Listens, receives, answers.
        Server = "server",
        /// Connects, sends, and times.
        Client = "client",
    }
}

impl PeerRole {
    /// That of the other side.
    pub fn other(self) -> Self {
        match self {
            Self::Server => Self::Client,
            Self::Client => Self::Server,
        }
    }
}

/// The address of a channel: an object with keys specific to the transport.
///
/// Transports without connections need one address a worker; `"more"` then lists those beyond the first.
pub type Address = Map<String, Value>;

/// The member of an address with the processes of a server, where they are not the peer or not all descend from the one that
/// listens.
pub const PROCESSES: &str = "processes";

/// The member of an address with the user as whom a program runs that the peer has started.
pub const RUNS_AS: &str = "runs_as";

/// The processes that an address names.
pub fn processes_of(address: &Address) -> Vec<u32> {
    let listed = address.get(PROCESSES).and_then(Value::as_array).into_iter().flatten();
    listed.filter_map(|id| id.as_u64()?.try_into().ok()).collect()
}

/// A message from the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum FromEngine {
    /// Set up; a client also connects now, except in pattern `connect`.
    Prepare {
        /// The role to play.
        role: PeerRole,
        /// The cell.
        cell: Cell,
        /// The address.
        address: Address,
    },
    /// Run this many operations: sent to the server first, then to the client.
    Batch {
        /// Echoed in the answer.
        id: u64,
        /// A multiple of the cell's concurrency; every worker does an equal share.
        ops: u64,
        /// Whether the client reads the clock at every operation and answers `latency_ns`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        latency: bool,
        /// Whether the client of `stream` over TCP pushes what Nagle's algorithm holds back after its last message: it sets
        /// TCP_NODELAY, and clears it again. Only asked of peers whose hello says so.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        push: bool,
        /// Present where the client keeps the pace of its cell (options `think` and `rate`): random pauses and arrivals are drawn
        /// from this number, below 2⁵³. It then times every operation by itself and answers `latency_ns`, `late_ns` and the
        /// measures [`OPERATIONS`] and [`OPERATIONS_NS`]; in `stream` the server answers `latency_ns` and these measures. Without
        /// it a batch runs back to back, whatever the options say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<u64>,
    },
    /// As [`FromEngine::Batch`], untimed, with a payload that is checked.
    Verify {
        /// Echoed in the answer.
        id: u64,
        /// A multiple of the cell's concurrency; every worker does an equal share.
        ops: u64,
    },
    /// Close everything and exit with status 0.
    Stop,
}

/// A message from a peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum FromPeer {
    /// The first line, sent without a request.
    Hello(Hello),
    /// Prepared.
    Ready {
        /// The server's actual address.
        #[serde(default)]
        address: Address,
        /// Option values that the kernel changed, by name.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        effective: Map<String, Value>,
    },
    /// The server is about to enter its loop.
    Armed {
        /// The batch's id.
        id: u64,
    },
    /// The batch is complete.
    Done(Done),
    /// The peer failed and then exits.
    Error {
        /// What failed and where, in one line.
        message: String,
    },
}

/// The measure that tells how many calls received something; from a server of `stream`.
pub const RECEIVES: &str = "receives";

/// The measure that tells of how many operations [`OPERATIONS_NS`] is the time.
pub const OPERATIONS: &str = "operations";
/// The measure with the time of single operations, nanoseconds, all added up: each from its begin, or from when it was due.
pub const OPERATIONS_NS: &str = "operations_ns";
/// The measure with the operations that were due before each one that begins, all added up.
pub const QUEUED: &str = "queued";
/// The measure with the operations that had not begun when the last one was due.
pub const UNSENT: &str = "unsent";
/// The measure with the processor time of a sender that waits for arrivals, nanoseconds.
pub const PACER_NS: &str = "pacer_ns";

named! {
    /// What is told of each operation of a batch, nanoseconds.
    LatencyKind, "distribution" {
        /// How long it took.
        Latency = "latency_ns",
        /// How late it began.
        Late = "late_ns",
        /// How long its send took; `stream` only.
        Send = "send_ns",
    }
}

/// A peer and its capabilities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hello {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The peer's name.
    pub peer: String,
    /// The peer's version.
    pub version: String,
    /// The compiler or interpreter with its version.
    pub runtime: String,
    /// The parts it can play.
    pub roles: Vec<PeerRole>,
    /// The transports it has.
    pub transports: Vec<String>,
    /// The patterns it has.
    pub patterns: Vec<Pattern>,
    /// Options of cells that it knows, by name. The engine draws some by itself (`send_offset`, `recv_offset`), and
    /// sends those only to peers that list them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Whether it follows `push` of a batch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pushes: bool,
}

impl Hello {
    /// Whether it lists an option.
    pub fn knows(&self, option: &str) -> bool {
        self.options.iter().any(|name| name == option)
    }

    /// Whether the peer places its buffers where it is told to.
    pub fn places_buffers(&self) -> bool {
        self.knows("send_offset") && self.knows("recv_offset")
    }
}

/// The result of a batch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Done {
    /// The batch's id.
    pub id: u64,
    /// Operations done.
    pub ops: u64,
    /// Elapsed time of the loop in this process, nanoseconds.
    pub wall_ns: u64,
    /// Elapsed time until the last send returned, nanoseconds; client of `stream` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_ns: Option<u64>,
    /// This process's resource usage over the batch, all threads and workers.
    #[serde(default)]
    pub usage: Usage,
    /// At most [`MAX_LATENCY_VALUES`] sampled latencies, nanoseconds; client only.
    #[serde(default)]
    pub latency_ns: Vec<u64>,
    /// How late operations began, nanoseconds: after the end of a pause, or after they were due; likewise. Only where a pace is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late_ns: Vec<u64>,
    /// How long the sends of a `stream` took, nanoseconds; likewise. Only where a pace is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub send_ns: Vec<u64>,
    /// Distributions of more than [`MAX_LATENCY_VALUES`] operations, by the name of the list that they replace: HdrHistogram's
    /// version 2 encoding with at most three significant digits, not compressed, in Base64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<String, String>,
    /// Connections retried because the listener's queue was full.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u64,
    /// Other measures of the batch, by name, such as [`RECEIVES`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measures: BTreeMap<String, f64>,
}

impl Done {
    /// The list of a distribution.
    pub fn values(&self, kind: LatencyKind) -> &[u64] {
        match kind {
            LatencyKind::Latency => &self.latency_ns,
            LatencyKind::Late => &self.late_ns,
            LatencyKind::Send => &self.send_ns,
        }
    }

    /// The same, to be changed.
    pub fn values_mut(&mut self, kind: LatencyKind) -> &mut Vec<u64> {
        match kind {
            LatencyKind::Latency => &mut self.latency_ns,
            LatencyKind::Late => &mut self.late_ns,
            LatencyKind::Send => &mut self.send_ns,
        }
    }
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads_as_written<T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(
        line: &str,
    ) -> T {
        let message: T = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&message).unwrap(), line);
        message
    }

    #[test]
    fn the_engines_messages_are_the_documented_lines() {
        reads_as_written::<FromEngine>(
            r#"{"type":"prepare","role":"server","cell":{"pattern":"rr","transport":"unix","size":64,"reply":64,"concurrency":1,"speaks_first":"client","options":{}},"address":{"path":"/tmp/x"}}"#,
        );
        reads_as_written::<FromEngine>(r#"{"type":"batch","id":7,"ops":20000}"#);
        reads_as_written::<FromEngine>(r#"{"type":"batch","id":7,"ops":20000,"latency":true}"#);
        reads_as_written::<FromEngine>(r#"{"type":"batch","id":7,"ops":20,"seed":4503599627370497}"#);
        reads_as_written::<FromEngine>(r#"{"type":"verify","id":8,"ops":100}"#);
        reads_as_written::<FromEngine>(r#"{"type":"stop"}"#);
    }

    #[test]
    fn the_peers_messages_are_the_documented_lines() {
        reads_as_written::<FromPeer>(
            r#"{"type":"hello","protocol":1,"peer":"c","version":"0.1.0","runtime":"gcc 12.2.0","roles":["server","client"],"transports":["unix","tcp"],"patterns":["connect","rr","stream"]}"#,
        );
        reads_as_written::<FromPeer>(r#"{"type":"ready","address":{"host":"127.0.0.1","port":1234}}"#);
        reads_as_written::<FromPeer>(r#"{"type":"armed","id":7}"#);
        reads_as_written::<FromPeer>(
            r#"{"type":"done","id":7,"ops":20000,"wall_ns":412345678,"sent_ns":412300000,"usage":{"user_ns":0,"sys_ns":0,"voluntary_switches":0,"involuntary_switches":0},"latency_ns":[]}"#,
        );
        reads_as_written::<FromPeer>(
            r#"{"type":"done","id":7,"ops":2,"wall_ns":41,"usage":{"user_ns":0,"sys_ns":0,"voluntary_switches":0,"involuntary_switches":0},"latency_ns":[5,6],"late_ns":[1,2],"histograms":{"send_ns":"HISTFAAAA"},"measures":{"operations":2.0,"operations_ns":11.0}}"#,
        );
        reads_as_written::<FromPeer>(r#"{"type":"error","message":"bind: address in use"}"#);
    }

    #[test]
    fn a_peer_may_leave_out_what_is_optional_and_add_what_is_new() {
        let line = r#"{"type":"done","id":7,"ops":1,"wall_ns":5,"colour":"blue"}"#;
        let FromPeer::Done(done) = serde_json::from_str(line).unwrap() else { panic!("not done") };
        assert_eq!(done, Done { id: 7, ops: 1, wall_ns: 5, ..Done::default() });
    }
}
