//! The pace of a client: pauses between operations, or operations that are due at a rate.

use std::hint::{black_box, spin_loop};

use ipcost_model::pace::{Arrivals, CPU_DMA_LATENCY, Pace};
use ipcost_model::protocol::{LatencyKind, OPERATIONS, OPERATIONS_NS, PACER_NS, QUEUED, UNSENT};
use ipcost_model::{Cell, Pattern, choices};
use ipcost_sys::clock::now_ns;
use ipcost_sys::pausing::{self, IdleStateLimit};

use crate::error::PeerError;
use crate::meter::{LatencyTally, Meter};
use crate::roles::bytes;
use crate::work::{Order, Report};

/// How late the kernel may wake a client that pauses, unless the cell says otherwise, nanoseconds: as early as it can.
const LEAST_SLACK_NS: u64 = 1;
/// How long before an arrival a spinning sender wakes at first, and at least and at most, nanoseconds; it then follows how late it is woken.
const FIRST_MARGIN_NS: u64 = 200_000;
const LEAST_MARGIN_NS: u64 = 50_000;
const MOST_MARGIN_NS: u64 = 2_000_000;
/// A processor moves memory in lines of so many bytes.
const LINE_BYTES: usize = 64;

/// The pace of one worker.
#[derive(Debug, Clone)]
pub struct Pacing {
    pace: Pace,
    worker: u32,
    workers: u32,
    spins: bool,
    slack_ns: u64,
    polluted_bytes: usize,
    /// The longest that processors may take to leave an idle state, nanoseconds.
    awake_ns: Option<u64>,
    /// What the time from the begin of an operation to its end is.
    kind: LatencyKind,
}

impl Pacing {
    /// That of a cell's worker; `None` if its operations follow one another back to back.
    pub fn of(cell: &Cell, worker: u32) -> Option<Self> {
        let pace = cell.pace();
        pace.is_paced().then(|| Self {
            pace,
            worker,
            workers: cell.concurrency,
            spins: cell.options.pacer() == Some(choices::Pacer::Spin),
            slack_ns: cell.options.timer_slack().unwrap_or(LEAST_SLACK_NS),
            awake_ns: cell.options.cpu_dma_latency(),
            polluted_bytes: bytes(cell.options.pollute().unwrap_or(0)),
            kind: if cell.pattern == Pattern::Stream { LatencyKind::Send } else { LatencyKind::Latency },
        })
    }

    /// The meter of a batch whose order has a seed; sets the timer slack of this thread.
    pub fn meter(&self, order: Order) -> Result<Option<Paced>, PeerError> {
        let Some(seed) = order.seed else { return Ok(None) };
        pausing::set_timer_slack(self.slack_ns).map_err(|error| {
            PeerError::Program(format!(
                "a timer slack of {} ns: {error}; leave timer_slack out",
                self.slack_ns
            ))
        })?;
        let keep_awake = |most_ns| {
            pausing::keep_awake(most_ns).map_err(|error| {
                let what = format!("cannot keep processors awake: {error}");
                PeerError::Program(format!("{what}; run as root, or leave {CPU_DMA_LATENCY} out"))
            })
        };
        let awake = self.awake_ns.map(keep_awake).transpose()?;
        Ok(Some(Paced {
            moments: self.moments(order.ops, seed),
            is_open: self.pace.is_open(),
            next: 0,
            arrived: 0,
            start: 0,
            due: 0,
            begun: 0,
            ended: 0,
            spins: self.spins,
            margin_ns: FIRST_MARGIN_NS,
            pollution: vec![1; self.polluted_bytes],
            kind: self.kind,
            took: LatencyTally::of(if self.pace.is_open() { order.ops } else { 0 }),
            late: LatencyTally::of(0),
            queued: 0,
            unsent: 0,
            pacer_ns: 0,
            _awake: awake,
        }))
    }

