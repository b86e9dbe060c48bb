//! Reading the clock per operation, or not.

use std::collections::BTreeMap;
use std::hint::black_box;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use ipcost_model::protocol::{Done, LatencyKind, MAX_LATENCY_VALUES};
use ipcost_sys::clock::now_ns;
use serde::{Deserialize, Serialize};

use crate::error::PeerError;
use crate::pace::{Paced, Pacing};
use crate::work::{Order, Report, WorkKind};

/// Hooks around every operation.
pub trait Meter {
    /// Whether messages carry when they were sent.
    const STAMPS: bool = false;

    fn begin(&mut self);
    fn end(&mut self);

    /// From when the operation counts, on the monotonic clock, nanoseconds, where messages carry it.
    #[inline]
    fn counts_from(&self) -> u64 {
        0
    }
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

/// Times in a histogram that is allocated before the loop, with their count and their sum. The first tenth of a number of
/// operations is left out: it includes the cost of starting the loop.
pub struct LatencyTally {
    histogram: Histogram<u32>,
    sum: u64,
    /// Operations still to come that are left out.
    left_out: u64,
}

/// The longest time resolved, nanoseconds: a minute.
const LONGEST_NS: u64 = 60_000_000_000;

impl LatencyTally {
    /// An empty one, with three significant digits (HdrHistogram, Gil Tene), that leaves out the first tenth of `ops` operations.
    pub fn of(ops: u64) -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("these bounds are valid");
        Self { histogram, sum: 0, left_out: ops / 10 }
    }

    /// Records a time, nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        match self.left_out {
            0 => {
                self.histogram.saturating_record(ns.max(1));
                self.sum += ns;
            }
            _ => self.left_out -= 1,
        }
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The sum of those recorded, nanoseconds.
    pub fn sum(&self) -> u64 {
        self.sum
    }
}

/// How often which times were seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution(BTreeMap<u64, u64>);

impl From<LatencyTally> for Distribution {
    fn from(tally: LatencyTally) -> Self {
        let recorded = tally.histogram.iter_recorded();
        Self(recorded.map(|step| (step.value_iterated_to(), step.count_since_last_iteration())).collect())
    }
}

impl Distribution {
    /// How many times there are.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// Adds those of another worker.
    pub fn add(&mut self, other: Self) {
        for (ns, count) in other.0 {
            *self.0.entry(ns).or_default() += count;
        }
    }

    /// Puts it into a message: each time by itself, ascending, or as a histogram where there are more than a message may have.
    pub fn write_to(&self, kind: LatencyKind, done: &mut Done) {
        if self.count() <= MAX_LATENCY_VALUES as u64 {
            let each = self.0.iter().flat_map(|(ns, count)| std::iter::repeat_n(*ns, *count as usize));
            done.values_mut(kind).extend(each);
            return;
        }
        let mut histogram =
            Histogram::<u64>::new_with_bounds(1, LONGEST_NS, 3).expect("these bounds are valid");
        self.0.iter().for_each(|(ns, count)| histogram.saturating_record_n(*ns, *count));
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).expect("memory takes what is written");
        done.histograms.insert(kind.name().to_owned(), STANDARD.encode(bytes));
    }
}

/// The time of every operation.
pub struct Metered {
    tally: LatencyTally,
    begun: u64,
}

impl Meter for Metered {
    #[inline]
    fn begin(&mut self) {
        self.begun = now_ns();
    }

    #[inline]
    fn end(&mut self) {
        self.tally.record(now_ns() - self.begun);
    }
}

/// The meter of a batch's operations.
pub enum Metering {
    Plain(Unmetered),
    /// Their time, added up.
    Clocked(Clocked),
    /// The time of each.
    Latency(Box<Metered>),
    /// Their pace, and the time of each.
    Paced(Box<Paced>),
}

impl Metering {
    /// The one that an order asks for, of a worker that has a pace or none; `is_clocked` if its cell reads the clock around every
    /// operation (option `clock`).
    pub fn of(order: Order, pacing: Option<&Pacing>, is_clocked: bool) -> Result<Self, PeerError> {
        if let Some(paced) = pacing.map(|pacing| pacing.meter(order)).transpose()?.flatten() {
            return Ok(Self::Paced(Box::new(paced)));
        }
        Ok(match order.kind {
            WorkKind::Latency => {
                Self::Latency(Box::new(Metered { tally: LatencyTally::of(order.ops), begun: 0 }))
            }
            WorkKind::Timed if is_clocked => Self::Clocked(Clocked::default()),
            WorkKind::Timed | WorkKind::Verify => Self::Plain(Unmetered),
        })
    }

    /// Adds what it has seen to a report.
    pub fn tell(self, report: &mut Report) {
        match self {
            Self::Plain(_) | Self::Clocked(_) => {}
            Self::Latency(meter) => {
                report.latencies.insert(LatencyKind::Latency, meter.tally.into());
            }
            Self::Paced(paced) => paced.add_to(report),
        }
    }
}

/// Runs a generic function with whatever meter it is.
#[macro_export]
macro_rules! metered {
    ($metering:expr, |$meter:ident| $run:expr) => {
        match $metering {
            $crate::Metering::Plain($meter) => $run,
            $crate::Metering::Clocked($meter) => $run,
            $crate::Metering::Latency(boxed) => {
                let $meter = &mut **boxed;
                $run
            }
            $crate::Metering::Paced(boxed) => {
                let $meter = &mut **boxed;
                $run
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done_with(values: impl IntoIterator<Item = u64>) -> Done {
        let mut tally = LatencyTally::of(0);
        values.into_iter().for_each(|value| tally.record(value));
        let mut done = Done::default();
        Distribution::from(tally).write_to(LatencyKind::Latency, &mut done);
        done
    }

    #[test]
    fn few_times_come_back_one_by_one_and_many_as_a_histogram() {
        assert_eq!(done_with([5, 3, 5, 1]).latency_ns, [1, 3, 5, 5]);
        assert_eq!(done_with([]), Done::default());
        let many = done_with((1..=MAX_LATENCY_VALUES as u64 + 1).map(|ns| ns % 1_000 + 1));
        assert!(many.latency_ns.is_empty());
        let bytes = STANDARD.decode(&many.histograms["latency_ns"]).unwrap();
        let read: Histogram<u64> =
            hdrhistogram::serialization::Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
        assert_eq!((read.len(), read.max(), read.value_at_quantile(0.5)), (10_001, 1_000, 500));
    }

    #[test]
    fn workers_times_are_added_up() {
        let of = |values: &[u64]| {
            let mut tally = LatencyTally::of(0);
            values.iter().for_each(|value| tally.record(*value));
            Distribution::from(tally)
        };
        let mut all = of(&[3, 1]);
        all.add(of(&[2, 3]));
        assert_eq!(all, of(&[1, 2, 3, 3]));
    }

    #[test]
    fn the_first_tenth_is_not_recorded_and_one_always_is() {
        for (ops, kept) in [(1, 1), (9, 9), (10, 9), (25, 23), (1000, 900)] {
            let mut metered = Metered { tally: LatencyTally::of(ops), begun: 0 };
            for _ in 0..ops {
                metered.begin();
                metered.end();
            }
            assert_eq!(metered.tally.count(), kept, "{ops}");
        }
    }
}
