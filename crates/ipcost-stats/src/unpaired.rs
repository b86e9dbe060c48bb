//! Two sides measured in separate runs: how the cost on one side relates to that on the other.
//!
//! Within a run, cells are compared round by round, so the machine disturbs both alike. Two runs share nothing. Their
//! difference has two parts: the uncertainty that the epochs of each run leave, and the variation from run to run
//! even of the same build (memory layout, neighbours, temperature). Epochs reveal the first; only several runs a side
//! reveal the second.
//!
//! - From [`ENOUGH_DEGREES`] degrees of freedom on (three runs a side), the runs' medians are the units: Student's
//!   interval for the difference of two means, with the spread of both sides pooled. It holds regardless of the
//!   variation within a run. Where there are many cells, what is usual for all of them is part of it
//!   ([`moderated`]).
//! - With fewer, the spread between runs is the caller's ([`Between`]), or the observed one if larger, and is added to
//!   the uncertainty of the epochs. It comes from other runs, with their degrees of freedom, or it is an assumption; an
//!   assumption is not knowledge, so it counts as an estimate from few degrees of freedom.

use crate::dependence::worth_at_once;
use crate::proportion::student_quantile;

/// Runs beyond the first of each side, from which on runs are the units.
pub const ENOUGH_DEGREES: usize = 4;
/// The degrees of freedom of an assumed spread.
const ASSUMED_DEGREES: f64 = 8.0;

/// The spread between runs of one build, from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpreadBetweenRuns {
    /// The standard deviation of logarithmic costs.
    pub sd: f64,
    /// The degrees of freedom of its estimate.
    pub degrees: f64,
}

impl SpreadBetweenRuns {
    /// Nothing is known from elsewhere.
    const UNKNOWN: Self = Self { sd: 0.0, degrees: 0.0 };

    pub fn assumed(sd: f64) -> Self {
        Self { sd, degrees: ASSUMED_DEGREES }
    }
}

/// The logarithmic cost of a cell, or of a contrast, in one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunMedian {
    /// The median over epochs.
    pub median: f64,
    /// Its standard error according to the epochs; `None` if they wander too much or are too few.
    pub error: Option<f64>,
}

/// Source of the spread between runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunsSpread {
    /// Estimated from enough runs: a standard deviation of logarithmic costs.
    Measured(f64),
    /// From elsewhere, or from too few runs: the same.
    Assumed(f64),
}

/// The difference of two sides' logarithmic costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unpaired {
    /// Mean of the runs' medians of `b` minus that of `a`.
    pub difference: f64,
    /// Its interval; `None` if a run's own uncertainty is unknown and there are too few runs to make up for it.
    pub bounds: Option<(f64, f64)>,
    /// The spread between runs that the interval uses.
    pub spread: RunsSpread,
    /// The degrees of freedom of that spread.
    pub degrees: f64,
}

/// A run's median and its standard error; `None` without epochs.
///
/// The error is that of Price and Bonett ("Estimating the variance of the sample median", J. Stat. Comput. Simul.
/// 68, 2001): from two order statistics, whatever the distribution. Epochs that resemble their neighbours
/// count for less, as in the interval of a contrast.
pub fn run_median(epochs: &[f64]) -> Option<RunMedian> {
    let median = crate::median::median(epochs)?;
    let error = worth_at_once(epochs)
        .filter(|worth| *worth > 0.0)
        .map(|worth| error_of_median(epochs) / worth.sqrt());
    Some(RunMedian { median, error })
}

/// Price and Bonett's standard error of a median of at least six values.
fn error_of_median(values: &[f64]) -> f64 {
    let n = values.len();
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (((n + 1) as f64 / 2.0 - (n as f64).sqrt()).round() as usize).max(1);
    // The probability that fewer than `rank` of n values lie below their median.
    let mut term = 0.5f64.powi(n as i32);
    let mut tail = 0.0;
    for below in 0..rank {
        tail += term;
        term *= (n - below) as f64 / (below + 1) as f64;
    }
    let deviate = student_quantile(1.0 - tail, f64::INFINITY);
    (sorted[n - rank] - sorted[rank - 1]) / (2.0 * deviate)
}

