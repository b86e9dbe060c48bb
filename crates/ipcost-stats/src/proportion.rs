//! Confidence in a counted rate.

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
    let lo = if successes == 0 { 0.0 } else { beta_quantile(tail, k, n - k + 1.0) };
    let hi = if successes == trials { 1.0 } else { beta_quantile(1.0 - tail, k + 1.0, n - k) };
    (lo, hi)
}

/// The regularised incomplete beta function I(x; a, b): the distribution function of Beta(a, b).
///
/// By the continued fraction of Abramowitz and Stegun, 26.5.8, evaluated by Lentz's method.
pub fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges quickly on one side of the mean only; the other follows by symmetry.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = (a * x.ln() + b * (1.0 - x).ln() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp() / a;
    front * continued_fraction(x, a, b)
}

fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let kept = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut c, mut d) = (1.0, 1.0 / kept(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for coefficient in [even, odd] {
            d = 1.0 / kept(1.0 + coefficient * d);
            c = kept(1.0 + coefficient / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() <= 1e-15 * fraction.abs() {
            break;
        }
    }
    fraction
}

/// The x at which I(x; a, b) reaches `p`, by bisection.
fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    let (mut lo, mut hi) = (0.0, 1.0);
    for _ in 0..100 {
        let middle = f64::midpoint(lo, hi);
        if incomplete_beta(middle, a, b) < p { lo = middle } else { hi = middle }
    }
    f64::midpoint(lo, hi)
}

/// The `p`-quantile of Student's t with `freedom` degrees; of the normal distribution for `f64::INFINITY`.
///
/// By bisection on P(|T| > t) = I(ν / (ν + t²); ν/2, ½) (Abramowitz and Stegun, 26.7.1).
///
/// # Panics
/// If `p` is not between 0 and 1, or `freedom` is not positive.
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0 && freedom > 0.0, "p is {p}, freedom {freedom}");
    if p < 0.5 {
        return -student_quantile(1.0 - p, freedom);
    }
    // Of the normal distribution, T² is χ² with one degree of freedom.
    let beyond = |t: f64| match freedom.is_infinite() {
        true => 0.5 * gamma_tails(0.5, t * t / 2.0).1,
        false => 0.5 * incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5),
    };
    let (mut lo, mut hi) = (0.0, 1.0);
    while beyond(hi) > 1.0 - p && hi < 1e300 {
        (lo, hi) = (hi, hi * 2.0);
    }
    for _ in 0..100 {
        let middle = f64::midpoint(lo, hi);
        if beyond(middle) > 1.0 - p { lo = middle } else { hi = middle }
    }
    f64::midpoint(lo, hi)
}

/// The `p`-quantile of χ² with `freedom` degrees, by bisection.
///
/// # Panics
/// If `p` is not between 0 and 1, or `freedom` is not positive.
pub fn chi_square_quantile(p: f64, freedom: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0 && freedom > 0.0, "p is {p}, freedom {freedom}");
    let (mut lo, mut hi) = (0.0, freedom);
    while gamma_tails(freedom / 2.0, hi / 2.0).0 < p && hi < 1e300 {
        (lo, hi) = (hi, hi * 2.0);
    }
    for _ in 0..100 {
        let middle = f64::midpoint(lo, hi);
        if gamma_tails(freedom / 2.0, middle / 2.0).0 < p { lo = middle } else { hi = middle }
    }
    f64::midpoint(lo, hi)
}

/// The regularised incomplete gamma functions P(a, x) and Q(a, x): what of the distribution Gamma(a) lies below x, and above.
///
/// By the series of Abramowitz and Stegun, 6.5.29, below the mean, and by the continued fraction of 6.5.31 above it.
fn gamma_tails(a: f64, x: f64) -> (f64, f64) {
    const MOST_TERMS: usize = 100_000;
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for n in 1..MOST_TERMS {
            term *= x / (a + n as f64);
            sum += term;
            if term <= sum * 1e-16 {
                break;
            }
        }
        let below = (front * sum).min(1.0);
        return (below, 1.0 - below);
    }
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1e300, 1.0 / b);
    let mut fraction = d;
    for n in 1..MOST_TERMS {
        let n = n as f64;
        let coefficient = -n * (n - a);
        b += 2.0;
        d = 1.0 / (b + coefficient * d);
        c = b + coefficient / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() <= 1e-15 {
            break;
        }
    }
    let above = front * fraction;
    (1.0 - above, above)
}

/// The probability that at least `common` of `drawn` hosts have a property that `having` of `all` have, if which were drawn is chance:
/// one tail of Fisher's exact test (Fisher, J. R. Stat. Soc. 85, 1922).
///
/// # Panics
/// If more are drawn, or have it, than there are.
pub fn fisher_tail(common: u64, drawn: u64, having: u64, all: u64) -> f64 {
    assert!(drawn <= all && having <= all, "{drawn} and {having} of {all}");
    let ln_choose =
        |n: u64, k: u64| ln_gamma(n as f64 + 1.0) - ln_gamma(k as f64 + 1.0) - ln_gamma((n - k) as f64 + 1.0);
    let possible = |count: &u64| *count <= having && drawn - count <= all - having;
    let of = |count: u64| {
        (ln_choose(having, count) + ln_choose(all - having, drawn - count) - ln_choose(all, drawn)).exp()
    };
    (common..=drawn).filter(possible).map(of).sum::<f64>().min(1.0)
}

/// ln Γ(x) for x > 0 (Lanczos, SIAM J. Numer. Anal. 1, 1964, with g = 7 and nine coefficients).
#[allow(clippy::excessive_precision, reason = "the coefficients as they are published")]
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 9] = [
        0.999_999_999_999_809_93,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_13,
        -176.615_029_162_140_59,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_571_6e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let series: f64 =
        COEFFICIENTS[0] + (1..).zip(&COEFFICIENTS[1..]).map(|(i, c)| c / (x + f64::from(i))).sum::<f64>();
    let t = x + 7.5;
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * t.ln() - t + series.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
    }

    #[test]
    fn known_values() {
        close(ln_gamma(10.0), 362_880f64.ln());
        close(incomplete_beta(0.5, 2.0, 3.0), 0.6875);
        close(incomplete_beta(0.9, 50.0, 3.0), 0.096_633_285);
        close(student_quantile(0.975, 8.0), 2.306_004_1);
        close(student_quantile(0.025, 4.0), -2.776_445_1);
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
