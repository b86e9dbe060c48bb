//! A quantity that several units measured, each with an error of its own: what a typical unit has, how far units differ, and where
//! another unit may lie.
//!
//! The model has two levels: yᵢ = μ + uᵢ + eᵢ, with uᵢ of variance τ² between units and eᵢ of unit i's own variance sᵢ².
//!
//! - τ² is the value at which Q(τ²) = Σ (yᵢ − μ)²/(sᵢ² + τ²) equals its expectation, k − 1 (Paule and Mandel, J. Res. Natl.
//!   Bur. Stand. 87, 1982), and its interval holds the values at which Q is within its χ² quantiles (Viechtbauer, "Confidence
//!   intervals for the amount of heterogeneity in meta-analysis", Statistics in Medicine 26, 2007).
//! - The interval of μ is that of Hartung and Knapp (Statistics in Medicine 20, 2001), with Student's quantile. Its factor
//!   is 1 by the choice of τ², and never smaller (Röver, Knapp and Friede, BMC Med. Res. Methodol. 15, 2015).
//! - Where another unit may lie: Higgins, Thompson and Spiegelhalter, "A re-evaluation of random-effects meta-analysis",
//!   J. R. Stat. Soc. A 172, 2009.

use crate::proportion::{chi_square_quantile, student_quantile};

/// No unit is more certain than this, so that one without any error does not outweigh all others.
const LEAST_VARIANCE: f64 = 1e-12;

/// What one unit measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitValue {
    pub value: f64,
    pub error: f64,
}

/// What several units measured together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomEffects {
    /// The mean over all units that there may be.
    pub mean: f64,
    pub bounds: (f64, f64),
    /// The standard deviation between units, apart from their own errors.
    pub spread: f64,
    pub spread_bounds: (f64, f64),
    /// Where another unit's true value lies; `None` of two units.
    pub another: Option<(f64, f64)>,
}

/// The units' mean and spread, with intervals at level 1 − `alpha`; `None` for fewer than two.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn random_effects(units: &[UnitValue], alpha: f64) -> Option<RandomEffects> {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    if units.len() < 2 {
        return None;
    }
    let degrees = (units.len() - 1) as f64;
    let between = variance_at(units, degrees);
    let (mean, weight) = weighted(units, between);
    let variance_of_mean = 1.0 / weight;
    let within = |half: f64| (mean - half, mean + half);
    let quantile = |degrees: f64| student_quantile(1.0 - alpha / 2.0, degrees);
    let spread_at = |p: f64| variance_at(units, chi_square_quantile(p, degrees)).sqrt();
    Some(RandomEffects {
        mean,
        bounds: within(quantile(degrees) * variance_of_mean.sqrt()),
        spread: between.sqrt(),
        spread_bounds: (
            spread_at(1.0 - alpha / 2.0),
            spread_at(alpha / 2.0).max(least_upper_spread(units, chi_square_quantile(alpha / 2.0, degrees))),
        ),
        another: (degrees > 1.0)
            .then(|| within(quantile(degrees - 1.0) * (between + variance_of_mean).sqrt())),
    })
}

/// The upper end for units that differ just as much as their errors let expect. Those that agree even better do so by luck, and
/// would otherwise have an upper end of 0.
fn least_upper_spread(units: &[UnitValue], quantile: f64) -> f64 {
    let degrees = (units.len() - 1) as f64;
    if discrepancy(units, 0.0) >= degrees {
        return 0.0;
    }
    let (_, weight) = weighted(units, 0.0);
    let typical = units.len() as f64 / weight;
    (typical * (degrees / quantile - 1.0)).max(0.0).sqrt()
}

/// The weighted mean and the sum of the weights, for a variance between units.
fn weighted(units: &[UnitValue], between: f64) -> (f64, f64) {
    let weights = units.iter().map(|unit| 1.0 / (unit.error.powi(2).max(LEAST_VARIANCE) + between));
    let (sum, all) = units
        .iter()
        .zip(weights)
        .fold((0.0, 0.0), |(sum, all), (unit, weight)| (sum + weight * unit.value, all + weight));
    (sum / all, all)
}

/// Q(τ²), which falls as τ² grows.
fn discrepancy(units: &[UnitValue], between: f64) -> f64 {
    let (mean, _) = weighted(units, between);
    let of =
        |unit: &UnitValue| (unit.value - mean).powi(2) / (unit.error.powi(2).max(LEAST_VARIANCE) + between);
    units.iter().map(of).sum()
}

