//! What a cell cost in each epoch: the unit of inference.

use std::collections::BTreeMap;

use ipcost_model::{Document, Measure, Sample};
use ipcost_stats::Series;

/// A cell in one epoch; costs are medians over the epoch's rounds, nanoseconds for one operation.
pub struct EpochCost {
    /// Operations in its batches.
    pub ops: u64,
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
    by_cell.iter().map(|samples| of_cell(samples)).collect()
}

fn of_cell(samples: &[&Sample]) -> Vec<EpochCost> {
    let mut ops: BTreeMap<u32, u64> = BTreeMap::new();
    for sample in samples {
        let sum = ops.entry(sample.epoch).or_default();
        *sum = sum.saturating_add(sample.ops);
    }
    let by_epoch = |value: &dyn Fn(&Sample) -> Option<f64>| -> BTreeMap<u32, f64> {
        let rounds = samples.iter().map(|sample| (sample.epoch, sample.round, value(sample)));
        let epochs = Series::complete(rounds).by_epoch().into_iter();
        epochs.filter_map(|(epoch, median)| Some((epoch, median?))).collect()
    };
    let of_logs = |measure: Measure| -> BTreeMap<u32, f64> {
        let logs = by_epoch(&|sample| Some(measure.of(sample)?.ln()));
        logs.into_iter().map(|(epoch, log)| (epoch, log.exp())).collect()
    };
    let (wall, cpu) = (of_logs(Measure::Wall), of_logs(Measure::Cpu));
    let sent = by_epoch(&|sample| Measure::Sent.of(sample));
    let switches = by_epoch(&|sample| Measure::Switches.of(sample));
    let epoch = |(epoch, wall_ns): (u32, f64)| EpochCost {
        ops: ops.get(&epoch).copied().unwrap_or_default(),
        wall_ns,
        cpu_ns: cpu.get(&epoch).copied(),
        sent_ns: sent.get(&epoch).copied(),
        switches: switches.get(&epoch).copied(),
    };
    wall.into_iter().map(epoch).collect()
}
