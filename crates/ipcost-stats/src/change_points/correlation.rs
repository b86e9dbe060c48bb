//! How much the values of a history resemble their predecessors, whatever changes it has.

use super::split::best_split;
use super::{centred, segments};

/// Beyond this a history is a random walk.
const MOST: f64 = 0.95;
/// Candidates for further changes that are taken out at most.
const MOST_CANDIDATES: usize = 3;
/// What a further change must make better, over the logarithm of the number of values: it has a place and a size, and it is
/// the best of many.
const PENALTY: f64 = 4.0;

/// The coefficient of an autoregressive process of order 1 around the levels between the `edges` and at least one more.
///
/// A change that is not known yet makes values resemble their predecessors, and a change that is none takes out some of
/// the true resemblance. So the number of further changes is chosen by how well levels with such a process describe the
/// values, with a penalty for each. Lu, Lund and Lee weigh both in the same way ("An MDL approach to the climate
/// segmentation problem", Ann. Appl. Stat. 4, 2010); the penalty here is simpler, and chosen by simulation. At least one
/// change is taken out: the one that is to be tested.
pub fn correlation(values: &[f64], edges: &[usize]) -> f64 {
    let mut edges = edges.to_vec();
    let mut best = (f64::INFINITY, 0.0);
    for _ in 0..MOST_CANDIDATES {
        let Some(split) = best_split(values, &edges) else { break };
        edges.push(split.at);
        edges.sort_unstable();
        let around: Vec<Vec<f64>> = segments(values, &edges).map(centred).collect();
        let coefficient = coefficient(&around);
        let misfit = misfit(&around.concat(), coefficient) + penalty(values.len(), edges.len());
        if misfit < best.0 {
            best = (misfit, coefficient);
        }
    }
    best.1
}

/// From the products of neighbours within levels. It is too low by about (2 + 6ρ)/n for each level, of n values in all:
/// Kendall's bias, and what is lost because a level is chosen by the data; the factors are from simulations of 30 values.
fn coefficient(around: &[Vec<f64>]) -> f64 {
    let values: f64 = around.iter().map(|level| level.len() as f64).sum();
    let squares: f64 = around.iter().flatten().map(|value| value * value).sum();
    let products: f64 = around.iter().flat_map(|level| level.windows(2)).map(|pair| pair[0] * pair[1]).sum();
    if squares <= 0.0 {
        return 0.0;
    }
    let measured = products / squares;
    let bias = (2.0 + 6.0 * measured) * around.len() as f64 / values;
    (measured + bias).clamp(0.0, MOST)
}

/// Twice the negative logarithm of the likelihood, but for a constant.
fn misfit(around: &[f64], coefficient: f64) -> f64 {
    let first = around[0] * around[0] * (1.0 - coefficient * coefficient);
    let rest: f64 = around.windows(2).map(|pair| (pair[1] - coefficient * pair[0]).powi(2)).sum();
    let n = around.len() as f64;
    n * ((first + rest) / n).max(f64::MIN_POSITIVE).ln()
}

fn penalty(values: usize, edges: usize) -> f64 {
    PENALTY * edges as f64 * (values as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn mean_correlation(coefficient: f64, steps: &[(usize, f64)]) -> f64 {
        let mut random = Random::new(3);
        let history = |random: &mut Random| {
            let mut state = random.normal();
            let value = |run: usize| {
                state = coefficient * state + (1.0 - coefficient * coefficient).sqrt() * random.normal();
                state + steps.iter().filter(|(at, _)| run >= *at).map(|(_, size)| size).sum::<f64>()
            };
            (0..60).map(value).collect::<Vec<f64>>()
        };
        (0..300).map(|_| correlation(&history(&mut random), &[0, 60])).sum::<f64>() / 300.0
    }

    #[test]
    fn it_is_about_right_with_and_without_changes() {
        for steps in [&[][..], &[(30, 4.0)], &[(20, 4.0), (40, -4.0)], &[(15, 4.0), (30, 4.0), (45, 4.0)]] {
            assert!(mean_correlation(0.0, steps) < 0.15, "{steps:?}: {}", mean_correlation(0.0, steps));
        }
        for coefficient in [0.3, 0.6, 0.9] {
            let found = mean_correlation(coefficient, &[]);
            assert!((found - coefficient).abs() < 0.08, "{coefficient}: {found}");
        }
    }

    #[test]
    fn values_without_noise_have_none() {
        assert_eq!(correlation(&[1.0; 20], &[0, 20]), 0.0);
        let clean: Vec<f64> = (0..20).map(|run| f64::from(run / 10)).collect();
        assert_eq!(correlation(&clean, &[0, 20]), 0.0);
    }
}
