//! How far one group of values lies above another, whatever their distribution.

use crate::median::median;
use crate::proportion::student_quantile;
use crate::ranks::win_probabilities;

/// Up to this many pairs the distribution of ranks is computed exactly.
const MOST_PAIRS_EXACT: usize = 1_000;

/// A difference with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    pub by: f64,
    /// Its bounds; `None` if the values are too few.
    pub bounds: Option<(f64, f64)>,
}

impl Shift {
    /// Whether zero lies outside the interval.
    pub fn is_known(&self) -> bool {
        self.bounds.is_some_and(|(lo, hi)| lo > 0.0 || hi < 0.0)
    }

    /// The bounds of the ratio whose logarithm this is.
    pub fn ratios(&self) -> Option<(f64, f64)> {
        self.bounds.map(|(lo, hi)| (lo.exp(), hi.exp()))
    }

    /// The same of what is relative to the other side.
    pub fn reversed(self) -> Self {
        Self { by: -self.by, bounds: self.bounds.map(|(lo, hi)| (-hi, -lo)) }
    }

    /// The same with an interval that takes in that of another, and has no end if the other has none.
    pub fn joined(self, other: Option<Self>) -> Self {
        let other = other.and_then(|other| other.bounds);
        let bounds = self.bounds.zip(other).map(|((lo, hi), other)| (lo.min(other.0), hi.max(other.1)));
        Self { bounds, ..self }
    }

    /// The same with another, independent deviation of this half-width.
    pub fn widened(self, half: f64) -> Self {
        let wider = |(lo, hi): (f64, f64)| {
            (self.by - (self.by - lo).hypot(half), self.by + (hi - self.by).hypot(half))
        };
        Self { bounds: self.bounds.map(wider), ..self }
    }
}

/// How far values of `a` lie above those of `b`, at level 1 − `alpha`: the median of all pairwise differences, and the
/// order statistics of those that the rank-sum test does not reject (Hodges and Lehmann, "Estimates of location based on
/// rank tests", *Ann. Math. Statist.* 34, 1963; Lehmann, "Nonparametric confidence intervals for a shift parameter",
/// ibid.). It assumes that apart from the shift both groups have one distribution, and nothing about its shape.
///
/// `None` if a group is empty. Exact for few pairs; otherwise the normal approximation.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn shift(a: &[f64], b: &[f64], alpha: f64) -> Option<Shift> {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    let mut differences: Vec<f64> = a.iter().flat_map(|x| b.iter().map(move |y| x - y)).collect();
    let by = median(&differences)?;
    let rejected = rejected(a.len(), b.len(), alpha);
    let mut at = |rank: usize| *differences.select_nth_unstable_by(rank, f64::total_cmp).1;
    let last = a.len() * b.len() - 1;
    let bounds = rejected.checked_sub(1).map(|rank| (at(rank), at(last - rank)));
    Some(Shift { by, bounds })
}

/// Of each group, this share of the values is left out at either end.
const TRIMMED: usize = 8;
/// Fewer values than this say nothing of their own spread.
pub const FEWEST_UNEQUAL: usize = 4;

/// As [`shift`], for groups whose values vary by different amounts, also within a group: the difference of trimmed means over its
/// standard error (Yuen, "The two-sample trimmed t for unequal population variances", *Biometrika* 61, 1974), with as many
/// degrees of freedom as the smaller group has. Student's quantile at the smaller group's degrees is careful for normal values
/// whatever the variance of each (Ibragimov and Müller, "Inference with few heterogeneous clusters", *Rev. Econ. Stat.* 98,
/// 2016), and so for their mixtures, which have heavy tails. Ranks are not: values that vary more fill both ends of the order.
///
/// No bounds for fewer than [`FEWEST_UNEQUAL`] values in a group.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn shift_of_unequal(a: &[f64], b: &[f64], alpha: f64) -> Option<Shift> {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    let (by, error) = trimmed_difference(a, b)?;
    let bounds = error.map(|(error, degrees)| {
        let half = student_quantile(1.0 - alpha / 2.0, degrees) * error;
        (by - half, by + half)
    });
    Some(Shift { by, bounds })
}