    /// For each operation its pause, or when it is due after the begin of the batch; nanoseconds.
    fn moments(&self, ops: u64, seed: u64) -> Vec<u64> {
        let interval_ns = self.pace.interval_ns(self.workers);
        let evenly =
            |first_ns: f64| (0..ops).map(|index| (first_ns + index as f64 * interval_ns) as u64).collect();
        match self.pace {
            Pace::BackToBack => Vec::new(),
            Pace::Think { mean_ns, random } => {
                let mut draw = Draws::of(seed, self.worker);
                let mut pause = || if random { (draw.exponential() * interval_ns) as u64 } else { mean_ns };
                (0..ops).map(|_| pause()).collect()
            }
            // Each draws what arrives at all of them, and takes its own. So together they end when what is offered does, however many
            // they are.
            Pace::Rate { arrivals: Arrivals::Random, .. } => {
                let mut draw = Draws::of(seed, 0);
                let (gap_ns, mut due) = (interval_ns / f64::from(self.workers), 0.0);
                let mut next = || {
                    due += draw.exponential() * gap_ns;
                    due as u64
                };
                let mut turn = || {
                    (0..self.workers).fold(0, |own, worker| {
                        if worker == self.worker {
                            next()
                        } else {
                            next();
                            own
                        }
                    })
                };
                (0..ops).map(|_| turn()).collect()
            }
            Pace::Rate { arrivals: Arrivals::Constant, .. } => {
                evenly(interval_ns * f64::from(self.worker + 1) / f64::from(self.workers))
            }
            Pace::Rate { arrivals: Arrivals::InStep, .. } => evenly(interval_ns),
        }
    }
}

/// Random pauses and arrivals: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014), whose state
/// begins at the seed plus the worker's number, from 1, times a constant. Every peer draws the same.
#[derive(Debug, Clone)]
pub struct Draws(u64);

impl Draws {
    const INCREMENT: u64 = 0x9E37_79B9_7F4A_7C15;
    const PER_WORKER: u64 = 0xD1B5_4A32_D192_ED03;

    /// Those of a worker, counted from 0.
    pub fn of(seed: u64, worker: u32) -> Self {
        Self(seed.wrapping_add((u64::from(worker) + 1).wrapping_mul(Self::PER_WORKER)))
    }

    /// An exponential number of mean 1.
    pub fn exponential(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(Self::INCREMENT);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        let below_1 = (mixed >> 11) as f64 / (1_u64 << 53) as f64;
        -(1.0 - below_1).ln()
    }
}

/// Waits before every operation, and times each by itself. In an open loop the first tenth is not recorded: no queue has formed yet.
pub struct Paced {
    moments: Vec<u64>,
    is_open: bool,
    next: usize,
    /// How many were due so far.
    arrived: usize,
    start: u64,
    /// From when the operation counts.
    due: u64,
    begun: u64,
    ended: u64,
    spins: bool,
    margin_ns: u64,
    pollution: Vec<u8>,
    kind: LatencyKind,
    took: LatencyTally,
    late: LatencyTally,
    queued: u64,
    unsent: u64,
    pacer_ns: u64,
    _awake: Option<IdleStateLimit>,
}

impl Paced {
    /// Waits until a moment; returns the time then.
    fn wait(&mut self, due: u64) -> u64 {
        let mut now = now_ns();
        if now >= due {
            return now;
        }
        if !self.spins {
            pausing::sleep_until(due);
            return now_ns();
        }
        if due - now > self.margin_ns {
            let until = due - self.margin_ns;
            pausing::sleep_until(until);
            now = now_ns();
            let late = now.saturating_sub(until);
            self.margin_ns = match 2 * late {
                more if more > self.margin_ns => more.min(MOST_MARGIN_NS),
                _ => (self.margin_ns - self.margin_ns / 64).max(LEAST_MARGIN_NS),
            };
        }
        let began = now;
        while now < due {
            spin_loop();
            now = now_ns();
        }
        self.pacer_ns += now - began;
        now
    }

