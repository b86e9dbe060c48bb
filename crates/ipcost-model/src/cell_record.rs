//! What a document has of one cell.

use std::collections::BTreeMap;

use derive_more::{Deref, DerefMut};
use ipcost_stats::Histogram;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::cell::{Point, Ran, Wait};
use crate::contrast_record::Percentile;
use crate::document::Estimate;
use crate::named;
use crate::protocol::PeerRole;

/// How long one side holds less than a segment back until what it sent is acknowledged, which the other side delays: figures of batches
/// that were watched and not timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldBackRecord {
    /// Which side.
    pub side: PeerRole,
    /// How long, nanoseconds for one operation: its share of the elapsed time.
    pub ns_per_op: f64,
    /// Its share of the time of those batches.
    pub share: f64,
    /// How often an operation does.
    pub waits_per_op: f64,
    /// Whether that end has `TCP_NODELAY` set; null if that could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodelay: Option<bool>,
}

/// A cell and its cost. Intervals of costs are at level `alpha`, each on its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Deref, DerefMut)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellRecord {
    /// Stable between runs.
    pub id: String,
    /// The row's name in tables.
    pub label: String,
    /// The point of the matrix.
    #[deref]
    #[deref_mut]
    #[serde(flatten)]
    pub point: Point,
    /// Who closed first, or `any`; `connect` only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub closes_first: Option<String>,
    /// How a side waits for the other; comparisons between spinning and sleeping cells always say so.
    #[serde(default)]
    pub wait: Wait,
    /// The congestion control of its connections; absent where they do not go through TCP, or the system does not name it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion: Option<String>,
    /// Option values that the kernel changed, by role and name.
    #[serde(skip_serializing_if = "Map::is_empty", default)]
    pub effective: Map<String, Value>,
    /// Whether it could be measured here.
    pub available: bool,
    /// Why it could not be measured.
    pub reason: Option<String>,
    /// Complete epochs.
    pub epochs: u32,
    /// Timed batches.
    pub batches: u64,
    /// Operations in them.
    pub ops: u64,
    /// Elapsed time per operation, nanoseconds.
    pub wall_ns_per_op: Option<Estimate>,
    /// User and system time of both processes per operation, nanoseconds.
    pub cpu_ns_per_op: Option<Estimate>,
    /// Time until the last send returned, per operation, nanoseconds; `stream` only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sent_ns_per_op: Option<Estimate>,
    /// The part of every batch that does not grow with its operations, nanoseconds: the cost of a burst besides its
    /// operations; absent if negligible.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wait_ns: Option<f64>,
    /// What waits for a delayed acknowledgement at the ends of its connections, by side; empty if nothing was seen to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<HeldBackRecord>,
    /// The mean of the elapsed time over epochs: all time over all operations, nanoseconds. Above the median where some epochs are slow.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wall_ns_per_op_mean: Option<f64>,
    /// Operations a second, from the mean.
    pub ops_per_s: Option<f64>,
    /// Payload bytes a second, both directions, from the mean.
    pub bytes_per_s: Option<f64>,
    /// The operations' own latencies, in a closed loop, which sends the next when the last is answered, unless `pace` says that it is
    /// open; of a stream how long messages took one way. Null if they were not sampled.
    pub latency_ns: Option<LatencySummary>,
    /// The same of each complete epoch by itself, from which comparisons with other runs are made; empty if they were not sampled, and in
    /// documents of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_by_epoch: Vec<Percentiles>,
    /// How the pace was kept; absent where operations follow one another back to back.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pace: Option<PaceRecord>,
    /// Resource usage per operation, medians over epochs.
    pub usage_per_op: Option<UsagePerOp>,
    /// Time in softirqs of the cores that its two processes are pinned to, nanoseconds per operation, whatever caused them: the sum over all
    /// batches, since the kernel counts in steps of 10 ms. It is part of `cpu_ns_per_op` already unless the host's
    /// `irq_time_accounting` is true. Absent if the processes are not pinned or the system does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub softirq_ns_per_op: Option<f64>,
    /// The two groups its epochs fall into, the cheaper first; empty if there is only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<Mode>,
    /// Where the scheduler put its batches, the most frequent first; empty if it does not place them, or the system
    /// does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ran: Vec<RanRecord>,
    /// The places within a page at which its buffers cost more; absent if none were found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<LayoutEffect>,
    /// The least cost of the same work here; absent if it was not measured or is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<FloorRecord>,
    /// Other measures, by name: medians over epochs, per operation unless the name ends in `_per_call`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measures: BTreeMap<String, f64>,
}

named! {
    /// A place within a page on which costs may depend.
    LayoutPlace, "place" {
        /// Where the client's send buffer begins.
        ClientSend = "client-send",
        /// Where the client's receive buffer begins.
        ClientRecv = "client-recv",
        /// Where the server's send buffer begins.
        ServerSend = "server-send",
        /// Where the server's receive buffer begins.
        ServerRecv = "server-recv",
        /// From the begin of the client's send buffer to that of the server's receive buffer.
        ToServer = "to-server",
        /// From the begin of the server's send buffer to that of the client's receive buffer.
        ToClient = "to-client",
        /// Where the rings or slots begin in shared memory.
        Ring = "ring",
    }
}

/// Places within a page at which a cell's buffers cost more than at others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LayoutEffect {
    /// Which place.
    pub place: LayoutPlace,
    /// The first of the slow epochs' places, bytes within a page.
    pub from: u64,
    /// The last of them; below `from` if they pass the end of a page.
    pub to: u64,
    /// The share of a page from the first to the last.
    pub share: f64,
    /// The slow epochs.
    pub epochs: u32,
    /// The median cost in them, nanoseconds per operation.
    pub wall_ns_per_op: f64,
    /// The median cost in the others.
    pub elsewhere_ns_per_op: f64,
}

