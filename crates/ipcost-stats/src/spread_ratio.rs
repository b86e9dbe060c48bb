//! How much more one cell varies from start to start than another.

use crate::dependence::epoch_interval;
use crate::interval::Interval;
use crate::median::median;

/// The logarithm of the ratio of two spreads, from the logarithmic costs of both in the same epochs.
///
/// In each epoch the ratio of the two distances from their medians; over epochs the median, with the interval of every other median.
/// For two distributions of one shape it is the ratio of their standard deviations, but it needs no moments. Distances of zero, such
/// as the median's own, are left out. `None` without epochs.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn spread_ratio(logs: &[(f64, f64)], alpha: f64) -> Option<Interval> {
    let [a, b] = [0, 1]
        .map(|side| -> Vec<f64> { logs.iter().map(|(a, b)| if side == 0 { *a } else { *b }).collect() });
    let (middle_a, middle_b) = (median(&a)?, median(&b)?);
    let distances = a.iter().zip(&b).map(|(a, b)| ((a - middle_a).abs(), (b - middle_b).abs()));
    let ratios: Vec<f64> =
        distances.filter(|(a, b)| *a > 0.0 && *b > 0.0).map(|(a, b)| (a / b).ln()).collect();
    epoch_interval(&ratios, alpha).map(|found| found.interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Each cell varies by itself, and both with the machine.
    fn epochs(n: usize, sd: (f64, f64), machine: f64, random: &mut Random) -> Vec<(f64, f64)> {
        let epoch = |_| {
            let both = machine * random.normal();
            (both + sd.0 * random.normal(), both + sd.1 * random.normal())
        };
        (0..n).map(epoch).collect()
    }

    #[test]
    fn equal_spreads_are_seldom_told_apart_and_unequal_ones_often() {
        const CAMPAIGNS: u64 = 1_000;
        for (sd, machine, least, most) in [
            ((0.03, 0.03), 0.0, 0, 65),
            ((0.03, 0.03), 0.05, 0, 65),
            ((0.2, 0.2), 0.02, 0, 65),
            ((0.09, 0.03), 0.0, 750, CAMPAIGNS),
        ] {
            let told = (0..CAMPAIGNS).filter(|seed| {
                let mut random = Random::new(*seed);
                // A look after every epoch from the first interval on.
                let all = epochs(40, sd, machine, &mut random);
                (8..=all.len()).any(|n| {
                    let bounds = spread_ratio(&all[..n], 0.05).unwrap().bounds;
                    bounds.is_some_and(|(lo, hi)| lo > 0.0 || hi < 0.0)
                })
            });
            let told = told.count() as u64;
            assert!(
                (least..=most).contains(&told),
                "{sd:?} on a machine of {machine}: {told} of {CAMPAIGNS}"
            );
        }
    }

    #[test]
    fn it_is_the_ratio_of_standard_deviations() {
        let mut random = Random::new(3);
        let found = spread_ratio(&epochs(4_000, (0.06, 0.02), 0.0, &mut random), 0.05).unwrap();
        assert!((found.median.exp() - 3.0).abs() < 0.2, "{found:?}");
        assert_eq!(spread_ratio(&[], 0.05), None);
        assert_eq!(spread_ratio(&[(1.0, 2.0); 9], 0.05), None, "nothing varies");
    }
}
