//! Epochs that depend on each other: noticing it, merging neighbours, and counting what is left for less.
//!
//! The e-sign interval takes the epochs' signs for tosses of a fair coin. A machine that drifts does not make
//! them less fair: each round measures its cells in a fresh random order, so which of two neighbours in time is
//! cell A is itself a fair toss. What would make them less fair is a *contrast* that wanders. Then neighbouring
//! epochs resemble each other, which the serial correlation shows. Two things are done about it:
//!
//! - Where the correlation is significant, neighbours are merged into blocks, by their median, until it is not.
//! - What correlation there may still be makes n blocks worth only λ·n independent ones, with
//!   λ = (1 − ρ) / (1 + ρ) as for the mean of a first-order autoregressive series (Bayley and Hammersley, "The
//!   'effective' number of independent observations in an autocorrelated time series", 1946). So the e-value
//!   counts as E^λ: the interval is that of level α^(1/λ).
//!
//! Independent epochs keep the whole guarantee of the e-sign interval, since λ ≤ 1 only widens it. That dependent
//! ones keep it, too, is no theorem but simulated: `tests/simulation.rs`.

use crate::interval::{Interval, epochs_needed, sign_e_value, sign_interval};
use crate::median::median;

/// The interval from epochs of which neighbours may resemble each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MergedInterval {
    /// The median of the epochs, and the bounds.
    pub interval: Interval,
    /// Epochs in a block; 1 where nothing had to be merged.
    pub block: usize,
    /// What share of independent blocks these are worth (λ).
    pub worth: f64,
}

/// A correlation of so many standard errors (1/√n) is not left to chance: neighbours are merged.
const SIGNIFICANT: f64 = 2.0;
/// Blocks below which nothing can be said about their correlation.
const FEWEST: usize = 6;
/// What is added to the measured correlation of n blocks is this over n.
///
/// A measured correlation is too low by (1 + 4ρ)/n (Kendall, "Note on bias in the estimation of autocorrelation",
/// 1954), of which [`serial_correlation`] makes up for 1/n; the worst case asks for 4 more. The rest pays for
/// looking after every epoch. It is the least, in steps of a half, for which campaigns whose contrast follows an
/// AR(1) process with coefficient 0.9 ever miss the truth in fewer than 5 %.
const CAUTION: f64 = 7.5;

/// What n blocks with this measured correlation are worth, as a share of n independent ones.
pub(crate) fn worth(measured: f64, n: usize) -> f64 {
    let feared = (measured.max(0.0) + CAUTION / n as f64).min(1.0);
    (1.0 - feared) / (1.0 + feared)
}

/// The level at which blocks worth `worth` are judged, so that E^worth is held against `alpha`; `None` where
/// that is beyond what numbers can express.
fn level(alpha: f64, worth: f64) -> Option<f64> {
    let level = alpha.powf(1.0 / worth);
    (level > f64::MIN_POSITIVE).then_some(level)
}

/// After how many epochs the first interval at `alpha` is finite if neighbours do not resemble each other.
///
/// # Panics
/// Where `alpha` is not between 0 and 1.
pub fn epochs_to_expect(alpha: f64) -> u32 {
    let enough =
        |n: &u32| level(alpha, worth(0.0, *n as usize)).is_some_and(|level| epochs_needed(level) <= *n);
    (epochs_needed(alpha)..).find(enough).expect("some number of epochs is enough")
}

/// Block sizes in the order in which they are tried. They are odd, because the median of an odd number of
/// independent values lies above their common median with a probability of exactly one half, whatever the
/// distribution; with an even number it would not where that is skewed.
fn block_sizes() -> impl Iterator<Item = usize> {
    [1, 3, 5, 9].into_iter().chain(std::iter::successors(Some(15), |size| Some(2 * size + 1)))
}

/// The correlation of neighbours (lag 1), corrected for its bias of −1/n; 0 where nothing varies.
pub fn serial_correlation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if variance <= 0.0 {
        return 0.0;
    }
    let covariance: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    covariance / variance + 1.0 / n
}

/// The interval for the median of epochs that may depend on their neighbours, at level 1 − `alpha`.
///
/// `None` of no epochs. The bounds are unbounded (`None`) while what the epochs are worth does not suffice.
///
/// # Panics
/// Where `alpha` is not between 0 and 1.
pub fn merged_interval(values: &[f64], alpha: f64) -> Option<MergedInterval> {
    let unbounded = Interval { median: median(values)?, bounds: None };
    let Some(blocks) = blocks(values) else {
        return Some(MergedInterval { interval: unbounded, block: largest_block(values.len()), worth: 0.0 });
    };
    let bounds = level(alpha, blocks.worth)
        .and_then(|level| sign_interval(&blocks.values, level))
        .and_then(|found| found.bounds);
    let interval = Interval { bounds, ..unbounded };
    Some(MergedInterval { interval, block: blocks.size, worth: blocks.worth })
}

/// Epochs merged until neighbours no longer resemble each other.
pub(crate) struct Blocks {
    pub(crate) size: usize,
    pub(crate) values: Vec<f64>,
    pub(crate) worth: f64,
}

/// `None` where they still do when too few blocks are left.
pub(crate) fn blocks(values: &[f64]) -> Option<Blocks> {
    for size in block_sizes() {
        let merged: Vec<f64> = values.chunks_exact(size).filter_map(median).collect();
        let n = merged.len();
        if n < FEWEST {
            break;
        }
        let correlation = serial_correlation(&merged);
        if correlation <= SIGNIFICANT / (n as f64).sqrt() {
            return Some(Blocks { size, worth: worth(correlation, n), values: merged });
        }
    }
    None
}

