//! Quantiles and tails of distributions, and confidence in a counted rate.

use statrs::distribution::{Beta, ChiSquared, ContinuousCDF, Normal, StudentsT};
use statrs::function::beta::beta_reg;
use statrs::function::factorial::ln_binomial;

/// Above so many degrees of freedom, the incomplete beta function of the library loses digits.
const MANY_DEGREES: f64 = 2_000.0;

/// The Clopper–Pearson interval for a proportion, given `successes` in `trials`, at level `confidence`: exact, never
/// too narrow (Clopper and Pearson, *Biometrika* 26, 1934).
///
/// # Panics
/// If there are more successes than trials, no trials, or `confidence` is not between 0 and 1.
pub fn clopper_pearson(successes: u64, trials: u64, confidence: f64) -> (f64, f64) {
    assert!(successes <= trials && trials > 0, "{successes} of {trials}");
    assert!(confidence > 0.0 && confidence < 1.0, "confidence is {confidence}");
    let tail = (1.0 - confidence) / 2.0;
    let (k, n) = (successes as f64, trials as f64);
    let beta = |a, b| Beta::new(a, b).expect("both are positive");
    let lo = if successes == 0 { 0.0 } else { beta(k, n - k + 1.0).inverse_cdf(tail) };
    let hi = if successes == trials { 1.0 } else { beta(k + 1.0, n - k).inverse_cdf(1.0 - tail) };
    (lo, hi)
}

/// The regularised incomplete beta function I(x; a, b): the distribution function of Beta(a, b). Right to 1e-9 for a and b up to
/// 50 000.
pub fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    beta_reg(a, b, x.clamp(0.0, 1.0))
}

/// The `p`-quantile of Student's t with `freedom` degrees; of the normal distribution for `f64::INFINITY`.
///
/// # Panics
/// If `p` is not between 0 and 1, or `freedom` is not positive.
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0 && freedom > 0.0, "p is {p}, freedom {freedom}");
    if freedom > MANY_DEGREES {
        return expanded_student_quantile(Normal::standard().inverse_cdf(p), freedom);
    }
    StudentsT::new(0.0, 1.0, freedom).expect("freedom is positive").inverse_cdf(p)
}

/// Student's quantile from that of the normal distribution (Abramowitz and Stegun, 26.7.5).
fn expanded_student_quantile(z: f64, freedom: f64) -> f64 {
    let square = z * z;
    let first = (square + 1.0) / 4.0;
    let second = ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    z * (1.0 + (first + (second + third / freedom) / freedom) / freedom)
}

/// The `p`-quantile of χ² with `freedom` degrees.
///
/// # Panics
/// If `p` is not between 0 and 1, or `freedom` is not positive.
pub fn chi_square_quantile(p: f64, freedom: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0 && freedom > 0.0, "p is {p}, freedom {freedom}");
    ChiSquared::new(freedom).expect("freedom is positive").inverse_cdf(p)
}

/// The probability that at least `common` of `drawn` hosts have a property that `having` of `all` have, if which were drawn is chance:
/// one tail of Fisher's exact test (Fisher, J. R. Stat. Soc. 85, 1922).
///
/// # Panics
/// If more are drawn, or have it, than there are.
pub fn fisher_tail(common: u64, drawn: u64, having: u64, all: u64) -> f64 {
    assert!(drawn <= all && having <= all, "{drawn} and {having} of {all}");
    let all_draws = ln_binomial(all, drawn);
    let possible = |count: &u64| *count <= having && drawn - count <= all - having;
    let of = |count: u64| {
        (ln_binomial(having, count) + ln_binomial(all - having, drawn - count) - all_draws).exp()
    };
    (common..=drawn).filter(possible).map(of).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
    }

    #[test]
    fn known_values() {
        close(incomplete_beta(0.5, 2.0, 3.0), 0.6875);
        close(incomplete_beta(0.9, 50.0, 3.0), 0.096_633_285);
        close(student_quantile(0.975, 8.0), 2.306_004_1);
        close(student_quantile(0.025, 4.0), -2.776_445_1);
        close(student_quantile(0.975, 2_001.0), 1.961_150_7);
        close(student_quantile(0.975, 1e6), 1.959_966_4);
        close(student_quantile(0.999, f64::INFINITY), 3.090_232_3);
        close(student_quantile(1.0 - 1e-9, f64::INFINITY), 5.997_807_0);
        close(student_quantile(0.75, f64::INFINITY), 0.674_489_8);
        close(chi_square_quantile(0.975, 12.0), 23.336_664_2);
        close(chi_square_quantile(0.025, 12.0), 4.403_788_5);
        close(chi_square_quantile(0.95, 1.0), 3.841_458_8);
        assert!((chi_square_quantile(0.975, 10_000.0) - 10_279.07).abs() < 0.1);
        // The lady tasting tea: all four cups, and at least three.
        close(fisher_tail(4, 4, 4, 8), 1.0 / 70.0);
        close(fisher_tail(3, 4, 4, 8), 17.0 / 70.0);
        close(fisher_tail(0, 3, 2, 9), 1.0);
        // The textbook's 10 of 100, and the rule of three.
        let (lo, hi) = clopper_pearson(10, 100, 0.95);
        assert!((lo - 0.0490).abs() < 5e-5 && (hi - 0.1762).abs() < 5e-5, "{lo} {hi}");
        let (lo, hi) = clopper_pearson(0, 100, 0.95);
        assert!(lo == 0.0 && (hi - 0.0362).abs() < 5e-5, "{hi}");
        assert_eq!(clopper_pearson(7, 7, 0.9).1, 1.0);
    }
}
