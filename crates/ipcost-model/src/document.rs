//! The document: the versioned record of one run; everything shown is drawn from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::cell::{Pattern, Placement, Ran, SpeaksFirst, Wait};
use crate::job::{Job, LatencyMode};
use crate::named;
use crate::options::Options;

/// The version of the document.
pub const SCHEMA: &str = "ipcost/1";

named! {
    /// Why a run ended.
    Stopped, "reason" {
        /// Every headline contrast was resolved.
        Resolved = "resolved",
        /// The budget, or the number of epochs asked for, was spent.
        Budget = "budget",
        /// The user or the system asked it to stop.
        Interrupted = "interrupted",
        /// Something failed.
        Failed = "failed",
    }
}

named! {
    /// What a contrast compares.
    Metric, "metric" {
        /// Elapsed time per operation.
        Wall = "wall",
        /// User and system time of both processes per operation.
        Cpu = "cpu",
    }
}

named! {
    /// What a contrast is known to be.
    Verdict, "verdict" {
        /// The interval lies wholly outside 1 ± margin.
        Different = "different",
        /// The interval lies wholly inside 1 ± margin.
        Equivalent = "equivalent",
        /// The interval excludes 1 but crosses the margin.
        Direction = "direction",
        /// None of these yet.
        Undecided = "undecided",
    }
}

named! {
    /// What the chance `alpha` is promised for.
    #[derive(Default)]
    Multiplicity, "multiplicity" {
        /// That any interval of the headline ever misses.
        #[default]
        Headline = "headline",
        /// The share of intervals that miss among those of contrasts with a verdict, as expected.
        Explored = "explored",
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// The version of the document.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// What made it.
    pub tool: Tool,
    /// Where.
    pub host: Host,
    /// What was asked for.
    pub job: Job,
    /// What the user calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The seed of every random order.
    pub seed: u64,
    /// When it started, RFC 3339.
    pub started: String,
    /// When it went on after it had been killed; empty where it never was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumed>,
    /// How long it took, seconds.
    pub elapsed_s: f64,
    /// Why it ended.
    pub stopped: Stopped,
    /// How it was laid out in time.
    pub schedule: Schedule,
    /// What the intervals were computed at.
    pub analysis: Analysis,
    /// Every cell, measured or not.
    pub cells: Vec<CellRecord>,
    /// Cells that do the same work, as they are compared.
    pub workloads: Vec<WorkloadRecord>,
    /// What is known of pairs.
    pub contrasts: Vec<ContrastRecord>,
    /// Every timed batch of every complete epoch.
    pub samples: Vec<Sample>,
    /// What weakens or bends the result.
    pub warnings: Vec<Warning>,
}

/// What every record begins with: what it is, what made it, where and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Envelope {
    /// The kind of record and its version.
    pub schema: String,
    /// What made it.
    pub tool: Tool,
    /// Where.
    pub host: Host,
    /// When it started, RFC 3339.
    pub started: String,
}

/// What made a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// Always `ipcost`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A run that had been killed went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resumed {
    /// When, RFC 3339.
    pub at: String,
    /// How many epochs were complete then.
    pub after_epoch: u32,
}

/// The machine, as far as it bears on the result.
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

/// How a run was laid out in time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Schedule {
    /// Rounds in each epoch.
    pub rounds: u32,
    /// Complete epochs.
    pub epochs: u32,
    /// How long a batch was meant to last, milliseconds.
    pub batch_ms: f64,
    /// How long a lead-in was meant to last, milliseconds.
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
    /// Batches after them in which latencies are sampled.
    #[serde(default)]
    pub tails_s: f64,
    /// The rest: messages to peers, analysis, progress.
    pub other_s: f64,
}

