//! What a campaign needs to measure: real processes, or a script in tests.

use std::collections::BTreeMap;
use std::time::Duration;

use ipcost_model::protocol::LatencyKind;
use ipcost_model::{BatchOperations, BufferLayout, Usage, WatchedBatches, Whereabouts};
use ipcost_stats::Histogram;

use crate::error::EngineError;

/// Runs batches of cells. Cells are indices into the plan's.
pub trait Bench {
    /// Time since the run began.
    fn elapsed(&self) -> Duration;

    /// Starts fresh processes for the cells, in this order, and prepares them.
    fn start_epoch(&mut self, epoch: u32, order: &[usize]) -> Result<(), EngineError>;

    /// Exchanges a checked payload.
    fn verify(&mut self, cell: usize, ops: u64) -> Result<(), EngineError>;

    fn batch(&mut self, cell: usize, ops: u64, kind: BatchKind) -> Result<BatchOutcome, EngineError>;

    /// Whether a cell's client follows [`BatchKind::Pushed`].
    fn pushes(&self, _cell: usize) -> bool {
        false
    }

    /// Runs a batch that is not timed, and watches what the cell's connections wait for meanwhile; `None` if nothing of that can be
    /// seen.
    fn watch(&mut self, _cell: usize, _ops: u64) -> Result<Option<WatchedBatches>, EngineError> {
        Ok(None)
    }

    /// Ends the processes of the epoch.
    fn end_epoch(&mut self) -> Result<(), EngineError>;

    /// Effective option values in a cell, by role and name, as far as the peers reported them.
    fn effective(&self, cell: usize) -> serde_json::Map<String, serde_json::Value>;
}

/// How a batch is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchKind {
    Plain,
    /// With the clock read around every operation.
    Latency,
    /// As it is, but what Nagle's algorithm holds back at the end is pushed, by peers that can.
    Pushed,
    /// At the pace of the cell, with random pauses and arrivals from this seed, and with every operation timed by itself.
    Paced(u64),
}

impl BatchKind {
    /// Of a cell's batches, with the clock or without; a stream, which alone pushes, has no latency. `seed` is for those that keep a
    /// pace.
    pub(crate) fn of(counts: BatchOperations, latency: bool, seed: u64) -> Self {
        match counts {
            BatchOperations { paced: true, .. } => Self::Paced(seed),
            BatchOperations { push: true, .. } => Self::Pushed,
            _ if latency => Self::Latency,
            _ => Self::Plain,
        }
    }
}

/// A delayed acknowledgement waits this long, nanoseconds (`TCP_DELACK_MIN` of Linux: 40 ms).
pub const DELAYED_ACK_NS: u64 = 40_000_000;
/// The same, less the error of clocks and timers.
pub const DELAYED_NS: u64 = DELAYED_ACK_NS / 10 * 9;

/// The result of a batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BatchOutcome {
    /// Elapsed time at the client, nanoseconds.
    pub wall_ns: u64,
    /// Elapsed time until the last send returned, nanoseconds.
    pub sent_ns: Option<u64>,
    /// The client's resource usage.
    pub client: Usage,
    /// The server's resource usage.
    pub server: Usage,
    /// What is told of each operation, such as its latency; nanoseconds.
    pub latencies: BTreeMap<LatencyKind, Histogram>,
    /// Connections retried because the listener's queue was full.
    pub retries: u64,
    /// Other measures, by name.
    pub measures: BTreeMap<String, f64>,
    /// Increases of the transport's trouble counters, by name.
    pub troubles: BTreeMap<String, u64>,
    /// Time in softirqs of the cores that both processes are pinned to, nanoseconds, in steps of 10 ms; if the system tells.
    pub softirq_ns: Option<u64>,
    /// Where the processes ran, if the scheduler places them and the system tells.
    pub whereabouts: Option<Whereabouts>,
    /// Where the buffers began, if the transport has any.
    pub layout: Option<BufferLayout>,
    /// Whether the machine was suspended, or this program stopped, meanwhile.
    pub suspended: bool,
}

impl BatchOutcome {
    /// Whether neither side ran for so long that it may have waited for a delayed acknowledgement.
    pub fn stood_still(&self) -> bool {
        let ran_ns = self.client.cpu_ns().saturating_add(self.server.cpu_ns());
        self.wall_ns.saturating_sub(ran_ns) >= DELAYED_NS
    }

    /// Whether its end waited for a delayed acknowledgement: nothing else is in flight so long after the last send.
    pub fn waited(&self) -> bool {
        self.sent_ns.is_some_and(|sent_ns| self.wall_ns.saturating_sub(sent_ns) >= DELAYED_NS)
    }
}
