//! What a document has of cells that are compared: tables and contrasts.

use derive_more::Deref;
use ipcost_stats::Verdict;
use serde::{Deserialize, Serialize};

use crate::cell::{Ran, Work};
use crate::document::{Estimate, Metric};
use crate::named;

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