/// What intervals were computed at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Analysis {
    /// The chance that any headline interval ever misses.
    pub alpha: f64,
    /// How many contrasts share it.
    pub family: u32,
    /// What each contrast's interval is computed at: `alpha / family`, times the discoveries of an explored grid.
    pub alpha_each: f64,
    /// What `alpha` is promised for.
    #[serde(default)]
    pub multiplicity: Multiplicity,
    /// How many contrasts of an explored grid are discoveries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discoveries: Option<u32>,
    /// The relative difference that matters.
    pub margin: f64,
    /// How many epochs the first finite interval takes at `alpha_each`.
    pub epochs_needed: u32,
}

/// A median with its interval; the bounds are null while unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Over epochs.
    pub median: f64,
    /// The lower end.
    pub lo: Option<f64>,
    /// The upper end.
    pub hi: Option<f64>,
}

/// A cell and what it cost. Intervals of costs stand at `alpha`, each on its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellRecord {
    /// Stable between runs.
    pub id: String,
    /// The row's name in tables.
    pub label: String,
    /// What was done.
    pub pattern: Pattern,
    /// Over which transport.
    pub transport: String,
    /// Bytes from client to server.
    pub size: u64,
    /// Bytes from server to client.
    pub reply: u64,
    /// Workers in the client.
    pub concurrency: u32,
    /// Who sent first in `connect`.
    pub speaks_first: SpeaksFirst,
    /// Who closed first, or `any`; `connect` only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub closes_first: Option<String>,
    /// How a side waits for the other; a spinning one is never compared with one that sleeps without that word beside it.
    #[serde(default)]
    pub wait: Wait,
    /// Where the processes ran.
    pub placement: Placement,
    /// The peer that played the client.
    pub client: String,
    /// The peer that played the server.
    pub server: String,
    /// What was set by name.
    pub options: Options,
    /// What options became where the kernel changed them, by role and name.
    #[serde(skip_serializing_if = "Map::is_empty", default)]
    pub effective: Map<String, Value>,
    /// Whether it could be measured here.
    pub available: bool,
    /// Why not.
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
    /// The part of every batch that does not grow with its operations, nanoseconds: what a burst costs beside its
    /// operations; absent where there is none to speak of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wait_ns: Option<f64>,
    /// Operations a second.
    pub ops_per_s: Option<f64>,
    /// Payload bytes a second, both directions.
    pub bytes_per_s: Option<f64>,
    /// The operations' own latencies; null where they were not sampled.
    pub latency_ns: Option<LatencySummary>,
    /// What an operation took of the machine, medians over epochs.
    pub usage_per_op: Option<UsagePerOp>,
    /// The two groups its epochs fall into, the cheaper first; empty where there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<Mode>,
    /// Where the scheduler put its batches, the most frequent first; empty where it does not place them, or does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ran: Vec<RanRecord>,
    /// The least that the same work could cost here; absent where it was not measured or is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<FloorRecord>,
    /// What else was measured, by name: medians over epochs, for one operation unless the name ends in `_per_call`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measures: BTreeMap<String, f64>,
}

/// The least that a cell's work could cost here, measured in the same rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FloorRecord {
    /// The parts together, nanoseconds for one operation: the median over epochs.
    pub ns_per_op: f64,
    /// The cell's cost over that of the parts together, paired by round; the interval stands at `alpha`.
    pub multiple: Estimate,
    /// What it is put together from.
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
    /// How often it is in one operation.
    pub count: f64,
    /// What that takes, nanoseconds: the count times the median cost of the part's cell.
    pub ns: f64,
}

/// Percentiles of latency, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencySummary {
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// The largest seen.
    pub max: u64,
    /// How many operations were sampled.
    pub count: u64,
}

/// What an operation took of the machine.
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
    /// Switches because a process waited, both together.
    pub voluntary_switches: f64,
    /// Switches because the scheduler took the core away, both together.
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
    /// The median cost within the group, nanoseconds for one operation.
    pub wall_ns_per_op: f64,
    /// Switches of both sides for one operation, voluntary and not.
    #[serde(default)]
    pub switches_per_op: Option<f64>,
    /// Processor time of both sides over elapsed time.
    #[serde(default)]
    pub cpus_busy: Option<f64>,
}

