//! How many operations make a batch.

use std::time::Duration;

use ipcost_model::Plan;

use crate::bench::Bench;
use crate::error::EngineError;

/// Batches shorter than this say little about the rate.
const TELLING: Duration = Duration::from_millis(4);
/// What the next attempt aims at.
const AIM: Duration = Duration::from_millis(10);
/// The most by which one attempt may exceed the one before.
const GROWTH: f64 = 64.0;

/// The operations of one cell's batches; frozen for the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Of a timed batch.
    pub batch: u64,
    /// Of its lead-in.
    pub lead_in: u64,
}

/// Finds how long one operation takes, nanoseconds: batches grow until one lasts long enough to tell.
pub fn ns_per_op(bench: &mut dyn Bench, cell: usize, workers: u64) -> Result<f64, EngineError> {
    let mut ops = workers;
    loop {
        let wall_ns = bench.batch(cell, ops, false)?.wall_ns.max(1);
        let ns_per_op = wall_ns as f64 / ops as f64;
        if wall_ns >= TELLING.as_nanos() as u64 {
            return Ok(ns_per_op);
        }
        let wanted = AIM.as_nanos() as f64 / ns_per_op;
        ops = shared(wanted.min(ops as f64 * GROWTH).max(ops as f64 * 2.0), workers);
    }
}

impl Counts {
    /// The counts for a rate.
    pub fn of(plan: &Plan, ns_per_op: f64, workers: u64) -> Self {
        let lasting = |time: Duration| shared(time.as_nanos() as f64 / ns_per_op, workers);
        Self { batch: lasting(plan.batch), lead_in: lasting(plan.lead_in) }
    }
}

/// The nearest number of operations that every worker has an equal share of; at least one each.
fn shared(ops: f64, workers: u64) -> u64 {
    ((ops / workers as f64).round() as u64).max(1) * workers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_gets_the_same_share() {
        assert_eq!(shared(1000.0, 1), 1000);
        assert_eq!(shared(1000.0, 7), 1001);
        assert_eq!(shared(3.0, 100), 100);
        assert_eq!(shared(0.0, 1), 1);
    }
}
