//! How many operations make a batch.

use std::time::Duration;

use ipcost_model::{Counts, Plan};

use crate::bench::Bench;
use crate::campaign::steady;
use crate::error::EngineError;

/// Batches shorter than this say little about the rate.
const TELLING: Duration = Duration::from_millis(4);
/// What the next attempt aims at.
const AIM: Duration = Duration::from_millis(10);
/// The most by which one attempt may exceed the one before.
const GROWTH: f64 = 64.0;

/// A batch this long is long enough, whatever of it is a fixed wait.
const LONG: Duration = Duration::from_millis(500);
/// By how much a batch grows that says nothing of the rate, as most of it is a fixed wait.
const PAST_A_WAIT: u64 = 8;

/// Finds how long one operation takes, nanoseconds: batches grow until one lasts long enough to tell.
///
/// A batch may have a fixed wait (a program that starts, an acknowledgement that is delayed). Where a larger one takes
/// hardly longer, batches grow until the wait no longer decides, and what one more operation takes is told.
pub fn ns_per_op(bench: &mut dyn Bench, cell: usize, workers: u64) -> Result<f64, EngineError> {
    let mut ops = workers;
    let mut before: Option<(u64, u64)> = None;
    let mut waited = false;
    loop {
        let wall_ns = steady(bench, cell, ops, false)?.0.wall_ns.max(1);
        let ns_per_op = wall_ns as f64 / ops as f64;
        if wall_ns < TELLING.as_nanos() as u64 {
            let wanted = AIM.as_nanos() as f64 / ns_per_op;
            before = Some((ops, wall_ns));
            ops = shared(wanted.min(ops as f64 * GROWTH).max(ops as f64 * 2.0), workers);
            continue;
        }
        let waits = before.is_none_or(|before| is_mostly_a_wait(before, (ops, wall_ns)));
        if !waits || wall_ns >= LONG.as_nanos() as u64 {
            let (fewer, took) = before.filter(|(_, took)| waited && *took < wall_ns).unwrap_or((0, 0));
            return Ok((wall_ns - took) as f64 / (ops - fewer) as f64);
        }
        waited |= before.is_some();
        before = Some((ops, wall_ns));
        ops *= PAST_A_WAIT;
    }
}

/// Whether the larger of two batches took less than half as much longer as it did more.
fn is_mostly_a_wait((fewer, took): (u64, u64), (ops, wall_ns): (u64, u64)) -> bool {
    let more = ops as f64 / fewer as f64;
    // Batches of nearly the same size tell nothing of a wait.
    more >= 2.0 && wall_ns as f64 / (took as f64) < more / 2.0
}

/// The counts for a rate; frozen for the whole run.
pub fn counts_of(plan: &Plan, ns_per_op: f64, workers: u64) -> Counts {
    let lasting = |time: Duration| shared(time.as_nanos() as f64 / ns_per_op, workers);
    Counts { batch: lasting(plan.batch), lead_in: lasting(plan.lead_in) }
}

/// The nearest number of operations that every worker has an equal share of; at least one each.
fn shared(ops: f64, workers: u64) -> u64 {
    ((ops / workers as f64).round() as u64).max(1) * workers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::BatchOutcome;

    /// A cell whose batches take a fixed time, and a time for every operation; what has been asked of it.
    struct Cell {
        wait_ns: u64,
        each_ns: u64,
        asked: Vec<u64>,
    }

    impl Bench for Cell {
        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }

        fn start_epoch(&mut self, _epoch: u32, _order: &[usize]) -> Result<(), EngineError> {
            Ok(())
        }

        fn verify(&mut self, _cell: usize, _ops: u64) -> Result<(), EngineError> {
            Ok(())
        }

        fn batch(&mut self, _cell: usize, ops: u64, _latency: bool) -> Result<BatchOutcome, EngineError> {
            self.asked.push(ops);
            Ok(BatchOutcome { wall_ns: self.wait_ns + ops * self.each_ns, ..BatchOutcome::default() })
        }

        fn end_epoch(&mut self) -> Result<(), EngineError> {
            Ok(())
        }

        fn effective(&self, _cell: usize) -> serde_json::Map<String, serde_json::Value> {
            serde_json::Map::new()
        }
    }

    fn found(wait_ns: u64, each_ns: u64) -> (f64, Vec<u64>) {
        let mut cell = Cell { wait_ns, each_ns, asked: Vec::new() };
        (ns_per_op(&mut cell, 0, 1).unwrap(), cell.asked)
    }

    #[test]
    fn a_fixed_wait_is_not_taken_for_the_cost() {
        for (wait_ns, each_ns) in
            [(0, 300), (0, 15_000), (30_000, 15_000), (0, 50_000_000), (0, 2_000_000_000)]
        {
            let (ns_per_op, asked) = found(wait_ns, each_ns);
            assert!((ns_per_op / each_ns as f64 - 1.0).abs() < 0.02, "{wait_ns} {each_ns}: {ns_per_op}");
            assert!(asked.len() <= 6, "{asked:?}");
        }
        // An acknowledgement that is delayed, programs that start.
        for (wait_ns, each_ns) in
            [(40_000_000, 400), (40_000_000, 100_000), (5_000_000, 300_000), (200_000_000, 1_000)]
        {
            let (ns_per_op, asked) = found(wait_ns, each_ns);
            assert!(
                (ns_per_op / each_ns as f64 - 1.0).abs() < 0.5,
                "{wait_ns} {each_ns}: {ns_per_op}, {asked:?}"
            );
        }
    }

    #[test]
    fn every_worker_gets_the_same_share() {
        assert_eq!(shared(1000.0, 1), 1000);
        assert_eq!(shared(1000.0, 7), 1001);
        assert_eq!(shared(3.0, 100), 100);
        assert_eq!(shared(0.0, 1), 1);
    }
}
