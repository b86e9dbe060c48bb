//! Tests on ranks: whether values differ between two groups, or rise and fall with time.

use statrs::function::erf::erfc;

use crate::median::median;
use crate::proportion::incomplete_beta;

/// Up to this many values in both groups together are compared exactly, if there are no ties.
const EXACT: usize = 40;

/// The two-sided p-value of the Mann–Whitney test (*Ann. Math. Statist.* 18, 1947): whether values of `a` tend to lie
/// above or below those of `b`. 1 if a group is empty.
///
/// Exact for small groups without ties; otherwise the normal approximation, corrected for ties.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let pairs = || a.iter().flat_map(|x| b.iter().map(move |y| x.total_cmp(y)));
    let wins = pairs().filter(|order| order.is_gt()).count();
    let ties = pairs().filter(|order| order.is_eq()).count();
    if ties == 0 && a.len() + b.len() <= EXACT && all_distinct(a) && all_distinct(b) {
        return exact(wins, a.len(), b.len());
    }
    let (m, n) = (a.len() as f64, b.len() as f64);
    let all = m + n;
    let statistic = wins as f64 + 0.5 * ties as f64;
    let tied: f64 = tie_lengths(a, b).iter().map(|t| t * t * t - t).sum();
    let variance = m * n / 12.0 * ((all + 1.0) - tied / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    two_sided((statistic - m * n / 2.0) / variance.sqrt())
}

fn all_distinct(values: &[f64]) -> bool {
    tie_lengths(values, &[]).iter().all(|length| *length == 1.0)
}

/// How often each value occurs in both series together.
fn tie_lengths(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut all: Vec<f64> = a.iter().chain(b).copied().collect();
    all.sort_by(f64::total_cmp);
    all.chunk_by(|x, y| x == y).map(|run| run.len() as f64).collect()
}

fn exact(wins: usize, of_a: usize, of_b: usize) -> f64 {
    let few = wins.min(of_a * of_b - wins);
    let extreme: f64 = win_probabilities(of_a, of_b)[..=few].iter().sum();
    (2.0 * extreme).min(1.0)
}

/// The probability of each number of pairs in which the value of A is the larger, if every order of `of_a` values of A
/// and `of_b` of B is equally likely.
pub(crate) fn win_probabilities(of_a: usize, of_b: usize) -> Vec<f64> {
    let most = of_a * of_b;
    // counts[m][u]: in how many orders of m values of A and n of B the statistic is u.
    let mut counts = vec![vec![0.0; most + 1]; of_a + 1];
    counts[0][0] = 1.0;
    for n in 0..=of_b {
        let mut next = counts.clone();
        for m in 1..=of_a {
            for u in 0..=most {
                // The largest value is one of A, which beats all n of B, or one of B.
                let from_a = if u >= n { next[m - 1][u - n] } else { 0.0 };
                let from_b = if n > 0 { counts[m][u] } else { 0.0 };
                next[m][u] = from_a + from_b;
            }
        }
        counts = next;
    }
    let all: f64 = counts[of_a].iter().sum();
    counts.swap_remove(of_a).into_iter().map(|count| count / all).collect()
}

/// The two-sided p-value of a standard normal deviate.
fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

/// The two-sided p-value of `k` heads in `n` tosses of a fair coin; 1 without tosses.
///
/// # Panics
/// If `k > n`.
pub fn sign_test(k: usize, n: usize) -> f64 {
    assert!(k <= n, "{k} of {n}");
    let few = k.min(n - k);
    if 2 * few == n {
        return 1.0;
    }
    // P(X ≤ k) of a binomial variable with p = ½ is the incomplete beta function at ½.
    (2.0 * incomplete_beta(0.5, (n - few) as f64, few as f64 + 1.0)).min(1.0)
}

/// The trend of a series in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankTrend {
    /// The two-sided p-value of the trend.
    pub p: f64,
    /// The median of its last third minus that of its first.
    pub shift: f64,
}

/// Tests a series for a trend in time: Mann–Kendall (Mann, *Econometrica* 13, 1945). `None` below nine values.
pub fn trend(values: &[f64]) -> Option<RankTrend> {
    let n = values.len();
    if n < 9 {
        return None;
    }
    let later = (0..n).flat_map(|i| values[i + 1..].iter().map(move |later| later.total_cmp(&values[i])));
    let score: i64 = later.map(|order| order as i64).sum();
    let length = n as f64;
    let tied: f64 = tie_lengths(values, &[]).iter().map(|t| t * (t - 1.0) * (2.0 * t + 5.0)).sum();
    let variance = (length * (length - 1.0) * (2.0 * length + 5.0) - tied) / 18.0;
    let p = if variance <= 0.0 { 1.0 } else { two_sided((score.abs() - 1).max(0) as f64 / variance.sqrt()) };
    let third = n / 3;
    Some(RankTrend { p, shift: median(&values[n - third..])? - median(&values[..third])? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn known_p_values() {
        // Nothing of A above B among ten and ten: 2 / C(20, 10).
        let low: Vec<f64> = (0..10).map(f64::from).collect();
        let high: Vec<f64> = (10..20).map(f64::from).collect();
        assert!((mann_whitney(&low, &high) - 2.0 / 184_756.0).abs() < 1e-12);
        // The tables' critical value for ten and ten: 23 is significant at 5 %, 24 is not.
        assert!(exact(23, 10, 10) < 0.05 && exact(24, 10, 10) > 0.05);
        // 1.96 standard deviations are 5 %; 7 heads of 8 are 2 · 9 / 256.
        assert!((two_sided(1.959_964) - 0.05).abs() < 1e-5, "{}", two_sided(1.959_964));
        assert!((sign_test(7, 8) - 18.0 / 256.0).abs() < 1e-12);
        assert_eq!((sign_test(4, 8), sign_test(0, 0)), (1.0, 1.0));
    }

    #[test]
    fn the_approximation_agrees_with_the_exact_test() {
        let mut random = Random::new(3);
        let a: Vec<f64> = (0..20).map(|_| random.normal()).collect();
        let b: Vec<f64> = (0..20).map(|_| random.normal() + 0.7).collect();
        let small = mann_whitney(&a, &b);
        let mut tied = a.clone();
        tied[0] = tied[1];
        assert!((small / mann_whitney(&tied, &b) - 1.0).abs() < 0.3, "{small}");
        assert_eq!(mann_whitney(&[1.0, 1.0], &[1.0]), 1.0);
        assert_eq!(mann_whitney(&[], &[1.0]), 1.0);
    }

    #[test]
    fn a_trend_is_found_and_none_is_not() {
        let mut random = Random::new(7);
        let rising: Vec<f64> = (0..30).map(|i| 0.01 * f64::from(i) + 0.05 * random.normal()).collect();
        let found = trend(&rising).unwrap();
        assert!(found.p < 1e-4 && (found.shift - 0.2).abs() < 0.06, "{found:?}");
        let alarms = (0..2_000).filter(|_| {
            let level: Vec<f64> = (0..30).map(|_| random.normal()).collect();
            trend(&level).unwrap().p < 0.01
        });
        let alarms = alarms.count();
        assert!((5..=40).contains(&alarms), "{alarms} of 2 000 at 1 %");
        assert_eq!(trend(&[1.0; 8]), None);
        assert_eq!(trend(&[1.0; 12]).unwrap().p, 1.0);
    }
}
