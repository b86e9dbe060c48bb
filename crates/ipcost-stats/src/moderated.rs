//! Few runs a side, many cells: how much runs of a cell differ, told by its own runs and by those of all others.
//!
//! Two or three runs a side tell the spread of one cell badly. Cells of one machine differ in it, but not without limits, so each cell's variance is drawn
//! towards what is usual for all:
//!
//! ```text
//! s̃² = (d₀·s₀² + d·s²) / (d₀ + d)
//! ```
//!
//! with d degrees of freedom of its own. The usual variance s₀² and what it is worth, d₀, are those that explain how the logarithms of all cells'
//! variances differ, and Student's interval has d₀ + d degrees (Smyth, "Linear models and empirical Bayes methods for assessing differential expression
//! in microarray experiments", Stat. Appl. Genet. Mol. Biol. 3, 2004).

use statrs::function::gamma::digamma;

use crate::unpaired::{RunMedian, SpreadBetweenRuns, pooled_variance};

/// Fewer cells do not tell what is usual.
const FEWEST_CELLS: usize = 6;
/// A usual variance is worth this much at most: cells are not all alike.
const MOST_DEGREES: f64 = 40.0;
/// The share of it that counts: variances of cells are further out than the model has them.
const TRUSTED: f64 = 0.5;
/// What runs that agree differ by is rounding.
const LEAST_VARIANCE: f64 = 1e-12;

/// How runs of a cell usually differ, from both sides' runs of many cells, each with as many runs; `None` of too few cells or runs.
pub fn usual_spread<'a>(cells: impl IntoIterator<Item = [&'a [RunMedian]; 2]>) -> Option<SpreadBetweenRuns> {
    let variances: Vec<(f64, f64)> = cells.into_iter().filter_map(pooled_variance).collect();
    let (count, degrees) = (variances.len() as f64, variances.first()?.1);
    if variances.len() < FEWEST_CELLS {
        return None;
    }
    let half = degrees / 2.0;
    // Logarithms of variances without the bias that few degrees of freedom give them.
    let logs: Vec<f64> = variances
        .iter()
        .map(|(variance, _)| variance.max(LEAST_VARIANCE).ln() - digamma(half) + half.ln())
        .collect();
    let mean = logs.iter().sum::<f64>() / count;
    let spread = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
    // What varies beyond the chance of few degrees.
    let beyond = spread - trigamma(half);
    let worth = if beyond > 0.0 { 2.0 * inverse_trigamma(beyond) } else { f64::INFINITY };
    let worth = worth.min(MOST_DEGREES);
    let square = (mean + digamma(worth / 2.0) - (worth / 2.0).ln()).exp();
    Some(SpreadBetweenRuns { sd: square.sqrt(), degrees: worth * TRUSTED })
}

/// The second derivative of ln Γ: by its recurrence up to where the asymptotic series holds (Abramowitz and Stegun, 6.4.12).
fn trigamma(x: f64) -> f64 {
    const ENOUGH: f64 = 10.0;
    if x < ENOUGH {
        return trigamma(x + 1.0) + 1.0 / (x * x);
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    inverse * (1.0 + inverse / 2.0 + square * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0)))
}

