//! What separate runs say about groups of cells.

use std::collections::BTreeSet;

use ipcost_stats::{
    ENOUGH_DEGREES, FEWEST_UNEQUAL, GroupEvidence, RunMedian, RunsSpread, Shift, SpreadBetweenRuns, median,
    shift, shift_of_unequal, student_quantile, unpaired,
};

use super::groups::AskedGroup;
use super::levels::Evidence;
use super::record::SpreadSource;
use super::spread::{PastFigures, relative};

/// How far groups of cells wander relative to the rest from one run of a build to the next, as a share of how far whole runs do:
/// where no runs tell. Whatever affects a whole run cancels out of it.
const OF_WHOLE_RUNS: f64 = 0.3;
/// A cell whose epochs leave more uncertain than this, relative, says little of a group if enough others are there.
const MOST_ERROR: f64 = 0.07;
/// Fewer cells show a change of a group only if it is far larger than the changes that matter, and would take their share of alpha.
pub(crate) const FEWEST_IN_GROUP: usize = 6;
/// The level at which a part of a group must show the change that the whole shows.
const ALPHA_OF_PART: f64 = 0.02;
/// The normal distribution, as Student's with many degrees of freedom.
const MANY: f64 = f64::INFINITY;

/// Logarithms of costs by run and cell, on both sides.
pub(crate) struct UnpairedRuns {
    a: Vec<Vec<f64>>,
    b: Vec<Vec<f64>>,
    /// How far each cell moved from side A to side B.
    moved: Vec<f64>,
    /// Whether its epochs tell that well.
    precise: Vec<bool>,
    /// How far groups wander relative to the rest from run to run, over all groups.
    between_groups: f64,
    source: SpreadSource,
    /// How far all cells together do, where these runs do not tell.
    between_runs: SpreadBetweenRuns,
}

impl UnpairedRuns {
    /// From the logarithms of costs by run and cell; `cells` are their ids, `errors` what the epochs of both sides leave uncertain
    /// of each, `groups` their groups.
    pub fn new(
        [a, b]: [Vec<Vec<f64>>; 2],
        cells: &[&str],
        errors: &[Option<f64>],
        groups: &[AskedGroup],
        assumed: f64,
        past: &PastFigures,
    ) -> Self {
        let mean = |runs: &[Vec<f64>], cell: usize| {
            runs.iter().map(|run| run[cell]).sum::<f64>() / runs.len() as f64
        };
        let moved = (0..cells.len()).map(|cell| mean(&b, cell) - mean(&a, cell)).collect();
        let whole = past.between(cells, median);
        let mut runs = Self {
            a,
            b,
            moved,
            precise: errors.iter().map(|error| error.is_some_and(|error| error <= MOST_ERROR)).collect(),
            between_groups: assumed * OF_WHOLE_RUNS,
            source: SpreadSource::Assumed,
            between_runs: whole.unwrap_or(SpreadBetweenRuns::assumed(assumed)),
        };
        let each = |between: &dyn Fn(&BTreeSet<usize>) -> Option<f64>| root_mean_square(groups, between);
        if runs.degrees() >= ENOUGH_DEGREES {
            runs.between_groups = each(&|inside| runs.spread_of(&|rests| relative(rests, inside)));
            runs.source = SpreadSource::Measured;
        } else if whole.is_some() {
            let of =
                |inside: &BTreeSet<usize>| Some(past.between(cells, |rests| relative(rests, inside))?.sd);
            runs.between_groups = each(&of);
            runs.source = SpreadSource::Saved;
        }
        runs
    }

    /// The standard deviation from run to run of a statistic of the costs, on both sides together.
    fn spread_of(&self, statistic: &dyn Fn(&[f64]) -> Option<f64>) -> Option<f64> {
        let [a, b] = self.of_runs(&vec![0.0; self.moved.len()], 0.0, statistic);
        // Its level does not matter here.
        match unpaired(&a, &b, 0.5, self.between_runs)?.spread {
            RunsSpread::Measured(sd) | RunsSpread::Assumed(sd) => Some(sd),
        }
    }