/// What a cell did where the scheduler had put it so.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RanRecord {
    /// On which cores.
    pub ran: Ran,
    /// How many batches.
    pub batches: u64,
    /// How often a thread was moved to another processor in all of them.
    pub migrations: u64,
    /// The median cost of those batches, nanoseconds for one operation.
    pub wall_ns_per_op: Option<f64>,
}

/// A table: cells that do the same work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadRecord {
    /// What was done.
    pub pattern: Pattern,
    /// Bytes from client to server.
    pub size: u64,
    /// Bytes from server to client.
    pub reply: u64,
    /// Workers in the client.
    pub concurrency: u32,
    /// Who sent first in `connect`.
    pub speaks_first: SpeaksFirst,
    /// Where the processes ran.
    pub placement: Placement,
    /// Its cells, by id.
    pub cells: Vec<String>,
    /// The cell the others are compared with, by id.
    pub baseline: Option<String>,
    /// The cheapest cell and whether that is known; null below two measured cells.
    pub fastest: Option<Fastest>,
    /// The same among those that sleep while they wait, where the cheapest of all does not, and two or more do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fastest_blocking: Option<Fastest>,
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
    /// What is known of that ratio.
    pub verdict: Verdict,
    /// Whether its interval against every other cell of the table excludes 1: only then may it be called the cheapest.
    pub claimed: bool,
    /// The cells that are known to cost the same within the margin, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equals: Vec<String>,
    /// The cells that may cost less still, by id: neither known to be dearer nor to cost the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
}

/// The ratio of the cost of cell `a` to the cost of cell `b`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContrastRecord {
    /// What is compared.
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
    /// What is known.
    pub verdict: Verdict,
    /// How many epochs it rests on.
    pub epochs: u32,
    /// The least and the largest ratio of an epoch, where many epochs have no interval: what this run saw, and no promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(f64, f64)>,
    /// Whether the ratio itself changed during the run, more than chance explains.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wanders: bool,
    /// Whether the scheduler places the processes, and the ratio is over the rounds in which it ran both cells alike.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alike: bool,
    /// Whether it shares the headline's alpha; others stand at the same level, outside the promise for the table.
    pub headline: bool,
    /// The same where both ran on one core, and where both ran on two: what the scheduler chose, batch by batch. Outside the
    /// promise for the table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<ContrastWithin>,
}

/// A contrast over the rounds in which both cells ran so.
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
    /// What is known.
    pub verdict: Verdict,
    /// How many epochs it rests on.
    pub epochs: u32,
}

/// What a process took of the machine over a batch, all its threads and workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// User time, nanoseconds.
    pub user_ns: u64,
    /// System time, nanoseconds.
    pub sys_ns: u64,
    /// Switches because it waited.
    pub voluntary_switches: u64,
    /// Switches because the scheduler took the core away.
    pub involuntary_switches: u64,
}

impl Usage {
    /// User and system time, nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.sys_ns)
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

    /// What was used since `earlier`; never below zero.
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
    /// How often one of their threads was moved to another processor.
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
    /// The part of a batch that does not grow with its operations, nanoseconds. Where it is told, two batches of different
    /// lengths were timed, and `ops`, `wall_ns`, `sent_ns` and usage are the difference of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<u64>,
    /// The client's use of the machine.
    pub client: Usage,
    /// The server's use of the machine.
    pub server: Usage,
    /// What else was measured over the batch, by name: by peers, or by the engine where it was asked to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measures: BTreeMap<String, f64>,
    /// Where its processes ran, where the scheduler places them and the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whereabouts: Option<Whereabouts>,
    /// Whether the machine was suspended, or the program stopped, meanwhile. It was then measured again, and this one
    /// counts for nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
}

/// Something that weakens or bends the result, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Stable; for programs.
    pub code: String,
    /// One line; for people.
    pub message: String,
}