/// The variance between units at which Q has that value; 0 if it is smaller everywhere. By bisection.
fn variance_at(units: &[UnitValue], wanted: f64) -> f64 {
    if discrepancy(units, 0.0) <= wanted {
        return 0.0;
    }
    let (mut lo, mut hi) = (0.0, 1e-6);
    while discrepancy(units, hi) > wanted && hi < 1e12 {
        (lo, hi) = (hi, hi * 4.0);
    }
    for _ in 0..60 {
        let middle = f64::midpoint(lo, hi);
        if discrepancy(units, middle) > wanted { lo = middle } else { hi = middle }
    }
    f64::midpoint(lo, hi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Thirteen trials of a vaccine: logarithms of relative risks and their variances (Colditz et al., JAMA 271, 1994), as in
    /// Viechtbauer's example.
    const TRIALS: [(f64, f64); 13] = [
        (-0.8893, 0.3256),
        (-1.5854, 0.1946),
        (-1.3481, 0.4154),
        (-1.4416, 0.0200),
        (-0.2175, 0.0512),
        (-0.7861, 0.0069),
        (-1.6209, 0.2230),
        (0.0120, 0.0040),
        (-0.4694, 0.0564),
        (-1.3713, 0.0730),
        (-0.3394, 0.0124),
        (0.4459, 0.5325),
        (-0.0173, 0.0714),
    ];

    fn units(values: &[(f64, f64)]) -> Vec<UnitValue> {
        values.iter().map(|(value, variance)| UnitValue { value: *value, error: variance.sqrt() }).collect()
    }

    fn close(found: f64, expected: f64, by: f64) {
        assert!((found - expected).abs() < by, "{found}, not {expected}");
    }

    #[test]
    fn published_values() {
        let found = random_effects(&units(&TRIALS), 0.05).unwrap();
        let (lo, hi) = found.spread_bounds;
        // Viechtbauer 2007; the inputs have four digits.
        close(lo * lo, 0.1197, 5e-4);
        close(hi * hi, 1.1115, 2e-3);
        close(found.spread.powi(2), 0.3181, 5e-4);
        close(found.mean, -0.7150, 5e-4);
    }

    #[test]
    fn intervals_hold_what_they_promise() {
        let mut random = Random::new(11);
        let (mut mean, mut spread, mut another) = (0, 0, 0);
        const TIMES: u32 = 1_000;
        for _ in 0..TIMES {
            let mut draw = || -0.6 + 0.1 * random.normal();
            let next = draw();
            let drawn: Vec<f64> = (0..12).map(|_| draw()).collect();
            let found: Vec<UnitValue> = drawn
                .iter()
                .enumerate()
                .map(|(place, truth)| {
                    let error = 0.01 + 0.01 * (place % 5) as f64;
                    UnitValue { value: truth + error * random.normal(), error }
                })
                .collect();
            let found = random_effects(&found, 0.05).unwrap();
            let holds = |(lo, hi): (f64, f64), truth: f64| u32::from(lo <= truth && truth <= hi);
            mean += holds(found.bounds, -0.6);
            spread += holds(found.spread_bounds, 0.1);
            another += holds(found.another.unwrap(), next);
        }
        for (what, held) in [("mean", mean), ("spread", spread), ("another", another)] {
            assert!(held > TIMES * 93 / 100, "{what}: {held} of {TIMES}");
        }
    }

    #[test]
    fn units_that_agree_have_no_spread_and_one_that_is_certain_does_not_rule() {
        let same = units(&[(0.2, 0.01), (0.21, 0.01), (0.19, 0.01)]);
        let found = random_effects(&same, 0.05).unwrap();
        assert!(
            found.spread == 0.0 && found.spread_bounds.0 == 0.0 && found.spread_bounds.1 > 0.0,
            "{found:?}"
        );
        let certain = units(&[(0.0, 0.0), (1.0, 0.0), (0.5, 0.0)]);
        let found = random_effects(&certain, 0.05).unwrap();
        close(found.mean, 0.5, 1e-9);
        close(found.spread, 0.5, 1e-6);
        assert!(random_effects(&same[..1], 0.05).is_none());
        assert!(random_effects(&same[..2], 0.05).unwrap().another.is_none());
    }
}
