//! The record of a trend.

use ipcost_model::{Estimate, Metric, Tool};
use serde::{Deserialize, Serialize};

use crate::compare::Difference;

/// The version of the record.
pub const TREND_SCHEMA: &str = "ipcost-trend/1";

/// The cost of a cell, or the ratio of two, over saved runs that are alike, and its changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trend {
    /// [`TREND_SCHEMA`].
    pub schema: String,
    /// What made it.
    pub tool: Tool,
    /// The cell, by id.
    pub cell: String,
    /// The cell by whose cost in the same run it is divided, by id; absent for the cost itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// What is followed: elapsed time, or processor time of both processes.
    #[serde(default)]
    pub metric: Metric,
    /// The machine's name; empty if the documents do not tell.
    pub host: String,
    /// What was measured, in short.
    pub job: String,
    /// The runs, in the order of time.
    pub runs: Vec<TrendRun>,
    /// Where a level ends and the next begins, in the order of time.
    pub changes: Vec<TrendChange>,
    /// How much a run resembles the one before it within a level, 0 to 1.
    pub correlation: f64,
    /// The share of histories without a change that have one, if runs are independent.
    pub alpha: f64,
    /// The same at most, as simulated, if each run resembles the one before it.
    #[serde(default)]
    pub wandering_alpha: f64,
    /// The fewest runs in which changes are looked for.
    pub fewest: u64,
    /// Runs that have the cell but are not like these.
    pub left_out: Vec<LeftOut>,
}

impl Trend {
    /// Whether there are too few runs to look for changes.
    pub fn too_few(&self) -> bool {
        (self.runs.len() as u64) < self.fewest
    }

    /// The levels: the first run of each and the one after its last, by index.
    pub fn levels(&self) -> Vec<std::ops::Range<usize>> {
        let edges = self.changes.iter().map(|change| change.at as usize);
        let edges: Vec<usize> = std::iter::once(0).chain(edges).chain([self.runs.len()]).collect();
        edges.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }
}

/// A run of a trend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrendRun {
    /// The saved run's own.
    pub id: String,
    /// What the user calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When it started, RFC 3339.
    pub started: String,
    /// The version of the tool that measured.
    pub tool_version: String,
    /// The commit that it was built from, abbreviated; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The kernel's release.
    pub kernel: String,
    /// Nanoseconds for one operation, or the ratio: the median over epochs with its interval at 95 %.
    pub value: Estimate,
    /// The level that it belongs to: the geometric mean of the level's runs.
    pub level: f64,
}

impl TrendRun {
    /// The version of the tool with its commit.
    pub fn tool(&self) -> String {
        let commit = self.commit.iter().map(|commit| format!(" {commit}"));
        std::iter::once(self.tool_version.clone()).chain(commit).collect()
    }
}

/// A change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrendChange {
    /// The first run of the new level, by index.
    pub at: u64,
    /// The same by id.
    pub run: String,
    /// The last run of the old level, by id.
    pub after: String,
    /// The new level over the old one.
    pub ratio: f64,
    /// The lower end of its interval at 95 %.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
    /// The p-value of the change.
    pub p: f64,
    /// What else differs between the two runs; `a` is the last of the old level, `b` the first of the new one.
    pub differences: Vec<Difference>,
}

/// Runs that are left out for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The reason, such as `of another job`.
    pub reason: String,
    /// How many.
    pub runs: u64,
}
