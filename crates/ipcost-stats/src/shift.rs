//! How far one group of values lies above another, whatever their distribution.

use crate::median::median;
use crate::proportion::student_quantile;
use crate::ranks::win_probabilities;

/// Up to this many pairs the distribution of ranks is computed exactly.
const MOST_PAIRS_EXACT: usize = 1_000;

/// A difference with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The estimate.
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
}
