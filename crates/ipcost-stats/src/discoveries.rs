//! Many contrasts explored at once.

/// Which of many e-values are discoveries, so that the expected share of false ones among them is at most `alpha`,
/// however the e-values depend on each other: the e-BH procedure (Wang and Ramdas, "False discovery rate control with
/// e-values", JRSS B 84, 2022).
///
/// Takes natural logarithms of e-values; returns whether each is a discovery.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn e_bh(ln_e_values: &[f64], alpha: f64) -> Vec<bool> {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    let count = ln_e_values.len() as f64;
    let mut descending = ln_e_values.to_vec();
    descending.sort_by(|a, b| b.total_cmp(a));
    // The largest k whose k-th largest e-value is at least count / (alpha · k).
    let enough = |k: usize| (count / (alpha * k as f64)).ln();
    let discovered = (1..=descending.len()).rev().find(|k| descending[k - 1] >= enough(*k));
    let least = discovered.map_or(f64::INFINITY, |k| descending[k - 1]);
    ln_e_values.iter().map(|value| *value >= least).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discoveries(e_values: &[f64], alpha: f64) -> Vec<bool> {
        e_bh(&e_values.iter().map(|e| e.ln()).collect::<Vec<_>>(), alpha)
    }

    #[test]
    fn one_alone_needs_what_bonferroni_asks_and_company_helps() {
        assert_eq!(discoveries(&[79.0, 1.0, 1.0, 1.0], 0.05), [false; 4]);
        assert_eq!(discoveries(&[80.0, 1.0, 1.0, 1.0], 0.05), [true, false, false, false]);
        // Two at 40 count where neither would alone: 4 / (0.05 · 2) = 40.
        assert_eq!(discoveries(&[1.0, 40.0, 1.0, 41.0], 0.05), [false, true, false, true]);
        assert_eq!(discoveries(&[], 0.05), [false; 0]);
    }
}