/// How the logarithmic cost on side `b` differs from that on side `a`, at level 1 − `alpha`. `between` is the spread
/// between runs to use if there are too few of them to estimate it. `None` if a side is empty.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn unpaired(
    a: &[RunMedian],
    b: &[RunMedian],
    alpha: f64,
    between: SpreadBetweenRuns,
) -> Option<Unpaired> {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let seen = pooled_variance([a, b]);
    if seen.is_some_and(|(_, degrees)| degrees >= ENOUGH_DEGREES as f64) {
        return moderated(a, b, alpha, SpreadBetweenRuns::UNKNOWN, 0.0);
    }
    let sd = seen.map_or(between.sd, |(seen, _)| seen.sqrt().max(between.sd));
    let difference = mean(b) - mean(a);
    let degrees = between.degrees;
    let bounds = error_of_mean(a).zip(error_of_mean(b)).map(|(of_a, of_b)| {
        let variance = sd * sd * per_run(a, b) + of_a * of_a + of_b * of_b;
        around(difference, student_quantile(1.0 - alpha / 2.0, degrees) * variance.sqrt())
    });
    Some(Unpaired { difference, bounds, spread: RunsSpread::Assumed(sd), degrees })
}

/// The same with as many runs a side as tell a spread. `usual` says how large it is for all cells, and it is no smaller than `least`: where
/// runs fall into modes, few of them may have met only one.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn moderated(
    a: &[RunMedian],
    b: &[RunMedian],
    alpha: f64,
    usual: SpreadBetweenRuns,
    least: f64,
) -> Option<Unpaired> {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    let (own, of_own) = pooled_variance([a, b])?;
    let degrees = usual.degrees + of_own;
    let square = (usual.degrees * usual.sd * usual.sd + of_own * own) / degrees;
    let sd = square.sqrt().max(least);
    let difference = mean(b) - mean(a);
    let half = student_quantile(1.0 - alpha / 2.0, degrees) * sd * per_run(a, b).sqrt();
    let bounds = Some(around(difference, half));
    Some(Unpaired { difference, bounds, spread: RunsSpread::Measured(sd), degrees })
}

/// The variance of runs around the mean of their side, and its degrees of freedom; `None` where a side is empty, or none has two.
pub(crate) fn pooled_variance([a, b]: [&[RunMedian]; 2]) -> Option<(f64, f64)> {
    let degrees = (a.len() + b.len()).checked_sub(2).filter(|degrees| *degrees > 0)? as f64;
    (!a.is_empty() && !b.is_empty()).then(|| ((squares(a) + squares(b)) / degrees, degrees))
}

/// The variance of the difference of two means, in variances of a run.
fn per_run(a: &[RunMedian], b: &[RunMedian]) -> f64 {
    1.0 / a.len() as f64 + 1.0 / b.len() as f64
}

fn around(middle: f64, half: f64) -> (f64, f64) {
    (middle - half, middle + half)
}

fn mean(runs: &[RunMedian]) -> f64 {
    runs.iter().map(|run| run.median).sum::<f64>() / runs.len() as f64
}

fn squares(runs: &[RunMedian]) -> f64 {
    let mean = mean(runs);
    runs.iter().map(|run| (run.median - mean).powi(2)).sum()
}

/// The standard error of the difference of two sides, according to the epochs; `None` if a run's is unknown.
pub fn error_of_difference(a: &[RunMedian], b: &[RunMedian]) -> Option<f64> {
    Some(error_of_mean(a)?.hypot(error_of_mean(b)?))
}

