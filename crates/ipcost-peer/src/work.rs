//! One worker's part of a batch.

use ipcost_model::Usage;
use ipcost_sys::clock::now_ns;
use serde::{Deserialize, Serialize};

use crate::error::PeerError;

/// A worker's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// This worker's operations.
    pub ops: u64,
    /// How to do them.
    pub kind: Kind,
}

/// How operations are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// At full speed.
    Timed,
    /// With the clock read around each; at most `most` latencies are reported.
    Latency {
        /// The most values to report.
        most: usize,
    },
    /// With a checked payload.
    Verify,
}

/// One worker's results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// When its loop began, on the monotonic clock.
    pub began_ns: u64,
    /// When its loop ended.
    pub ended_ns: u64,
    /// When its last send returned; only for the client of `stream`.
    pub sent_at_ns: Option<u64>,
    /// What it used; only worker processes fill it in.
    pub usage: Usage,
    /// Latencies, if asked for.
    pub latency_ns: Vec<u64>,
    /// Connections that were retried.
    pub retries: u64,
}

/// Keeps the processor busy so long, as a server does that has something to compute.
#[inline]
pub fn compute(ns: u64) {
    if ns > 0 {
        let end = now_ns() + ns;
        while now_ns() < end {
            std::hint::spin_loop();
        }
    }
}

/// One worker of one cell in one role.
pub trait Work: Send {
    /// Runs its part of a batch.
    ///
    /// # Errors
    /// The failure, with its operation.
    fn run(&mut self, order: Order) -> Result<Report, PeerError>;
}
