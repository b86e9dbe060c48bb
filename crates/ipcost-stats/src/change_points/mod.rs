//! Points in a history of runs at which a value changed.
//!
//! The method is e-divisive: of all splits, the one whose two sides have the largest energy distance is a change if
//! hardly any random order of the same values has as large a one; then both sides are searched in turn (Matteson and
//! James, "A nonparametric approach for multiple change point analysis of multivariate data", J. Am. Stat. Assoc. 109,
//! 2014). It assumes no distribution, only noise that is independent from run to run.
//!
//! Runs of one machine are not independent: the machine is slow for days, and fast again. So the random orders are of
//! what each value adds to its predecessor, as far as values resemble their predecessors: the innovations of an
//! autoregressive process of order 1 (Hušková, Kirch, Prášková and Steinebach, "On the detection of changes in
//! autoregressive time series, II. Resampling procedures", J. Stat. Plan. Inference 138, 2008). Without correlation this
//! is the original test. A machine that wanders slowly and far still looks like one that changed; the simulation in
//! `tests/change_points.rs` says how often.

mod correlation;
mod split;

use crate::proportion::student_quantile;
use crate::random::Random;
use correlation::correlation;
use split::{SplitPoint, best_split};

/// The fewest values in which changes are looked for.
pub const FEWEST_IN_HISTORY: usize = 10;
/// The fewest values between two changes.
pub const FEWEST_IN_LEVEL: usize = 3;
/// Random orders in a test.
const ORDERS: u32 = 999;

/// A value from which on a history differs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The first value of the new level, by index.
    pub at: usize,
    /// The p-value of its test.
    pub p: f64,
}

/// The changes of a history.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePoints {
    /// In the order of time.
    pub points: Vec<ChangePoint>,
    /// How much a value resembles its predecessor within a level: the coefficient of the autoregressive process, 0 to 1.
    pub correlation: f64,
}

/// The changes in values that are in the order of time; none below [`FEWEST_IN_HISTORY`] values. Each is tested at level
/// `alpha`, the largest first, and the first that fails ends the search. Values must be finite.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn change_points(values: &[f64], alpha: f64, seed: u64) -> ChangePoints {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    let mut edges = vec![0, values.len()];
    let mut found = ChangePoints { points: Vec::new(), correlation: 0.0 };
    if values.len() < FEWEST_IN_HISTORY {
        return found;
    }
    let mut random = Random::new(seed);
    while let Some(split) = best_split(values, &edges) {
        found.correlation = correlation(values, &edges);
        let p = p_value(values, &edges, &split, found.correlation, alpha, &mut random);
        if p > alpha {
            break;
        }
        found.points.push(ChangePoint { at: split.at, p });
        edges.push(split.at);
        edges.sort_unstable();
    }
    found.points.sort_by_key(|point| point.at);
    found
}

/// The share of random orders whose best split is as large. Ends early once it is known to exceed `alpha`.
fn p_value(
    values: &[f64],
    edges: &[usize],
    seen: &SplitPoint,
    correlation: f64,
    alpha: f64,
    random: &mut Random,
) -> f64 {
    // A sum in another order may differ in its last digits.
    let as_large = |split: SplitPoint| split.distance >= seen.distance * (1.0 - 1e-9);
    let enough = (alpha * f64::from(ORDERS + 1)).floor() as u32;
    let mut count = 0;
    for order in 1..=ORDERS {
        let reordered = reordered(values, edges, correlation, random);
        count += u32::from(best_split(&reordered, edges).is_some_and(as_large));
        if count >= enough {
            return f64::from(count + 1) / f64::from(order + 1);
        }
    }
    f64::from(count + 1) / f64::from(ORDERS + 1)
}

/// The values with the innovations of every segment in random order.
fn reordered(values: &[f64], edges: &[usize], correlation: f64, random: &mut Random) -> Vec<f64> {
    // The first value has no predecessor; as an innovation it is as large as one in the long run.
    let of_first = (1.0 - correlation * correlation).sqrt();
    let mut all = Vec::with_capacity(values.len());
    for segment in segments(values, edges) {
        let centred = centred(segment);
        let mut innovations: Vec<f64> =
            centred.windows(2).map(|pair| pair[1] - correlation * pair[0]).collect();
        innovations.insert(0, centred[0] * of_first);
        random.shuffle(&mut innovations);
        let mut last = innovations[0] / of_first;
        all.push(last);
        for innovation in &innovations[1..] {
            last = correlation * last + innovation;
            all.push(last);
        }
    }
    all
}

