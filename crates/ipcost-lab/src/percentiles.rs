//! Percentiles of latency, one epoch at a time: statements about latency are about epochs, never operations.

use ipcost_model::Percentile;
use ipcost_stats::Histogram;

/// The percentiles of sampled operations in one epoch of one cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Percentiles {
    /// The epoch, from 1.
    pub epoch: u32,
    /// How many operations were sampled.
    pub count: u64,
    /// Median, nanoseconds; 0 if nothing was sampled.
    pub p50: u64,
    /// 90th percentile, nanoseconds.
    pub p90: u64,
    /// 99th percentile, nanoseconds.
    pub p99: u64,
    /// 99.9th percentile, nanoseconds.
    pub p999: u64,
}

impl Percentiles {
    /// Percentiles of an epoch's sampled latencies in nanoseconds.
    pub fn of(epoch: u32, latency: &Histogram) -> Self {
        let at = |percentile: Percentile| latency.value_at(percentile.quantile());
        Self {
            epoch,
            count: latency.count(),
            p50: at(Percentile::P50),
            p90: at(Percentile::P90),
            p99: at(Percentile::P99),
            p999: at(Percentile::P999),
        }
    }

    /// One of them, nanoseconds; `None` if there were too few operations for it.
    pub fn at(&self, percentile: Percentile) -> Option<u64> {
        let value = percentile.among([self.p50, self.p90, self.p99, self.p999]);
        (self.count >= percentile.least_ops()).then_some(value)
    }
}

/// For each epoch of both, ln(percentile of one) − ln(percentile of the other); `None` if an epoch has too few operations for it.
pub fn log_ratios(a: &[Percentiles], b: &[Percentiles], percentile: Percentile) -> Option<Vec<f64>> {
    let log = |epoch: &Percentiles| Some((epoch.at(percentile)?.max(1) as f64).ln());
    let of_both = |own: &Percentiles| {
        let other = b.iter().find(|other| other.epoch == own.epoch)?;
        Some(log(own).zip(log(other)).map(|(own, other)| own - other))
    };
    a.iter().filter_map(of_both).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_paired_by_epoch_and_only_those_that_operations_give() {
        let of = |epoch, each: u64| {
            Percentiles::of(epoch, &Histogram::of((1..=100).map(|value| value * each).collect()))
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