/// By bisection of the logarithm: trigamma falls.
fn inverse_trigamma(wanted: f64) -> f64 {
    let (mut lo, mut hi) = (1e-4f64.ln(), 1e6f64.ln());
    for _ in 0..80 {
        let middle = f64::midpoint(lo, hi);
        if trigamma(middle.exp()) > wanted { lo = middle } else { hi = middle }
    }
    f64::midpoint(lo, hi).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::unpaired::{moderated, unpaired};

    #[test]
    fn known_values() {
        for (x, known) in [(0.5, 4.934_802_2), (1.0, 1.644_934_07), (2.0, 0.644_934_07), (20.0, 0.051_270_8)]
        {
            assert!((trigamma(x) - known).abs() < 1e-6, "{x}: {}", trigamma(x));
            assert!((inverse_trigamma(known) / x - 1.0).abs() < 1e-5);
        }
    }

    /// Three runs a side of cells whose runs differ by 3 % to 8 %, and in some by two modes 30 % apart.
    fn cells(random: &mut Random, many: usize, with_modes: usize) -> Vec<[Vec<RunMedian>; 2]> {
        let cell = |place: usize, random: &mut Random| {
            let sd = 0.05 * (0.3 * random.normal()).exp();
            let side = |random: &mut Random| -> Vec<RunMedian> {
                let run = |random: &mut Random| {
                    let mode = if place < with_modes && random.below(4) == 0 { 0.26 } else { 0.0 };
                    RunMedian { median: sd * random.normal() + mode, error: Some(0.005) }
                };
                (0..3).map(|_| run(random)).collect()
            };
            [side(random), side(random)]
        };
        (0..many).map(|place| cell(place, random)).collect()
    }

    #[test]
    fn many_cells_make_up_for_few_runs() {
        const ALPHA: f64 = 0.0005;
        let mut random = Random::new(8);
        let (mut widths, mut false_alarms, mut all) = (Vec::new(), [0_u64; 2], 0_u64);
        for _ in 0..400 {
            let cells = cells(&mut random, 42, 0);
            let usual = usual_spread(cells.iter().map(|[a, b]| [&a[..], &b[..]])).unwrap();
            assert!((usual.sd / 0.05 - 1.0).abs() < 0.5 && usual.degrees > 1.0, "{usual:?}");
            for [a, b] in &cells {
                let alone = unpaired(a, b, ALPHA, usual).unwrap().bounds.unwrap();
                let together = moderated(a, b, ALPHA, usual, 0.0).unwrap().bounds.unwrap();
                widths.push((together.1 - together.0) / (alone.1 - alone.0));
                for (count, (lo, hi)) in false_alarms.iter_mut().zip([alone, together]) {
                    *count += u64::from(lo > 0.0 || hi < 0.0);
                }
                all += 1;
            }
        }
        let width = crate::median(&widths).unwrap();
        let most = crate::clopper_pearson(false_alarms[1], all, 0.9).0;
        assert!(width < 0.65, "{width}");
        assert!(most <= ALPHA, "{false_alarms:?} of {all}");
    }

    /// Where runs of a cell have two modes, three may all have met one: others tell how far runs may be apart.
    #[test]
    fn a_mode_that_three_runs_missed_is_less_often_taken_for_a_change() {
        const ALPHA: f64 = 0.0005;
        let mut random = Random::new(9);
        let [mut alone, mut together] = [0; 2];
        for _ in 0..400 {
            let cells = cells(&mut random, 42, 14);
            let usual = usual_spread(cells.iter().map(|[a, b]| [&a[..], &b[..]])).unwrap();
            for [a, b] in &cells[..14] {
                let told = |found: Option<crate::Unpaired>| {
                    found.and_then(|found| found.bounds).is_some_and(|(lo, hi)| lo > 0.0 || hi < 0.0)
                };
                alone += u32::from(told(unpaired(a, b, ALPHA, usual)));
                together += u32::from(told(moderated(a, b, ALPHA, usual, 0.13)));
            }
        }
        assert!(together <= 3, "{together} of 5 600, and {alone} by each cell alone");
    }

    #[test]
    fn few_cells_or_runs_tell_nothing_of_others() {
        let mut random = Random::new(1);
        let few = cells(&mut random, 5, 0);
        assert_eq!(usual_spread(few.iter().map(|[a, b]| [&a[..], &b[..]])), None);
        let many = cells(&mut random, 9, 0);
        assert_eq!(usual_spread(many.iter().map(|[a, b]| [&a[..1], &b[..1]])), None);
        let same = usual_spread(many.iter().map(|[a, _]| [&a[..], &a[..]])).unwrap();
        assert!(same.degrees > 0.0);
        assert_eq!(usual_spread([]), None);
    }
}
