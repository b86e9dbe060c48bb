//! Reading the clock per operation, or not.

use hdrhistogram::Histogram;
use ipcost_sys::clock::now_ns;

/// What is done around every operation.
pub trait Meter {
    /// Before it.
    fn begin(&mut self);
    /// After it.
    fn end(&mut self);
}

/// Timed: nothing at all, so that the clock's own cost never enters `wall`.
pub struct Unmetered;

impl Meter for Unmetered {
    #[inline]
    fn begin(&mut self) {}
    #[inline]
    fn end(&mut self) {}
}

/// The latency of every operation, in a histogram that is allocated before the loop.
pub struct Metered {
    histogram: Histogram<u32>,
    begun: u64,
}

/// The longest latency that is told apart, nanoseconds: a minute.
const LONGEST_NS: u64 = 60_000_000_000;

impl Metered {
    /// An empty one with three significant digits (HdrHistogram, Gil Tene).
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("these bounds are valid");
        Self { histogram, begun: 0 }
    }

    /// At most `most` latencies in nanoseconds, ascending: all of them, or as many evenly spaced ranks of
    /// them, the largest always among them.
    pub fn values(&self, most: usize) -> Vec<u64> {
        let count = self.histogram.len();
        let kept = count.min(most as u64);
        let mut values = Vec::with_capacity(kept as usize);
        let mut seen = 0;
        for step in self.histogram.iter_recorded() {
            seen += step.count_since_last_iteration();
            // The i-th value kept has rank ⌈(i + 1) · count / kept⌉.
            while (values.len() as u64) < kept && (values.len() as u64 + 1) * count <= seen * kept {
                values.push(step.value_iterated_to());
            }
        }
        values
    }
}

impl Meter for Metered {
    #[inline]
    fn begin(&mut self) {
        self.begun = now_ns();
    }

    #[inline]
    fn end(&mut self) {
        self.histogram.saturating_record((now_ns() - self.begun).max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Metered {
        let mut metered = Metered::new();
        values.into_iter().for_each(|value| metered.histogram.saturating_record(value));
        metered
    }

    #[test]
    fn few_values_come_back_one_by_one() {
        assert_eq!(of([5, 3, 5, 1]).values(10), [1, 3, 5, 5]);
        assert_eq!(of([]).values(10), [0u64; 0]);
    }

    #[test]
    fn many_values_come_back_as_ranks_with_the_largest() {
        let values = of(1..=1000).values(10);
        assert_eq!(values, [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]);
        assert_eq!(of(1..=7).values(3), [3, 5, 7]);
    }
}
