//! One worker's part of a batch.

use ipcost_model::Usage;
use serde::{Deserialize, Serialize};

use crate::error::PeerError;

/// What a worker is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Operations of this worker.
    pub ops: u64,
    /// How to do them.
    pub kind: Kind,
}

/// How operations are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// As fast as they go.
    Timed,
    /// With the clock read around each; at most so many latencies are reported.
    Latency {
        /// The most values to report.
        most: usize,
    },
    /// With a payload that is checked.
    Verify,
}

/// What it took one worker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// When its loop began, on the monotonic clock.
    pub began_ns: u64,
    /// When its loop ended.
    pub ended_ns: u64,
    /// When its last send returned; client of `stream` only.
    pub sent_at_ns: Option<u64>,
    /// What it used; filled in by workers that are processes.
    pub usage: Usage,
    /// Latencies, as far as asked for.
    pub latency_ns: Vec<u64>,
    /// Connections that had to be tried again.
    pub retries: u64,
}

/// One worker of one cell in one role.
pub trait Work: Send {
    /// Does its part of a batch.
    ///
    /// # Errors
    /// What failed, in which operation.
    fn run(&mut self, order: Order) -> Result<Report, PeerError>;
}
