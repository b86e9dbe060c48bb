//! Epochs that depend on each other: noticing it, and merging neighbours until they no longer do.
//!
//! The e-sign interval takes the epochs' signs for tosses of a fair coin. A machine that drifts does not make
//! them less fair: each round measures its cells in a fresh random order, so which of two neighbours in time is
//! cell A is itself a fair toss. What would make them less fair is a *contrast* that wanders. Then neighbouring
//! epochs resemble each other, which the serial correlation shows, and blocks of neighbours resemble each other
//! less than single epochs do.

use crate::interval::{Interval, sign_interval};
use crate::median::median;

/// The interval from epochs merged into blocks until neighbouring blocks no longer resemble each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MergedInterval {
    /// The median of the epochs and the bounds from the blocks.
    pub interval: Interval,
    /// Epochs in a block; 1 where nothing had to be merged.
    pub block: usize,
}

/// The fewest blocks whose correlation can be told with some certainty.
const TELLING: usize = 12;
/// The serial correlation below which this many blocks pass for independent.
///
/// These two numbers are the result of simulation, not of theory: the largest for which the share of
/// campaigns that ever miss the truth stays under α when the contrast itself follows an AR(1) process with
/// coefficient 0.6 or 0.9 (`tests/simulation.rs`). Independent epochs pay for it with intervals that are
/// about a sixth wider.
const PASSES: f64 = -0.05;
/// The same for fewer blocks: only those that clearly alternate pass.
const PASSES_FEW: f64 = -0.5;

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
/// `None` of no epochs. The bounds are unbounded (`None`) while there are too few blocks, or while they still
/// resemble each other.
///
/// # Panics
/// Where `alpha` is not between 0 and 1.
pub fn merged_interval(values: &[f64], alpha: f64) -> Option<MergedInterval> {
    let unbounded = Interval { median: median(values)?, bounds: None };
    let mut tried = 1;
    for block in block_sizes() {
        let merged: Vec<f64> = values.chunks_exact(block).filter_map(median).collect();
        let Some(found) = sign_interval(&merged, alpha) else { break };
        if found.bounds.is_none() {
            break;
        }
        tried = block;
        let most = if merged.len() >= TELLING { PASSES } else { PASSES_FEW };
        if serial_correlation(&merged) <= most {
            let interval = Interval { bounds: found.bounds, ..unbounded };
            return Some(MergedInterval { interval, block });
        }
    }
    Some(MergedInterval { interval: unbounded, block: tried })
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
    fn what_cannot_be_told_is_unbounded() {
        let rising: Vec<f64> = (0..20).map(f64::from).collect();
        let merged = merged_interval(&rising, 0.05).unwrap();
        assert_eq!((merged.interval.bounds, merged.interval.median), (None, 9.5));
        assert_eq!(merged_interval(&[], 0.05), None);
        assert_eq!(merged_interval(&[1.0], 0.05).unwrap().interval.bounds, None);
    }
}
