//! Percentiles of latency, an epoch at a time: what is claimed of latency is claimed of epochs, never of operations.

use ipcost_stats::Histogram;

/// The percentiles of the operations that were sampled in one epoch of one cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Percentiles {
    /// How many operations were sampled.
    pub count: u64,
    /// Median, nanoseconds; 0 where nothing was sampled.
    pub p50: u64,
    /// 90th percentile, nanoseconds.
    pub p90: u64,
    /// 99th percentile, nanoseconds.
    pub p99: u64,
}

impl Percentiles {
    /// Those of sampled latencies in nanoseconds.
    pub fn of(latency: &Histogram) -> Self {
        let at = |quantile| latency.value_at(quantile);
        Self { count: latency.count(), p50: at(0.5), p90: at(0.9), p99: at(0.99) }
    }
}
