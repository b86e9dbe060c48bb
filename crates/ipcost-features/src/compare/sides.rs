//! The runs of a side, and what they have measured.

use std::collections::{BTreeMap, BTreeSet};

use ipcost_lab::Batches;
use ipcost_model::pace::Pace;
use ipcost_model::{Document, Metric};

use super::compared_by::ComparedBy;

/// The runs of one side, and what they have measured.
pub(super) struct RunsOfSide<'a> {
    runs: Vec<Run<'a>>,
    /// Cells that every run has measured.
    pub measured: BTreeSet<&'a str>,
    /// Cells that some run has measured.
    anywhere: BTreeSet<&'a str>,
    /// Cells with the baseline that every run compares them with.
    pub pairs: BTreeSet<(&'a str, &'a str)>,
}

struct Run<'a> {
    document: &'a Document,
    /// Of cells that were measured.
    indices: BTreeMap<&'a str, usize>,
    pairs: BTreeSet<(&'a str, &'a str)>,
    batches: Batches<'a>,
}

impl<'a> RunsOfSide<'a> {
    pub fn of(documents: &'a [Document]) -> Self {
        let runs: Vec<Run<'a>> = documents.iter().map(Run::of).collect();
        let cells_of = |run: &Run<'a>| run.indices.keys().copied().collect::<BTreeSet<_>>();
        let in_all = |sets: Vec<BTreeSet<&'a str>>| sets.into_iter().reduce(|all, set| &all & &set);
        let measured = in_all(runs.iter().map(cells_of).collect()).unwrap_or_default();
        let anywhere = runs.iter().flat_map(|run| run.indices.keys().copied()).collect();
        let pairs = runs.iter().map(|run| run.pairs.clone()).reduce(|all, set| &all & &set);
        Self { runs, measured, anywhere, pairs: pairs.unwrap_or_default() }
    }

    /// Cells that no run of another side has measured.
    pub fn only(&self, other: &Self) -> Vec<String> {
        self.anywhere.difference(&other.anywhere).map(|id| (*id).to_owned()).collect()
    }

    /// How far a cell's epochs lie apart that fall into two groups in some run.
    pub fn modes(&self, by: ComparedBy, cell: &str) -> f64 {
        let of_run = |run: &Run<'_>| by.modes_apart(&run.document.cells[run.indices[cell]]);
        self.runs.iter().map(of_run).fold(0.0, f64::max)
    }

    /// The pace that a cell has in every run; `None` if runs differ in that.
    pub fn pace(&self, cell: &str) -> Option<Pace> {
        let mut paces = self.runs.iter().map(|run| run.document.cells[run.indices[cell]].pace());
        let first = paces.next()?;
        paces.all(|pace| pace == first).then_some(first)
    }

    /// For every run, the logarithms of a cell's figures by epoch.
    pub fn logs(&self, by: ComparedBy, cell: &str) -> Vec<Vec<f64>> {
        self.runs.iter().map(|run| by.logs(run.document, &run.batches, run.indices[cell])).collect()
    }

    /// For every run, the logarithms of the ratio of two cells' costs by epoch.
    pub fn log_ratios(&self, metric: Metric, cell: &str, baseline: &str) -> Vec<Vec<f64>> {
        let of = |run: &Run<'_>| run.batches.log_ratios(metric, run.indices[cell], run.indices[baseline]);
        self.runs.iter().map(of).collect()
    }
}

impl<'a> Run<'a> {
    fn of(document: &'a Document) -> Self {
        let batches = Batches::new(&document.samples, document.cells.len());
        let indices: BTreeMap<&str, usize> = document
            .cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| cell.epochs > 0)
            .map(|(index, cell)| (cell.id.as_str(), index))
            .collect();
        let pairs = document.contrasts.iter().map(|contrast| (contrast.a.as_str(), contrast.b.as_str()));
        let known = |pair: &(&str, &str)| indices.contains_key(pair.0) && indices.contains_key(pair.1);
        Self { document, pairs: pairs.filter(known).collect(), indices, batches }
    }
}
