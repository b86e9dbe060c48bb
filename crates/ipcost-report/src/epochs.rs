//! What a cell cost in each epoch: the unit of inference.

use ipcost_model::{Document, Sample};
use ipcost_stats::median;

/// A cell in one epoch; costs are medians over the epoch's rounds, nanoseconds for one operation.
pub struct EpochCost {
    /// Operations in its batches.
    pub ops: u64,
    /// Elapsed time.
    pub wall_ns: f64,
    /// User and system time of both processes; `None` where it is too little to be counted.
    pub cpu_ns: Option<f64>,
    /// Time until the last send returned, where it was taken.
    pub sent_ns: Option<f64>,
    /// Switches of both processes, of either kind.
    pub switches: Option<f64>,
}

/// Epoch by epoch for each of the document's cells, as the engine takes them for the cells' own medians.
pub fn costs(document: &Document) -> Vec<Vec<EpochCost>> {
    let mut by_cell: Vec<Vec<&Sample>> = vec![Vec::new(); document.cells.len()];
    for sample in document.samples.iter().filter(|sample| !sample.suspended) {
        if let Some(samples) = by_cell.get_mut(sample.cell as usize) {
            samples.push(sample);
        }
    }
    by_cell.into_iter().map(of_cell).collect()
}

fn of_cell(mut samples: Vec<&Sample>) -> Vec<EpochCost> {
    samples.sort_by_key(|sample| sample.epoch);
    samples.chunk_by(|a, b| a.epoch == b.epoch).filter_map(of_epoch).collect()
}

fn of_epoch(rounds: &[&Sample]) -> Option<EpochCost> {
    let over_rounds = |value: &dyn Fn(&Sample) -> Option<f64>| {
        let values: Option<Vec<f64>> = rounds.iter().map(|sample| value(sample)).collect();
        median(&values?).filter(|value| value.is_finite())
    };
    let per_op = |value: u64, sample: &Sample| value as f64 / sample.ops as f64;
    let of_logs = |ns: &dyn Fn(&Sample) -> u64| {
        over_rounds(&|sample| Some(per_op(ns(sample), sample).ln())).map(f64::exp)
    };
    Some(EpochCost {
        ops: rounds.iter().fold(0, |sum, sample| sum.saturating_add(sample.ops)),
        wall_ns: of_logs(&|sample| sample.wall_ns)?,
        cpu_ns: of_logs(&|sample| (sample.client + sample.server).cpu_ns()),
        sent_ns: over_rounds(&|sample| Some(per_op(sample.sent_ns?, sample))),
        switches: over_rounds(&|sample| {
            let used = sample.client + sample.server;
            Some(per_op(used.voluntary_switches.saturating_add(used.involuntary_switches), sample))
        }),
    })
}
