//! The timed batches of all complete epochs, arranged for questions about cells.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use ipcost_model::{Measure, Metric, Ran, Sample};
use ipcost_stats::Series;

/// Batches by cell. Those from a suspended machine do not count.
#[derive(Debug, Clone)]
pub struct Batches<'a> {
    cells: Vec<Vec<&'a Sample>>,
    /// Logarithms of costs of each cell, by metric, once they are asked for.
    logs: Vec<[OnceCell<Series>; Metric::ALL.len()]>,
    /// Where the batches of each cell ran, likewise.
    ran: Vec<OnceCell<Series<Option<Ran>>>>,
    epochs: usize,
}

impl<'a> Batches<'a> {
    /// The batches of `cells` cells, whose samples name them by index.
    pub fn new(samples: &'a [Sample], cells: usize) -> Self {
        let mut by_cell: Vec<Vec<&Sample>> = vec![Vec::new(); cells];
        let mut epochs: Vec<u32> = Vec::new();
        for sample in samples {
            if epochs.last() != Some(&sample.epoch) {
                epochs.push(sample.epoch);
            }
            if let Some(of_cell) = by_cell.get_mut(sample.cell as usize).filter(|_| !sample.suspended) {
                of_cell.push(sample);
            }
        }
        epochs.sort_unstable();
        epochs.dedup();
        Self {
            cells: by_cell,
            logs: vec![Default::default(); cells],
            ran: vec![OnceCell::new(); cells],
            epochs: epochs.len(),
        }
    }

    pub fn epochs(&self) -> usize {
        self.epochs
    }

    /// The batches of a cell, in the order in which they were measured.
    pub fn of(&self, cell: usize) -> &[&'a Sample] {
        &self.cells[cell]
    }

    /// What a cell's batches say, round by round; empty if a batch does not say it.
    pub fn series(&self, cell: usize, value: impl Fn(&Sample) -> Option<f64>) -> Series {
        Series::complete(self.cells[cell].iter().map(|sample| (sample.epoch, sample.round, value(sample))))
    }

    /// The part of a cell's batches that does not grow with their operations, nanoseconds, where it was seen.
    pub fn waits(&self, cell: usize) -> Vec<f64> {
        self.cells[cell].iter().filter_map(|sample| Some(sample.wait_ns? as f64)).collect()
    }

    /// The logarithms of a cell's costs, nanoseconds for one operation.
    pub fn logs(&self, metric: Metric, cell: usize) -> &Series {
        let measure = Measure::from(metric);
        self.logs[cell][metric as usize]
            .get_or_init(|| self.series(cell, |sample| Some(measure.of(sample)?.ln())))
    }

    /// For each epoch with the cell, the median over its rounds of ln(cost); empty if a cost is zero.
    pub fn log_costs(&self, metric: Metric, cell: usize) -> Vec<f64> {
        self.logs(metric, cell).medians()
    }

    /// For each epoch with both, the median over its rounds of ln(cost of a) − ln(cost of b); empty if one is zero.
    ///
    /// Over all rounds, wherever the scheduler placed the processes: a transport changes where they run, and that is part of its
    /// cost. [`Batches::log_ratios_where`] holds the placement fixed.
    pub fn log_ratios(&self, metric: Metric, a: usize, b: usize) -> Vec<f64> {
        self.log_ratios_since(0, metric, a, b)
    }

    /// The same without the first epochs of the run.
    pub fn log_ratios_since(&self, after: u32, metric: Metric, a: usize, b: usize) -> Vec<f64> {
        self.logs_over(metric, a, b).since(after).medians()
    }

    /// For each epoch with both but the first ones, the costs of a and of b: all time over all operations of the rounds that both have.
    /// Empty if a batch does not tell its time.
    pub fn costs_since(&self, after: u32, metric: Metric, a: usize, b: usize) -> Vec<(f64, f64)> {
        let (a, b) = (self.totals(metric, a), self.totals(metric, b));
        let sums = a.with(&b, |[a_ns, a_ops], [b_ns, b_ops]| [a_ns, a_ops, b_ns, b_ops]);
        let sums = sums.since(after).sums();
        sums.into_iter().map(|[a_ns, a_ops, b_ns, b_ops]| (a_ns / a_ops, b_ns / b_ops)).collect()
    }

