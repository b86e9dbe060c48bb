//! Percentiles of latency, one epoch at a time: statements about latency are about epochs, never operations.

use std::collections::BTreeMap;

use ipcost_model::Percentile;
pub use ipcost_model::Percentiles;

/// For each epoch, ln(percentile); `None` if an epoch has too few operations for it.
pub fn log_values(epochs: &[Percentiles], percentile: Percentile) -> Option<Vec<f64>> {
    epochs.iter().map(|epoch| log(epoch, percentile)).collect()
}

fn log(epoch: &Percentiles, percentile: Percentile) -> Option<f64> {
    Some((epoch.at(percentile)?.max(1) as f64).ln())
}

/// For each epoch of both, ln(percentile of one) − ln(percentile of the other); `None` if an epoch has too few operations for it.
pub fn log_ratios(a: &[Percentiles], b: &[Percentiles], percentile: Percentile) -> Option<Vec<f64>> {
    let others: BTreeMap<u32, &Percentiles> = b.iter().map(|other| (other.epoch, other)).collect();
    let of_both = |own: &Percentiles| {
        let other = others.get(&own.epoch)?;
        Some(log(own, percentile).zip(log(other, percentile)).map(|(own, other)| own - other))
    };
    a.iter().filter_map(of_both).collect()
}

#[cfg(test)]
mod tests {
    use ipcost_stats::Histogram;

    use super::*;

    #[test]
    fn percentiles_are_paired_by_epoch_and_only_those_that_operations_give() {
        let of = |epoch, each: u64| {
            Percentiles::of(epoch, &Histogram::of((1..=1_000).map(|value| value * each).collect()))
        };
        let (a, b) = ([of(1, 2), of(2, 2), of(4, 4)], [of(2, 1), of(4, 1), of(5, 1)]);
        let ratios = |percentile| {
            log_ratios(&a, &b, percentile)
                .map(|logs| logs.iter().map(|log| log.exp().round()).collect::<Vec<_>>())
        };
        assert_eq!(ratios(Percentile::P50), Some(vec![2.0, 4.0]));
        assert_eq!(ratios(Percentile::P99), Some(vec![2.0, 4.0]));
        assert_eq!(ratios(Percentile::P999), None);
    }
}