/// A difference of trimmed means, and its standard error with the degrees of freedom; `None` of an empty group.
fn trimmed_difference(a: &[f64], b: &[f64]) -> Option<(f64, Option<(f64, f64)>)> {
    let (a, b) = (TrimmedMean::of(a)?, TrimmedMean::of(b)?);
    let error = a.variance.zip(b.variance).map(|(of_a, of_b)| (of_a + of_b).sqrt());
    Some((a.mean - b.mean, error.map(|error| (error, (a.kept.min(b.kept) - 1) as f64))))
}

/// The mean of the middle values.
struct TrimmedMean {
    mean: f64,
    /// Of how many values.
    kept: usize,
    /// The square of its standard error, from the winsorized values; `None` of too few.
    variance: Option<f64>,
}

impl TrimmedMean {
    fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (all, cut) = (sorted.len(), sorted.len() / TRIMMED);
        let (first, last) = (*sorted.get(cut)?, sorted[all - 1 - cut]);
        let kept = all - 2 * cut;
        let mean = sorted[cut..all - cut].iter().sum::<f64>() / kept as f64;
        let drawn_in: Vec<f64> = sorted.iter().map(|value| value.clamp(first, last)).collect();
        let middle = drawn_in.iter().sum::<f64>() / all as f64;
        let squares: f64 = drawn_in.iter().map(|value| (value - middle).powi(2)).sum();
        let variance = (all >= FEWEST_UNEQUAL).then(|| squares / (kept * (kept - 1)) as f64);
        Some(Self { mean, kept, variance })
    }
}