    /// The mean cost of a cell over its epochs, nanoseconds per operation; `None` without epochs.
    pub fn mean_cost(&self, metric: Metric, cell: usize) -> Option<f64> {
        let costs: Vec<f64> = self.totals(metric, cell).sums().iter().map(|[ns, ops]| ns / ops).collect();
        (!costs.is_empty()).then(|| costs.iter().sum::<f64>() / costs.len() as f64)
    }

    /// The time and the operations of each round of a cell; empty if a batch does not tell its time.
    fn totals(&self, metric: Metric, cell: usize) -> Series<[f64; 2]> {
        let measure = Measure::from(metric);
        let total = |sample: &&Sample| {
            let ops = sample.ops as f64;
            (sample.epoch, sample.round, measure.of(sample).map(|cost| [cost * ops, ops]))
        };
        Series::complete(self.cells[cell].iter().map(total))
    }

    /// For each epoch with both, the medians over its rounds of both logarithmic costs.
    pub fn log_costs_of_both(&self, metric: Metric, a: usize, b: usize) -> Vec<(f64, f64)> {
        let medians = |cell: usize, other: usize| {
            self.logs(metric, cell).with(self.logs(metric, other), |own, _| own).medians()
        };
        medians(a, b).into_iter().zip(medians(b, a)).collect()
    }

    /// The same by epoch, over all rounds; without epochs in which a ratio is not finite.
    pub fn log_ratios_by_epoch(&self, metric: Metric, a: usize, b: usize) -> BTreeMap<u32, f64> {
        finite(&self.logs_over(metric, a, b))
    }

    /// For each epoch with the cell, the median over its rounds of ln(cost); without those in which it is not finite.
    pub fn log_costs_by_epoch(&self, metric: Metric, cell: usize) -> BTreeMap<u32, f64> {
        finite(self.logs(metric, cell))
    }

    /// For each epoch in which the cell ran with this placement, the median over those rounds of ln(cost).
    pub fn log_costs_where(&self, ran: Ran, cell: usize) -> Vec<f64> {
        let there = self.ran(cell).map(|seen| seen == Some(ran));
        self.logs(Metric::Wall, cell).only(&there).medians()
    }

    /// For each epoch in which both ran with this placement in the same round, the median over those rounds of
    /// ln(cost of a) − ln(cost of b).
    pub fn log_ratios_where(&self, ran: Ran, a: usize, b: usize) -> Vec<f64> {
        self.logs_over(Metric::Wall, a, b).only(&self.both_ran(ran, a, b)).medians()
    }

    /// For each round of both, whether both ran with this placement.
    pub fn both_ran(&self, ran: Ran, a: usize, b: usize) -> Series<bool> {
        self.ran(a).with(self.ran(b), |a, b| a == Some(ran) && b == Some(ran))
    }

    /// For each epoch with all parts, the median over its rounds of ln(Σ count × cost of part); empty if that is zero.
    pub fn log_sums(&self, parts: &[(usize, f64)]) -> Vec<f64> {
        self.sums(parts).map(f64::ln).medians()
    }

    /// For each epoch with all of them, the median over its rounds of ln(cost of the cell) − ln(Σ count × cost of
    /// part); empty if one is zero.
    pub fn log_multiples(&self, cell: usize, parts: &[(usize, f64)]) -> Vec<f64> {
        self.logs(Metric::Wall, cell).with(&self.sums(parts), |cost, sum| cost - sum.ln()).medians()
    }

    fn sums(&self, parts: &[(usize, f64)]) -> Series {
        let costs =
            parts.iter().map(|(cell, count)| self.logs(Metric::Wall, *cell).map(|log| count * log.exp()));
        costs.reduce(|sum, part| sum.with(&part, |sum, part| sum + part)).unwrap_or_default()
    }

    fn logs_over(&self, metric: Metric, a: usize, b: usize) -> Series {
        self.logs(metric, a).with(self.logs(metric, b), |a, b| a - b)
    }

    /// Where each batch ran, if known.
    fn ran(&self, cell: usize) -> &Series<Option<Ran>> {
        let ran = |sample: &Sample| sample.whereabouts.map(|seen| seen.ran);
        let rounds = || self.cells[cell].iter().map(|sample| (sample.epoch, sample.round, ran(sample)));
        self.ran[cell].get_or_init(|| Series::new(rounds()))
    }
}

