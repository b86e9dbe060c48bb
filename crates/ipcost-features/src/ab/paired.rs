//! What two arms of one run say about groups of cells: both are measured in every epoch, so that epochs are the units.

use std::collections::{BTreeMap, HashMap};

use ipcost_lab::Batches;
use ipcost_model::{ArmName, Metric, Point};
use ipcost_stats::{EpochInterval, GroupEvidence, Shift, epoch_interval, median};

use crate::compare::{Evidence, SpreadSource};

/// A cell in both arms, as indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub a: usize,
    pub b: usize,
}

/// The pairs of cells that differ in nothing but their arm, in the order of those of arm A.
pub(super) fn pairs(cells: &[&Point]) -> Vec<Pair> {
    let of_arm = |arm: ArmName| cells.iter().enumerate().filter(move |(_, point)| point.arm == Some(arm));
    let of_row = |point: &Point| Point { arm: None, ..point.clone() };
    let twins: HashMap<Point, usize> =
        of_arm(ArmName::B).map(|(index, point)| (of_row(point), index)).collect();
    of_arm(ArmName::A).filter_map(|(a, point)| Some(Pair { a, b: *twins.get(&of_row(point))? })).collect()
}

/// The logarithms of cost in B over cost in A, by cell and epoch.
pub(super) struct PairedArms {
    by_cell: Vec<BTreeMap<u32, f64>>,
    middles: Vec<f64>,
}

impl PairedArms {
    /// Of the pairs that have figures in some epoch; which those are comes with it.
    pub fn of(batches: &Batches<'_>, metric: Metric, pairs: &[Pair]) -> (Vec<Pair>, Self) {
        let (mut measured, mut by_cell, mut middles) = (Vec::new(), Vec::new(), Vec::new());
        for pair in pairs {
            let epochs = batches.log_ratios_by_epoch(metric, pair.b, pair.a);
            let values: Vec<f64> = epochs.values().copied().collect();
            if let Some(middle) = median(&values) {
                measured.push(*pair);
                by_cell.push(epochs);
                middles.push(middle);
            }
        }
        (measured, Self { by_cell, middles })
    }

    /// A cell's logarithmic ratio by epoch.
    pub fn epochs(&self, cell: usize) -> Vec<f64> {
        self.by_cell[cell].values().copied().collect()
    }

    /// A statistic of the cells of each epoch that has all of them.
    fn over_epochs(&self, moved: &[f64], statistic: impl Fn(&[f64]) -> Option<f64>) -> Vec<f64> {
        let Some((first, others)) = self.by_cell.split_first() else { return Vec::new() };
        let whole = first.keys().filter(|epoch| others.iter().all(|cell| cell.contains_key(epoch)));
        let of_epoch = |epoch: &u32| {
            let rests: Vec<f64> =
                self.by_cell.iter().zip(moved).map(|(cell, moved)| cell[epoch] - moved).collect();
            statistic(&rests)
        };
        whole.filter_map(of_epoch).collect()
    }
}

/// The interval of epochs as a shift.
fn shift(epochs: &[f64], alpha: f64) -> Option<Shift> {
    let EpochInterval { interval, .. } = epoch_interval(epochs, alpha)?;
    Some(Shift { by: interval.median, bounds: interval.bounds })
}

impl GroupEvidence for PairedArms {
    fn cells(&self) -> usize {
        self.by_cell.len()
    }

    fn relative(&self, inside: &[usize], outside: &[usize], moved: &[f64], alpha: f64) -> Option<Shift> {
        let middle = |rests: &[f64], cells: &[usize]| {
            median(&cells.iter().map(|cell| rests[*cell]).collect::<Vec<f64>>())
        };
        let epochs = self.over_epochs(moved, |rests| Some(middle(rests, inside)? - middle(rests, outside)?));
        shift(&epochs, alpha)
    }

    fn of_cell(&self, cell: usize) -> f64 {
        self.middles[cell]
    }
}

impl Evidence for PairedArms {
    fn together(&self, moved: &[f64], alpha: f64) -> Option<Shift> {
        shift(&self.over_epochs(moved, median), alpha)
    }

    fn least_alpha(&self, _inside: usize, _outside: usize) -> f64 {
        0.0
    }

    fn spread(&self, _whole: bool) -> Option<(f64, SpreadSource)> {
        None
    }
}
