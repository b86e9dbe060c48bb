//! The document: the versioned record of one run, from which all output is drawn.

use std::collections::BTreeMap;

use derive_more::{Deref, DerefMut};
use ipcost_stats::{Histogram, Looks, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::arms::ArmsRecord;
use crate::cell::{Point, Ran, Wait, Work};
use crate::job::{Job, LatencyMode};
use crate::layout::BufferLayout;
use crate::lookup::Lookup;
use crate::named;
use crate::protocol::PeerRole;

/// The code of warnings that tell of waits for delayed acknowledgements: they belong to the answer.
pub const HELD_BACK: &str = "held-back";

/// The version of the document.
pub const SCHEMA: &str = "ipcost/1";

named! {
    /// Why a run ended.
    #[derive(Default)]
    Stopped, "reason" {
        /// Every headline contrast was resolved.
        Resolved = "resolved",
        /// The budget, or the number of epochs asked for, was spent.
        Budget = "budget",
        /// The user or the system asked it to stop.
        Interrupted = "interrupted",
        /// The run failed.
        #[default]
        Failed = "failed",
    }
}

named! {
    /// What a contrast compares.
    #[derive(Default)]
    Metric, "metric" {
        /// Elapsed time per operation.
        #[default]
        Wall = "wall",
        /// User and system time of both processes per operation.
        Cpu = "cpu",
    }
}

named! {
    /// The error rate that `alpha` limits.
    #[derive(Default)]
    Multiplicity, "multiplicity" {
        /// The chance that any interval of the headline ever misses.
        #[default]
        Headline = "headline",
        /// The expected share of misses among the intervals of contrasts with a verdict.
        Explored = "explored",
    }
}

/// One run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// The version of the document.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The program that made it.
    pub tool: Tool,
    /// The machine.
    pub host: Host,
    /// The job.
    pub job: Job,
    /// The user's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The seed of every random order.
    pub seed: u64,
    /// When it started, RFC 3339.
    pub started: String,
    /// When it was resumed after being killed; empty if it never was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumed>,
    /// Duration, seconds.
    pub elapsed_s: f64,
    /// Why it ended.
    pub stopped: Stopped,
    /// Its layout in time.
    pub schedule: Schedule,
    /// The levels of the intervals.
    pub analysis: Analysis,
    /// Every cell, measured or not.
    pub cells: Vec<CellRecord>,
    /// Cells that do the same work, compared with each other.
    pub workloads: Vec<WorkloadRecord>,
    /// Results for pairs of cells.
    pub contrasts: Vec<ContrastRecord>,
    /// Cells with a pause against the same work at the shortest pause: what a pace costs. They share alpha with the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_pace: Vec<ContrastRecord>,
    /// What the cost of a pause is made of, as far as cells of the run tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pause_parts: Vec<PausePart>,
    /// Every timed batch of every complete epoch.
    pub samples: Vec<Sample>,
    /// Problems that weaken or bias the result.
    pub warnings: Vec<Warning>,
    /// Facts about the result that call for no action.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Warning>,
    /// What the commands of the two arms changed, if the run compares two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arms: Option<ArmsRecord>,
    /// As which user its processes ran, by what they are: `ipcost`, `peers`, `the server of NAME`, `commands of the arms`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ran_as: BTreeMap<String, String>,
    /// The answer of a command that asked more than the document's own contrasts: the record that it writes, with its
    /// schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Further runs of the same command, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Document>,
    /// Where its parts are.
    #[serde(skip)]
    pub lookup: Lookup,
}

/// The start of every record: its kind, the program, the machine and the time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Envelope {
    /// The kind of record and its version.
    pub schema: String,
    /// The program that made it.
    pub tool: Tool,
    /// The machine.
    pub host: Host,
    /// When it started, RFC 3339.
    pub started: String,
}

