//! The e-sign confidence sequence for a median.
//!
//! Whether an epoch lies above the median `m` is a fair coin. Betting against that coin with a mixture over its
//! probability turns k heads in n epochs into the e-value
//!
//! ```text
//! E(n, k) = 2ⁿ · ((1 − w) ∫₀¹ pᵏ (1 − p)ⁿ⁻ᵏ dp + w/2 · [k = 0 or k = n])
//!         = 2ⁿ · ((1 − w) B(k + 1, n − k + 1) + w/2 · [k = 0 or k = n])
//! ```
//!
//! The mixture is uniform but for a share w on a coin that always falls on one side: most contrasts are so clear that every
//! epoch agrees, and the first interval takes fewer epochs. E is a non-negative martingale with expectation 1, so by Ville's inequality the chance that it ever reaches
//! 1/α is at most α. The interval keeps every m with E < 1/α; it holds at all times at once, so it is valid to look
//! after each epoch and stop when the answer is known.
//!
//! Sources: Ramdas, Grünwald, Vovk and Shafer, "Game-theoretic statistics and safe anytime-valid
//! inference", Statistical Science 38 (2023); Howard and Ramdas, "Sequential estimation of quantiles with
//! applications to A/B testing and best-arm identification", Bernoulli 28 (2022).

use crate::median::median;

/// A median with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The median of the epochs.
    pub median: f64,
    /// The smallest and the largest median kept; `None` while all are.
    pub bounds: Option<(f64, f64)>,
}

/// The share of the mixture on coins that always fall on one side (w).
const ONE_SIDED: f64 = 0.25;

/// ln E(n, k): the evidence of k of n epochs on one side of a median against it.
///
/// # Panics
/// If `k > n`.
pub fn sign_e_value(n: u32, k: u32) -> f64 {
    assert!(k <= n, "{k} of {n} epochs");
    let few = k.min(n - k) as usize;
    e_values(n).nth(few).expect("there is one for every count")
}

/// ln E(n, 0), ln E(n, 1), … : B(k + 1, n − k + 1) = 1 / ((n + 1) · C(n, k)), with C(n, k) step by step.
pub(crate) fn e_values(n: u32) -> impl Iterator<Item = f64> {
    let sure = f64::from(n) * std::f64::consts::LN_2;
    let none = sure - f64::from(n + 1).ln() + (1.0 - ONE_SIDED).ln();
    let one_sided = (ONE_SIDED / 2.0).ln() + sure;
    let steps = (0..n).map(move |k| (f64::from(n - k) / f64::from(k + 1)).ln());
    std::iter::once(0.0).chain(steps).zip(0..=n).scan(0.0, move |ln_choose, (step, k)| {
        *ln_choose += step;
        let spread = none - *ln_choose;
        let is_edge = k == 0 || k == n;
        Some(if is_edge { spread + (one_sided - spread).exp().ln_1p() } else { spread })
    })
}

/// How many epochs the first finite interval takes at `alpha`.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub(crate) fn epochs_needed(alpha: f64) -> u32 {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    let threshold = -alpha.ln();
    (1..).find(|n| sign_e_value(*n, 0) >= threshold).expect("E(n, 0) grows without bound")
}

/// The interval for the median of independent epochs of any distribution, at level 1 − `alpha`.
///
/// `None` without epochs. The bounds are order statistics of `values` and belong to the interval.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn sign_interval(values: &[f64], alpha: f64) -> Option<Interval> {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    let median = median(values)?;
    let n = u32::try_from(values.len()).expect("fewer than four thousand million epochs");
    let threshold = -alpha.ln();
    // Values below the c-th smallest have c − 1 epochs or fewer beneath them; E falls towards the middle.
    let rejected =
        e_values(n).take(values.len() / 2 + 1).take_while(|evidence| *evidence >= threshold).count();
    let bounds = (rejected > 0).then(|| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        (sorted[rejected - 1], sorted[values.len() - rejected])
    });
    Some(Interval { median, bounds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    fn ranks(n: u32, alpha: f64) -> Option<(f64, f64)> {
        let values: Vec<f64> = (1..=n).map(f64::from).collect();
        sign_interval(&values, alpha).unwrap().bounds
    }

    #[test]
    fn known_order_statistics() {
        assert_eq!(ranks(6, 0.05), None);
        assert_eq!(ranks(7, 0.05), Some((1.0, 7.0)));
        assert_eq!(ranks(20, 0.05), Some((4.0, 17.0)));
        assert_eq!(ranks(40, 0.05), Some((11.0, 30.0)));
        assert_eq!(ranks(8, 0.01), None);
        assert_eq!(ranks(9, 0.01), Some((1.0, 9.0)));
    }

    #[test]
    fn the_first_finite_interval() {
        assert_eq!([0.05, 0.01, 0.0025].map(epochs_needed), [7, 9, 12]);
    }

    #[test]
    fn e_values_are_a_fair_bet() {
        // The mean of E over the fair coin is 1.
        for n in [1u32, 5, 17] {
            let mut choose = 1.0;
            let mut mean = 0.0;
            for k in 0..=n {
                mean += choose * 0.5f64.powi(n as i32) * sign_e_value(n, k).exp();
                choose *= f64::from(n - k) / f64::from(k + 1);
            }
            assert!((mean - 1.0).abs() < 1e-9, "{n}: {mean}");
        }
    }

    #[test]
    fn nothing_is_known_of_nothing() {
        assert_eq!(sign_interval(&[], 0.05), None);
        assert_eq!(sign_interval(&[3.0], 0.05), Some(Interval { median: 3.0, bounds: None }));
    }

    /// With a look after every epoch, the interval must ever miss the truth in fewer than α of the campaigns.
    #[test]
    fn looking_at_every_moment_costs_no_honesty() {
        let (alpha, campaigns, epochs) = (0.05, 2_000, 100);
        let mut random = Random::new(7);
        let mut missed = 0;
        for _ in 0..campaigns {
            let mut values = Vec::new();
            missed += u32::from((0..epochs).any(|_| {
                values.push(random.normal().exp());
                matches!(sign_interval(&values, alpha).unwrap().bounds, Some((lo, hi)) if lo > 1.0 || hi < 1.0)
            }));
        }
        assert!(f64::from(missed) / f64::from(campaigns) < alpha, "{missed} of {campaigns}");
        assert!(missed > 0, "an interval that never misses says too little");
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_median_and_narrows_with_alpha(values in prop::collection::vec(-1e6f64..1e6, 1..80)) {
            let narrow = sign_interval(&values, 0.05).unwrap();
            let wide = sign_interval(&values, 0.001).unwrap();
            if let Some((lo, hi)) = narrow.bounds {
                prop_assert!(lo <= narrow.median && narrow.median <= hi);
                if let Some((wide_lo, wide_hi)) = wide.bounds {
                    prop_assert!(wide_lo <= lo && hi <= wide_hi);
                }
            } else {
                prop_assert!(wide.bounds.is_none());
            }
        }

        #[test]
        fn evidence_is_symmetric_and_weakest_in_the_middle(n in 1u32..200, k in 0u32..200) {
            let k = k.min(n);
            prop_assert!((sign_e_value(n, k) - sign_e_value(n, n - k)).abs() < 1e-9);
            prop_assert!(sign_e_value(n, k) >= sign_e_value(n, n / 2) - 1e-9);
        }
    }
}
