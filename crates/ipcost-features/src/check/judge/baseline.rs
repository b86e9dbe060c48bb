//! A document of before, as what cells are compared with.

use ipcost_lab::Batches;
use ipcost_model::{Document, Host, Metric, PlannedCell};
use ipcost_stats::epoch_interval;

/// The interval of ln(cost now / cost then) at level 1 − `alpha`, from the logarithms of costs by epoch of two runs
/// that have nothing in common; `None` while it is unbounded.
///
/// The two runs were not paired, so each median has an interval of its own at `alpha / 2`, and their quotient holds
/// whenever both do. That is more careful than need be, and holds at every moment of the run now.
///
/// # Panics
/// Where `alpha` is not between 0 and 1.
pub fn ratio_to_baseline(now: &[f64], then: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let (now, then) = (interval(now, alpha)?, interval(then, alpha)?);
    Some((now.0 - then.1, now.1 - then.0))
}

/// The interval of one of the two runs.
pub(super) fn interval(log_costs: &[f64], alpha: f64) -> Option<(f64, f64)> {
    epoch_interval(log_costs, alpha / 2.0)?.interval.bounds
}

/// For each epoch of a document, the median over its rounds of ln(cost) of a cell; `None` where it was not measured.
///
/// # Errors
/// Where the document's cell of that id is another one.
pub(super) fn log_costs(
    document: &Document,
    planned: &PlannedCell,
    metric: Metric,
) -> Result<Option<Vec<f64>>, String> {
    let found = document.cells.iter().enumerate().find(|(_, cell)| cell.id == planned.id);
    let Some((index, cell)) = found else { return Ok(None) };
    if let Some((what, there, here)) = cell.difference(planned) {
        return Err(format!(
            "its cell {} is another: {what} {there} there, {here} here; record it again, or rename the cell",
            cell.id
        ));
    }
    let log_costs = Batches::new(&document.samples, document.cells.len()).log_costs(metric, index);
    Ok((!log_costs.is_empty()).then_some(log_costs))
}

/// What makes a document's machine another than this one, in words; empty where nothing does.
pub fn differences(document: &Document, here: &Host) -> Vec<String> {
    let there = &document.host;
    let facts = [
        ("kernel", there.kernel.clone(), here.kernel.clone()),
        ("processor", there.cpu.clone(), here.cpu.clone()),
        ("architecture", there.arch.clone(), here.arch.clone()),
        ("cores", there.cores.to_string(), here.cores.to_string()),
    ];
    let differing = facts.into_iter().filter(|(_, there, here)| there != here);
    differing.map(|(what, there, here)| format!("{what} {there} there, {here} here")).collect()
}

#[cfg(test)]
mod tests {
    use ipcost_stats::Random;

    use super::*;

    #[test]
    fn the_quotient_holds_whenever_both_intervals_do() {
        let mut random = Random::new(5);
        let mut epochs =
            |center: f64| -> Vec<f64> { (0..40).map(|_| center + 0.05 * random.normal()).collect() };
        let (now, then) = (epochs(9.1), epochs(9.0));
        let (lo, hi) = ratio_to_baseline(&now, &then, 0.05).unwrap();
        assert!(lo < 0.1 && 0.1 < hi && hi - lo < 0.2, "{lo} to {hi}");
        let (other_lo, other_hi) = ratio_to_baseline(&then, &now, 0.05).unwrap();
        assert!(
            (other_lo + hi).abs() < 1e-12 && (other_hi + lo).abs() < 1e-12,
            "swapping the runs mirrors it"
        );
        let (wide_lo, wide_hi) = ratio_to_baseline(&now, &then, 0.001).unwrap();
        assert!(wide_lo <= lo && hi <= wide_hi);
        assert_eq!(ratio_to_baseline(&now[..5], &then, 0.05), None);
        assert_eq!(ratio_to_baseline(&now, &[], 0.05), None);
    }
}