/// The standard error of the mean of several medians, according to the epochs.
fn error_of_mean(runs: &[RunMedian]) -> Option<f64> {
    let squares: Option<Vec<f64>> = runs.iter().map(|run| Some(run.error?.powi(2))).collect();
    Some(squares?.iter().sum::<f64>().sqrt() / runs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn run(random: &mut Random, effect: f64, epochs: usize) -> RunMedian {
        let values: Vec<f64> = (0..epochs).map(|_| effect + 0.1 * random.normal()).collect();
        run_median(&values).unwrap()
    }

    #[test]
    fn the_error_of_a_median_is_its_spread() {
        let mut random = Random::new(1);
        let runs: Vec<RunMedian> = (0..4_000)
            .map(|_| {
                let values: Vec<f64> = (0..40).map(|_| random.normal()).collect();
                RunMedian { median: crate::median(&values).unwrap(), error: Some(error_of_median(&values)) }
            })
            .collect();
        let spread = (runs.iter().map(|run| run.median.powi(2)).sum::<f64>() / 4e3).sqrt();
        let told = (runs.iter().map(|run| run.error.unwrap().powi(2)).sum::<f64>() / 4e3).sqrt();
        // That of a median of 40 normal values is about 1.25 / √40.
        assert!((spread - 0.196).abs() < 0.01 && (told / spread - 1.0).abs() < 0.15, "{spread} {told}");
        assert!(run(&mut random, 0.0, 40).error.unwrap() > 0.0196 * 0.7);
        assert_eq!(run_median(&[]), None);
        assert_eq!(run_median(&[1.0, 2.0]).unwrap().error, None);
    }

    /// False alarms in 2 000 pairs of sides without a difference.
    fn false_alarms(runs_a_side: usize, between: f64, assumed: f64, alpha: f64) -> usize {
        let mut random = Random::new(11);
        let mut side = || -> Vec<RunMedian> {
            (0..runs_a_side)
                .map(|_| {
                    let effect = between * random.normal();
                    run(&mut random, effect, 40)
                })
                .collect()
        };
        let told_apart = |found: &Unpaired| found.bounds.is_some_and(|(lo, hi)| lo > 0.0 || hi < 0.0);
        (0..2_000)
            .filter(|_| {
                told_apart(&unpaired(&side(), &side(), alpha, SpreadBetweenRuns::assumed(assumed)).unwrap())
            })
            .count()
    }

    #[test]
    fn equal_sides_are_seldom_told_apart() {
        // One run a side, as different as assumed; three a side, far more different than assumed.
        for (runs, between, assumed) in [(1, 0.05, 0.05), (2, 0.05, 0.05), (3, 0.3, 0.01), (5, 0.05, 0.0)] {
            let alarms = false_alarms(runs, between, assumed, 0.05);
            assert!(alarms <= 120, "{runs} a side, {between} for {assumed}: {alarms} of 2 000");
        }
        assert!(false_alarms(1, 0.3, 0.01, 0.05) > 400, "an assumption that is wrong by far shows");
    }

    #[test]
    fn a_difference_is_found() {
        let mut random = Random::new(5);
        let a: Vec<RunMedian> = (0..5).map(|_| run(&mut random, 0.0, 40)).collect();
        let b: Vec<RunMedian> = (0..5).map(|_| run(&mut random, 0.3, 40)).collect();
        let found = unpaired(&a, &b, 0.001, SpreadBetweenRuns::assumed(0.02)).unwrap();
        assert!(
            found.bounds.unwrap().0 > 0.1 && matches!(found.spread, RunsSpread::Measured(_)),
            "{found:?}"
        );
        let one = unpaired(&a[..1], &b[..1], 0.05, SpreadBetweenRuns::assumed(0.02)).unwrap();
        assert!(one.bounds.unwrap().0 > 0.0 && one.spread == RunsSpread::Assumed(0.02), "{one:?}");
        assert_eq!(unpaired(&a, &[], 0.05, SpreadBetweenRuns::assumed(0.02)), None);
    }

    #[test]
    fn what_one_run_cannot_tell_is_unbounded() {
        let wandering: Vec<f64> = (0..30).map(f64::from).collect();
        let run = run_median(&wandering).unwrap();
        assert_eq!(run.error, None);
        assert_eq!(unpaired(&[run], &[run], 0.05, SpreadBetweenRuns::assumed(0.02)).unwrap().bounds, None);
    }
}
