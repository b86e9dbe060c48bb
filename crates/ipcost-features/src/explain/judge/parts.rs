//! How time divides into parts, and differences of parts, from timed batches.

use ipcost_lab::Batches;
use ipcost_lab::estimate::{estimate, estimate_of_logs};
use ipcost_model::protocol::PeerRole;
use ipcost_model::{Estimate, Measure, Metric, Pattern, PlannedCell, Ran, Sample};
use ipcost_stats::median;

use crate::explain::{Division, Part, PartCost, PartDifference, Sides};

impl Part {
    /// What it is of a batch.
    pub fn measure(self) -> Measure {
        match self {
            Self::ClientUser => Measure::ClientUser,
            Self::ClientSystem => Measure::ClientSys,
            Self::ServerUser => Measure::ServerUser,
            Self::ServerSystem => Measure::ServerSys,
            Self::Waiting => Measure::Waiting,
        }
    }
}

/// How a cell's time can be divided.
pub fn division(cell: &PlannedCell) -> Division {
    match (cell.cell.pattern, cell.cell.concurrency) {
        // Processor time is that of whole batches, elapsed time that of operations.
        _ if cell.cell.pace().is_paced() => Division::Processor,
        (_, 2..) => Division::Processor,
        (Pattern::Stream, _) => Division::Overlap,
        (Pattern::Rr | Pattern::Connect | Pattern::Floor, _) => Division::Turns,
    }
}

/// The parts into which such time divides: waiting is a part only where sides take turns.
pub fn parts_of(division: Division) -> &'static [Part] {
    if division == Division::Turns { Part::ALL } else { &Part::ALL[..4] }
}

/// How the difference of two cells can be divided: as the one that allows less.
pub fn common(a: Division, b: Division) -> Division {
    match (a, b) {
        (Division::Turns, Division::Turns) => Division::Turns,
        (Division::Overlap, Division::Overlap) => Division::Overlap,
        _ => Division::Processor,
    }
}

/// Estimates of cells and of their differences, with intervals at 1 − `level`.
#[derive(Clone, Copy)]
pub struct Estimates<'a> {
    pub batches: &'a Batches<'a>,
    /// The chance that an interval misses.
    pub level: f64,
}

impl Estimates<'_> {
    pub fn of(&self, cell: usize, measure: &Measure) -> Option<Estimate> {
        self.over(cell, |sample| measure.of(sample))
    }

    /// The difference of two cells in a measure, taken within each round.
    pub fn difference(&self, a: usize, b: usize, measure: &Measure) -> Option<Estimate> {
        let of = |cell| self.batches.series(cell, |sample| measure.of(sample));
        estimate(&of(a).with(&of(b), |a, b| a - b).medians(), self.level)
    }

    /// The same over the rounds in which both ran with this placement.
    pub fn difference_where(&self, ran: Ran, a: usize, b: usize, measure: &Measure) -> Option<Estimate> {
        let of = |cell| self.batches.series(cell, |sample| measure.of(sample));
        let differences = of(a).with(&of(b), |a, b| a - b).only(&self.batches.both_ran(ran, a, b));
        estimate(&differences.medians(), self.level)
    }

    /// A measure of one cell over the rounds in which it and another ran with this placement.
    pub fn of_where(&self, ran: Ran, cell: usize, other: usize, measure: &Measure) -> Option<Estimate> {
        let values = self.batches.series(cell, |sample| measure.of(sample));
        estimate(&values.only(&self.batches.both_ran(ran, cell, other)).medians(), self.level)
    }

    /// The ratio of two cells' elapsed times, taken within each round by logarithms.
    pub fn ratio(&self, a: usize, b: usize) -> Option<Estimate> {
        let logs = |cell| self.batches.logs(Metric::Wall, cell);
        estimate_of_logs(&logs(a).with(logs(b), |a, b| a - b).medians(), self.level)
    }

    /// Something counted by one side of a cell, for one operation.
    pub fn counted(&self, cell: usize, count: impl Fn(&Sample) -> u64) -> Option<f64> {
        self.over(cell, |sample| Some(count(sample) as f64 / sample.ops as f64)).map(|found| found.median)
    }

    /// The part of a cell's batches that does not grow with their operations, nanoseconds.
    pub fn wait_ns(&self, cell: usize) -> Option<f64> {
        median(&self.batches.waits(cell))
    }

    pub fn parts(&self, cell: usize, division: Division) -> Vec<PartCost> {
        let Some(wall) = self.of(cell, &Measure::Wall) else { return Vec::new() };
        let cost = |part: &Part| {
            let ns = self.of(cell, &part.measure())?;
            Some(PartCost { part: *part, ns, share: ns.median / wall.median })
        };
        parts_of(division).iter().filter_map(cost).collect()
    }

    /// How busy each side was: its processor time over elapsed time.
    pub fn busy(&self, cell: usize) -> Option<Sides<f64>> {
        let busy = |side: PeerRole| {
            let cpu = match side {
                PeerRole::Client => Measure::ClientCpu,
                PeerRole::Server => Measure::ServerCpu,
            };
            let share = self.over(cell, |sample| Some(cpu.of(sample)? / Measure::Wall.of(sample)?));
            share.map(|found| found.median)
        };
        Some(Sides { client: busy(PeerRole::Client)?, server: busy(PeerRole::Server)? })
    }

    /// The parts of the difference of two cells: those that differ first, the largest first.
    pub fn part_differences(&self, a: usize, b: usize, division: Division) -> Vec<PartDifference> {
        let difference = |part: &Part| {
            let ns = self.difference(a, b, &part.measure())?;
            Some(PartDifference { part: *part, ns, differs: excludes_zero(&ns) })
        };
        let mut parts: Vec<PartDifference> = parts_of(division).iter().filter_map(difference).collect();
        parts.sort_by(|x, y| y.differs.cmp(&x.differs).then(y.ns.median.abs().total_cmp(&x.ns.median.abs())));
        parts
    }

    fn over(&self, cell: usize, value: impl Fn(&Sample) -> Option<f64>) -> Option<Estimate> {
        estimate(&self.batches.series(cell, value).medians(), self.level)
    }
}

