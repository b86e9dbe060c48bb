//! One worker's part of a batch.

use std::collections::BTreeMap;
use std::hint::black_box;

use ipcost_model::protocol::LatencyKind;
use ipcost_model::{Cell, Usage};
use ipcost_sys::clock::now_ns;
use serde::{Deserialize, Serialize};

use crate::error::PeerError;
use crate::meter::Distribution;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub ops: u64,
    /// How to do them.
    pub kind: WorkKind,
    /// Whether the client of `stream` pushes what its transport holds back at the end.
    pub push: bool,
    /// Whether the pace of the cell is kept, and what its random pauses or arrivals are drawn from.
    pub seed: Option<u64>,
}

impl Order {
    /// So many operations at full speed.
    pub fn timed(ops: u64) -> Self {
        Self { ops, kind: WorkKind::Timed, push: false, seed: None }
    }
}

/// How operations are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkKind {
    Timed,
    /// With the clock read around each.
    Latency,
    /// With a checked payload.
    Verify,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// When its loop began, on the monotonic clock.
    pub began_ns: u64,
    /// When its loop ended.
    pub ended_ns: u64,
    /// When its last send returned; only for the client of `stream`.
    pub sent_at_ns: Option<u64>,
    /// What it used; only worker processes fill it in.
    pub usage: Usage,
    /// What is told of each operation, if asked for.
    pub latencies: BTreeMap<LatencyKind, Distribution>,
    /// Connections that were retried.
    pub retries: u64,
    /// Other measures by name; those of all workers are added up.
    pub measures: BTreeMap<String, f64>,
}

/// What a server computes before it answers (option `server_work`): so many steps as take the time asked for. A loop that looked at
/// the clock would hide in its wait what the kernel does meanwhile, such as acknowledgements.
#[derive(Debug, Clone, Copy)]
pub struct Computation {
    steps: u64,
}

impl Computation {
    /// Steps whose time is taken, and how often: the least is undisturbed.
    const PROBE: u64 = 20_000;
    const TRIALS: u32 = 9;

    /// That of a cell; takes a moment if it is any.
    pub fn of(cell: &Cell) -> Self {
        let Some(ns) = cell.options.server_work() else { return Self { steps: 0 } };
        let probe = Self { steps: Self::PROBE };
        let took = (0..Self::TRIALS).map(|_| {
            let began_ns = now_ns();
            probe.compute();
            now_ns() - began_ns
        });
        Self::lasting(ns, took.min().unwrap_or(1))
    }

    /// One that lasts so long where the probe takes `probe_ns`.
    fn lasting(ns: u64, probe_ns: u64) -> Self {
        Self { steps: (u128::from(ns) * u128::from(Self::PROBE) / u128::from(probe_ns.max(1))) as u64 }
    }

    #[inline]
    pub fn compute(self) {
        let mut value = 1_u64;
        for _ in 0..self.steps {
            // Each step needs the one before.
            value = black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
}

/// One worker of one cell in one role.
pub trait Work: Send {
    /// Runs its part of a batch.
    fn run(&mut self, order: Order) -> Result<Report, PeerError>;
}

#[cfg(test)]
mod tests {
    use ipcost_model::{OptionValue, Pattern};

    use super::*;

    #[test]
    fn a_computation_has_as_many_steps_as_fill_the_time_and_none_nothing() {
        let mut cell = Cell::new(Pattern::Rr, "unix", 64);
        assert_eq!(Computation::of(&cell).steps, 0);
        cell.options.set("server_work", OptionValue::Int(1_000_000)).unwrap();
        let work = Computation::of(&cell);
        assert!(work.steps > 0);
        work.compute();
        // How long this machine takes is no matter of a test.
        assert_eq!(Computation::lasting(1_000_000, 20_000).steps, 50 * Computation::PROBE);
        assert_eq!(Computation::lasting(1_000_000, 0).steps, 1_000_000 * Computation::PROBE);
    }
}