/// The program that made a document. What is not known of its build is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// Always `ipcost`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit that it was built from, abbreviated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The day of that commit, such as 2026-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_date: Option<String>,
    /// The target triple that it was built for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The directory of Cargo's profile: `debug`, `release`, or the name of another profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

impl Tool {
    /// A build of which only the version is known.
    pub fn of_version(version: impl Into<String>) -> Self {
        let version = version.into();
        Self {
            name: "ipcost".to_owned(),
            version,
            commit: None,
            commit_date: None,
            target: None,
            profile: None,
        }
    }

    /// The version, and in parentheses what is known of the build: commit, target, profile.
    pub fn build(&self) -> String {
        let commit = [&self.commit, &self.commit_date].into_iter().flatten();
        let commit = commit.map(String::as_str).collect::<Vec<_>>().join(" ");
        let commit = Some(commit).filter(|commit| !commit.is_empty());
        let known: Vec<String> =
            [commit, self.target.clone(), self.profile.clone()].into_iter().flatten().collect();
        match known.is_empty() {
            true => self.version.clone(),
            false => format!("{} ({})", self.version, known.join(", ")),
        }
    }
}

/// A run was resumed after being killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resumed {
    /// When, RFC 3339.
    pub at: String,
    /// Complete epochs at that time.
    pub after_epoch: u32,
}

/// The machine, as far as it affects the result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// The operating system.
    pub os: String,
    /// The kernel's release.
    pub kernel: String,
    /// The processor's architecture.
    pub arch: String,
    /// The processor's model name.
    pub cpu: String,
    /// Logical processors this program may use.
    pub cores: u32,
    /// Physical cores among them.
    pub physical_cores: u32,
    /// Further facts by name.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Host {
    /// The machine's name; empty if the document does not hold it.
    pub fn name(&self) -> &str {
        self.more.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// What stands for its machine id, so that hosts of one name can be told apart; `None` if the document does not hold it.
    pub fn machine(&self) -> Option<&str> {
        self.more.get("machine").and_then(Value::as_str)
    }

    /// The congestion control that TCP uses unless a socket sets another; `None` where that is not recorded.
    pub fn tcp_congestion(&self) -> Option<&str> {
        self.more.get("tcp_congestion_control")?.as_str()
    }
}

/// The layout of a run in time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Schedule {
    /// Rounds in each epoch.
    pub rounds: u32,
    /// Complete epochs.
    pub epochs: u32,
    /// The target length of a batch, milliseconds.
    pub batch_ms: f64,
    /// The target length of a lead-in, milliseconds.
    pub lead_in_ms: f64,
    /// The budget, seconds.
    pub budget_s: f64,
    /// How latency was sampled; unless `inline`, no clock was read within a timed batch.
    pub latency: LatencyMode,
    /// Where the time went.
    pub timing: Timing,
}

/// Where a run's time went, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timing {
    /// Before the first epoch: probing peers, calibrating operation counts.
    pub calibration_s: f64,
    /// Starting, preparing and verifying processes, and ending them.
    pub processes_s: f64,
    /// Timed batches.
    pub batches_s: f64,
    /// Lead-ins of batches.
    pub lead_ins_s: f64,
    /// Batches after them that sample latencies.
    #[serde(default)]
    pub tails_s: f64,
    /// The rest: messages to peers, analysis, progress.
    pub other_s: f64,
}

/// The levels of the intervals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Analysis {
    /// The chance that any headline interval ever misses.
    pub alpha: f64,
    /// The number of contrasts that share it.
    pub family: u32,
    /// The level of each contrast's interval: `alpha / family`, times the discoveries of an explored grid.
    pub alpha_each: f64,
    /// The error rate that `alpha` limits.
    #[serde(default)]
    pub multiplicity: Multiplicity,
    /// Discoveries among the contrasts of an explored grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discoveries: Option<u32>,
    /// The relative difference that matters.
    pub margin: f64,
    /// Epochs needed for the first finite interval at `alpha_each`.
    pub epochs_needed: u32,
    /// The looks at contrasts that were planned before the first epoch; absent where there were none, and in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Looks::is_none")]
    pub looks: Looks,
    /// What a longer run would answer, if the budget ended before all contrasts were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longer: Option<LongerRun>,
}