/// The number of smallest statistics that have at most a probability of `alpha`/2 together.
fn rejected(of_a: usize, of_b: usize, alpha: f64) -> usize {
    let pairs = of_a * of_b;
    if pairs <= MOST_PAIRS_EXACT {
        let mut left = alpha / 2.0;
        let fits = |probability: &f64| {
            left -= probability;
            left >= 0.0
        };
        return win_probabilities(of_a, of_b).iter().copied().take_while(fits).count();
    }
    let pairs = pairs as f64;
    let deviation = (pairs * (of_a + of_b + 1) as f64 / 12.0).sqrt();
    let reach = student_quantile(1.0 - alpha / 2.0, f64::INFINITY) * deviation;
    // A half for continuity.
    (pairs / 2.0 - reach - 0.5).max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn known_order_statistics() {
        // The table of the rank-sum test for ten and ten at 5 %: 23 is rejected, 24 is not, so 24 differences are.
        assert_eq!(rejected(10, 10, 0.05), 24);
        // Two and three: ten orders, so that even the most extreme one has 1/10.
        assert_eq!((rejected(2, 3, 0.05), rejected(2, 3, 0.2)), (0, 1));
        let approximate = |n: f64| n * n / 2.0 - 1.959_964 * (n * n * (2.0 * n + 1.0) / 12.0).sqrt();
        assert!((rejected(31, 31, 0.05) as f64 - approximate(31.0)).abs() <= 2.0);
        assert!((rejected(40, 40, 0.05) as f64 - approximate(40.0)).abs() <= 2.0);
    }

    #[test]
    fn a_shift_is_found_and_outliers_do_not_matter() {
        let mut random = Random::new(4);
        let mut b: Vec<f64> = (0..20).map(|_| random.normal()).collect();
        let mut a: Vec<f64> = (0..12).map(|_| 3.0 + random.normal()).collect();
        (a[0], b[0]) = (-1e9, 1e9);
        let found = shift(&a, &b, 0.01).unwrap();
        let (lo, hi) = found.bounds.unwrap();
        assert!(found.is_known() && lo > 0.0 && hi < 5.0, "{found:?}");
        let wider = found.widened(4.0);
        assert!(!wider.is_known() && wider.bounds.unwrap().0 < -1.0 && wider.by == found.by);
        assert_eq!(shift(&a, &[], 0.01), None);
        assert_eq!(shift(&[1.0], &[0.0, 0.5], 0.05).unwrap(), Shift { by: 0.75, bounds: None });
    }

    #[test]
    fn equal_groups_are_seldom_told_apart() {
        let mut random = Random::new(8);
        // Heavy tails: the ratio of two normal values has no mean.
        let mut values =
            |n: usize| -> Vec<f64> { (0..n).map(|_| random.normal() / random.normal()).collect() };
        for (of_a, of_b) in [(5, 20), (30, 40)] {
            let wrong =
                (0..2_000).filter(|_| shift(&values(of_a), &values(of_b), 0.05).unwrap().is_known()).count();
            assert!((60..=125).contains(&wrong), "{of_a} and {of_b}: {wrong} of 2 000");
        }
    }

    /// Spreads of 48 cells of which the first so many are a group: a noisy group, noisy others, both mixed.
    fn machines(inside: usize) -> Vec<(String, Vec<f64>)> {
        let mut found = Vec::new();
        for noisy in [0.06, 0.2, 0.5] {
            for (name, is_noisy) in [
                ("inside", &(|cell: usize| cell < inside) as &dyn Fn(usize) -> bool),
                ("outside", &|cell| cell >= inside),
                ("half of all", &|cell| cell % 2 == 0),
                ("half inside", &|cell| cell < inside / 2),
                ("two inside", &|cell| cell < 2),
                ("one in twelve", &|cell| cell % 12 == 5),
            ] {
                let spreads = (0..48).map(|cell| if is_noisy(cell) { noisy } else { 0.03 }).collect();
                found.push((format!("{inside} of 48, {noisy} {name}"), spreads));
            }
        }
        found
    }

    /// Of groups without a shift, the share that is told apart at each level; with heavy tails or without.
    fn told_apart(spreads: &[f64], inside: usize, alphas: [f64; 2], heavy: bool, times: u32) -> [f64; 2] {
        let mut random = Random::new(47);
        let mut found = [0_u32; 2];
        let degrees = trimmed_difference(&spreads[..inside], &spreads[inside..]).unwrap().1.unwrap().1;
        let quantiles = alphas.map(|alpha| student_quantile(1.0 - alpha / 2.0, degrees));
        for _ in 0..times {
            let mut draw = |sd: &f64| {
                // Student's t with two degrees of freedom.
                let scale = if heavy { (-random.unit().ln()).sqrt().recip() } else { 1.0 };
                sd * scale * random.normal()
            };
            let values: Vec<f64> = spreads.iter().map(&mut draw).collect();
            let (by, error) = trimmed_difference(&values[..inside], &values[inside..]).unwrap();
            for (found, quantile) in found.iter_mut().zip(quantiles) {
                *found += u32::from(by.abs() > quantile * error.unwrap().0);
            }
        }
        found.map(|found| f64::from(found) / f64::from(times))
    }

    #[test]
    fn groups_that_vary_more_are_not_told_apart() {
        // The share of alpha that a group of the default suite has, and the usual level.
        let alphas = [0.05, 0.0019];
        let mut worst = [0.0_f64; 2];
        for inside in [4, 6, 8, 14, 24] {
            for (name, spreads) in machines(inside) {
                for heavy in [false, true] {
                    let shares = told_apart(&spreads, inside, alphas, heavy, 5_000);
                    for place in 0..2 {
                        worst[place] = worst[place].max(shares[place]);
                        let error = (alphas[place] / 5e3).sqrt();
                        assert!(
                            shares[place] <= alphas[place] + 4.0 * error,
                            "{name}, {heavy}: {} at {}",
                            shares[place],
                            alphas[place]
                        );
                    }
                }
            }
        }
        println!("at most {worst:?} for {alphas:?}");
        // By ranks, a noisy group of six among 48 is found many times as often as promised.
        let mut random = Random::new(3);
        let (_, spreads) = machines(6).swap_remove(6);
        let told = (0..1_000).filter(|_| {
            let values: Vec<f64> = spreads.iter().map(|sd| sd * random.normal()).collect();
            shift(&values[..6], &values[6..], 0.0019).unwrap().is_known()
        });
        assert!(told.count() > 10);
    }
}
