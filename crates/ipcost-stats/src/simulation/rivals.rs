//! What others do with the same machine.

use super::machine::{Machine, Noise};
use crate::proportion::incomplete_beta;

/// A way to tell two cells apart that articles and tools use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rival {
    /// Thirty runs of A, then thirty of B; they differ if mean ± standard error of one lies apart from the other's.
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
    /// All of them, with what tables call them.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::MeanAndError, "mean ± error"),
        (Self::PooledRounds, "t-test, rounds pooled"),
        (Self::Peeking, "t-test, looking on"),
        (Self::TenSequentialRuns, "Mann–Whitney, 10 runs"),
    ];

    /// Whether it calls two cells of equal cost different.
    pub fn is_fooled(self, noise: Noise, seed: u64) -> bool {
        let mut machine = Machine::new(noise, seed);
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

impl Machine {
    /// So many fresh processes one after the other, a batch each: their costs.
    fn runs(&mut self, count: usize) -> Vec<f64> {
        let wandering = self.contrast();
        let run = |_| {
            let process = self.start_process();
            (self.batch(process) + wandering).exp()
        };
        (0..count).map(run).collect()
    }

    /// An epoch of interleaved rounds, always A before B: their costs.
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
fn welch(a: &[f64], b: &[f64]) -> f64 {
    let (va, vb) = (variance(a) / a.len() as f64, variance(b) / b.len() as f64);
    if va + vb <= 0.0 {
        return 1.0;
    }
    let t = (mean(a) - mean(b)) / (va + vb).sqrt();
    let freedom = (va + vb).powi(2) / (va * va / (a.len() - 1) as f64 + vb * vb / (b.len() - 1) as f64);
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The two-sided exact p-value of the Mann–Whitney test (*Ann. Math. Statist.* 18, 1947), without ties.
fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    let wins: usize = a.iter().map(|x| b.iter().filter(|y| x > *y).count()).sum();
    let few = wins.min(a.len() * b.len() - wins);
    // counts[m][u]: in how many orders of m values of A and n of B the statistic is u.
    let most = a.len() * b.len();
    let mut counts = vec![vec![0.0; most + 1]; a.len() + 1];
    counts[0][0] = 1.0;
    for n in 0..=b.len() {
        let mut next = counts.clone();
        for m in 1..=a.len() {
            for u in 0..=most {
                // The largest value is one of A, which beats all n of B, or one of B.
                let of_a = if u >= n { next[m - 1][u - n] } else { 0.0 };
                let of_b = if n > 0 { counts[m][u] } else { 0.0 };
                next[m][u] = of_a + of_b;
            }
        }
        counts = next;
    }
    let all: f64 = counts[a.len()].iter().sum();
    let extreme: f64 = counts[a.len()][..=few].iter().sum();
    (2.0 * extreme / all).min(1.0)
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
        // Nothing of A above B among ten and ten: 2 / C(20, 10).
        let low: Vec<f64> = (0..10).map(f64::from).collect();
        let high: Vec<f64> = (10..20).map(f64::from).collect();
        assert!((mann_whitney(&low, &high) - 2.0 / 184_756.0).abs() < 1e-12);
        // The tables' critical value: U = 23 is significant at 5 %, U = 24 is not.
        assert!(p_of(23) < 0.05 && p_of(24) > 0.05, "{} {}", p_of(23), p_of(24));
    }

    /// The p-value of two samples of ten with so many wins.
    fn p_of(wins: usize) -> f64 {
        let b: Vec<f64> = (0..10).map(f64::from).collect();
        let (whole, rest) = (wins / 10, wins % 10);
        let a: Vec<f64> = (0..10)
            .map(|i| match i {
                i if i < whole => 100.0 + i as f64,
                i if i == whole => rest as f64 - 0.5,
                i => -100.0 - i as f64,
            })
            .collect();
        mann_whitney(&a, &b)
    }
}