/// What a longer run would likely answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongerRun {
    /// Contrasts that are open.
    pub open: u32,
    /// How many of them it would answer; 0 if no budget of up to ten times this one would, or that cannot be told.
    pub answers: u32,
    /// Its budget; null if `answers` is 0.
    pub budget_s: Option<f64>,
    /// What on this machine is in the way of an answer, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_the_way: Option<String>,
}

/// A median with its interval; the bounds are null while unbounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The median over epochs.
    pub median: f64,
    /// The lower end.
    pub lo: Option<f64>,
    /// The upper end.
    pub hi: Option<f64>,
}

impl Document {
    /// What waits for delayed acknowledgements, in sentences: it is told with the answer, before any advice.
    pub fn held_back(&self) -> impl Iterator<Item = &str> {
        let held_back = self.warnings.iter().filter(|warning| warning.code == HELD_BACK);
        held_back.map(|warning| warning.message.as_str())
    }
}

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

/// A table: cells that do the same work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Deref)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadRecord {
    /// What they share.
    #[deref]
    #[serde(flatten)]
    pub work: Work,
    /// Its cells, by id.
    pub cells: Vec<String>,
    /// The cell the others are compared with, by id.
    pub baseline: Option<String>,
    /// The cheapest cell and its verdict; null below two measured cells.
    pub fastest: Option<Fastest>,
    /// The same among the cells that sleep while they wait, if the cheapest of all does not and there are two or
    /// more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fastest_blocking: Option<Fastest>,
    /// Where the table has long transfers and bursts of a transport, its baseline and its cheapest are of the long ones, and this is the
    /// table of the bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Box<WorkloadRecord>>,
    /// The contrasts of such a table with its own baseline, elapsed time alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contrasts: Vec<ContrastRecord>,
}

/// The cheapest cell of a table against the runner-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fastest {
    /// The cheapest, by id.
    pub cell: String,
    /// The next, by id.
    pub runner_up: String,
    /// The cost of the runner-up over the cost of the cheapest.
    pub ratio: f64,
    /// The lower end of its interval.
    pub lo: Option<f64>,
    /// The upper end of its interval.
    pub hi: Option<f64>,
    /// The verdict on that ratio.
    pub verdict: Verdict,
    /// Whether its interval against every other cell of the table excludes 1: only then may it be called the
    /// cheapest.
    pub claimed: bool,
    /// Cells known to cost the same within the margin, by id: in the median, and with known means.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equals: Vec<String>,
    /// Whether the mean cost of one of `equals` is known to differ by more than the margin.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub means_differ: bool,
    /// Cells that may be cheaper still, by id: known neither to cost more nor to cost the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// The factor by which each of `open` costs more or less than the cheapest at most; absent where that is large or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_within: Option<f64>,
    /// The factor by which the cheapest costs more than any of `open` at most; absent where that is large or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_cheaper_by: Option<f64>,
}

