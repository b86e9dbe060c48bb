//! How time divides into parts, and differences of parts, from timed batches.

use ipcost_lab::estimate::estimate;
use ipcost_model::protocol::PeerRole;
use ipcost_model::{Estimate, Pattern, PlannedCell, Sample};
use ipcost_stats::epoch_medians;

use crate::explain::{Division, Part, PartCost, PartDifference, Sides};

/// Nanoseconds that one operation of a batch took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// Elapsed.
    pub wall_ns: f64,
    /// By part, in the order of [`Part::ALL`]; they add up to what elapsed.
    pub parts_ns: [f64; 5],
}

impl Costs {
    /// Those of a batch. What is neither side's processor time is waiting; it is negative where both sides ran at once.
    pub fn of(sample: &Sample) -> Self {
        let per_op = |ns: u64| ns as f64 / sample.ops as f64;
        let wall_ns = per_op(sample.wall_ns);
        let [client_user, client_system, server_user, server_system] =
            [sample.client.user_ns, sample.client.sys_ns, sample.server.user_ns, sample.server.sys_ns]
                .map(per_op);
        let waiting = wall_ns - client_user - client_system - server_user - server_system;
        Self { wall_ns, parts_ns: [client_user, client_system, server_user, server_system, waiting] }
    }

    /// What went to a part.
    pub fn part(&self, part: Part) -> f64 {
        self.parts_ns[part as usize]
    }

    /// Processor time of a side.
    pub fn cpu_ns(&self, side: PeerRole) -> f64 {
        let [client_user, client_system, server_user, server_system, _] = self.parts_ns;
        match side {
            PeerRole::Client => client_user + client_system,
            PeerRole::Server => server_user + server_system,
        }
    }
}

