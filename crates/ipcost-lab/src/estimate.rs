//! From epochs to an estimate: the one way in which what was measured becomes a figure with its interval.

use ipcost_model::Estimate;
use ipcost_stats::epoch_interval;

/// The median of what each epoch says, with its interval at 1 − `alpha`; `None` of no epochs.
///
/// # Panics
/// Where `alpha` is not between 0 and 1.
pub fn estimate(epochs: &[f64], alpha: f64) -> Option<Estimate> {
    let interval = epoch_interval(epochs, alpha)?.interval;
    let (lo, hi) = interval.bounds.unzip();
    Some(Estimate { median: interval.median, lo, hi })
}

/// The same of logarithms, as they were before the logarithm was taken.
///
/// # Panics
/// Where `alpha` is not between 0 and 1.
pub fn estimate_of_logs(epochs: &[f64], alpha: f64) -> Option<Estimate> {
    let Estimate { median, lo, hi } = estimate(epochs, alpha)?;
    Some(Estimate { median: median.exp(), lo: lo.map(f64::exp), hi: hi.map(f64::exp) })
}