/// The ratio of the cost of cell `a` to the cost of cell `b`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContrastRecord {
    /// The metric.
    pub metric: Metric,
    /// The cell in the numerator, by id.
    pub a: String,
    /// The cell in the denominator, by id.
    pub b: String,
    /// The median over epochs.
    pub ratio: f64,
    /// The lower end; null while unbounded.
    pub lo: Option<f64>,
    /// The upper end; null while unbounded.
    pub hi: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// How many epochs it rests on.
    pub epochs: u32,
    /// The least and the largest ratio of an epoch, where many epochs give no interval: an observation of this run,
    /// not a guarantee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(f64, f64)>,
    /// Whether the ratio itself changed during the run, more than chance explains.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wanders: bool,
    /// The first epoch that counts, where the machine changed during the run and the ratio with it; absent where all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u32>,
    /// Whether the epochs before `since` say the opposite: then there is no verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// What is known all the same of a ratio that is `undecided`: an end of its interval that is not far from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// Whether it shares the headline's alpha; others have the same level, but no guarantee for the table as a whole.
    pub headline: bool,
    /// The ratio of the mean costs: what rare slow epochs add. Absent in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<MeanContrast>,
    /// How much more `a` varies from start to start than `b`; absent while there is no interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<SpreadContrast>,
    /// The contrast over the rounds where both ran on one core, and where both ran on two, as the scheduler chose.
    /// No guarantee for the table as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<ContrastWithin>,
    /// The same of percentiles of latency, each epoch's own; those that its operations can give. Together they share as much of
    /// alpha as the contrast has by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<LatencyContrast>,
}

named! {
    /// A percentile of latency.
    Percentile, "percentile" {
        /// The median.
        P50 = "p50",
        /// The 90th.
        P90 = "p90",
        /// The 99th.
        P99 = "p99",
        /// The 99.9th.
        P999 = "p999",
    }
}

impl Percentile {
    /// Those that are compared.
    pub const COMPARED: [Self; 3] = [Self::P50, Self::P99, Self::P999];

    /// The highest that so many operations give.
    pub fn highest_of(ops: u64) -> Option<Self> {
        Self::ALL.iter().copied().rev().find(|percentile| percentile.least_ops() <= ops)
    }

    pub fn quantile(self) -> f64 {
        self.among([0.5, 0.9, 0.99, 0.999])
    }

    /// The fewest operations that have it: with ten beyond it. Of fewer it would rest on the largest two or three, and be too small.
    pub fn least_ops(self) -> u64 {
        const BEYOND: u64 = 10;
        BEYOND * self.one_in()
    }

    /// One in so many is beyond it.
    pub fn one_in(self) -> u64 {
        (1.0 / (1.0 - self.quantile())).round() as u64
    }

    /// Its value among those of all, in their order.
    pub fn among<T>(self, [p50, p90, p99, p999]: [T; 4]) -> T {
        match self {
            Self::P50 => p50,
            Self::P90 => p90,
            Self::P99 => p99,
            Self::P999 => p999,
        }
    }

    /// As people write it: `p99.9`.
    pub fn title(self) -> &'static str {
        match self {
            Self::P999 => "p99.9",
            other => other.name(),
        }
    }
}

named! {
    /// Why an operation costs more after a pause.
    PauseCause, "cause of what a pause costs" {
        /// All that it costs more than at the shortest pause.
        Whole = "whole",
        /// Processors slept and are woken: what is saved where they are kept from idle states.
        IdleStates = "idle-states",
        /// Caches are cold: what it costs at the shortest pause to go through memory in between.
        Caches = "caches",
    }
}

/// A part of what an operation costs more after a pause; the parts are told by different cells, and need not add up to the whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PausePart {
    /// The cell with the pause, by id.
    pub cell: String,
    /// Which part.
    pub cause: PauseCause,
    /// How much of an operation it is, nanoseconds; at the level of a contrast.
    pub ns: Estimate,
    /// The cell that tells, by id.
    pub control: String,
}

/// The ratio of a percentile of `a` to that of `b`, paired by epoch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyContrast {
    /// Which percentile.
    pub percentile: Percentile,
    /// The median over epochs.
    pub ratio: f64,
    /// The lower end; null while unbounded.
    pub lo: Option<f64>,
    /// The upper end; null while unbounded.
    pub hi: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
}

impl ContrastRecord {
    /// Whether the two are known to cost the same: by the median, and by the mean where that is known.
    pub fn is_same(&self) -> bool {
        let mean = self.mean.is_none_or(|mean| mean.verdict == Verdict::Equivalent);
        self.verdict == Verdict::Equivalent && mean
    }

