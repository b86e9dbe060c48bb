//! What two arms of one run say about groups of cells: both are measured in every epoch, so that epochs are the units.

use std::collections::{BTreeMap, HashMap};

use ipcost_lab::Batches;
use ipcost_model::{ArmName, Metric, Point};
use ipcost_stats::{EpochInterval, GroupEvidence, Shift, epoch_interval, median};

use crate::compare::{Evidence, SpreadSource};

/// A cell in both arms, as indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArmPair {
    pub a: usize,
    pub b: usize,
}

/// The pairs of cells that differ in nothing but their arm, in the order of those of arm A.
pub(crate) fn pairs(cells: &[&Point]) -> Vec<ArmPair> {
    let of_arm = |arm: ArmName| cells.iter().enumerate().filter(move |(_, point)| point.arm == Some(arm));
    let of_row = |point: &Point| Point { arm: None, ..point.clone() };
    let twins: HashMap<Point, usize> =
        of_arm(ArmName::B).map(|(index, point)| (of_row(point), index)).collect();
    of_arm(ArmName::A).filter_map(|(a, point)| Some(ArmPair { a, b: *twins.get(&of_row(point))? })).collect()
}

/// The logarithms of cost in B over cost in A, by cell and epoch.
pub(crate) struct PairedArms {
    by_cell: Vec<BTreeMap<u32, f64>>,
    middles: Vec<f64>,
}

