//! The samples file: the measurements so far, one epoch per line, so that nothing is lost if the run is killed.

use std::collections::BTreeMap;
use std::time::Duration;

use ipcost_stats::Looks;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::document::{Host, Resumed, Timing, Tool};
use crate::job::Job;
use crate::plan::Plan;
use crate::protocol::LatencyKind;
use crate::sample::Sample;

/// The version of the samples file.
pub const SAMPLES_SCHEMA: &str = "ipcost-samples/1";

/// A line of a samples file, `{"epoch": {…}}`: `begun` is the first, `calibrated` precedes every epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SamplesLine {
    /// What will be measured, where, and by which program.
    Begun(Box<Begun>),
    /// The sizes of batches; the first epoch is about to begin.
    Calibrated(Calibrated),
    /// An epoch is complete.
    Epoch(EpochRecord),
    /// The run was killed and is resumed.
    Resumed(Resumed),
}

/// Everything decided before the first measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    pub schema: String,
    /// The run's identifier, under which its document will be saved.
    pub id: String,
    /// The user's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The program that measures.
    pub tool: Tool,
    /// Whether the program was built without optimisation.
    pub debug_build: bool,
    pub host: Host,
    /// What stands for the boot of the machine; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// The job, including its peers and the seed.
    pub job: Job,
    /// When it started, RFC 3339.
    pub started: String,
    pub plan: Plan,
    /// What it is measured for.
    #[serde(default)]
    pub purpose: Purpose,
}

/// What a run is for besides its contrasts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Purpose {
    /// What a command needs to go on that its job does not hold, such as what `app` was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    /// The answer, where it is known before the run ends: the record of a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
}

/// The result of calibration; frozen for the whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    /// Rounds in each epoch.
    pub rounds: u32,
    /// The target length of a batch, nanoseconds.
    pub batch_ns: u64,
    /// The target length of a lead-in, nanoseconds.
    pub lead_in_ns: u64,
    /// The number of epochs likely to fit.
    pub epochs_expected: u32,
    /// Cells that are not measured, as all would have no interval with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spared: Vec<u32>,
    /// The looks planned, which resuming does not choose again.
    #[serde(default, skip_serializing_if = "Looks::is_none")]
    pub looks: Looks,
    /// The operations of batches, by cell.
    pub counts: Vec<BatchOperations>,
    /// The state of the generator of random orders.
    pub random: u64,
    /// How long the run has taken so far, nanoseconds.
    pub elapsed_ns: u64,
    /// The cost of one clock reading, nanoseconds.
    pub clock_read_ns: u64,
    /// The least step of the clock seen, nanoseconds.
    pub clock_step_ns: u64,
    pub clock_source: Option<String>,
}

/// The operations of one cell's batches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchOperations {
    /// Operations of a timed batch.
    pub batch: u64,
    /// Operations of its lead-in.
    pub lead_in: u64,
    /// Whether batches have a part that does not grow with their operations: the lead-in is then timed as well, and
    /// the difference of the two counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slope: bool,
    /// Whether what Nagle's algorithm holds back at the end of a batch is pushed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub push: bool,
    /// Whether batches keep a pace, and the peers time every operation by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paced: bool,
}

/// Everything that a complete epoch adds to a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// The number of the epoch, from 1.
    pub epoch: u32,
    /// The state of the generator of random orders after it.
    pub random: u64,
    /// Its duration, nanoseconds.
    pub took_ns: u64,
    /// The duration of the run up to the end of the epoch, nanoseconds, summed over all times it ran.
    pub elapsed_ns: u64,
    /// Its timed batches, in the order of measurement.
    pub samples: Vec<Sample>,
    /// Sampled latencies of cells.
    pub latency: Vec<CellLatency>,
    /// Effective option values, by cell, role and name.
    pub effective: BTreeMap<u32, Map<String, Value>>,
    /// Events besides the samples, by cell.
    pub incidents: BTreeMap<u32, Incidents>,
    /// What the machine did meanwhile.
    pub machine: MachineRecord,
    /// Where its time went.
    pub timing: Timing,
}

/// The latencies of one cell in one epoch, or something else that is told of each operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellLatency {
    /// The cell, as an index.
    pub cell: u32,
    #[serde(rename = "told", default = "CellLatency::usual", skip_serializing_if = "CellLatency::is_usual")]
    pub kind: LatencyKind,
    /// The largest, nanoseconds.
    pub max_ns: u64,
    /// How often values occurred, as `ipcost_stats::Histogram::bins`: for every non-empty bin, its distance from the
    /// one before and its count.
    pub bins: Vec<u64>,
}

impl CellLatency {
    fn usual() -> LatencyKind {
        LatencyKind::Latency
    }