    /// Whether it answers its question. What is the same in the median takes the mean to be known, too: inside or outside the margin.
    pub fn is_answered(&self) -> bool {
        match self.verdict {
            Verdict::Different => true,
            Verdict::Equivalent => self.mean.is_none_or(|mean| mean.verdict.is_answer()),
            Verdict::Direction | Verdict::Undecided => false,
        }
    }
}

/// What is known of a ratio that is neither known to differ from 1 nor known to be the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bound {
    /// It is this or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// It is this or less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
}

impl Bound {
    /// A ratio that may be further from 1 than by this factor is not worth saying so.
    pub const LOOSEST: f64 = 1.25;

    /// What an interval says; `None` where that is nothing.
    pub fn of(bounds: Option<(f64, f64)>) -> Option<Self> {
        let (lo, hi) = bounds?;
        let bound = Self {
            at_least: (lo >= 1.0 / Self::LOOSEST).then_some(lo),
            at_most: (hi <= Self::LOOSEST).then_some(hi),
        };
        (bound.at_least.is_some() || bound.at_most.is_some()).then_some(bound)
    }

    /// The factor by which the ratio is at most larger or smaller than 1, where both ends are known.
    pub fn within(&self) -> Option<f64> {
        Some(self.at_most?.max(1.0 / self.at_least?))
    }
}

/// The ratio of the mean cost of `a` to that of `b`, over the epochs of both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeanContrast {
    /// All time of `a` over its operations, over the same of `b`.
    pub ratio: f64,
    /// The lower end; null while unbounded.
    pub lo: Option<f64>,
    /// The upper end; null while unbounded.
    pub hi: Option<f64>,
    /// The verdict on it.
    pub verdict: Verdict,
    /// The share of epochs, 0 to 1, whose ratio is more than the margin above the median's if the mean is above it, below if below.
    pub slow: f64,
    /// The interval assumes that no epoch is further out than those seen; epochs rarer than this share may be, and would not have been
    /// seen (with a probability above that of the interval to miss).
    pub unseen: f64,
}

impl MeanContrast {
    /// Whether two cells with this verdict on their medians are known to cost the same by this mean, too; not without a mean.
    pub fn confirms(mean: Option<&Self>, verdict: Verdict) -> bool {
        verdict == Verdict::Equivalent && mean.is_some_and(|mean| mean.verdict == Verdict::Equivalent)
    }
}

/// How much more the costs of `a` vary from epoch to epoch than those of `b`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpreadContrast {
    /// The ratio of their distances from their medians, in logarithms of costs: the median over epochs.
    pub ratio: f64,
    /// The lower end, at level `alpha`, on its own.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
}

/// A contrast over the rounds in which both cells ran with this placement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContrastWithin {
    /// On which cores.
    pub ran: Ran,
    /// The median over epochs with such rounds.
    pub ratio: f64,
    /// The lower end; null while unbounded.
    pub lo: Option<f64>,
    /// The upper end; null while unbounded.
    pub hi: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// How many epochs it rests on.
    pub epochs: u32,
}

/// A process's resource usage over a batch, all its threads and workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// User time, nanoseconds.
    pub user_ns: u64,
    /// System time, nanoseconds.
    pub sys_ns: u64,
    /// Voluntary context switches: the process waited.
    pub voluntary_switches: u64,
    /// Involuntary context switches: the scheduler took the core away.
    pub involuntary_switches: u64,
}

impl Usage {
    /// User and system time, nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.sys_ns)
    }

    /// The same usage with a processor time from a finer source, nanoseconds, split in the proportions of this one.
    pub fn scaled_to(self, cpu_ns: u64) -> Self {
        let sum_ns = self.cpu_ns();
        let user_share = if sum_ns > 0 { self.user_ns as f64 / sum_ns as f64 } else { 0.0 };
        let user_ns = (cpu_ns as f64 * user_share) as u64;
        Self { user_ns, sys_ns: cpu_ns - user_ns, ..self }
    }
}

