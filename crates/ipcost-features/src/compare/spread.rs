//! How much runs of one build differ here: from saved runs of the same job on the same host.

use std::collections::{BTreeMap, BTreeSet};

use ipcost_lab::Batches;
use ipcost_model::Document;
use ipcost_stats::{ENOUGH_DEGREES, SpreadBetweenRuns, median};

use super::compared_by::ComparedBy;

/// Saved runs that are like those compared, by what they are compared by.
#[derive(Debug, Clone, Default)]
pub struct PastRuns(BTreeMap<ComparedBy, PastFigures>);

impl PastRuns {
    /// Of no run yet, for comparisons by all of these.
    pub fn new(by: impl IntoIterator<Item = ComparedBy>) -> Self {
        Self(by.into_iter().map(|by| (by, PastFigures::default())).collect())
    }

    pub fn add(&mut self, document: &Document) {
        let batches = Batches::new(&document.samples, document.cells.len());
        self.0.iter_mut().for_each(|(by, figures)| figures.add(document, &batches, *by));
    }

    /// What they tell by one of these; `None` if they are not asked for it.
    pub(crate) fn of(&self, by: ComparedBy) -> Option<&PastFigures> {
        self.0.get(&by)
    }
}

/// The figures of saved runs, in sets of one build on one kernel.
#[derive(Debug, Clone, Default)]
pub(crate) struct PastFigures {
    /// Logarithms by cell: the median over the epochs of each run.
    sets: BTreeMap<(String, String), Vec<BTreeMap<String, f64>>>,
}

impl PastFigures {
    fn add(&mut self, document: &Document, batches: &Batches<'_>, by: ComparedBy) {
        let build = (document.host.kernel.clone(), document.tool.build());
        let measured = document.cells.iter().enumerate().filter(|(_, cell)| cell.epochs > 0);
        let log = |index| median(&by.logs(document, batches, index));
        let logs = measured.filter_map(|(index, cell)| Some((cell.id.clone(), log(index)?))).collect();
        self.sets.entry(build).or_default().push(logs);
    }

    pub fn runs(&self) -> usize {
        self.sets.values().map(Vec::len).sum()
    }

    /// How runs of one build differ by a statistic of the figures of these cells, each less its mean over the build's runs; `None`
    /// if that is from too few.
    pub(crate) fn between(
        &self,
        cells: &[&str],
        statistic: impl Fn(&[f64]) -> Option<f64>,
    ) -> Option<SpreadBetweenRuns> {
        let (mut squares, mut degrees) = (0.0, 0);
        for set in self.sets.values() {
            let runs: Vec<Vec<f64>> = set
                .iter()
                .filter_map(|run| cells.iter().map(|cell| run.get(*cell).copied()).collect())
                .collect();
            let means: Vec<f64> = (0..cells.len())
                .map(|cell| runs.iter().map(|run| run[cell]).sum::<f64>() / runs.len() as f64)
                .collect();
            let of_run = |run: &Vec<f64>| {
                let rests: Vec<f64> = run.iter().zip(&means).map(|(log, mean)| log - mean).collect();
                statistic(&rests)
            };
            let values: Vec<f64> = runs.iter().filter_map(of_run).collect();
            let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
            squares += values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            degrees += values.len().saturating_sub(1);
        }
        (degrees >= ENOUGH_DEGREES)
            .then(|| SpreadBetweenRuns { sd: (squares / degrees as f64).sqrt(), degrees: degrees as f64 })
    }
}

/// The median of these, less that of the others.
pub(crate) fn relative(values: &[f64], inside: &BTreeSet<usize>) -> Option<f64> {
    let (mut within, mut beyond) = (Vec::new(), Vec::new());
    for (index, value) in values.iter().enumerate() {
        if inside.contains(&index) { within.push(*value) } else { beyond.push(*value) }
    }
    Some(median(&within)? - median(&beyond)?)
}
