//! How much runs of one build differ here: from saved runs of the same job on the same host.

use std::collections::{BTreeMap, BTreeSet};

use ipcost_lab::Batches;
use ipcost_model::{Document, Metric};
use ipcost_stats::{Between, ENOUGH_DEGREES, median};

/// Saved runs that are like those compared, in sets of one build on one kernel.
#[derive(Debug, Clone, Default)]
pub struct PastRuns {
    /// Logarithms of costs by cell: the median over the epochs of each run.
    sets: BTreeMap<(String, String), Vec<BTreeMap<String, f64>>>,
}

impl PastRuns {
    /// Adds a run.
    pub fn add(&mut self, document: &Document, metric: Metric) {
        let build = (document.host.kernel.clone(), document.tool.build());
        let batches = Batches::new(&document.samples, document.cells.len());
        let measured = document.cells.iter().enumerate().filter(|(_, cell)| cell.epochs > 0);
        let log = |index| median(&batches.log_costs(metric, index));
        let logs = measured.filter_map(|(index, cell)| Some((cell.id.clone(), log(index)?))).collect();
        self.sets.entry(build).or_default().push(logs);
    }

    /// How many runs.
    pub fn runs(&self) -> usize {
        self.sets.values().map(Vec::len).sum()
    }

    /// How runs of one build differ by a statistic of the costs of these cells, each less its mean over the build's runs; `None`
    /// if that is from too few.
    pub(crate) fn between(
        &self,
        cells: &[&str],
        statistic: impl Fn(&[f64]) -> Option<f64>,
    ) -> Option<Between> {
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
            .then(|| Between { sd: (squares / degrees as f64).sqrt(), degrees: degrees as f64 })
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