impl std::ops::Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_add(other.user_ns),
            sys_ns: self.sys_ns.saturating_add(other.sys_ns),
            voluntary_switches: self.voluntary_switches.saturating_add(other.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_add(other.involuntary_switches),
        }
    }
}

impl std::ops::Sub for Usage {
    type Output = Self;

    /// The usage since `earlier`; never below zero.
    fn sub(self, earlier: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            sys_ns: self.sys_ns.saturating_sub(earlier.sys_ns),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
        }
    }
}

/// Where the processes of a batch ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Whereabouts {
    /// On which cores.
    pub ran: Ran,
    /// How often one of their threads moved to another processor.
    pub migrations: u64,
}

/// One timed batch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// The cell, as an index into the document's cells.
    pub cell: u32,
    /// The epoch, from 1.
    pub epoch: u32,
    /// The round in the epoch, from 1.
    pub round: u32,
    /// The place in the round's random order, from 1.
    pub position: u32,
    /// Operations done.
    pub ops: u64,
    /// Elapsed time at the client, nanoseconds.
    pub wall_ns: u64,
    /// Elapsed time until the last send returned, nanoseconds; `stream` only.
    pub sent_ns: Option<u64>,
    /// Elapsed time with all pauses, nanoseconds, where a pace is kept: `wall_ns` is then the time of the operations alone, each by
    /// itself, from its begin or from when it was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ns: Option<u64>,
    /// The part of a batch that does not grow with its operations, nanoseconds. If present, two batches of different
    /// lengths were timed, and `ops`, `wall_ns`, `sent_ns` and usage are the difference of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<u64>,
    /// The client's use of the machine.
    pub client: Usage,
    /// The server's use of the machine.
    pub server: Usage,
    /// Other measures of the batch, by name: from peers, or from the engine on request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measures: BTreeMap<String, f64>,
    /// Time in softirqs of the cores that its two processes are pinned to, nanoseconds, whatever caused them; the kernel counts it in
    /// steps of 10 ms, so that only sums over many batches mean something. Negative where a difference of two batches is; absent if
    /// they are not pinned or the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softirq_ns: Option<i64>,
    /// Where its processes ran, if the scheduler places them and the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whereabouts: Option<Whereabouts>,
    /// Where the buffers began; absent if the transport has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<BufferLayout>,
    /// Whether the machine was suspended, or the program stopped, meanwhile. It was then measured again, and this one
    /// is not counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
}

/// A problem that weakens or biases the result, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Stable; for programs.
    pub code: String,
    /// One line; for people.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::Tool;

    #[test]
    fn a_build_is_what_is_known_of_it() {
        let of = |commit: &str, date: &str, target: &str, profile: &str| {
            let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            Tool {
                commit: known(commit),
                commit_date: known(date),
                target: known(target),
                profile: known(profile),
                ..Tool::of_version("0.1.0")
            }
        };
        let musl = "x86_64-unknown-linux-musl";
        for (tool, build) in [
            (
                of("1a2b3c4d5e", "2026-11-25", musl, "dist"),
                "0.1.0 (1a2b3c4d5e 2026-11-25, x86_64-unknown-linux-musl, dist)",
            ),
            (of("1a2b3c4d5e", "", musl, "release"), "0.1.0 (1a2b3c4d5e, x86_64-unknown-linux-musl, release)"),
            (of("", "", musl, "release"), "0.1.0 (x86_64-unknown-linux-musl, release)"),
            (of("", "", "", ""), "0.1.0"),
        ] {
            assert_eq!(tool.build(), build);
            let text = serde_json::to_string(&tool).unwrap();
            assert_eq!(serde_json::from_str::<Tool>(&text).unwrap(), tool, "{text}");
        }
        let plain = serde_json::to_string(&of("", "", "", "")).unwrap();
        assert_eq!(plain, r#"{"name":"ipcost","version":"0.1.0"}"#, "as earlier versions wrote it");
    }
}
