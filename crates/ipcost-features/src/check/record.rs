//! Claims that a project keeps about its own machine: the file that holds them.
//!
//! The file is a job with one key more, `[[claims]]`. Each claim bounds one of three things: the ratio of two cells
//! of the run, what one cell costs by itself, or the ratio of cells to what they cost in a document of before.

mod amount;
mod reading;

use std::fmt;

use ipcost_model::{Job, JobFileError, Metric, Percentile, named};

use crate::claims::CellName;
use crate::compare::ComparedBy;

pub use reading::parse_claims;

named! {
    /// What of a cell a claim is about.
    #[derive(Default)]
    ClaimMetric, "metric" {
        /// Elapsed time for one operation.
        #[default]
        Wall = "wall",
        /// User and system time of both processes for one operation.
        Cpu = "cpu",
        /// The median latency of an epoch.
        P50 = "p50",
        /// The 90th percentile of latency of an epoch.
        P90 = "p90",
        /// The 99th percentile of latency of an epoch.
        P99 = "p99",
        /// The 99.9th percentile of latency of an epoch.
        P999 = "p999" | "p99.9",
        /// Operations a second.
        OpsPerS = "ops_per_s",
        /// Payload bytes a second, both directions.
        BytesPerS = "bytes_per_s",
    }
}

impl ClaimMetric {
    /// The percentile of latency that it is; `None` where it is none.
    pub fn percentile(self) -> Option<Percentile> {
        match self {
            Self::P50 => Some(Percentile::P50),
            Self::P90 => Some(Percentile::P90),
            Self::P99 => Some(Percentile::P99),
            Self::P999 => Some(Percentile::P999),
            Self::Wall | Self::Cpu | Self::OpsPerS | Self::BytesPerS => None,
        }
    }

    /// What a comparison with a document is by; rates are one over elapsed time.
    pub fn compared_by(self) -> ComparedBy {
        match (self, self.percentile()) {
            (_, Some(percentile)) => ComparedBy::Latency(percentile),
            (Self::Cpu, None) => ComparedBy::Cost(Metric::Cpu),
            (_, None) => ComparedBy::Cost(Metric::Wall),
        }
    }

    /// As people write it: `cost`, `p99.9`.
    pub fn title(self) -> &'static str {
        match self {
            Self::Wall => "cost",
            Self::Cpu => "processor time",
            Self::OpsPerS => "operations a second",
            Self::BytesPerS => "bytes a second",
            _ => self.percentile().map_or(self.name(), Percentile::title),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ClaimsFile {
    /// What is measured for them.
    pub job: Job,
    /// What is claimed; at least one.
    pub claims: Vec<ProjectClaim>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ProjectClaim {
    /// In words, where the file has some.
    pub text: Option<String>,
    /// Where it stands in the file.
    pub place: TextPosition,
    /// What of the cells it is about.
    pub metric: ClaimMetric,
    /// Which cell; with a baseline or arms, `None` is every cell that both have.
    pub cell: Option<Located<CellName>>,
    /// What the cell is compared with.
    pub reference: Reference,
    /// The value is at most this.
    pub at_most: Option<WrittenBound>,
    /// The value is at least this.
    pub at_least: Option<WrittenBound>,
    /// On which share of the hosts of a fleet it must hold, 0 to 1, where the file says so.
    pub hosts: Option<f64>,
}

/// What a cell is compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// Nothing: it is judged by itself.
    Nothing,
    /// Another cell of the run.
    Cell(Located<CellName>),
    /// The same cell in documents of before, each a file or what else names one: runs of one build, at least one.
    Baseline(Located<Vec<String>>),
    /// The same cell in arm A of the run; the claim is about arm B.
    Arms(TextPosition),
}

/// A bound in the metric's own unit, or of a ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenBound {
    /// Nanoseconds, operations or bytes a second, or a ratio.
    pub value: f64,
    /// As the file has it.
    pub written: String,
}

/// A line and a column, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPosition {
    pub line: usize,
    /// The column in characters.
    pub column: usize,
}

impl TextPosition {
    pub fn error(self, message: impl fmt::Display) -> JobFileError {
        JobFileError { line: self.line, column: self.column, message: message.to_string() }
    }
}

/// Something with its place in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    pub value: T,
    pub place: TextPosition,
}
