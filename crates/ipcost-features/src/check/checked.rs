//! What a run says of a project's claims.

use ipcost_model::{Warning, named};
use serde::{Deserialize, Serialize};

use crate::check::ClaimMetric;
use crate::compare::SpreadSource;
use ipcost_model::ClaimVerdict;

/// The version of what is written of a check.
pub const CHECK_SCHEMA: &str = "ipcost-check/1";

/// What was decided of a file of claims.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    pub schema: String,
    /// The file of claims, as it was named.
    pub file: String,
    /// The chance that any interval of any claim ever misses.
    pub alpha: f64,
    /// What each interval is drawn at.
    pub alpha_each: f64,
    /// `fails` where a claim fails or depends, else `open` where one is, else `holds`.
    pub word: ClaimVerdict,
    /// The claims, in the order of the file.
    pub claims: Vec<CheckedClaim>,
    /// What weakens the claims, beside the document's own warnings.
    pub warnings: Vec<Warning>,
}

impl Check {
    pub fn count(&self, word: ClaimVerdict) -> usize {
        self.claims.iter().filter(|claim| claim.word == word).count()
    }
}

/// A claim and what holds of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckedClaim {
    pub text: String,
    /// The line of the file on which it begins, from 1.
    pub line: u32,
    pub word: ClaimVerdict,
    /// What it rests on: one cell, or each of several.
    pub tests: Vec<CheckedTest>,
}

/// A cell of a claim and its figures, in nanoseconds, operations or bytes a second, or as a ratio.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckedTest {
    /// The host, in a fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The cell, by id.
    pub cell: String,
    /// The cell it is compared with, by id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The document, or the documents, in which the same cell is what it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// How much runs of one build differ, of a comparison with a baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_runs: Option<BetweenRuns>,
    /// Whether it is about one cell, a group of them, or all together: then `cell` says which in words.
    #[serde(default, skip_serializing_if = "Level::is_cell")]
    pub level: Level,
    pub metric: ClaimMetric,
    /// The median over epochs; null where there is none.
    pub value: Option<f64>,
    /// The lower end of its interval; null while unbounded.
    pub lo: Option<f64>,
    /// The upper end of its interval; null while unbounded.
    pub hi: Option<f64>,
    /// It is claimed to be at most this.
    pub at_most: Option<f64>,
    /// It is claimed to be at least this.
    pub at_least: Option<f64>,
    pub word: ClaimVerdict,
    /// Why it cannot be decided here, whatever the budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Of one that is open: the budget in seconds that would likely decide it, were the epochs to come like those
    /// there are; null where that cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likely_budget_s: Option<f64>,
}

/// How much runs of one build differ, as the interval of a ratio to a baseline allows for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BetweenRuns {
    /// The standard deviation, relative.
    pub spread: f64,
    /// Where that is from: the baselines, saved runs, or an assumption.
    pub source: SpreadSource,
    /// A bound nearer to the ratio than this factor stays open however long the run is.
    pub open_within: f64,
}

named! {
    /// The level of a question about a change.
    #[derive(Default)]
    Level, "level" {
        /// A single cell.
        #[default]
        Cell = "cell",
        /// A group of cells, relative to the rest.
        Group = "group",
        /// All cells together.
        Everything = "everything",
    }
}

impl Level {
    /// Whether it is that of a single cell.
    pub fn is_cell(&self) -> bool {
        *self == Self::Cell
    }
}

impl CheckedTest {
    /// Whether its figures are ratios.
    pub fn is_ratio(&self) -> bool {
        self.against.is_some() || self.baseline.is_some() || !self.level.is_cell()
    }
}