/// How a cell's time can be divided.
pub fn division(cell: &PlannedCell) -> Division {
    match (cell.cell.pattern, cell.cell.concurrency) {
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

/// Timed batches by epoch, round and cell.
pub struct Batches<'a> {
    samples: &'a [Sample],
    level: f64,
}

impl<'a> Batches<'a> {
    /// Batches in the order in which they were measured; intervals are drawn at 1 − `level`.
    pub fn new(samples: &'a [Sample], level: f64) -> Self {
        Self { samples, level }
    }

    /// A value of one cell: the median over rounds in each epoch, then over epochs.
    pub fn estimate(&self, cell: usize, value: impl Fn(&Costs) -> f64) -> Option<Estimate> {
        self.over_epochs(|round| Some(value(&costs(round, cell)?)))
    }

    /// The difference of two cells in a value, taken within each round.
    pub fn difference(&self, a: usize, b: usize, value: impl Fn(&Costs) -> f64) -> Option<Estimate> {
        self.over_epochs(|round| Some(value(&costs(round, a)?) - value(&costs(round, b)?)))
    }

    /// The ratio of two cells' elapsed times, taken within each round by logarithms.
    pub fn ratio(&self, a: usize, b: usize) -> Option<Estimate> {
        let log =
            self.over_epochs(|round| Some((costs(round, a)?.wall_ns / costs(round, b)?.wall_ns).ln()))?;
        Some(Estimate { median: log.median.exp(), lo: log.lo.map(f64::exp), hi: log.hi.map(f64::exp) })
    }

    /// Something counted by one side of a cell, for one operation: the median of its batches' epochs.
    pub fn counted(&self, cell: usize, count: impl Fn(&Sample) -> u64) -> Option<f64> {
        let found = |round: &[Sample]| {
            let sample = round.iter().find(|sample| sample.cell as usize == cell)?;
            Some(count(sample) as f64 / sample.ops as f64)
        };
        self.over_epochs(found).map(|estimate| estimate.median)
    }

    /// The part of a cell's batches that does not grow with their operations, nanoseconds.
    pub fn wait_ns(&self, cell: usize) -> Option<f64> {
        let found = |round: &[Sample]| {
            Some(round.iter().find(|sample| sample.cell as usize == cell)?.wait_ns? as f64)
        };
        self.over_epochs(found).map(|estimate| estimate.median)
    }

    /// A cell's parts.
    pub fn parts(&self, cell: usize, division: Division) -> Vec<PartCost> {
        let Some(wall) = self.estimate(cell, |costs| costs.wall_ns) else { return Vec::new() };
        let cost = |part: &Part| {
            let ns = self.estimate(cell, |costs| costs.part(*part))?;
            Some(PartCost { part: *part, ns, share: ns.median / wall.median })
        };
        parts_of(division).iter().filter_map(cost).collect()
    }

    /// How busy each side was: its processor time over elapsed time.
    pub fn busy(&self, cell: usize) -> Option<Sides<f64>> {
        let busy = |side| self.estimate(cell, |costs| costs.cpu_ns(side) / costs.wall_ns);
        Some(Sides { client: busy(PeerRole::Client)?.median, server: busy(PeerRole::Server)?.median })
    }

    /// The parts of the difference of two cells: those that differ first, the largest first.
    pub fn part_differences(&self, a: usize, b: usize, division: Division) -> Vec<PartDifference> {
        let difference = |part: &Part| {
            let ns = self.difference(a, b, |costs| costs.part(*part))?;
            Some(PartDifference { part: *part, ns, differs: excludes_zero(&ns) })
        };
        let mut parts: Vec<PartDifference> = parts_of(division).iter().filter_map(difference).collect();
        parts.sort_by(|x, y| y.differs.cmp(&x.differs).then(y.ns.median.abs().total_cmp(&x.ns.median.abs())));
        parts
    }

    fn over_epochs(&self, of_round: impl Fn(&[Sample]) -> Option<f64>) -> Option<Estimate> {
        let rounds = self.samples.chunk_by(|a, b| (a.epoch, a.round) == (b.epoch, b.round));
        estimate(&epoch_medians(rounds.map(|round| (round[0].epoch, of_round(round))))?, self.level)
    }
}

fn costs(round: &[Sample], cell: usize) -> Option<Costs> {
    round.iter().find(|sample| sample.cell as usize == cell).map(Costs::of)
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
            sent_ns: None,
            wait_ns: None,
            client: Usage { user_ns: 20_000, sys_ns: 30_000, ..Usage::default() },
            server: Usage {
                user_ns: 10_000,
                sys_ns: sys_us * 1_000,
                voluntary_switches: 20,
                ..Usage::default()
            },
            measures: Default::default(),
            whereabouts: None,
            layout: None,
            suspended: false,
        };
        (1..=30).flat_map(|epoch| [sample(0, epoch, 20), sample(1, epoch, 20 + more_us)]).collect()
    }

    #[test]
    fn parts_add_up_to_what_elapsed() {
        let costs = Costs::of(&samples(0)[0]);
        assert!((costs.parts_ns.iter().sum::<f64>() - costs.wall_ns).abs() < 1e-9);
        assert_eq!((costs.cpu_ns(PeerRole::Client), costs.cpu_ns(PeerRole::Server)), (5_000.0, 3_000.0));
        assert_eq!(costs.part(Part::Waiting), costs.wall_ns - 8_000.0);
    }

    #[test]
    fn a_difference_is_found_in_its_part_alone() {
        let samples = samples(50);
        let batches = Batches::new(&samples, 0.01);
        let parts = batches.part_differences(1, 0, Division::Turns);
        assert_eq!((parts[0].part, parts[0].differs), (Part::ServerSystem, true));
        assert!((parts[0].ns.median - 5_000.0).abs() < 1.0, "{parts:?}");
        assert!(parts[1..].iter().all(|part| !part.differs), "{parts:?}");
        assert!((batches.difference(1, 0, |costs| costs.wall_ns).unwrap().median - 5_000.0).abs() < 1.0);
        assert!(batches.ratio(1, 0).unwrap().lo.unwrap() > 1.3);
        assert_eq!(batches.counted(0, |sample| sample.server.voluntary_switches), Some(2.0));
        assert_eq!(batches.parts(0, Division::Overlap).len(), 4, "where sides overlap, waiting is no part");
    }

    #[test]
    fn nothing_is_said_of_what_was_not_measured() {
        let batches = Batches::new(&[], 0.05);
        assert_eq!(
            (batches.estimate(0, |costs| costs.wall_ns), batches.parts(0, Division::Turns)),
            (None, vec![])
        );
        let samples = samples(0);
        let few = Batches::new(&samples[..4], 0.05);
        assert!(
            !excludes_zero(&few.difference(1, 0, |costs| costs.wall_ns).unwrap()),
            "two epochs tell nothing"
        );
    }
}