impl PairedArms {
    /// Of the pairs that have figures in some epoch; which those are comes with it.
    pub fn of(batches: &Batches<'_>, metric: Metric, pairs: &[ArmPair]) -> (Vec<ArmPair>, Self) {
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

    /// How far a cell moved, at level 1 − `alpha`.
    pub fn cell_shift(&self, cell: usize, alpha: f64) -> Option<Shift> {
        shift(&self.by_cell[cell].values().copied().collect::<Vec<f64>>(), alpha)
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
pub(crate) fn shift(epochs: &[f64], alpha: f64) -> Option<Shift> {
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

    fn fewest(&self) -> usize {
        1
    }

    fn of_cell(&self, cell: usize) -> f64 {
        self.middles[cell]
    }
}

impl Evidence for PairedArms {
    fn together(&self, cells: &[usize], alpha: f64) -> Option<Shift> {
        let of = |logs: &[f64]| median(&cells.iter().map(|cell| logs[*cell]).collect::<Vec<f64>>());
        shift(&self.over_epochs(&vec![0.0; self.by_cell.len()], of), alpha)
    }

    fn spread(&self, _whole: bool) -> Option<(f64, SpreadSource)> {
        None
    }
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Cell, Pattern, Placement, Sample};
    use ipcost_stats::Random;

    use super::*;
    use crate::compare::levels::simulated::{
        assert_seldom_wrong, print_cases, scenarios, suite, truth, wrong,
    };
    use crate::compare::{CellGroup, groups, levels};

    /// Streams and round trips over three transports, on one core and on two, in both arms.
    fn points() -> Vec<Point> {
        let mut points = Vec::new();
        for pattern in [Pattern::Rr, Pattern::Stream] {
            for transport in ["unix", "tcp", "pipe"] {
                for placement in [Placement::Together, Placement::Apart] {
                    for arm in ArmName::ALL {
                        let point = Point::free(Cell::new(pattern, transport, 64));
                        points.push(Point { placement, arm: Some(*arm), ..point });
                    }
                }
            }
        }
        points
    }

    /// Epochs in which the machine's speed wanders, and arm B takes `factor` times as long where `slow` says so.
    fn samples(points: &[Point], factor: f64, slow: impl Fn(&Point) -> bool) -> Vec<Sample> {
        let mut random = Random::new(7);
        let mut samples = Vec::new();
        for epoch in 1..=40 {
            let machine = random.normal() * 0.3;
            for (cell, point) in points.iter().enumerate() {
                let is_slow = point.arm == Some(ArmName::B) && slow(point);
                let factor = if is_slow { factor } else { 1.0 };
                let ns = 1e6 * factor * (machine + random.normal() * 0.02 + (cell / 2) as f64 * 0.1).exp();
                samples.push(Sample {
                    cell: cell as u32,
                    epoch,
                    round: 1,
                    ops: 100,
                    wall_ns: ns as u64,
                    ..Sample::default()
                });
            }
        }
        samples
    }

    fn asked(factor: f64, slow: impl Fn(&Point) -> bool) -> crate::compare::Levels {
        let points = points();
        let pairs = pairs(&points.iter().collect::<Vec<&Point>>());
        assert_eq!((pairs.len(), pairs[1]), (12, ArmPair { a: 2, b: 3 }));
        of_points(&points, factor, slow)
    }

    fn of_points(points: &[Point], factor: f64, slow: impl Fn(&Point) -> bool) -> crate::compare::Levels {
        let samples = samples(points, factor, slow);
        let references: Vec<&Point> = points.iter().collect();
        let pairs = pairs(&references);
        let batches = Batches::new(&samples, points.len());
        let (measured, evidence) = PairedArms::of(&batches, Metric::Wall, &pairs);
        let of_a: Vec<&Point> = measured.iter().map(|pair| references[pair.a]).collect();
        levels(&evidence, &of_a, groups(&of_a), measured.len(), 0.05)
    }

    #[test]
    fn a_group_that_changed_is_named_and_the_rest_is_not() {
        let found = asked(1.1, |point| point.transport == "tcp" && point.pattern == Pattern::Stream);
        let changed: Vec<_> = found.groups.iter().filter(|group| group.found.is_some()).collect();
        assert_eq!(changed.len(), 1, "{changed:?}");
        let expected = CellGroup {
            pattern: Some(Pattern::Stream),
            transport: Some("tcp".to_owned()),
            ..CellGroup::default()
        };
        assert_eq!(changed[0].group, expected);
        assert_eq!(changed[0].group.words(), "streams over tcp");
        assert!((changed[0].ratio - 1.1).abs() < 0.03 && changed[0].cells == 2, "{changed:?}");
        // Its alpha has passed to its two cells.
        let base = found.alpha_below;
        let opened = found.cell_alpha.iter().filter(|alpha| **alpha > base).count();
        assert!(opened >= 2 && found.cell_alpha.iter().sum::<f64>() <= 0.05 + 1e-9);
        let everything = found.everything.unwrap();
        assert!(everything.lo.unwrap() <= 1.0 && everything.hi.unwrap() >= 1.0, "{everything:?}");
    }

    /// Over changed combinations, changes, epochs and common shifts.
    fn wrong_findings(times: usize, report: &dyn Fn(&str, usize, usize)) {
        let suites = [
            suite(&["unix", "tcp"], &[Pattern::Stream], 1),
            suite(&["unix", "tcp", "pipe"], &[Pattern::Rr, Pattern::Stream], 1),
        ];
        for (number, points) in suites.iter().enumerate() {
            let references: Vec<&Point> = points.iter().collect();
            for (name, changed) in scenarios() {
                for (by, common, epochs, noise) in
                    [(2.5, 1.0, 30, 0.03), (0.4, 0.9, 60, 0.03), (1.1, 1.0, 40, 0.03), (1.05, 1.02, 60, 0.05)]
                {
                    let truth = truth(points, &changed, f64::ln(by), f64::ln(common));
                    let mut random = Random::new(16);
                    let (mut false_ones, mut named) = (0, 0);
                    for _ in 0..times {
                        let mut by_cell = vec![BTreeMap::new(); points.len()];
                        for epoch in 0..epochs {
                            // What both arms do not share of the machine's state.
                            let machine = random.normal() * 0.02;
                            for (cell, by) in truth.iter().enumerate() {
                                let noise = noise * if cell == 2 { 4.0 } else { 1.0 };
                                by_cell[cell].insert(epoch, by + machine + noise * random.normal());
                            }
                        }
                        let middle = |cell: &BTreeMap<u32, f64>| {
                            median(&cell.values().copied().collect::<Vec<f64>>()).unwrap()
                        };
                        let middles = by_cell.iter().map(middle).collect();
                        let evidence = PairedArms { by_cell, middles };
                        let found = levels(&evidence, &references, groups(&references), points.len(), 0.05);
                        let cells = found.cell_alpha.iter().enumerate().any(|(cell, alpha)| {
                            let shift = evidence.cell_shift(cell, *alpha);
                            shift.is_some_and(|shift| shift.is_known() && shift.by * truth[cell] < 1e-9)
                        });
                        false_ones += usize::from(wrong(&found, points, &truth) || cells);
                        let all = found.groups.iter().chain(&found.everything);
                        named += usize::from(all.filter(|group| group.found.is_some()).count() > 0);
                    }
                    let name =
                        format!("suite {number}, {name}, {by} of {epochs} epochs at {noise}, all {common}");
                    report(&name, false_ones, named);
                }
            }
        }
    }

    #[test]
    fn no_part_is_taken_for_the_whole() {
        assert_seldom_wrong(wrong_findings, 4);
    }

    #[test]
    #[ignore = "minutes: prints the share of wrong findings, as docs/did-it-change.md says"]
    fn wrong_findings_over_the_grid() {
        print_cases(wrong_findings, 200);
    }

    #[test]
    fn what_changed_on_one_core_over_tcp_is_nothing_that_all_share() {
        let points: Vec<Point> = points()
            .into_iter()
            .filter(|point| point.pattern == Pattern::Stream && point.transport != "pipe")
            .collect();
        let slow = |point: &Point| point.transport == "tcp" && point.placement == Placement::Together;
        let found = of_points(&points, 0.4, slow);
        assert!(found.groups.iter().all(|group| group.found.is_none()), "{:?}", found.groups);
        assert!(found.groups.iter().all(|group| group.verdict == ipcost_model::Verdict::Undecided));
        assert_eq!(found.everything.unwrap().found, None);
    }

    #[test]
    fn what_all_cells_share_is_everything_and_no_group() {
        let found = asked(0.9, |_| true);
        assert!(found.groups.iter().all(|group| group.found.is_none()));
        let everything = found.everything.unwrap();
        assert!(everything.found.is_some() && (everything.ratio - 0.9).abs() < 0.02, "{everything:?}");
        assert!(everything.group.words() == "everything" && everything.spread.is_none());
    }

    #[test]
    fn equal_arms_are_the_same() {
        let found = asked(1.0, |_| false);
        assert!(found.groups.iter().all(|group| group.found.is_none() && group.would_show.unwrap() < 1.06));
        assert_eq!(found.everything.unwrap().verdict, ipcost_model::Verdict::Equivalent);
    }
}
