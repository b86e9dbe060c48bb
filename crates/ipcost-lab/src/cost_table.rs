//! Costs of all batches of complete epochs, arranged for contrasts.

use ipcost_model::{Document, Metric, Ran, Sample};
use ipcost_stats::median;

/// More than ten thousand cells in a thousand epochs: larger documents are not from this program.
const MOST_ENTRIES: usize = 1 << 24;

/// Enough epochs with a round in which the scheduler placed both cells alike for an interval.
const LEAST_ALIKE: usize = 10;

/// Logarithms of costs by cell, epoch and round.
#[derive(Debug, Clone, Default)]
pub struct CostTable {
    cells: usize,
    rounds: usize,
    /// Natural logarithms of nanoseconds per operation: epoch by epoch, round by round, cell by cell.
    wall: Vec<f64>,
    cpu: Vec<f64>,
    /// Where each batch ran, if known.
    ran: Vec<Option<Ran>>,
}

impl CostTable {
    /// An empty one.
    pub fn new(cells: usize, rounds: u32) -> Self {
        Self { cells, rounds: rounds as usize, ..Self::default() }
    }

    /// The table of a document's samples, epoch by epoch; `None` if rounds or epochs contradict its schedule.
    pub fn of_document(document: &Document) -> Option<Self> {
        let (cells, rounds) = (document.cells.len(), document.schedule.rounds);
        let mut samples: Vec<&Sample> = document.samples.iter().collect();
        samples.sort_by_key(|sample| sample.epoch);
        let epochs = samples.chunk_by(|a, b| a.epoch == b.epoch);
        let entries = cells.checked_mul(rounds as usize)?.checked_mul(epochs.clone().count())?;
        let rounds_fit = samples.iter().all(|sample| (1..=rounds).contains(&sample.round));
        if entries > MOST_ENTRIES || !rounds_fit {
            return None;
        }
        let mut table = Self::new(cells, rounds);
        epochs.for_each(|epoch| table.add_epoch(epoch.iter().copied()));
        Some(table)
    }

