//! Reading the clock per operation, or not.

use std::hint::black_box;

use hdrhistogram::Histogram;
use ipcost_sys::clock::now_ns;

use crate::work::{Order, WorkKind};

/// Hooks around every operation.
pub trait Meter {
    /// Before it.
    fn begin(&mut self);
    /// After it.
    fn end(&mut self);
}

/// Timed: does nothing, so that the clock's own cost never enters `wall`.
pub struct Unmetered;

impl Meter for Unmetered {
    #[inline]
    fn begin(&mut self) {}
    #[inline]
    fn end(&mut self) {}
}

/// Reads the clock and adds up the times, as a program does that times each operation.
#[derive(Default)]
pub struct Clocked {
    begun: u64,
    total: u64,
}

impl Meter for Clocked {
    #[inline]
    fn begin(&mut self) {
        self.begun = now_ns();
    }

    #[inline]
    fn end(&mut self) {
        self.total = black_box(self.total + (now_ns() - self.begun));
    }
}

/// Latencies of operations, in a histogram allocated before the loop. The first tenth is not recorded: it includes the
/// cost of starting the loop.
pub struct Metered {
    histogram: Histogram<u32>,
    begun: u64,
    /// Unrecorded operations still to come.
    unrecorded: u64,
}

/// The longest latency resolved, nanoseconds: a minute.
const LONGEST_NS: u64 = 60_000_000_000;

impl Metered {
    /// An empty histogram for `ops` operations, with three significant digits (HdrHistogram, Gil Tene).
    pub fn of(ops: u64) -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("these bounds are valid");
        Self { histogram, begun: 0, unrecorded: ops / 10 }
    }

    /// One for a batch whose latencies are asked for.
    pub fn of_order(order: Order) -> Option<Self> {
        matches!(order.kind, WorkKind::Latency { .. }).then(|| Self::of(order.ops))
    }

    /// What the meter of such a batch tells; nothing of another.
    pub fn told(meter: Option<Self>, order: Order) -> Vec<u64> {
        match (order.kind, meter) {
            (WorkKind::Latency { most }, Some(meter)) => meter.values(most),
            _ => Vec::new(),
        }
    }

    /// At most `most` latencies in nanoseconds, ascending: all of them, or `most` evenly spaced ranks that include the
    /// largest.
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
        let latency_ns = now_ns() - self.begun;
        match self.unrecorded {
            0 => self.histogram.saturating_record(latency_ns.max(1)),
            _ => self.unrecorded -= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(values: impl IntoIterator<Item = u64>) -> Metered {
        let mut metered = Metered::of(0);
        values.into_iter().for_each(|value| metered.histogram.saturating_record(value));
        metered
    }

    #[test]
    fn few_values_come_back_one_by_one() {
        assert_eq!(recorded([5, 3, 5, 1]).values(10), [1, 3, 5, 5]);
        assert_eq!(recorded([]).values(10), [0u64; 0]);
    }

    #[test]
    fn many_values_come_back_as_ranks_with_the_largest() {
        let values = recorded(1..=1000).values(10);
        assert_eq!(values, [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]);
        assert_eq!(recorded(1..=7).values(3), [3, 5, 7]);
    }

    #[test]
    fn the_first_tenth_is_not_recorded_and_one_always_is() {
        for (ops, kept) in [(1, 1), (9, 9), (10, 9), (25, 23), (1000, 900)] {
            let mut metered = Metered::of(ops);
            for _ in 0..ops {
                metered.begin();
                metered.end();
            }
            assert_eq!(metered.values(10_000).len(), kept, "{ops}");
        }
    }
}
