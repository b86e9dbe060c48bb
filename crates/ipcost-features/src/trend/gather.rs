//! From saved documents to what a trend needs of them.

use derive_more::Deref;
use ipcost_lab::Batches;
use ipcost_lab::estimate::estimate_of_logs;
use ipcost_model::{CellRecord, Document, Matrix, Metric, NATIVE, Placement, parse_cell_id};

use super::TrendRun;
use crate::compare::facts;
use crate::history::{AlikeRuns, RunSummary, job};

/// The level of the interval of a ratio; documents have those of costs at the same.
const ALPHA: f64 = 0.05;

/// A cell as a user names it. `->` counts as `→`, sizes may have units, and usual parts may be missing.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendCellName {
    text: String,
    /// Its only cell; `None` of ids that cannot be read, which are compared letter by letter.
    matrix: Option<Matrix>,
}

impl TrendCellName {
    pub fn new(text: &str) -> Self {
        let text = text.replace("->", "→");
        let matrix = matrix_of(&text);
        Self { text, matrix }
    }

    /// As it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a run in short may have the cell; only its document tells for sure.
    pub fn may_be_in(&self, run: &RunSummary) -> bool {
        self.matrix.as_ref().is_none_or(|cell| {
            cell.pattern.0.iter().all(|pattern| run.patterns.contains(pattern))
                && cell.transport.0.iter().all(|transport| run.transports.contains(transport))
        })
    }

    pub(super) fn is(&self, id: &str) -> bool {
        self.text == id || (self.matrix.is_some() && self.matrix == matrix_of(id))
    }

    fn find<'a>(&self, document: &'a Document) -> Option<(usize, &'a CellRecord)> {
        document.cells.iter().enumerate().find(|(_, cell)| self.is(&cell.id))
    }
}

/// The matrix of an id, with the values of parts that are missing.
fn matrix_of(id: &str) -> Option<Matrix> {
    let mut matrix = parse_cell_id(id).ok()?;
    if matrix.reply == matrix.size {
        matrix.reply = Vec::new().into();
    }
    if matrix.concurrency.0.is_empty() {
        matrix.concurrency = vec![1].into();
    }
    if matrix.placement.0 == [Placement::Free] {
        matrix.placement = Vec::new().into();
    }
    for peer in [&mut matrix.client, &mut matrix.server] {
        if peer.0 == [NATIVE] {
            *peer = Vec::new().into();
        }
    }
    Some(matrix)
}

/// What is followed over time.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendRequest {
    pub cell: TrendCellName,
    /// What its cost is divided by within each run.
    pub against: Option<TrendCellName>,
    /// Of elapsed time, or of processor time.
    pub metric: Metric,
}

impl TrendRequest {
    pub fn cells(&self) -> impl Iterator<Item = &TrendCellName> {
        std::iter::once(&self.cell).chain(&self.against)
    }
}

/// What a trend needs of a saved run.
#[derive(Debug, Clone, Deref)]
pub struct TrendGathered {
    /// As it is shown, at the level of its own.
    #[deref]
    pub(super) run: TrendRun,
    pub(super) cell: String,
    pub(super) against: Option<String>,
    pub(super) job: String,
    pub(super) alike: AlikeRuns,
    pub(super) facts: Vec<(String, String)>,
}

impl TrendGathered {
    /// Of a document that was saved under this id; `None` if it has no figure for what is asked.
    pub fn of(document: &Document, summary: &RunSummary, asked: &TrendRequest) -> Option<Self> {
        let (index, cell) = asked.cell.find(document)?;
        let against = match &asked.against {
            Some(name) => Some(name.find(document)?),
            None => None,
        };
        let value = match against {
            None => match asked.metric {
                Metric::Wall => cell.wall_ns_per_op?,
                Metric::Cpu => cell.cpu_ns_per_op?,
            },
            Some((other, _)) => {
                let batches = Batches::new(&document.samples, document.cells.len());
                estimate_of_logs(&batches.log_ratios(asked.metric, index, other), ALPHA)?
            }
        };
        (value.median.is_finite() && value.median > 0.0).then(|| Self {
            run: TrendRun {
                id: summary.id.clone(),
                name: document.name.clone(),
                started: document.started.clone(),
                tool_version: document.tool.version.clone(),
                commit: document.tool.commit.clone(),
                kernel: document.host.kernel.clone(),
                value,
                level: value.median,
            },
            cell: cell.id.clone(),
            against: against.map(|(_, cell)| cell.id.clone()),
            job: job(summary),
            alike: AlikeRuns::of(document),
            facts: facts(document),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_found_however_it_is_written() {
        for (typed, id) in [
            ("rr/unix/64", "rr/unix/64/c1"),
            ("rr/tcp/4KiB->2/c8/free", "rr/tcp/4096→2/c8"),
            ("rr/tcp/64→64/native→native", "rr/tcp/64/c1"),
            ("rr/tcp/64/c1/apart/tcp_nodelay=false", "rr/tcp/64/c1/apart/tcp_nodelay=false"),
            ("floor/switch/c1", "floor/switch/c1"),
        ] {
            assert!(TrendCellName::new(typed).is(id), "{typed}");
        }
        for other in ["rr/unix/64/c2", "rr/unix/65/c1", "stream/unix/64/c1", "rr/unix/64/c1/apart", ""] {
            assert!(!TrendCellName::new("rr/unix/64").is(other), "{other}");
        }
    }
}