/// Whether an interval says that there is a difference.
pub fn excludes_zero(estimate: &Estimate) -> bool {
    estimate.lo.is_some_and(|lo| lo > 0.0) || estimate.hi.is_some_and(|hi| hi < 0.0)
}

#[cfg(test)]
mod tests {
    use ipcost_model::Usage;

    use super::*;

    /// 30 epochs of two cells: the second takes `more` microseconds longer, all of it the server's system time.
    fn samples(more_us: u64) -> Vec<Sample> {
        let sample = |cell: u32, epoch: u32, sys_us: u64| Sample {
            cell,
            epoch,
            round: 1,
            position: 1,
            ops: 10,
            wall_ns: (100 + u64::from(epoch % 5) + sys_us) * 1_000,
            client: Usage { user_ns: 20_000, sys_ns: 30_000, ..Usage::default() },
            server: Usage {
                user_ns: 10_000,
                sys_ns: sys_us * 1_000,
                voluntary_switches: 20,
                ..Usage::default()
            },
            ..Sample::default()
        };
        (1..=30).flat_map(|epoch| [sample(0, epoch, 20), sample(1, epoch, 20 + more_us)]).collect()
    }

    #[test]
    fn parts_add_up_to_what_elapsed() {
        let sample = &samples(0)[0];
        let parts: f64 = Part::ALL.iter().map(|part| part.measure().of(sample).unwrap()).sum();
        assert!((parts - Measure::Wall.of(sample).unwrap()).abs() < 1e-9);
        assert_eq!(Measure::Waiting.of(sample).unwrap(), Measure::Wall.of(sample).unwrap() - 8_000.0);
    }

    #[test]
    fn a_difference_is_found_in_its_part_alone() {
        let samples = samples(50);
        let batches = Batches::new(&samples, 2);
        let estimates = Estimates { batches: &batches, level: 0.01 };
        let parts = estimates.part_differences(1, 0, Division::Turns);
        assert_eq!((parts[0].part, parts[0].differs), (Part::ServerSystem, true));
        assert!((parts[0].ns.median - 5_000.0).abs() < 1.0, "{parts:?}");
        assert!(parts[1..].iter().all(|part| !part.differs), "{parts:?}");
        assert!((estimates.difference(1, 0, &Measure::Wall).unwrap().median - 5_000.0).abs() < 1.0);
        assert!(estimates.ratio(1, 0).unwrap().lo.unwrap() > 1.3);
        assert_eq!(estimates.counted(0, |sample| sample.server.voluntary_switches), Some(2.0));
        assert_eq!(estimates.parts(0, Division::Overlap).len(), 4, "where sides overlap, waiting is no part");
    }

    #[test]
    fn nothing_is_said_of_what_was_not_measured() {
        let nothing = Batches::new(&[], 2);
        let none = Estimates { batches: &nothing, level: 0.05 };
        assert_eq!((none.of(0, &Measure::Wall), none.parts(0, Division::Turns)), (None, vec![]));
        let samples = samples(0);
        let batches = Batches::new(&samples[..4], 2);
        let few = Estimates { batches: &batches, level: 0.05 };
        assert!(!excludes_zero(&few.difference(1, 0, &Measure::Wall).unwrap()), "two epochs tell nothing");
    }
}