/// The least cost of a cell's work here, measured in the same rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FloorRecord {
    /// The sum of the parts, nanoseconds per operation: the median over epochs.
    pub ns_per_op: f64,
    /// The cell's cost over the sum of the parts, paired by round; the interval is at level `alpha`.
    pub multiple: Estimate,
    /// Its parts.
    pub parts: Vec<FloorPart>,
    /// The same in words.
    pub made_of: String,
}

/// A part of a floor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FloorPart {
    /// The cell that measured it, by id.
    pub cell: String,
    /// How many of it are in one operation.
    pub count: f64,
    /// Their cost, nanoseconds: the count times the median cost of the part's cell.
    pub ns: f64,
}

/// How a pace was kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PaceRecord {
    /// Whether operations are offered whether or not the last was answered: an open loop.
    pub open: bool,
    /// Operations a second that were offered; null where a pause follows each answer.
    pub offered_per_s: Option<f64>,
    /// Operations a second that were done: the median over epochs.
    pub achieved_per_s: Option<f64>,
    /// How late operations began: after their pause, or after they were due.
    pub late_ns: Option<LatencySummary>,
    /// How long the sends of a stream took.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub send_ns: Option<LatencySummary>,
    /// How many operations were due on the same connection when one began: the mean, then the median over epochs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queued: Option<f64>,
    /// The share of operations that had not begun when the last of their batch was due; likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unsent: Option<f64>,
    /// Processor time that the sender spins away for each operation, nanoseconds; no part of `cpu_ns_per_op`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pacer_ns_per_op: Option<f64>,
}

/// Percentiles of latency, nanoseconds: of each epoch, then the median over epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencySummary {
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// The interval of the 99th percentile over epochs; absent while it is unbounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_bounds: Option<(u64, u64)>,
    /// 99.9th percentile.
    pub p999: u64,
    /// The largest seen.
    pub max: u64,
    /// How many operations were sampled.
    pub count: u64,
    /// The fewest of an epoch; percentiles that so few cannot give are those of the largest. Absent in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fewest: Option<u64>,
    /// The same of all epochs' operations thrown together; absent in documents of earlier versions, whose percentiles are all pooled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooled: Option<PooledLatency>,
}

impl LatencySummary {
    /// A percentile, nanoseconds; `None` if the epochs had too few operations for it.
    pub fn at(&self, percentile: Percentile) -> Option<u64> {
        let value = percentile.among([self.p50, self.p90, self.p99, self.p999]);
        self.fewest.is_none_or(|fewest| fewest >= percentile.least_ops()).then_some(value)
    }
}

/// The percentiles of sampled operations in one epoch of one cell, by nearest rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentiles {
    /// The epoch, from 1.
    pub epoch: u32,
    /// How many operations were sampled. Percentiles that so few cannot give are those of the largest.
    pub count: u64,
    /// Median, nanoseconds; 0 if nothing was sampled.
    pub p50: u64,
    /// 90th percentile, nanoseconds.
    pub p90: u64,
    /// 99th percentile, nanoseconds.
    pub p99: u64,
    /// 99.9th percentile, nanoseconds.
    pub p999: u64,
    /// How many took longer than the limit that the run was asked about, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_limit: Option<u64>,
}

impl Percentiles {
    /// Percentiles of an epoch's sampled latencies in nanoseconds.
    pub fn of(epoch: u32, latency: &Histogram) -> Self {
        let at = |percentile: Percentile| latency.value_at(percentile.quantile());
        Self {
            epoch,
            count: latency.count(),
            p50: at(Percentile::P50),
            p90: at(Percentile::P90),
            p99: at(Percentile::P99),
            p999: at(Percentile::P999),
            over_limit: None,
        }
    }

    /// One of them, nanoseconds; `None` if there were too few operations for it.
    pub fn at(&self, percentile: Percentile) -> Option<u64> {
        let value = percentile.among([self.p50, self.p90, self.p99, self.p999]);
        (self.count >= percentile.least_ops()).then_some(value)
    }
}

/// Percentiles of the operations of all epochs thrown together, nanoseconds. An epoch in a hundred decides the 99th, so they have no
/// interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PooledLatency {
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
}

/// Resource usage per operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsagePerOp {
    /// User time of the client, nanoseconds.
    pub client_user_ns: f64,
    /// System time of the client, nanoseconds.
    pub client_sys_ns: f64,
    /// User time of the server, nanoseconds.
    pub server_user_ns: f64,
    /// System time of the server, nanoseconds.
    pub server_sys_ns: f64,
    /// Switches because a process waited, both processes together.
    pub voluntary_switches: f64,
    /// Switches because the scheduler took the core away, both processes together.
    pub involuntary_switches: f64,
}

/// One of two groups of epochs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mode {
    /// The share of the epochs, 0 to 1.
    pub share: f64,
    /// How many epochs.
    pub epochs: u32,
    /// The median cost within the group, nanoseconds per operation.
    pub wall_ns_per_op: f64,
    /// Switches of both sides per operation, voluntary and not.
    #[serde(default)]
    pub switches_per_op: Option<f64>,
    /// Processor time of both sides over elapsed time.
    #[serde(default)]
    pub cpus_busy: Option<f64>,
}

/// The batches of a cell with one placement by the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RanRecord {
    /// On which cores.
    pub ran: Ran,
    /// How many batches.
    pub batches: u64,
    /// How often a thread moved to another processor, over all of them.
    pub migrations: u64,
    /// The median cost of those batches, nanoseconds per operation.
    pub wall_ns_per_op: Option<f64>,
}