    /// Goes through memory as other work would.
    fn pollute(&mut self) {
        for byte in black_box(&mut self.pollution[..]).iter_mut().step_by(LINE_BYTES) {
            *byte = byte.wrapping_add(1);
        }
    }

    /// Adds what it has seen to a report.
    pub fn add_to(self, report: &mut Report) {
        let is_latency = self.kind == LatencyKind::Latency;
        let all = [
            (OPERATIONS, self.took.count() as f64, is_latency),
            (OPERATIONS_NS, self.took.sum() as f64, is_latency),
            (QUEUED, self.queued as f64, self.is_open),
            (UNSENT, self.unsent as f64, self.is_open),
            (PACER_NS, self.pacer_ns as f64, self.spins),
        ];
        report.measures.extend(
            all.into_iter()
                .filter(|(_, _, is_told)| *is_told)
                .map(|(name, value, _)| (name.to_owned(), value)),
        );
        report.latencies.insert(self.kind, self.took.into());
        report.latencies.insert(LatencyKind::Late, self.late.into());
    }
}

impl Meter for Paced {
    const STAMPS: bool = true;

    fn begin(&mut self) {
        let moment = self.moments.get(self.next).copied().unwrap_or(0);
        if self.next == 0 {
            self.start = now_ns();
            self.ended = self.start;
        }
        self.next += 1;
        if self.is_open {
            self.due = self.start + moment;
            self.begun = self.wait(self.due);
            let passed = self.begun - self.start;
            while self.moments.get(self.arrived).is_some_and(|due| *due <= passed) {
                self.arrived += 1;
            }
            self.queued += self.arrived.saturating_sub(self.next) as u64;
            let is_over = self.moments.last().is_some_and(|last| *last < passed);
            self.unsent += u64::from(is_over && self.next < self.moments.len());
            self.late.record(self.begun.saturating_sub(self.due));
            return;
        }
        if moment > 0 {
            let due = self.ended + moment;
            pausing::sleep_until(due);
            self.late.record(now_ns().saturating_sub(due));
        }
        self.pollute();
        self.begun = now_ns();
        self.due = self.begun;
    }

    #[inline]
    fn counts_from(&self) -> u64 {
        self.due
    }