fn finite(series: &Series) -> BTreeMap<u32, f64> {
    series.by_epoch().into_iter().filter_map(|(epoch, value)| Some((epoch, value?))).collect()
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Usage, Whereabouts};

    use super::*;

    fn sample(cell: u32, epoch: u32, round: u32, wall_ns: u64) -> Sample {
        let client = Usage { user_ns: wall_ns, ..Usage::default() };
        Sample { cell, epoch, round, position: 1, ops: 10, wall_ns, client, ..Sample::default() }
    }

    fn rounded(logs: &[f64]) -> Vec<f64> {
        logs.iter().map(|log| log.exp().round()).collect()
    }

    #[test]
    fn ratios_are_taken_within_rounds_before_the_median() {
        let rounds = [(100, 50), (400, 100), (900, 300)];
        let samples: Vec<Sample> = (1..)
            .zip(rounds)
            .flat_map(|(round, (a, b))| [sample(0, 1, round, a), sample(1, 1, round, b)])
            .collect();
        let batches = Batches::new(&samples, 2);
        assert_eq!(batches.epochs(), 1);
        // Ratios 2, 4, 3: their median is 3, while the ratio of the medians would be 4.
        assert_eq!(rounded(&batches.log_ratios(Metric::Wall, 0, 1)), [3.0]);
        assert_eq!(rounded(&batches.log_costs(Metric::Wall, 0)), [40.0]);
        assert!((batches.log_ratios(Metric::Cpu, 1, 0)[0].exp() - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(rounded(&batches.log_sums(&[(0, 1.0), (1, 2.0)])), [60.0]);
        assert!((batches.log_multiples(0, &[(1, 2.0)])[0].exp() - 1.5).abs() < 1e-12);
    }

    #[test]
    fn epochs_without_a_cell_are_none_of_its_contrasts_and_suspended_batches_count_nowhere() {
        let suspended = Sample { suspended: true, ..sample(0, 3, 1, 9_999) };
        let samples = [
            sample(0, 1, 1, 100),
            sample(1, 1, 1, 50),
            sample(1, 2, 1, 60),
            suspended,
            sample(0, 3, 1, 300),
            sample(1, 3, 1, 100),
        ];
        let batches = Batches::new(&samples, 2);
        assert_eq!((batches.epochs(), rounded(&batches.log_ratios(Metric::Wall, 0, 1))), (3, vec![2.0, 3.0]));
        assert_eq!([0, 1].map(|cell| batches.log_costs(Metric::Wall, cell).len()), [2, 3]);
    }

    #[test]
    fn the_headline_is_over_all_rounds_and_placements_stand_below_it() {
        use Ran::{Apart, Together};
        // Where both share a core, the first looks cheap; as a rule it runs on two.
        let rounds = [
            [(40, Together), (50, Together)],
            [(900, Apart), (50, Together)],
            [(800, Apart), (50, Together)],
        ];
        let of_epoch = |epoch: u32| -> Vec<Sample> {
            let place = |ran| Some(Whereabouts { ran, migrations: 0 });
            let of_round = |(round, cells): (u32, [(u64, Ran); 2])| {
                (0..).zip(cells).map(move |(cell, (wall_ns, ran))| Sample {
                    whereabouts: place(ran),
                    ..sample(cell, epoch, round, wall_ns)
                })
            };
            (1..).zip(rounds).flat_map(of_round).collect()
        };
        const EPOCHS: usize = 12;
        let samples: Vec<Sample> = (1..=EPOCHS as u32).flat_map(of_epoch).collect();
        let batches = Batches::new(&samples, 2);
        assert_eq!(rounded(&batches.log_ratios(Metric::Wall, 0, 1)), [16.0; EPOCHS]);
        let costs = batches.costs_since(0, Metric::Wall, 0, 1);
        assert_eq!(costs.len(), EPOCHS);
        assert!(costs.iter().all(|(a, b)| (a - 58.0).abs() < 1e-9 && (b - 5.0).abs() < 1e-9), "{costs:?}");
        let ratios =
            |ran| batches.log_ratios_where(ran, 0, 1).iter().map(|log| log.exp()).collect::<Vec<_>>();
        assert!(ratios(Apart).is_empty() && ratios(Together).iter().all(|ratio| (ratio - 0.8).abs() < 1e-9));
        assert_eq!((ratios(Together).len(), batches.log_costs_where(Apart, 0).len()), (EPOCHS, EPOCHS));
    }

    #[test]
    fn a_cost_of_nothing_has_no_ratio() {
        let samples = [sample(0, 1, 1, 0)];
        assert!(Batches::new(&samples, 1).log_costs(Metric::Wall, 0).is_empty());
    }
}
