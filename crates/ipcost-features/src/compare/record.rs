//! What two sets of runs say about each other.

use derive_more::Deref;
use ipcost_model::{Arms, LatencyContrast, Metric, Percentile, Tool, Verdict, named};
use serde::{Deserialize, Serialize};

use super::groups::CellGroup;

/// The version of the record.
pub const COMPARISON_SCHEMA: &str = "ipcost-comparison/1";

named! {
    /// Where the spread between runs comes from.
    SpreadSource, "source" {
        /// From the runs of both sides.
        Measured = "measured",
        /// From saved runs of the same job on the same host.
        Saved = "saved",
        /// Taken to be so much, since too few runs tell it.
        Assumed = "assumed",
    }
}

/// Side A, side B, and what differs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: String,
    /// What made it.
    pub tool: Tool,
    /// The runs of side A, what is compared with.
    pub a: Vec<ComparedRun>,
    /// The runs of side B, what is compared.
    pub b: Vec<ComparedRun>,
    /// What the sides' machines and settings differ in beside what was measured.
    pub differences: Vec<Difference>,
    /// The chance that any interval misses.
    pub alpha: f64,
    /// How many intervals share it.
    pub family: u32,
    /// The relative change that matters.
    pub margin: f64,
    /// What is compared.
    pub metric: Metric,
    /// The relative standard deviation between runs of one build that is assumed where too few runs tell it.
    pub assumed_spread: f64,
    /// The two arms, if both sides were measured in one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arms: Option<Arms>,
    /// How many saved runs of this job and host tell how much runs of one build differ; 0 if they were not asked.
    #[serde(default)]
    pub saved_runs: u32,
    /// Groups of cells relative to the rest, side B over side A: those that are known to have changed first.
    #[serde(default)]
    pub groups: Vec<GroupChange>,
    /// All cells together outside the groups that are known to have changed; null of fewer than four, or if too little is known.
    #[serde(default)]
    pub everything: Option<GroupChange>,
    /// Costs, side B over side A, the largest change first.
    pub costs: Vec<Change>,
    /// Ratios to the run's own baseline, side B over side A, the largest change first. What befalls a whole run,
    /// such as a slower machine, cancels out here.
    pub relative: Vec<Change>,
    /// Percentiles of latency, side B over side A, the largest change first: of cells that have the same pace on both sides, and each
    /// epoch's percentile in the documents. They share an alpha of their own, apart from costs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<LatencyChange>,
    /// Cells that only runs of side A have measured, by id.
    pub only_a: Vec<String>,
    /// Cells that only runs of side B have measured, by id.
    pub only_b: Vec<String>,
    /// What else a reader must know, and what to do.
    pub notes: Vec<String>,
}

/// How a group of cells changed relative to the rest, or all cells together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupChange {
    /// What its cells have in common; empty of all cells.
    pub group: CellGroup,
    /// How many cells; of all cells together, those outside the groups that are known to have changed.
    pub cells: u32,
    /// Its parts that do not show the change by themselves, the largest ones, if it is known to have changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<CellGroup>,
    /// Side B over side A: in the middle of its cells; of a group, relative to the middle of the others, once groups that
    /// were found before are taken off.
    pub ratio: f64,
    /// The lower end of its interval, which takes in what any of its parts shows otherwise; null while unbounded.
    pub lo: Option<f64>,
    /// The upper end; null while unbounded.
    pub hi: Option<f64>,
    /// What is known of it.
    pub verdict: Verdict,
    /// Its place among those that are known to have changed, from 1; null of the others.
    pub found: Option<u32>,
    /// The level of its interval is 1 − `alpha`.
    pub alpha: f64,
    /// A change that would have been found in nine of ten cases, as a ratio above 1; null while there is no interval.
    pub would_show: Option<f64>,
    /// The relative standard deviation between runs that the interval takes in; null within one run.
    pub spread: Option<f64>,
    /// Where that comes from.
    pub spread_source: Option<SpreadSource>,
}

/// A run as it takes part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedRun {
    /// When it started, RFC 3339.
    pub started: String,
    /// Its seed.
    pub seed: u64,
    /// Complete epochs.
    pub epochs: u32,
}

/// Something that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// What: a host's fact, a setting, a property of a cell.
    pub what: String,
    /// Its values on side A, each once.
    pub a: Vec<String>,
    /// Its values on side B, each once.
    pub b: Vec<String>,
}

/// How one cell, or one ratio of two, changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The cell, by id.
    pub cell: String,
    /// What its cost is divided by within each run, by id; null for the cost itself.
    pub baseline: Option<String>,
    /// On side A: nanoseconds for one operation, or a ratio where there is a baseline; the geometric mean of the runs' medians.
    pub a: f64,
    /// On side B.
    pub b: f64,
    /// `b` over `a`.
    pub ratio: f64,
    /// The lower end of its interval; null while unbounded.
    pub lo: Option<f64>,
    /// The upper end; null while unbounded.
    pub hi: Option<f64>,
    /// What is known of it.
    pub verdict: Verdict,
    /// The level of its interval is 1 − `alpha`.
    #[serde(default)]
    pub alpha: f64,
    /// A change that would have been found in nine of ten cases, as a ratio above 1; null while there is no interval.
    #[serde(default)]
    pub would_show: Option<f64>,
    /// The relative standard deviation between runs that the interval takes in; null within one run.
    pub spread: Option<f64>,
    /// Where that comes from.
    pub spread_source: Option<SpreadSource>,
}

/// How a percentile of a cell's latency changed. Its figures are nanoseconds: the median over epochs of each epoch's own percentile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Deref)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyChange {
    /// Which percentile.
    pub percentile: Percentile,
    /// Operations a second that are offered, so that latency counts from when each was due; null of a closed loop.
    pub offered_per_s: Option<u64>,
    /// How it changed.
    #[deref]
    #[serde(flatten)]
    pub change: Change,
}

impl LatencyChange {
    /// Its ratio, as the contrast of two cells has it.
    pub(super) fn contrast(&self) -> LatencyContrast {
        let Change { ratio, lo, hi, verdict, .. } = self.change;
        LatencyContrast { percentile: self.percentile, ratio, lo, hi, verdict }
    }
}