    fn degrees(&self) -> usize {
        self.a.len() + self.b.len() - 2
    }

    fn per_run(&self) -> f64 {
        1.0 / self.a.len() as f64 + 1.0 / self.b.len() as f64
    }

    /// A statistic of each run, on both sides; what moved between them is taken off side B.
    fn of_runs(
        &self,
        moved: &[f64],
        error: f64,
        statistic: impl Fn(&[f64]) -> Option<f64>,
    ) -> [Vec<RunMedian>; 2] {
        // What a cell costs is no part of it: only how it differs from run to run.
        let usual: Vec<f64> = (0..self.moved.len())
            .map(|cell| self.a.iter().map(|run| run[cell]).sum::<f64>() / self.a.len() as f64)
            .collect();
        let side = |runs: &[Vec<f64>], moved: &dyn Fn(usize) -> f64| -> Vec<RunMedian> {
            let of_run = |run: &Vec<f64>| {
                let rests: Vec<f64> =
                    run.iter().enumerate().map(|(cell, log)| log - usual[cell] - moved(cell)).collect();
                Some(RunMedian { median: statistic(&rests)?, error: Some(error) })
            };
            runs.iter().filter_map(of_run).collect()
        };
        [side(&self.a, &|_| 0.0), side(&self.b, &|cell| moved[cell])]
    }

    /// How far cells moved, those whose epochs tell it well if these are enough.
    fn precise(&self, cells: &[usize], moved: &[f64]) -> Vec<f64> {
        let precise: Vec<usize> = cells.iter().copied().filter(|cell| self.precise[*cell]).collect();
        let cells = if precise.len() >= FEWEST_UNEQUAL { &precise } else { cells };
        cells.iter().map(|cell| self.moved[*cell] - moved[*cell]).collect()
    }

    /// The same shift of a group that may wander as a whole.
    fn wandering(&self, shift: Shift, alpha: f64) -> Shift {
        let half = student_quantile(1.0 - alpha / 2.0, MANY) * self.between_groups * self.per_run().sqrt();
        shift.widened(half)
    }
}

impl GroupEvidence for UnpairedRuns {
    fn cells(&self) -> usize {
        self.moved.len()
    }

    fn relative(&self, inside: &[usize], outside: &[usize], moved: &[f64], alpha: f64) -> Option<Shift> {
        let [a, b] = [inside, outside].map(|cells| self.precise(cells, moved));
        Some(self.wandering(shift_of_unequal(&a, &b, alpha)?, alpha))
    }

    /// By ranks and at a level of its own: a part has few cells, and this only confirms what the whole shows.
    fn of_part(&self, inside: &[usize], outside: &[usize], moved: &[f64], _alpha: f64) -> Option<Shift> {
        let alpha = ALPHA_OF_PART;
        let [a, b] = [inside, outside].map(|cells| self.precise(cells, moved));
        Some(self.wandering(shift(&a, &b, alpha)?, alpha))
    }

    fn fewest(&self) -> usize {
        FEWEST_UNEQUAL
    }

    fn of_cell(&self, cell: usize) -> f64 {
        self.moved[cell]
    }
}

impl Evidence for UnpairedRuns {
    fn fewest_in_group(&self) -> usize {
        FEWEST_IN_GROUP
    }

    fn together(&self, cells: &[usize], alpha: f64) -> Option<Shift> {
        let of = |logs: &[f64]| median(&cells.iter().map(|cell| logs[*cell]).collect::<Vec<f64>>());
        let moved: Vec<f64> = cells.iter().map(|cell| self.moved[*cell]).collect();
        let error = error_of_median(&moved)? / self.per_run().sqrt();
        let [a, b] = self.of_runs(&vec![0.0; self.moved.len()], error, of);
        let found = unpaired(&a, &b, alpha, self.between_runs)?;
        // The middle of what the cells moved by, which with one run a side is the difference of the runs.
        Some(Shift { by: found.difference, bounds: found.bounds })
    }

    fn spread(&self, whole: bool) -> Option<(f64, SpreadSource)> {
        let measured = self.source == SpreadSource::Measured;
        let sd = match (whole, measured) {
            (false, _) => self.between_groups,
            (true, true) => self.spread_of(&median)?,
            (true, false) => self.between_runs.sd,
        };
        Some((sd, self.source))
    }
}

