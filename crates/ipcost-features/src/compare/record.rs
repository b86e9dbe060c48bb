//! What two sets of runs say about each other.

use ipcost_model::{Metric, Tool, Verdict, named};
use serde::{Deserialize, Serialize};

/// The version of the record.
pub const COMPARISON_SCHEMA: &str = "ipcost-comparison/1";

named! {
    /// Where the spread between runs comes from.
    SpreadSource, "source" {
        /// From the runs of both sides.
        Measured = "measured",
        /// Taken to be so much, since too few runs tell it.
        Assumed = "assumed",
    }
}

/// Side A, side B, and what differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Costs, side B over side A, the largest change first.
    pub costs: Vec<Change>,
    /// Ratios to the run's own baseline, side B over side A, the largest change first. What befalls a whole run,
    /// such as a slower machine, cancels out here.
    pub relative: Vec<Change>,
    /// Cells that only runs of side A have measured, by id.
    pub only_a: Vec<String>,
    /// Cells that only runs of side B have measured, by id.
    pub only_b: Vec<String>,
    /// What else a reader must know, and what to do.
    pub notes: Vec<String>,
}

/// A run as it takes part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
pub struct Difference {
    /// What: a host's fact, a setting, a property of a cell.
    pub what: String,
    /// Its values on side A, each once.
    pub a: Vec<String>,
    /// Its values on side B, each once.
    pub b: Vec<String>,
}

/// How one cell, or one ratio of two, changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// The relative standard deviation between runs that the interval takes in.
    pub spread: f64,
    /// Where that comes from.
    pub spread_source: SpreadSource,
}