    fn end(&mut self) {
        self.ended = now_ns();
        // Where no one waits for an answer, a send takes as long as its call does.
        let since = if self.kind == LatencyKind::Send { self.begun } else { self.due };
        self.took.record(self.ended - since);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pacing(pace: Pace, worker: u32, workers: u32) -> Pacing {
        Pacing {
            pace,
            worker,
            workers,
            spins: false,
            slack_ns: 1,
            polluted_bytes: 1_000,
            awake_ns: None,
            kind: LatencyKind::Latency,
        }
    }

    fn order(ops: u64) -> Order {
        Order { seed: Some(7), ..Order::timed(ops) }
    }

    #[test]
    fn arrivals_come_at_the_rate_and_are_the_same_for_the_same_seed() {
        let pace = Pace::Rate { per_s: 20_000, arrivals: Arrivals::Random };
        let one = pacing(pace, 0, 2).moments(20_000, 7);
        assert_eq!(one, pacing(pace, 0, 2).moments(20_000, 7));
        assert_ne!(one, pacing(pace, 1, 2).moments(20_000, 7));
        assert_ne!(one, pacing(pace, 0, 2).moments(20_000, 8));
        assert!(one.is_sorted());
        // Two workers share 20 000 a second: 10 000 each, 20 000 in two seconds.
        let seconds = *one.last().unwrap() as f64 / 1e9;
        assert!((seconds - 2.0).abs() < 0.1, "{seconds}");
        // Together they are a Poisson process: gaps above their mean are a share of 1/e.
        let mut all = [one, pacing(pace, 1, 2).moments(20_000, 7)].concat();
        all.sort_unstable();
        let long = all.windows(2).filter(|pair| pair[1] - pair[0] > 50_000).count() as f64 / 40_000.0;
        assert!((long - 0.368).abs() < 0.02, "{long}");
        let evenly =
            |arrivals, worker| pacing(Pace::Rate { per_s: 1_000, arrivals }, worker, 2).moments(3, 7);
        let of_both = |arrivals| [0, 1].map(|worker| evenly(arrivals, worker));
        let first = vec![1_000_000, 3_000_000, 5_000_000];
        assert_eq!(of_both(Arrivals::Constant), [first, vec![2_000_000, 4_000_000, 6_000_000]]);
        assert_eq!(of_both(Arrivals::InStep), [(); 2].map(|()| vec![2_000_000, 4_000_000, 6_000_000]));
    }

    #[test]
    fn many_connections_end_when_what_is_offered_does() {
        let pace = Pace::Rate { per_s: 1_000, arrivals: Arrivals::Random };
        let last = (0..100).map(|worker| *pacing(pace, worker, 100).moments(2, 7).last().unwrap()).max();
        // 200 operations at 1000 a second, and not the longest of a hundred sums of two gaps of 100 ms.
        assert!((150_000_000..250_000_000).contains(&last.unwrap()), "{last:?}");
    }

    #[test]
    fn draws_are_those_that_other_peers_make() {
        // From a program of a few lines in Python, as docs/contributing/control-protocol.md says them.
        let mut draws = Draws::of(42, 0);
        let found = [draws.exponential(), draws.exponential(), Draws::of(42, 1).exponential()];
        for (found, expected) in found.into_iter().zip(DRAWN) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
    const DRAWN: [f64; 3] = [1.855_918_069_458_317_5, 0.037_501_009_393_299_99, 0.457_634_597_305_377_1];

    #[test]
    fn pauses_are_no_part_of_operations() {
        let mut paced =
            pacing(Pace::Think { mean_ns: 2_000_000, random: false }, 0, 1).meter(order(5)).unwrap().unwrap();
        let began = now_ns();
        for _ in 0..5 {
            paced.begin();
            paced.end();
        }
        assert!(now_ns() - began >= 10_000_000, "it slept");
        let mut report = Report::default();
        paced.add_to(&mut report);
        assert_eq!(report.measures[OPERATIONS], 5.0);
        assert_eq!(
            (report.latencies[&LatencyKind::Latency].count(), report.latencies[&LatencyKind::Late].count()),
            (5, 5)
        );
        assert!(!report.measures.contains_key(QUEUED));
    }

    #[test]
    fn what_begins_late_counts_from_when_it_was_due() {
        let rate = Pace::Rate { per_s: 10_000, arrivals: Arrivals::Constant };
        let mut paced = pacing(rate, 0, 1).meter(order(10)).unwrap().unwrap();
        for operation in 0..10 {
            paced.begin();
            if operation == 0 {
                // All the others become due meanwhile.
                pausing::sleep_until(now_ns() + 5_000_000);
            }
            paced.end();
        }
        let mut report = Report::default();
        paced.add_to(&mut report);
        // The first tenth is not recorded; the second operation was due 0.1 ms after the first, which took 5 ms.
        assert_eq!(report.measures[OPERATIONS], 9.0);
        assert!(report.measures[OPERATIONS_NS] >= 9.0 * 4_000_000.0, "{report:?}");
        // Where this thread is kept from its processor at first, all nine are due behind the first one, too.
        let behind = (0..=8).sum::<u64>() as f64;
        assert!((behind..=behind + 9.0).contains(&report.measures[QUEUED]), "{report:?}");
        assert!((8.0..=9.0).contains(&report.measures[UNSENT]), "{report:?}");
    }

    #[test]
    fn without_a_seed_nothing_is_paced() {
        let order = Order { seed: None, ..order(5) };
        assert!(pacing(Pace::Think { mean_ns: 1, random: false }, 0, 1).meter(order).unwrap().is_none());
    }
}
