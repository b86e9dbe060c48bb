//! How many epochs an answer would likely take, judging by those so far.

use crate::dependence::{serial_correlation, worth};
use crate::interval::sign_e_value;
use crate::looks::{LEAST_AT_A_LOOK, Start};
use crate::ranks::sign_test;

/// Fewer epochs say nothing about those to come.
const FEWEST: usize = 6;
/// Candidates rise by this factor.
const STEP: f64 = 1.05;

/// How many epochs [`epoch_interval`](crate::epoch_interval) at `alpha` would likely take to exclude `at`, if the
/// epochs to come were like `values`; or, `with_look`, [`planned_interval`](crate::planned_interval) with a look at its end.
///
/// The share of epochs on the larger side of `at` is taken to be `caution` standard errors nearer to a half than found; with one,
/// fewer epochs do more often than not. `None` where that leaves nothing, or there are too few epochs for an
/// honest number, or more than `most` would do. It is for planning only; no interval depends on it.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn epochs_to_exclude(
    values: &[f64],
    at: f64,
    alpha: f64,
    caution: f64,
    most: u32,
    with_look: bool,
) -> Option<u32> {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    if values.len() < FEWEST {
        return None;
    }
    let n = values.len() as f64;
    let below = values.iter().filter(|value| **value < at).count() as f64;
    let equal = values.iter().filter(|value| **value == at).count() as f64;
    let beyond_half = ((below + equal / 2.0) / n - 0.5).abs() - caution * 0.5 / n.sqrt();
    if beyond_half <= 0.0 {
        return None;
    }
    let few = 0.5 - beyond_half;
    let correlation = serial_correlation(values);
    let enough = |epochs: &u32| {
        let on_the_other_side = (few * f64::from(*epochs)).ceil() as u32;
        let start = if with_look { &Start::LEAST } else { &Start::ALWAYS };
        let worth = worth(correlation, *epochs as usize, start);
        let at_last = alpha * LEAST_AT_A_LOOK;
        match with_look {
            true => sign_test(on_the_other_side as usize, *epochs as usize).powf(worth) <= at_last,
            false => worth * sign_e_value(*epochs, on_the_other_side) >= -alpha.ln(),
        }
    };
    let first = values.len() as u32 + 1;
    let candidates = std::iter::successors(Some(first), |n| Some((f64::from(*n) * STEP).ceil() as u32 + 1));
    candidates.take_while(|n| *n <= most).find(enough)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dependence::epoch_interval;
    use crate::random::Random;

    fn noise(n: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|_| random.normal()).collect()
    }

    /// The first number of epochs at which the interval excludes `at`.
    fn really(values: &[f64], at: f64) -> Option<usize> {
        (1..=values.len()).find(|n| {
            let bounds = epoch_interval(&values[..*n], 0.05).and_then(|found| found.interval.bounds);
            bounds.is_some_and(|(lo, hi)| at < lo || at > hi)
        })
    }

    #[test]
    fn what_it_foresees_mostly_suffices_and_is_not_wild() {
        let (mut told, mut sufficed, mut wild) = (0, 0, 0);
        for seed in 0..200 {
            let values = noise(3_000, seed);
            let Some(forecast) = epochs_to_exclude(&values[..30], 0.5, 0.05, 1.0, 200_000, false) else {
                continue;
            };
            told += 1;
            let needed = really(&values, 0.5).expect("a median of 0 is told from 0.5 in 3000 epochs");
            sufficed += u32::from(needed as u32 <= forecast);
            wild += u32::from(forecast > 100 * needed as u32);
        }
        assert!(told > 100, "{told}");
        assert!(f64::from(sufficed) > 0.6 * f64::from(told), "{sufficed} of {told}");
        assert!(f64::from(wild) < 0.15 * f64::from(told), "{wild} of {told}");
    }

    #[test]
    fn a_bound_amid_the_epochs_has_no_forecast() {
        let values: Vec<f64> = (0..40).map(|index| if index % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let alternating: Vec<f64> = (0..40).map(|index| if index % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert_eq!(epochs_to_exclude(&alternating, 0.0, 0.05, 1.0, 200_000, false), None);
        assert!(epochs_to_exclude(&values, 0.0, 0.05, 1.0, 200_000, false).is_some());
        assert_eq!(epochs_to_exclude(&[], 0.0, 0.05, 1.0, 200_000, false), None);
        assert_eq!(epochs_to_exclude(&[1.0, 2.0], 0.0, 0.05, 1.0, 200_000, false), None);
    }
}