/// What lies between neighbouring edges.
fn segments<'a>(values: &'a [f64], edges: &'a [usize]) -> impl Iterator<Item = &'a [f64]> {
    edges.windows(2).map(|pair| &values[pair[0]..pair[1]])
}

/// The values without their mean.
fn centred(values: &[f64]) -> Vec<f64> {
    let mean = mean(values);
    values.iter().map(|value| value - mean).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The difference of two levels, and its ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelChange {
    /// The mean after minus the mean before.
    pub difference: f64,
    pub lo: f64,
    pub hi: f64,
}

/// How much the level after a change differs from that before it: Student's interval at 1 − `alpha` with the spread of both
/// sides pooled, wider by √((1 + ρ)/(1 − ρ)) for values that resemble their predecessors with `correlation` ρ. `None` if a side
/// has fewer than [`FEWEST_IN_LEVEL`] values.
///
/// # Panics
/// If `alpha` is not between 0 and 1, or `correlation` is 1 or more.
pub fn step(before: &[f64], after: &[f64], correlation: f64, alpha: f64) -> Option<LevelChange> {
    assert!(correlation < 1.0, "correlation is {correlation}");
    if before.len().min(after.len()) < FEWEST_IN_LEVEL {
        return None;
    }
    let degrees = (before.len() + after.len() - 2) as f64;
    let squares: f64 = [before, after].into_iter().flat_map(centred).map(|value| value * value).sum();
    let error = (squares / degrees * (1.0 / before.len() as f64 + 1.0 / after.len() as f64)).sqrt();
    let wider = ((1.0 + correlation) / (1.0 - correlation)).sqrt();
    let half = student_quantile(1.0 - alpha / 2.0, degrees) * error * wider;
    let difference = mean(after) - mean(before);
    Some(LevelChange { difference, lo: difference - half, hi: difference + half })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_without_noise_changes_where_it_changes() {
        let values: Vec<f64> = (0..20).map(|run| if run < 12 { 1.0 } else { 2.0 }).collect();
        let found = change_points(&values, 0.01, 1);
        assert_eq!(found.points.iter().map(|point| point.at).collect::<Vec<_>>(), [12]);
        assert!(found.points[0].p <= 0.01);
        assert_eq!(change_points(&[1.0; 20], 0.01, 1).points, []);
        assert_eq!(change_points(&values[7..16], 0.01, 1).points, [], "too few");
        assert_eq!(change_points(&[], 0.01, 1).points, []);
    }

    #[test]
    fn the_same_seed_gives_the_same_answer() {
        let mut random = Random::new(4);
        let values: Vec<f64> = (0..30).map(|run| random.normal() + f64::from(run / 10)).collect();
        assert_eq!(change_points(&values, 0.05, 7), change_points(&values, 0.05, 7));
    }

    #[test]
    fn orders_have_the_same_values_unless_they_are_correlated() {
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        let mut random = Random::new(1);
        let mut plain = reordered(&values, &[0, 5, 12], 0.0, &mut random);
        plain[..5].sort_by(f64::total_cmp);
        plain[5..].sort_by(f64::total_cmp);
        let expected: Vec<f64> = (-2..=2).chain(-3..=3).map(f64::from).collect();
        assert_eq!(plain, expected);
        // Of a process with correlation, an order resembles its predecessors as much.
        let mut wandering = vec![0.0];
        for _ in 1..5_000 {
            wandering.push(0.8 * wandering.last().unwrap() + random.normal());
        }
        let again = reordered(&wandering, &[0, 5_000], 0.8, &mut random);
        assert!((crate::serial_correlation(&again) - 0.8).abs() < 0.03);
    }

    #[test]
    fn a_step_has_students_interval() {
        // The textbook's pooled variance: both sides have 1, so the error is √(2/3), and t is 2.776 with four degrees.
        let found = step(&[1.0, 2.0, 3.0], &[5.0, 6.0, 7.0], 0.0, 0.05).unwrap();
        assert_eq!(found.difference, 4.0);
        assert!((found.hi - 4.0 - 2.776_445 * (2f64 / 3.0).sqrt()).abs() < 1e-5, "{found:?}");
        let wider = step(&[1.0, 2.0, 3.0], &[5.0, 6.0, 7.0], 0.6, 0.05).unwrap();
        assert!(((wider.hi - 4.0) / (found.hi - 4.0) - 2.0).abs() < 1e-9);
        assert_eq!(step(&[1.0, 2.0], &[5.0, 6.0, 7.0], 0.0, 0.05), None);
    }
}
