//! Time to detect a difference, depending on the layout of epochs.

use std::time::Duration;

use crate::dependence::epoch_interval;
use crate::median::median;
use crate::random::Random;

/// The most epochs of a search.
const MOST: usize = 2_000;
/// The batch length that `within` refers to.
const REFERENCE: Duration = Duration::from_millis(20);

/// A layout of epochs, and how the contrast varies; standard deviations of the logarithm of the ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    pub between: f64,
    /// Within an epoch, between batches of 20 ms; longer ones vary less, like white noise.
    pub within: f64,
    /// Rounds in an epoch.
    pub rounds: u32,
    /// The length of a batch.
    pub batch: Duration,
}

impl Search {
    /// The number of epochs after which the interval at `alpha` excludes equality, if the ratio's logarithm is
    /// `log_ratio`.
    pub fn epochs_to_tell(&self, log_ratio: f64, alpha: f64, seed: u64) -> usize {
        let mut random = Random::new(seed);
        let within = self.within * (REFERENCE.as_secs_f64() / self.batch.as_secs_f64()).sqrt();
        let mut epochs = Vec::new();
        for epoch in 1..=MOST {
            let effect = log_ratio + self.between * random.normal();
            let rounds: Vec<f64> = (0..self.rounds).map(|_| effect + within * random.normal()).collect();
            epochs.extend(median(&rounds));
            let bounds = epoch_interval(&epochs, alpha).and_then(|found| found.interval.bounds);
            if bounds.is_some_and(|(lo, hi)| lo > 0.0 || hi < 0.0) {
                return epoch;
            }
        }
        MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_noise_is_told_sooner() {
        let search = Search { between: 0.01, within: 0.05, rounds: 1, batch: REFERENCE };
        let epochs = |search: Search| {
            let all: Vec<f64> = (0..40).map(|seed| search.epochs_to_tell(0.05, 0.05, seed) as f64).collect();
            median(&all).unwrap()
        };
        let (one, ten) = (epochs(search), epochs(Search { rounds: 10, ..search }));
        assert!(ten < one, "{ten} {one}");
        let long = Search { batch: 10 * REFERENCE, ..search };
        assert!((epochs(long) - ten).abs() <= 3.0, "a long batch tells about as much as ten short ones");
    }
}