/// The blocks that are left of epochs once neighbours no longer resemble each other, and what share of independent
/// ones they are worth where one looks once; `None` where they still do when too few are left.
///
/// Somebody who looks after every epoch needs more caution ([`merged_interval`]); here what is measured is only made
/// up for its bias of (1 + 4ρ)/n.
pub fn independent_blocks(values: &[f64]) -> Option<(Vec<f64>, f64)> {
    let blocks = blocks(values)?;
    let n = blocks.values.len() as f64;
    let measured = serial_correlation(&blocks.values).max(0.0);
    let feared = (measured + 4.0 * measured / n).min(1.0);
    Some((blocks.values, (1.0 - feared) / (1.0 + feared)))
}

/// The largest block of which so many epochs make enough; 1 where none does.
fn largest_block(epochs: usize) -> usize {
    block_sizes().take_while(|size| epochs / size >= FEWEST).last().unwrap_or(1)
}

/// ln E^λ: the evidence of epochs that may depend on their neighbours against their median being `at`, merged and
/// discounted as [`merged_interval`] does; 0 of too few epochs.
pub fn merged_e_value(values: &[f64], at: f64) -> f64 {
    let Some(merged) = blocks(values) else { return 0.0 };
    let n = merged.values.len() as u32;
    let below = merged.values.iter().filter(|value| **value < at).count() as u32;
    let not_above = merged.values.iter().filter(|value| **value <= at).count() as u32;
    // Values that equal it may be counted on either side: the way that speaks least against it.
    let balanced = (n / 2).clamp(below, not_above);
    (merged.worth * sign_e_value(n, balanced)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn autoregressive(phi: f64, n: usize, random: &mut Random) -> Vec<f64> {
        let mut state = random.normal();
        let step = |_| {
            state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
            state
        };
        (0..n).map(step).collect()
    }

    #[test]
    fn correlation_is_measured_without_bias() {
        let mut random = Random::new(2);
        for phi in [0.0, 0.6] {
            let mean =
                (0..2_000).map(|_| serial_correlation(&autoregressive(phi, 40, &mut random))).sum::<f64>()
                    / 2e3;
            // Estimates of a positive correlation are still a little low: (1 + 4φ)/n is Kendall's bias.
            assert!((mean - (phi - 4.0 * phi / 40.0)).abs() < 0.02, "{phi}: {mean}");
        }
        assert_eq!(serial_correlation(&[3.0, 3.0, 3.0]), 0.0);
        assert!(serial_correlation(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) < -0.5);
    }

    #[test]
    fn alternating_epochs_are_left_alone_and_wandering_ones_are_merged() {
        let alternating: Vec<f64> =
            (0..30).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 } + f64::from(i % 7) / 100.0).collect();
        assert_eq!(merged_interval(&alternating, 0.05).unwrap().block, 1);
        let mut random = Random::new(9);
        let wandering = autoregressive(0.9, 400, &mut random);
        assert!(merged_interval(&wandering, 0.05).unwrap().block >= 9);
    }

    #[test]
    fn many_independent_epochs_are_worth_nearly_as_many() {
        let mut random = Random::new(5);
        let values: Vec<f64> = (0..2_000).map(|_| random.normal()).collect();
        let merged = merged_interval(&values, 0.05).unwrap();
        assert!(merged.block == 1 && merged.worth > 0.9, "{merged:?}");
        let (lo, hi) = merged.interval.bounds.unwrap();
        let (exact_lo, exact_hi) = sign_interval(&values, 0.05).unwrap().bounds.unwrap();
        assert!(lo <= exact_lo && hi >= exact_hi, "it is never narrower than the e-sign interval");
        assert!(hi - lo < 1.2 * (exact_hi - exact_lo));
    }

    #[test]
    fn known_numbers_of_epochs() {
        assert_eq!([0.05, 0.01, 0.05 / 31.0].map(epochs_to_expect), [17, 20, 23]);
    }

    #[test]
    fn most_independent_series_have_an_interval_soon_after() {
        let mut random = Random::new(4);
        for alpha in [0.05, 0.0016] {
            let epochs = epochs_to_expect(alpha) as usize * 3 / 2;
            let done = (0..1_000).filter(|_| {
                let values = autoregressive(0.0, epochs, &mut random);
                merged_interval(&values, alpha).unwrap().interval.bounds.is_some()
            });
            let done = done.count();
            assert!(done >= 850, "{done} of 1 000 at {alpha}");
        }
    }

    #[test]
    fn the_e_value_and_the_interval_agree() {
        let mut random = Random::new(8);
        for shift in [0.0, 0.3, 0.6, 1.0] {
            for series in [autoregressive(0.0, 40, &mut random), autoregressive(0.7, 90, &mut random)] {
                let values: Vec<f64> = series.iter().map(|value| value + shift).collect();
                for alpha in [0.05, 0.001] {
                    let bounds = merged_interval(&values, alpha).unwrap().interval.bounds;
                    let excluded = bounds.is_some_and(|(lo, hi)| lo > 0.0 || hi < 0.0);
                    assert_eq!(merged_e_value(&values, 0.0) >= -alpha.ln(), excluded, "{shift} {alpha}");
                }
            }
        }
        assert_eq!(merged_e_value(&[], 0.0), 0.0);
        assert_eq!(merged_e_value(&[0.0; 30], 0.0), 0.0, "ties speak against nothing");
    }

    #[test]
    fn what_cannot_be_told_is_unbounded() {
        let rising: Vec<f64> = (0..20).map(f64::from).collect();
        let merged = merged_interval(&rising, 0.05).unwrap();
        assert_eq!((merged.interval.bounds, merged.interval.median), (None, 9.5));
        assert_eq!(merged_interval(&[], 0.05), None);
        assert_eq!(merged_interval(&[1.0], 0.05).unwrap().interval.bounds, None);
    }
}
