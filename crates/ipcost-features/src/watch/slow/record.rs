//! What was seen of slow requests.

use ipcost_model::{LaneState, named};
use serde::{Deserialize, Serialize};

use super::super::{Party, WatchedTransport};

/// Requests that took long, by conversation, and where the time went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowRecord {
    /// Longer than that is slow, milliseconds; absent where it is the slowest hundredth of each conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_ms: Option<f64>,
    /// The conversations with requests, those with most slow ones first.
    pub conversations: Vec<SlowConversation>,
    /// Slow requests in full, the slowest of each conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<SlowRequestRecord>,
    /// The processor time that following took within the kernel, as a share of one processor; absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_cpu: Option<f64>,
    /// The same for each request, microseconds: what it adds at most to one that waits for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added_us: Option<f64>,
    /// The share of slow requests that the causes are of: others were only counted.
    pub seen: f64,
    /// What hypervisors took from all processors meanwhile, milliseconds; absent if the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_ms: Option<f64>,
    /// What processes waited for, where requests could not be followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<WaitShares>,
}

impl SlowRecord {
    /// Whether its parts fit together, wherever it is from.
    pub fn is_consistent(&self) -> bool {
        let is_counted = |it: &SlowConversation| it.slow <= it.requests;
        let is_whole = |it: &SlowRequestRecord| {
            let spans = it.lanes.iter().flat_map(|lane| &lane.spans);
            it.took_us > 0.0
                && (it.conversation as usize) < self.conversations.len()
                && spans.into_iter().all(|span| 0.0 <= span.from_us && span.from_us <= span.to_us)
        };
        self.conversations.iter().all(is_counted) && self.requests.iter().all(is_whole)
    }
}

/// The requests of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowConversation {
    pub client: Party,
    pub server: Party,
    pub medium: WatchedTransport,
    pub address: String,
    /// From this time on a request is slow, microseconds; absent while too few were seen for a slowest hundredth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_us: Option<f64>,
    /// Requests that did not overlap with others on their connection, since there is a limit.
    pub requests: u64,
    pub slow: u64,
    /// Requests that overlapped, of which no time is known.
    pub overlapping: u64,
    /// Times of requests, microseconds; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_us: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    pub slowest_us: f64,
    /// The longest that something sent was not read, microseconds.
    pub oldest_unread_us: f64,
    /// What slow requests waited for, most of them first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<SlowCause>,
}

/// Slow requests that waited for the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlowCause {
    pub cause: WaitCause,
    pub requests: u64,
    /// The time that this took of them all, milliseconds.
    pub total_ms: f64,
    /// What it was, with the times of the request in the middle.
    pub found: String,
}

named! {
    /// What a slow request waited for.
    WaitCause, "cause of a slow request" {
        /// The reader was busy with something else.
        Queued = "request-queued",
        /// A thread could run, and another one did.
        Ready = "request-ready",
        /// A thread waited in a call.
        Blocked = "request-blocked",
        /// A control group had used up its processor time.
        Throttled = "request-throttled",
        /// A signal had stopped the process, or who traces it.
        Stopped = "request-stopped",
        /// The server computed longer than usual.
        Computing = "request-computing",
        /// Nothing that is seen explains most of it.
        Unexplained = "not-explained",
    }
}

/// A slow request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlowRequestRecord {
    /// Its conversation among those of the record, from 0 on.
    pub conversation: u32,
    /// When the client had its reply, seconds since the watch began.
    pub at_s: f64,
    pub took_us: f64,
    /// When the server had read of it, and when it began to reply, microseconds after it was sent.
    pub read_us: f64,
    pub replied_us: f64,
    pub cause: WaitCause,
    pub found: String,
    /// What the threads did meanwhile: the client's, then the server's.
    pub lanes: Vec<RequestLane>,
}

/// A thread during a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestLane {
    pub name: String,
    pub pid: u32,
    pub thread: u32,
    pub spans: Vec<RequestSpan>,
}

/// What a thread did for a while.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestSpan {
    /// Microseconds after the request was sent.
    pub from_us: f64,
    pub to_us: f64,
    pub state: LaneState,
    /// The call that it was in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Who ran there meanwhile, or woke it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<u32>,
}

/// What a process waited for, as shares of the time that it was looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitShares {
    pub pid: u32,
    pub name: String,
    /// Threads that could run and found no processor, as a share of one thread's time.
    pub ready: f64,
    /// Page faults that had to read.
    pub faults: u64,
    /// How often its control group was throttled; absent without a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<u64>,
}
