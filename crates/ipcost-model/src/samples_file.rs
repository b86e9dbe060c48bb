//! The samples file: what a run has measured so far, an epoch a line, so that nothing is lost should it be killed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::document::{Host, Resumed, Sample, Timing, Tool};
use crate::job::Job;
use crate::plan::Plan;

/// The version of the samples file.
pub const SAMPLES_SCHEMA: &str = "ipcost-samples/1";

/// A line of a samples file, `{"epoch": {…}}`: `begun` is the first, `calibrated` precedes every epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SamplesLine {
    /// What is to be measured, where, by what.
    Begun(Box<Begun>),
    /// How large batches are; the first epoch is about to begin.
    Calibrated(Calibrated),
    /// An epoch is complete.
    Epoch(EpochRecord),
    /// The run was killed, and goes on.
    Resumed(Resumed),
}

/// What is decided before the first measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    /// [`SAMPLES_SCHEMA`].
    pub schema: String,
    /// The run's identifier, under which its document will be saved.
    pub id: String,
    /// What the user calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What measures.
    pub tool: Tool,
    /// Whether it was built without optimisation.
    pub debug_build: bool,
    /// The machine.
    pub host: Host,
    /// What was asked for, peers among it, with the seed.
    pub job: Job,
    /// When it started, RFC 3339.
    pub started: String,
    /// What will be run.
    pub plan: Plan,
}

/// What calibration has found; frozen for the whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    /// Rounds in each epoch.
    pub rounds: u32,
    /// How long a batch is meant to last, nanoseconds.
    pub batch_ns: u64,
    /// How long a lead-in is meant to last, nanoseconds.
    pub lead_in_ns: u64,
    /// How many epochs are likely to fit.
    pub epochs_expected: u32,
    /// The operations of batches, by cell.
    pub counts: Vec<Counts>,
    /// The state of the generator of random orders.
    pub random: u64,
    /// How long the run has taken so far, nanoseconds.
    pub elapsed_ns: u64,
    /// What one reading of the clock costs, nanoseconds.
    pub clock_read_ns: u64,
    /// The least step of the clock that was seen, nanoseconds.
    pub clock_step_ns: u64,
    /// What drives the clock.
    pub clock_source: Option<String>,
}

/// The operations of one cell's batches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Of a timed batch.
    pub batch: u64,
    /// Of its lead-in.
    pub lead_in: u64,
    /// Whether batches have a part that does not grow with their operations: the lead-in is then timed as well, and what
    /// counts is the difference of the two.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slope: bool,
}

/// All that a complete epoch adds to a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Which, from 1.
    pub epoch: u32,
    /// The state of the generator of random orders after it.
    pub random: u64,
    /// How long it took, nanoseconds.
    pub took_ns: u64,
    /// How long the run had taken when it was complete, nanoseconds, all times that it ran together.
    pub elapsed_ns: u64,
    /// Its timed batches in the order in which they were measured.
    pub samples: Vec<Sample>,
    /// Latencies of cells, where any were sampled.
    pub latency: Vec<CellLatency>,
    /// What options became, by cell, role and name.
    pub effective: BTreeMap<u32, Map<String, Value>>,
    /// What happened beside the samples, by cell.
    pub incidents: BTreeMap<u32, Incidents>,
    /// What the machine did meanwhile.
    pub machine: MachineRecord,
    /// Where its time went.
    pub timing: Timing,
}

/// The latencies of one cell in one epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellLatency {
    /// The cell, as an index.
    pub cell: u32,
    /// The largest, nanoseconds.
    pub max_ns: u64,
    /// How often values occurred, as `ipcost_stats::Histogram::bins` tells it: for every bin that holds something,
    /// its distance from the one before and its count.
    pub bins: Vec<u64>,
}

/// What happened in a cell's batches beside what was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incidents {
    /// Connections that had to be tried again.
    pub retries: u64,
    /// How much the transport's counters of trouble rose, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub troubles: BTreeMap<String, u64>,
}

/// What the machine did over an epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRecord {
    /// The processors' time, clock ticks; absent where the system does not tell.
    pub processors: Option<ProcessorRecord>,
    /// Processor time of this program and its peers, nanoseconds.
    pub own_cpu_ns: u64,
    /// What CPU quotas did; absent where there is none.
    pub throttling: Option<ThrottlingRecord>,
}

/// Time of all processors together, clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorRecord {
    /// In which something ran.
    pub busy: u64,
    /// That the hypervisor gave to others.
    pub stolen: u64,
    /// All of it.
    pub total: u64,
}

/// What CPU quotas did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ThrottlingRecord {
    /// How often a group had to wait.
    pub times: u64,
    /// For how long, nanoseconds.
    pub time_ns: u64,
    /// The tightest quota, in processors.
    pub cores: Option<f64>,
}

/// Whether a saved run has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It has, and there is its document.
    #[default]
    Finished,
    /// It is being measured.
    Running,
    /// It was killed; there is its samples file.
    Unfinished,
}

/// A samples file as it was read: what is whole of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// What was to be measured.
    pub begun: Begun,
    /// What calibration has found; `None` where it was not complete.
    pub calibrated: Option<Calibrated>,
    /// The epochs that are complete, 1 and following.
    pub epochs: Vec<EpochRecord>,
    /// When the run went on before.
    pub resumed: Vec<Resumed>,
    /// Up to where the file is whole, bytes; what follows was being written when the run was killed.
    pub whole_bytes: u64,
}
