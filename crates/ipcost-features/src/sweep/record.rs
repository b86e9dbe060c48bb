//! What a sweep over sizes found: where one transport overtakes another.

use std::time::Duration;

use ipcost_model::job::duration;
use ipcost_model::{MeanContrast, Pattern, Placement, Verdict};
use serde::{Deserialize, Serialize};

/// The version of the record.
pub const SWEEP_SCHEMA: &str = "ipcost-sweep/1";
/// The version of the record of `sweep cores`.
pub const CORES_SCHEMA: &str = "ipcost-sweep-cores/1";
/// The version of the record of `sweep layout`.
pub const LAYOUT_SCHEMA: &str = "ipcost-sweep-layout/1";

/// The version of the record of `sweep work`.
pub const WORK_SCHEMA: &str = "ipcost-sweep-work/1";

/// The version of the record of `sweep pace`.
pub const PACE_SCHEMA: &str = "ipcost-sweep-pace/1";

/// Transports with several pauses between operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PaceSweep {
    /// What it is.
    pub schema: String,
    /// What was asked.
    pub request: PaceRequest,
}

/// What `sweep pace` was asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PaceRequest {
    /// The transports.
    pub transports: Vec<String>,
    /// What is done over them.
    pub pattern: Pattern,
    /// Bytes of a message.
    pub size: u64,
    /// How long a worker pauses before every operation, nanoseconds.
    pub think_ns: Vec<u64>,
    /// Where the two processes run, one after the other.
    pub placements: Vec<Placement>,
    /// The peer that plays the client.
    pub client: String,
    /// The peer that plays the server.
    pub server: String,
    /// The relative difference that matters.
    pub margin: f64,
    /// How long it may take.
    #[serde(with = "duration")]
    pub budget: Option<Duration>,
    /// Exactly this many epochs.
    pub epochs: Option<u32>,
    /// The seed of every random order.
    pub seed: Option<u64>,
}

/// Two transports under several amounts of work of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkSweep {
    /// What it is.
    pub schema: String,
    /// What was asked.
    pub request: WorkRequest,
}

/// What `sweep work` was asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkRequest {
    /// The two transports.
    pub transports: Vec<String>,
    /// What is done over them.
    pub pattern: Pattern,
    /// Bytes of a message.
    pub size: u64,
    /// How long the server computes before it answers, nanoseconds.
    pub work_ns: Vec<u64>,
    /// Where the two processes run.
    pub placement: Placement,
    /// The relative difference that matters.
    pub margin: f64,
    /// How long it may take.
    #[serde(with = "duration")]
    pub budget: Option<Duration>,
    /// Exactly this many epochs.
    pub epochs: Option<u32>,
    /// The seed of every random order.
    pub seed: Option<u64>,
}

/// Transports over every relation that two processors have here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreSweep {
    /// What it is.
    pub schema: String,
    /// The relations, the closest first.
    pub relations: Vec<PairOfProcessors>,
}

/// A relation of two processors, by a pair that has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairOfProcessors {
    /// The relation, in words.
    pub relation: String,
    /// The client's processor.
    pub client_cpu: u64,
    /// The server's processor.
    pub server_cpu: u64,
}

/// Transports with receive buffers at several places within a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayoutSweep {
    /// What it is.
    pub schema: String,
    /// What was asked.
    pub request: LayoutRequest,
}

/// What `sweep layout` was asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayoutRequest {
    /// The transports.
    pub transports: Vec<String>,
    /// What is done over them.
    pub pattern: Pattern,
    /// Bytes of a message.
    pub size: u64,
    /// Where send buffers begin.
    pub send_offset: u64,
    /// Where receive buffers begin, one after the other.
    pub recv_offsets: Vec<u64>,
    /// Where the processes run.
    pub placement: Placement,
    /// The peer on both sides.
    pub peer: String,
    /// How long it may take.
    #[serde(default, with = "duration")]
    pub budget: Option<Duration>,
    /// Exactly so many epochs.
    pub epochs: Option<u32>,
    /// The seed.
    pub seed: Option<u64>,
}

/// Two transports over a range of sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizeSweep {
    /// [`SWEEP_SCHEMA`].
    pub schema: String,
    /// What was done over them.
    pub pattern: Pattern,
    /// The transport in the numerator.
    pub a: String,
    /// The transport in the denominator.
    pub b: String,
    /// How long all its runs took, seconds.
    pub elapsed_s: f64,
    /// How many intervals share it, measured or not.
    pub family: u32,
    /// Every size that was measured, ascending.
    pub points: Vec<SweepPoint>,
    /// Where the order changes, ascending.
    pub crossings: Vec<Crossing>,
    /// Whether the budget ended before every crossing lay in as small a range as asked for.
    pub out_of_budget: bool,
}

/// One size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepPoint {
    /// Bytes of a message.
    pub size: u64,
    /// The median cost of `a`, nanoseconds.
    pub a_ns: f64,
    /// The median cost of `b`, nanoseconds.
    pub b_ns: f64,
    /// The cost of `a` over that of `b`.
    pub ratio: f64,
    /// The lower end of its interval; null while unbounded.
    pub lo: Option<f64>,
    /// The upper end; null while unbounded.
    pub hi: Option<f64>,
    /// What is known of it.
    pub verdict: Verdict,
    /// The ratio of the mean costs, which rare slow epochs are part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<MeanContrast>,
    /// Complete epochs.
    pub epochs: u32,
}

impl SweepPoint {
    /// Whether both are known to cost the same, by the median and by the mean.
    pub fn is_same(&self) -> bool {
        MeanContrast::confirms(self.mean.as_ref(), self.verdict)
    }

    /// Which of the two is known to be cheaper here; `None` where that is not known.
    pub fn a_is_cheaper(&self) -> Option<bool> {
        match (self.lo, self.hi) {
            (_, Some(hi)) if hi < 1.0 => Some(true),
            (Some(lo), _) if lo > 1.0 => Some(false),
            _ => None,
        }
    }
}

/// A range of sizes within which the order changes: it is known at both ends, and differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crossing {
    /// The largest size at which the one is known to be cheaper.
    pub from: u64,
    /// The next size at which the other is.
    pub to: u64,
    /// Whether `a` is the cheaper one at `from`.
    pub a_cheaper_below: bool,
}
