//! Percentiles of latency, one epoch at a time: statements about latency are about epochs, never operations.

use ipcost_stats::Histogram;

/// The percentiles of sampled operations in one epoch of one cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Percentiles {
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
    /// Percentiles of sampled latencies in nanoseconds.
    pub fn of(latency: &Histogram) -> Self {
        let at = |quantile| latency.value_at(quantile);
        Self { count: latency.count(), p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999) }
    }
}