    /// Adds the samples of one complete epoch; those from a suspended machine are not counted.
    pub fn add_epoch<'a>(&mut self, samples: impl IntoIterator<Item = &'a Sample>) {
        let start = self.wall.len();
        let length = start + self.cells * self.rounds;
        self.wall.resize(length, f64::NAN);
        self.cpu.resize(length, f64::NAN);
        self.ran.resize(length, None);
        for sample in samples.into_iter().filter(|sample| !sample.suspended) {
            let place = start + (sample.round as usize - 1) * self.cells + sample.cell as usize;
            let per_op = |ns: u64| (ns as f64 / sample.ops as f64).ln();
            self.wall[place] = per_op(sample.wall_ns);
            self.cpu[place] = per_op((sample.client + sample.server).cpu_ns());
            self.ran[place] = sample.whereabouts.map(|seen| seen.ran);
        }
    }

    /// Complete epochs.
    pub fn epochs(&self) -> usize {
        self.wall.len().checked_div(self.cells * self.rounds).unwrap_or(0)
    }

    /// For each epoch with the cell, the median over its rounds of ln(cost); empty if a cost is zero.
    pub fn log_costs(&self, metric: Metric, cell: usize) -> Vec<f64> {
        self.per_epoch(metric, &[cell], |round| round[cell])
    }

    /// For each epoch with both, the median over its rounds of ln(cost of a) − ln(cost of b); empty if one is zero.
    ///
    /// If the scheduler places the processes, over the rounds in which it placed both alike, once those suffice for
    /// an interval.
    pub fn log_ratios(&self, metric: Metric, a: usize, b: usize) -> Vec<f64> {
        self.log_ratios_alike(metric, a, b).unwrap_or_else(|| self.log_ratios_of_all(metric, a, b))
    }

    /// Whether the scheduler places two cells, and their ratio is over the rounds in which it placed both alike.
    pub fn is_alike(&self, a: usize, b: usize) -> bool {
        self.log_ratios_alike(Metric::Wall, a, b).is_some()
    }

    fn log_ratios_of_all(&self, metric: Metric, a: usize, b: usize) -> Vec<f64> {
        self.per_epoch(metric, &[a, b], |round| round[a] - round[b])
    }

    fn log_ratios_alike(&self, metric: Metric, a: usize, b: usize) -> Option<Vec<f64>> {
        if !self.ran.iter().any(Option::is_some) {
            return None;
        }
        let alike = |places: &[Option<Ran>]| {
            places[a] == places[b] && matches!(places[a], Some(Ran::Together | Ran::Apart))
        };
        let values = self.per_epoch_where(metric, alike, |round| round[a] - round[b]);
        (values.len() >= LEAST_ALIKE && values.iter().all(|value| value.is_finite())).then_some(values)
    }

    /// For each epoch in which the cell ran with this placement, the median over those rounds of ln(cost).
    pub fn log_costs_where(&self, ran: Ran, cell: usize) -> Vec<f64> {
        self.per_epoch_where(Metric::Wall, |places| places[cell] == Some(ran), |round| round[cell])
    }

    /// For each epoch in which both ran with this placement in the same round, the median over those rounds of
    /// ln(cost of a) − ln(cost of b).
    pub fn log_ratios_where(&self, ran: Ran, a: usize, b: usize) -> Vec<f64> {
        let both = |places: &[Option<Ran>]| places[a] == Some(ran) && places[b] == Some(ran);
        self.per_epoch_where(Metric::Wall, both, |round| round[a] - round[b])
    }

    /// Over the rounds whose batches ran with the placement.
    fn per_epoch_where(
        &self,
        metric: Metric,
        keep: impl Fn(&[Option<Ran>]) -> bool,
        of_round: impl Fn(&[f64]) -> f64,
    ) -> Vec<f64> {
        let length = self.cells * self.rounds;
        if self.epochs() == 0 {
            return Vec::new();
        }
        let epochs = self.costs(metric).chunks_exact(length).zip(self.ran.chunks_exact(length));
        let of_epoch = |(costs, places): (&[f64], &[Option<Ran>])| {
            let rounds = costs.chunks_exact(self.cells).zip(places.chunks_exact(self.cells));
            let kept = rounds.filter(|(_, places)| keep(places));
            median(&kept.map(|(costs, _)| of_round(costs)).collect::<Vec<f64>>())
        };
        epochs.filter_map(of_epoch).collect()
    }

    fn costs(&self, metric: Metric) -> &[f64] {
        match metric {
            Metric::Wall => &self.wall,
            Metric::Cpu => &self.cpu,
        }
    }

    /// For each epoch with all parts, the median over its rounds of ln(Σ count × cost of part); empty if that is
    /// zero.
    pub fn log_sums(&self, parts: &[(usize, f64)]) -> Vec<f64> {
        let cells: Vec<usize> = parts.iter().map(|(cell, _)| *cell).collect();
        self.per_epoch(Metric::Wall, &cells, |round| log_sum(round, parts))
    }

    /// For each epoch with all of them, the median over its rounds of ln(cost of the cell) − ln(Σ count × cost of
    /// part); empty if one is zero.
    pub fn log_multiples(&self, cell: usize, parts: &[(usize, f64)]) -> Vec<f64> {
        let cells: Vec<usize> = parts.iter().map(|(part, _)| *part).chain([cell]).collect();
        self.per_epoch(Metric::Wall, &cells, |round| round[cell] - log_sum(round, parts))
    }

    /// Over the epochs in which all of these cells were measured.
    fn per_epoch(&self, metric: Metric, cells: &[usize], of_round: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let costs = self.costs(metric);
        if self.epochs() == 0 {
            return Vec::new();
        }
        let has_all = |epoch: &&[f64]| {
            epoch.chunks_exact(self.cells).all(|round| cells.iter().all(|cell| !round[*cell].is_nan()))
        };
        let values: Vec<f64> = costs
            .chunks_exact(self.cells * self.rounds)
            .filter(has_all)
            .map(|epoch| {
                let rounds: Vec<f64> = epoch.chunks_exact(self.cells).map(&of_round).collect();
                median(&rounds).unwrap_or(f64::NAN)
            })
            .collect();
        if values.iter().all(|value| value.is_finite()) { values } else { Vec::new() }
    }
}

