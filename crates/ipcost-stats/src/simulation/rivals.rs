//! Other methods on the same machine.

use super::machine::{Noise, SimulatedMachine};
use crate::proportion::incomplete_beta;
use crate::ranks::mann_whitney;

/// A method that articles and tools use to compare two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rival {
    /// Thirty runs of A, then thirty of B; different if their mean ± standard error do not overlap.
    MeanAndError,
    /// Ten epochs of five interleaved rounds; Welch's t-test over all rounds, as if each were independent.
    PooledRounds,
    /// The same interleaved rounds, with a look after each from the third on, until p < 0.05 or 200 rounds.
    Peeking,
    /// Ten runs of A, then ten of B, each a fresh process; the Mann–Whitney test.
    TenSequentialRuns,
}

const LEVEL: f64 = 0.05;

impl Rival {
    /// All of them, with their names in tables.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::MeanAndError, "mean ± error"),
        (Self::PooledRounds, "t-test, rounds pooled"),
        (Self::Peeking, "t-test, looking on"),
        (Self::TenSequentialRuns, "Mann–Whitney, 10 runs"),
    ];

    /// Whether it declares two cells of equal cost different.
    pub fn is_fooled(self, noise: Noise, seed: u64) -> bool {
        let mut machine = SimulatedMachine::new(noise, seed);
        match self {
            Self::MeanAndError => {
                let (a, b) = (machine.runs(30), machine.runs(30));
                let half = |values: &[f64]| (variance(values) / values.len() as f64).sqrt();
                (mean(&a) - mean(&b)).abs() > half(&a) + half(&b)
            }
            Self::PooledRounds => {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                (0..10).for_each(|_| machine.interleaved(5, &mut a, &mut b));
                welch(&a, &b) < LEVEL
            }
            Self::Peeking => {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                (0..200).any(|_| {
                    machine.interleaved(1, &mut a, &mut b);
                    a.len() >= 3 && welch(&a, &b) < LEVEL
                })
            }
            Self::TenSequentialRuns => {
                let (a, b) = (machine.runs(10), machine.runs(10));
                mann_whitney(&a, &b) < LEVEL
            }
        }
    }
}

impl SimulatedMachine {
    /// The costs of this many fresh processes in sequence, a batch each.
    fn runs(&mut self, count: usize) -> Vec<f64> {
        let wandering = self.contrast();
        let run = |_| {
            let process = self.start_process();
            (self.batch(process) + wandering).exp()
        };
        (0..count).map(run).collect()
    }

    /// The costs of an epoch of interleaved rounds, always A before B.
    fn interleaved(&mut self, rounds: usize, a: &mut Vec<f64>, b: &mut Vec<f64>) {
        let wandering = self.contrast();
        let (first, second) = (self.start_process(), self.start_process());
        for _ in 0..rounds {
            a.push((self.batch(first) + wandering).exp());
            b.push(self.batch(second).exp());
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// The two-sided p-value of Welch's t-test (*Biometrika* 34, 1947).
pub fn welch(a: &[f64], b: &[f64]) -> f64 {
    let (va, vb) = (variance(a) / a.len() as f64, variance(b) / b.len() as f64);
    if va + vb <= 0.0 {
        return 1.0;
    }
    let t = (mean(a) - mean(b)) / (va + vb).sqrt();
    let freedom = (va + vb).powi(2) / (va * va / (a.len() - 1) as f64 + vb * vb / (b.len() - 1) as f64);
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_p_values() {
        // Student's own sleep data, as Welch: t = 1.8608, 17.776 degrees, p = 0.07939.
        let one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        assert!((welch(&one, &two) - 0.07939).abs() < 1e-5, "{}", welch(&one, &two));
    }
}
