//! What the sweeps over sizes and over processors found.

use ipcost_model::{MeanContrast, Pattern, Verdict};
use serde::{Deserialize, Serialize};

/// The version of the record.
pub const SWEEP_SCHEMA: &str = "ipcost-sweep/1";
/// The version of the record of `sweep cores`.
pub const CORES_SCHEMA: &str = "ipcost-sweep-cores/1";

/// Transports over every relation that two processors have here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreSweep {
    pub schema: String,
    /// The relations, the closest first.
    pub relations: Vec<PairOfProcessors>,
}

/// A relation of two processors, by a pair that has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairOfProcessors {
    /// The relation, in words.
    pub relation: String,
    pub client_cpu: u64,
    pub server_cpu: u64,
}

/// Two transports over a range of sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizeSweep {
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