/// The standard error of the median of values that have one distribution, from their median absolute deviation.
fn error_of_median(values: &[f64]) -> Option<f64> {
    // Of normal values: the standard deviation over the median absolute deviation, and the error of a median over that of a mean.
    const SCALE: f64 = 1.4826 * 1.2533;
    let middle = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    Some(SCALE * median(&deviations)? / (values.len() as f64).sqrt())
}

/// Over all groups; 0 where none tells.
fn root_mean_square(groups: &[AskedGroup], of: &dyn Fn(&BTreeSet<usize>) -> Option<f64>) -> f64 {
    let inside = |group: &AskedGroup| group.first().set.cells.iter().copied().collect();
    let asked = groups.iter().filter(|group| group.first().set.cells.len() >= FEWEST_IN_GROUP);
    let found: Vec<f64> = asked.filter_map(|group| of(&inside(group))).map(|sd| sd * sd).collect();
    (found.iter().sum::<f64>() / found.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Cell, Pattern, Placement, Point};
    use ipcost_stats::Random;

    use super::*;
    use crate::compare::levels::simulated::{
        assert_seldom_wrong, print_cases, scenarios, suite, truth, wrong,
    };
    use crate::compare::{CellGroup, Levels, groups, levels};

    /// The cells of a usual suite.
    fn points() -> Vec<Point> {
        let mut points = Vec::new();
        for transport in ["unix", "tcp", "pipe", "fifo", "shm"] {
            for (pattern, size) in
                [(Pattern::Rr, 64), (Pattern::Rr, 4096), (Pattern::Stream, 64), (Pattern::Stream, 4096)]
            {
                for placement in [Placement::Together, Placement::Apart] {
                    points.push(Point { placement, ..Point::free(Cell::new(pattern, transport, size)) });
                }
            }
        }
        points
    }

    /// A run: the machine's speed, each cell's own luck, and cells that wander far; `slow` cells take a fifth longer.
    fn run(random: &mut Random, points: &[Point], slow: impl Fn(&Point) -> bool) -> Vec<f64> {
        let machine = random.normal() * 0.05;
        let cell = |(index, point): (usize, &Point)| {
            let luck = random.normal() * if index % 13 == 4 { 0.5 } else { 0.03 };
            machine + luck + if slow(point) { 1.2f64.ln() } else { 0.0 }
        };
        points.iter().enumerate().map(cell).collect()
    }

    fn asked(sides: [Vec<Vec<f64>>; 2], points: &[Point], past: &PastFigures) -> Levels {
        let references: Vec<&Point> = points.iter().collect();
        let asked = groups(&references);
        let ids: Vec<String> = points.iter().map(Point::id).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let errors = vec![Some(0.01); points.len()];
        let evidence = UnpairedRuns::new(sides, &ids, &errors, &asked, 0.05, past);
        levels(&evidence, &references, asked, points.len(), 0.05)
    }

    fn is_tcp(point: &Point) -> bool {
        point.transport == "tcp"
    }

    #[test]
    fn one_run_a_side_names_a_slow_transport_and_tells_equal_builds_apart_seldom() {
        let (mut random, points, past) = (Random::new(6), points(), PastFigures::default());
        let (mut named, mut alarms) = (0, 0);
        let tcp = CellGroup { transport: Some("tcp".to_owned()), ..CellGroup::default() };
        for _ in 0..100 {
            let a = run(&mut random, &points, |_| false);
            let [b, slow] =
                [false, true].map(|slow| run(&mut random, &points, |point| slow && is_tcp(point)));
            let found = asked([vec![a.clone()], vec![slow]], &points, &past);
            named += usize::from(found.groups[0].group == tcp && found.groups[0].found == Some(1));
            let equal = asked([vec![a], vec![b]], &points, &past);
            let all = equal.groups.iter().chain(&equal.everything);
            alarms += usize::from(all.filter(|group| group.found.is_some()).count() > 0);
        }
        assert!(named >= 85, "{named} of 100 named");
        assert!(alarms <= 5, "{alarms} of 100 equal builds told apart");
    }

    /// Over changed combinations, changes, noises and common shifts, with a tenth of the cells noisier than the others.
    fn wrong_findings(times: usize, report: &dyn Fn(&str, usize, usize)) {
        let suites = [
            suite(&["unix", "tcp", "pipe", "fifo"], &[Pattern::Rr, Pattern::Stream], 3),
            suite(&["unix", "tcp"], &[Pattern::Rr, Pattern::Stream], 4),
        ];
        let past = PastFigures::default();
        for (number, points) in suites.iter().enumerate() {
            for (name, changed) in scenarios() {
                for (by, noise, common) in [
                    (1.3, 0.02, 1.0),
                    (2.5, 0.02, 1.0),
                    (0.4, 0.05, 1.0),
                    (2.5, 0.05, 0.6),
                    (1.15, 0.03, 1.3),
                ] {
                    let truth = truth(points, &changed, f64::ln(by), f64::ln(common));
                    let mut random = Random::new(47);
                    let (mut false_ones, mut named) = (0, 0);
                    for _ in 0..times {
                        let mut side = |truth: &[f64]| -> Vec<Vec<f64>> {
                            let machine = random.normal() * 0.05;
                            let luck = |(cell, by): (usize, &f64)| {
                                by + machine
                                    + random.normal() * noise * if cell % 10 == 3 { 7.0 } else { 1.0 }
                            };
                            vec![truth.iter().enumerate().map(luck).collect()]
                        };
                        let sides = [side(&vec![0.0; points.len()]), side(&truth)];
                        let found = asked(sides, points, &past);
                        false_ones += usize::from(wrong(&found, points, &truth));
                        named += usize::from(found.groups.iter().any(|group| group.found.is_some()));
                    }
                    let name = format!("suite {number}, {name}, {by} at {noise}, all {common}");
                    report(&name, false_ones, named);
                }
            }
        }
    }

    #[test]
    fn no_part_is_taken_for_the_whole() {
        assert_seldom_wrong(wrong_findings, 5);
    }

    #[test]
    #[ignore = "minutes: prints the share of wrong findings, as docs/did-it-change.md says"]
    fn wrong_findings_over_the_grid() {
        print_cases(wrong_findings, 400);
    }

    #[test]
    fn several_runs_a_side_tell_how_much_they_differ_and_narrow_the_intervals() {
        let (mut random, points, past) = (Random::new(9), points(), PastFigures::default());
        let mut side = |slow: bool| -> Vec<Vec<f64>> {
            (0..3).map(|_| run(&mut random, &points, |point| slow && is_tcp(point))).collect()
        };
        let (a, b) = (side(false), side(true));
        let three = asked([a.clone(), b.clone()], &points, &past);
        let one = asked([a[..1].to_vec(), b[..1].to_vec()], &points, &past);
        let spreads = |levels: &Levels| levels.everything.as_ref().unwrap().spread_source;
        assert_eq!(
            (spreads(&three), spreads(&one)),
            (Some(SpreadSource::Measured), Some(SpreadSource::Assumed))
        );
        let width = |levels: &Levels| {
            let group =
                levels.groups.iter().find(|group| group.group.transport.as_deref() == Some("unix")).unwrap();
            group.hi.unwrap() / group.lo.unwrap()
        };
        assert!(width(&three) < width(&one), "{} and {}", width(&three), width(&one));
        assert_eq!(three.groups[0].group.transport.as_deref(), Some("tcp"));
    }

    #[test]
    fn few_cells_are_no_groups() {
        let points = &points()[..4];
        let (mut random, past) = (Random::new(2), PastFigures::default());
        let [a, b] = [0, 1].map(|_| vec![run(&mut random, points, |_| false)]);
        let found = asked([a, b], points, &past);
        assert!(found.groups.is_empty() && found.everything.is_some());
        // Nothing of alpha is kept for groups that cannot be told apart.
        assert!((found.alpha_below * 4.0 - 0.05 * 0.9).abs() < 1e-9, "{}", found.alpha_below);
    }
}
