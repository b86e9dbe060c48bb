//! What `ipcost load` found: what each transport carries, and how long operations take at which load.

use std::time::Duration;

use ipcost_lab::rules::OFFERED_SHARE;
use ipcost_model::job::duration;
use ipcost_model::{Estimate, LatencyContrast, Pattern, Placement};
use serde::{Deserialize, Serialize};

/// The version of the record.
pub const LOAD_SCHEMA: &str = "ipcost-load/1";

/// What `load` was asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadRequest {
    /// The transports; the others are compared with the last.
    pub transports: Vec<String>,
    /// What is done over them.
    pub pattern: Pattern,
    /// Bytes from client to server.
    pub size: u64,
    /// What a real server is asked; the size is then 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Connections that share the load.
    pub concurrency: u32,
    /// Where the two processes run.
    pub placement: Placement,
    /// The peer that plays the client.
    pub client: String,
    /// The peer that plays the server.
    pub server: String,
    /// What the 99th percentile is to stay below, nanoseconds.
    pub limit_ns: u64,
    /// How close the ends of a knee's range are to come.
    pub resolution: f64,
    /// The relative difference that matters.
    pub margin: f64,
    /// How long it may take.
    #[serde(with = "duration")]
    pub budget: Option<Duration>,
    /// The seed of every random order.
    pub seed: Option<u64>,
}

/// Latency against load, over several transports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadCurves {
    pub schema: String,
    pub request: LoadRequest,
    /// How long all its runs took, seconds.
    pub elapsed_s: f64,
    /// How many percentiles share it, measured or not.
    pub family: u32,
    /// What each transport does back to back, by connections.
    pub capacities: Vec<Capacity>,
    /// Every rate that was measured, by transport and then ascending.
    pub points: Vec<LoadPoint>,
    /// The highest rate of each transport whose 99th percentile stays below the limit.
    pub knees: Vec<Knee>,
    /// Transports compared with the last, at the same rate and at the same share of what each does back to back.
    pub comparisons: Vec<LoadComparison>,
    /// Whether the budget ended before every knee lay in as small a range as asked for.
    pub out_of_budget: bool,
    /// Transports of which no more rates are measured, though the range is not as small as asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_rates: Vec<String>,
    /// Operations that stand still now and then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stalling>,
}

/// Operations over a transport that take ten times the median and more, again and again, seen in two seconds at half of what it does back
/// to back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stalling {
    pub transport: String,
    /// From one to the next in the median, seconds.
    pub every_s: f64,
    /// The longest operation, nanoseconds.
    pub longest_ns: u64,
}

/// What a transport does back to back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    pub transport: String,
    /// Over so many connections.
    pub concurrency: u32,
    /// Operations a second.
    pub per_s: Estimate,
}

/// A transport at a rate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadPoint {
    pub transport: String,
    /// Operations a second that were offered.
    pub per_s: u64,
    /// The same as a share of what the transport does back to back.
    pub utilisation: f64,
    /// The interval of that share, which is as wide as that of what it does back to back.
    #[serde(default)]
    pub utilisation_bounds: Option<(f64, f64)>,
    /// Operations a second that were done.
    pub achieved_per_s: Option<f64>,
    /// The mean time from when an operation was due to its end, nanoseconds.
    pub mean_ns: Estimate,
    /// Its median, nanoseconds.
    pub p50_ns: Option<Estimate>,
    /// Its 90th percentile, nanoseconds.
    #[serde(default)]
    pub p90_ns: Option<Estimate>,
    /// Its 99th percentile, nanoseconds; the interval shares alpha with all others.
    pub p99_ns: Option<Estimate>,
    /// Its 99.9th percentile, nanoseconds.
    pub p999_ns: Option<Estimate>,
    /// Processor time of both sides for an operation, nanoseconds, without what the sender spins away.
    pub cpu_ns_per_op: Option<f64>,
    /// How often either side slept and was woken, for an operation.
    pub wakeups_per_op: Option<f64>,
    /// How late operations began at the 99th percentile, nanoseconds.
    pub late_p99_ns: Option<u64>,
    pub epochs: u32,
    /// What of its operations took longer than the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<Tail>,
    /// Whether the queue was longer when a batch ended than on average, so that it had not got to where it stays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grows: bool,
}

/// How many operations of a rate take longer than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// The share of all of them.
    pub share: f64,
    /// The share in an epoch: the median, whose interval shares alpha with all others.
    pub in_epoch: Estimate,
    /// How many epochs that rests on, each of at least 1 000 operations and 50 times the limit: shorter ones count together.
    pub epochs: u32,
    /// How long such an epoch is, seconds.
    pub epoch_s: f64,
    /// Epochs that are rarer than this share would not have been seen (with a probability above that of the interval to miss).
    pub unseen: f64,
    /// Whether no more than 1 % are known to, or more are; null while neither is known.
    pub is_under: Option<bool>,
}

impl LoadPoint {
    /// Whether no more than 1 % of its operations took longer than the limit, in most epochs and in all; `None` where that was not counted.
    pub fn seems_under(&self) -> Option<bool> {
        self.tail.map(|tail| tail.share <= TAIL && tail.in_epoch.median <= TAIL)
    }

    /// Whether its 99th percentile is known to be below the limit, or not to be; `None` while it is not known.
    pub fn is_under(&self) -> Option<bool> {
        let known = self.tail?.is_under?;
        // What was not offered, or has not got to where it stays, is not known to be carried.
        let is_offered = self.achieved_per_s.is_none_or(|per_s| per_s >= OFFERED_SHARE * self.per_s as f64);
        (!known || (is_offered && !self.grows)).then_some(known)
    }
}

/// The share of operations beyond a 99th percentile.
pub(super) const TAIL: f64 = 0.01;

/// The range in which a transport's highest rate lies whose 99th percentile stays below the limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knee {
    pub transport: String,
    /// The highest rate that is known to stay below; null if none is.
    pub lo: Option<u64>,
    /// The lowest rate above it that is known not to; null if none is.
    pub hi: Option<u64>,
    /// The lowest rate that is known to stay below, with none in between that is known not to. Where programs sleep between operations,
    /// little load may take longer than more of it.
    #[serde(default)]
    pub from: Option<u64>,
    /// The highest rate below that one which is known not to stay below.
    #[serde(default)]
    pub not_at: Option<u64>,
}

/// Where two transports are compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadAt {
    /// Both are offered so many operations a second.
    Rate(u64),
    /// Each is offered this share of what it does back to back.
    Utilisation(f64),
}

/// Two transports at the same load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadComparison {
    pub at: LoadAt,
    /// The transport in the numerator.
    pub a: String,
    /// The transport in the denominator.
    pub b: String,
    /// The share of what each does back to back, between its bounds for both; absent at a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_bounds: Option<(f64, f64)>,
    /// Which percentile, its ratio, and what is known of that.
    #[serde(flatten)]
    pub contrast: LatencyContrast,
}
