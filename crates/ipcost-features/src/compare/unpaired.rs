//! What separate runs say about groups of cells.

use std::collections::BTreeSet;

use ipcost_stats::{
    Between, ENOUGH_DEGREES, GroupEvidence, RunMedian, Shift, Spread, median, shift, student_quantile,
    unpaired,
};

use super::levels::Evidence;
use super::record::SpreadSource;
use super::spread::{PastRuns, relative};

/// How far groups of cells wander relative to the rest from one run of a build to the next, as a share of how far whole runs do:
/// where no runs tell. Whatever affects a whole run cancels out of it.
const OF_WHOLE_RUNS: f64 = 0.3;
/// A cell whose epochs leave more uncertain than this, relative, says little of a group if enough others are there.
const MOST_ERROR: f64 = 0.07;
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
    between_runs: Between,
}

impl UnpairedRuns {
    /// From the logarithms of costs by run and cell; `cells` are their ids, `errors` what the epochs of both sides leave uncertain
    /// of each, `groups` their groups as indices.
    pub fn new(
        [a, b]: [Vec<Vec<f64>>; 2],
        cells: &[&str],
        errors: &[Option<f64>],
        groups: &[Vec<usize>],
        assumed: f64,
        past: &PastRuns,
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
            between_runs: whole.unwrap_or(Between::assumed(assumed)),
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
            Spread::Measured(sd) | Spread::Assumed(sd) => Some(sd),
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
}

impl GroupEvidence for UnpairedRuns {
    fn cells(&self) -> usize {
        self.moved.len()
    }

    fn relative(&self, inside: &[usize], outside: &[usize], moved: &[f64], alpha: f64) -> Option<Shift> {
        let precise = |cells: &[usize]| -> Vec<usize> {
            cells.iter().copied().filter(|cell| self.precise[*cell]).collect()
        };
        let both = (precise(inside), precise(outside));
        let enough = least_alpha(both.0.len(), both.1.len()) <= alpha;
        let (inside, outside) = if enough { both } else { (inside.to_vec(), outside.to_vec()) };
        let of = |cells: &[usize]| -> Vec<f64> {
            cells.iter().map(|cell| self.moved[*cell] - moved[*cell]).collect()
        };
        let half = student_quantile(1.0 - alpha / 2.0, MANY) * self.between_groups * self.per_run().sqrt();
        Some(shift(&of(&inside), &of(&outside), alpha)?.widened(half))
    }

    fn of_cell(&self, cell: usize) -> f64 {
        self.moved[cell]
    }
}

impl Evidence for UnpairedRuns {
    fn together(&self, moved: &[f64], alpha: f64) -> Option<Shift> {
        let rests: Vec<f64> = self.moved.iter().zip(moved).map(|(log, moved)| log - moved).collect();
        let error = error_of_median(&rests)? / self.per_run().sqrt();
        let [a, b] = self.of_runs(moved, error, median);
        let found = unpaired(&a, &b, alpha, self.between_runs)?;
        // The middle of what the cells moved by, which with one run a side is the difference of the runs.
        Some(Shift { by: found.difference, bounds: found.bounds })
    }

    fn least_alpha(&self, inside: usize, outside: usize) -> f64 {
        least_alpha(inside, outside)
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

/// The smallest level at which separate runs can tell so many cells from so many others.
pub(crate) fn least_alpha(inside: usize, outside: usize) -> f64 {
    // All orders of inside and outside are equally likely, and two of them are the most extreme.
    let orders = (1..=inside).fold(1.0, |orders, place| orders * (outside + place) as f64 / place as f64);
    2.0 / orders
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
fn root_mean_square(groups: &[Vec<usize>], of: &dyn Fn(&BTreeSet<usize>) -> Option<f64>) -> f64 {
    let found: Vec<f64> =
        groups.iter().filter_map(|group| of(&group.iter().copied().collect())).map(|sd| sd * sd).collect();
    (found.iter().sum::<f64>() / found.len().max(1) as f64).sqrt()
}