    fn is_usual(kind: &LatencyKind) -> bool {
        *kind == LatencyKind::Latency
    }
}

/// Events in a cell's batches besides the measurements.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incidents {
    /// Connections that had to be retried.
    pub retries: u64,
    /// Increases of the transport's trouble counters, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub troubles: BTreeMap<String, u64>,
    /// What its connections waited for in batches that were watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<WatchedBatches>,
}

/// What the connections of a cell waited for, in batches that were watched and not timed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedBatches {
    pub batches: u64,
    /// Operations of those batches.
    pub ops: u64,
    /// Their duration, nanoseconds.
    pub wall_ns: u64,
    /// Acknowledgements that the kernel delayed meanwhile, in the whole network; null if it does not tell.
    pub delayed_acknowledgements: Option<u64>,
    pub client: HeldBack,
    pub server: HeldBack,
}

/// How long less than a segment waited for an acknowledgement, at the ends of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldBack {
    /// How often it did.
    pub waits: u64,
    /// How long in all, nanoseconds.
    pub ns: u64,
    /// Whether such an end has `TCP_NODELAY` set; null if that could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodelay: Option<bool>,
}

impl WatchedBatches {
    /// The sum of no batch.
    pub const NOTHING: Self = Self {
        batches: 0,
        ops: 0,
        wall_ns: 0,
        delayed_acknowledgements: Some(0),
        client: HeldBack { waits: 0, ns: 0, nodelay: None },
        server: HeldBack { waits: 0, ns: 0, nodelay: None },
    };

    /// Adds what was seen in another batch.
    pub fn add(&mut self, other: &Self) {
        self.batches = self.batches.saturating_add(other.batches);
        self.ops = self.ops.saturating_add(other.ops);
        self.wall_ns = self.wall_ns.saturating_add(other.wall_ns);
        let both = self.delayed_acknowledgements.zip(other.delayed_acknowledgements);
        self.delayed_acknowledgements = both.map(|(ours, more)| ours.saturating_add(more));
        for (ours, more) in [(&mut self.client, other.client), (&mut self.server, other.server)] {
            ours.waits = ours.waits.saturating_add(more.waits);
            ours.ns = ours.ns.saturating_add(more.ns);
            ours.nodelay = ours.nodelay.or(more.nodelay);
        }
    }
}

/// What the machine did over an epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRecord {
    /// The processors' time, clock ticks; absent if the system does not tell.
    pub processors: Option<ProcessorTimes>,
    /// Processor time of this program and its peers, nanoseconds.
    pub own_cpu_ns: u64,
    /// CPU quota throttling; absent without a quota.
    pub throttling: Option<Throttling>,
}

/// Time of all processors together, in clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorTimes {
    /// Anything but idle time.
    pub busy: u64,
    /// Taken by the hypervisor for others.
    pub stolen: u64,
    /// Total, including idle time.
    pub total: u64,
}

impl ProcessorTimes {
    /// The time since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            stolen: self.stolen.saturating_sub(earlier.stolen),
            total: self.total.saturating_sub(earlier.total),
        }
    }

    /// Adds a later time. A tampered samples file may hold any numbers.
    pub fn add(&mut self, later: &Self) {
        self.busy = self.busy.saturating_add(later.busy);
        self.stolen = self.stolen.saturating_add(later.stolen);
        self.total = self.total.saturating_add(later.total);
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Throttling {
    /// How often a group had to wait for its next period.
    pub times: u64,
    /// Time throttled, all processors together, nanoseconds.
    pub time_ns: u64,
    /// The tightest quota, in processors.
    pub cores: Option<f64>,
}

impl Throttling {
    /// The difference since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            times: self.times.saturating_sub(earlier.times),
            time_ns: self.time_ns.saturating_sub(earlier.time_ns),
            cores: self.cores,
        }
    }

    pub fn add(&mut self, later: &Self) {
        self.times = self.times.saturating_add(later.times);
        self.time_ns = self.time_ns.saturating_add(later.time_ns);
        self.cores = later.cores;
    }

    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.time_ns)
    }
}

/// Whether a saved run has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It has ended; its document.
    #[default]
    Finished,
    /// It is being measured.
    Running,
    /// It was killed; its samples file.
    Unfinished,
}

/// The intact part of a samples file.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// What the run was to measure.
    pub begun: Begun,
    /// The result of calibration; `None` if it was not complete.
    pub calibrated: Option<Calibrated>,
    /// The complete epochs, from 1.
    pub epochs: Vec<EpochRecord>,
    /// When the run was resumed before.
    pub resumed: Vec<Resumed>,
    /// The length of the intact part, bytes; the rest was being written when the run was killed.
    pub whole_bytes: u64,
}
