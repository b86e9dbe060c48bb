//! How much to measure in one epoch.

use std::time::Duration;

use crate::median::median;

/// The shortest batch: long against the clock and the messages around it.
const SHORTEST_BATCH: Duration = Duration::from_millis(20);
const LONGEST_BATCH: Duration = Duration::from_millis(200);
/// Longer measurements are split into rounds, so that disturbances hit all cells alike.
const ROUND: Duration = Duration::from_millis(40);
/// The most rounds in an epoch.
const MOST_ROUNDS: f64 = 10.0;
/// The least share of the variance within epochs that the variance between epochs counts as: a few pilots cannot rule
/// it out.
const LEAST_BETWEEN: f64 = 0.05;

/// The weight of [`Variances::UNKNOWN`], in degrees of freedom.
const FREEDOM_OF_THE_UNKNOWN: f64 = 4.0;

/// How a contrast varies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variances {
    /// Variance between epochs, of the logarithm of the ratio.
    pub between: f64,
    /// Variance within an epoch, between batches of length `batch`.
    pub within: f64,
    /// The length of those batches.
    pub batch: Duration,
}

impl Variances {
    /// Assumed when nothing is known: the same variance between batches of 20 ms as between epochs.
    pub const UNKNOWN: Self = Self { between: 1.0, within: 1.0, batch: SHORTEST_BATCH };

    /// From pilot epochs of two batches each: for each contrast and epoch, the two logarithms of the ratio.
    ///
    /// Each component is the median over contrasts. The fewer the degrees of freedom, the more the ratio of the two
    /// is shrunk towards that of [`Variances::UNKNOWN`].
    pub fn of_pilots(contrasts: &[Vec<[f64; 2]>], batch: Duration) -> Self {
        let components = contrasts.iter().filter(|epochs| epochs.len() >= 2).map(|epochs| {
            let count = epochs.len() as f64;
            // For two values, half the squared difference is the unbiased variance.
            let within = epochs.iter().map(|[a, b]| (a - b).powi(2) / 2.0).sum::<f64>() / count;
            let means: Vec<f64> = epochs.iter().map(|[a, b]| (a + b) / 2.0).collect();
            let mean = means.iter().sum::<f64>() / count;
            let of_means = means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
            (of_means - within / 2.0, within, count - 1.0)
        });
        let components: Vec<(f64, f64, f64)> = components.filter(|(_, within, _)| *within > 0.0).collect();
        let all = |of: fn(&(f64, f64, f64)) -> f64| components.iter().map(of).collect::<Vec<f64>>();
        let (Some(between), Some(within)) = (median(&all(|c| c.0)), median(&all(|c| c.1))) else {
            return Self::UNKNOWN;
        };
        let between = between.max(LEAST_BETWEEN * within);
        let freedom: f64 = all(|c| c.2).iter().sum();
        // White noise within: the variance of a batch is inversely proportional to its length.
        let measured = (within * batch.as_secs_f64() / Self::UNKNOWN.batch.as_secs_f64() / between).ln();
        let ratio = (measured * freedom / (freedom + FREEDOM_OF_THE_UNKNOWN)).exp();
        Self { between, within: between * ratio, batch: Self::UNKNOWN.batch }
    }
}

/// How much to measure in one epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// Rounds in the epoch.
    pub rounds: u32,
    /// The length of a batch.
    pub batch: Duration,
}

/// The allocation that yields the most information in a given time.
///
/// An epoch costs `start` (processes, verification) plus measuring time m, and its contrast has variance σ²between +
/// σ²within·batch/m. For a fixed total time, the best m is
///
/// ```text
/// m = √(start · batch · σ²within / σ²between)
/// ```
///
/// (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013, equation 3, with rounds of any
/// length). `start` includes the lead-in of one batch. Batches stay between 20 and 200 ms, rounds between 1 and 10.
pub fn allocate(variances: &Variances, start: Duration) -> Allocation {
    let ratio = variances.within / variances.between;
    let measuring = (start.as_secs_f64() * variances.batch.as_secs_f64() * ratio).sqrt();
    let rounds = (measuring / ROUND.as_secs_f64()).round().clamp(1.0, MOST_ROUNDS);
    let batch = Duration::from_secs_f64(measuring / rounds).clamp(SHORTEST_BATCH, LONGEST_BATCH);
    Allocation { rounds: rounds as u32, batch }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn quick_starts_get_one_short_batch_and_slow_ones_more() {
        let of = |start, within: f64| allocate(&Variances { within, ..Variances::UNKNOWN }, ms(start));
        assert_eq!(of(10, 1.0), Allocation { rounds: 1, batch: ms(20) });
        assert_eq!(of(500, 1.0), Allocation { rounds: 3, batch: Duration::from_secs_f64(0.1 / 3.0) });
        // Where processes hardly differ from start to start, measure more of each.
        assert_eq!(of(500, 100.0).rounds, 10);
        assert_eq!(of(500, 100.0).batch, ms(100));
        // Where they differ much, that would be a waste.
        assert_eq!(of(500, 0.01), Allocation { rounds: 1, batch: ms(20) });
    }

    #[test]
    fn it_is_the_optimum() {
        let variances = Variances { between: 0.002, within: 0.01, batch: ms(20) };
        let start = ms(300);
        // The variance of the mean after a fixed time is the variance of an epoch times its length.
        let loss = |measuring: f64| {
            (start.as_secs_f64() + measuring) * (variances.between + variances.within * 0.02 / measuring)
        };
        let found = allocate(&variances, start);
        let measuring = found.batch.as_secs_f64() * f64::from(found.rounds);
        for other in [0.5, 0.8, 1.25, 2.0] {
            assert!(loss(measuring) < loss(measuring * other), "{measuring} s against {other} times that");
        }
    }

    #[test]
    fn pilots_tell_the_variances() {
        let mut random = Random::new(3);
        let contrasts: Vec<Vec<[f64; 2]>> = (0..200)
            .map(|_| {
                let epoch = |_| {
                    let effect = 0.05 * random.normal();
                    [effect + 0.1 * random.normal(), effect + 0.1 * random.normal()]
                };
                (0..5).map(epoch).collect()
            })
            .collect();
        // Batches of 5 ms have variance 0.01, so those of 20 ms have 0.0025, the same as epochs.
        let found = Variances::of_pilots(&contrasts, ms(5));
        assert!((found.within / found.between / 1.0 - 1.0).abs() < 0.5, "{found:?}");
        assert!((0.0015..0.004).contains(&found.between), "{found:?}");
        let more_within: Vec<_> =
            contrasts.iter().map(|c| c.iter().map(|[a, b]| [*a, b + 0.5]).collect()).collect();
        let more = Variances::of_pilots(&more_within, ms(5));
        assert!(more.within / more.between > 3.0, "{more:?}");
        assert_eq!(Variances::of_pilots(&[], ms(5)), Variances::UNKNOWN);
        assert_eq!(Variances::of_pilots(&[vec![[1.0, 1.0]; 4]], ms(5)), Variances::UNKNOWN);
    }

    #[test]
    fn few_pilots_do_not_sway_it_far() {
        // One contrast, three epochs: no variance between them.
        let one = Variances::of_pilots(&[vec![[0.1, -0.1], [-0.1, 0.1], [0.1, -0.1]]], ms(20));
        assert!((1.0..4.0).contains(&(one.within / one.between)), "{one:?}");
    }
}