/// The logarithm of the sum of the parts' costs, from the logarithms of costs.
fn log_sum(round: &[f64], parts: &[(usize, f64)]) -> f64 {
    parts.iter().map(|(cell, count)| count * round[*cell].exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use ipcost_model::Usage;

    use super::*;

    fn sample(cell: u32, round: u32, wall_ns: u64) -> Sample {
        let usage = Usage { user_ns: wall_ns, ..Usage::default() };
        let server = Usage::default();
        Sample {
            cell,
            epoch: 1,
            round,
            position: 1,
            ops: 10,
            wall_ns,
            sent_ns: None,
            wait_ns: None,
            client: usage,
            server,
            measures: Default::default(),
            whereabouts: None,
            layout: None,
            suspended: false,
        }
    }

    #[test]
    fn ratios_are_taken_within_rounds_before_the_median() {
        let mut table = CostTable::new(2, 3);
        let rounds = [(100, 50), (400, 100), (900, 300)];
        let samples: Vec<Sample> =
            (1..).zip(rounds).flat_map(|(r, (a, b))| [sample(0, r, a), sample(1, r, b)]).collect();
        table.add_epoch(&samples);
        assert_eq!(table.epochs(), 1);
        // Ratios 2, 4, 3: their median is 3, while the ratio of the medians would be 4.
        assert!((table.log_ratios(Metric::Wall, 0, 1)[0].exp() - 3.0).abs() < 1e-12);
        assert!((table.log_costs(Metric::Wall, 0)[0].exp() - 40.0).abs() < 1e-12);
        assert!((table.log_ratios(Metric::Cpu, 1, 0)[0].exp() - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn epochs_without_a_cell_are_none_of_its_contrasts() {
        let mut table = CostTable::new(2, 1);
        table.add_epoch(&[sample(0, 1, 100), sample(1, 1, 50)]);
        table.add_epoch(&[sample(1, 1, 60)]);
        table.add_epoch(&[sample(0, 1, 300), sample(1, 1, 100)]);
        let ratios: Vec<f64> =
            table.log_ratios(Metric::Wall, 0, 1).iter().map(|ratio| ratio.exp().round()).collect();
        assert_eq!((table.epochs(), ratios), (3, vec![2.0, 3.0]));
        assert_eq!([0, 1].map(|cell| table.log_costs(Metric::Wall, cell).len()), [2, 3]);
    }

    #[test]
    fn cells_are_compared_where_both_ran_alike() {
        use Ran::{Apart, Together};
        let mut table = CostTable::new(2, 2);
        let rounds = [[(100, Together), (50, Together)], [(900, Apart), (50, Together)]];
        let samples: Vec<Sample> = (1..)
            .zip(rounds)
            .flat_map(|(round, cells)| {
                (0..).zip(cells).map(move |(cell, (wall_ns, ran))| Sample {
                    whereabouts: Some(ipcost_model::Whereabouts { ran, migrations: 0 }),
                    ..sample(cell, round, wall_ns)
                })
            })
            .collect();
        table.add_epoch(&samples);
        assert!(!table.is_alike(0, 1), "one epoch is too few");
        (1..LEAST_ALIKE).for_each(|_| table.add_epoch(&samples));
        assert!(table.is_alike(0, 1));
        let of_alike = table.log_ratios(Metric::Wall, 0, 1);
        assert!(of_alike.iter().all(|ratio| ratio.exp().round() == 2.0), "{of_alike:?}");
        let ratios = |ran| -> Vec<f64> {
            table.log_ratios_where(ran, 0, 1).iter().map(|ratio| ratio.exp().round()).collect()
        };
        assert_eq!((ratios(Together), ratios(Apart)), (vec![2.0; LEAST_ALIKE], vec![]));
        assert_eq!(table.log_costs_where(Apart, 0).len(), LEAST_ALIKE);
    }

    #[test]
    fn a_cost_of_nothing_has_no_ratio() {
        let mut table = CostTable::new(1, 1);
        table.add_epoch(&[sample(0, 1, 0)]);
        assert!(table.log_costs(Metric::Wall, 0).is_empty());
    }
}
