//! What is known of a server over both sockets.

use ipcost_model::{
    Estimate, Lasts, LatencyContrast, MeanContrast, Pattern, Percentile, Placement, Ran, Verdict,
};
use ipcost_peer::adapters::app::BurstOutcome;
use serde::{Deserialize, Serialize};

/// The version of the record.
pub const APP_SCHEMA: &str = "ipcost-app/1";

/// How the login is called among what is compared.
pub(super) const LOGIN: &str = "login";

/// The answer of `app`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct App {
    pub schema: String,
    /// The kind of server, such as `postgres`.
    pub server: String,
    /// Its name in sentences.
    pub title: String,
    /// Its version, as it tells.
    pub version: String,
    /// How long a private server runs; `None` if it is the user's own.
    pub private: Option<Lasts>,
    /// What keeps other users of this machine from a private server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Others>,
    /// Its Unix socket, if that was measured.
    pub unix: Option<ServerSocket>,
    /// Its port, if that was measured.
    pub tcp: Option<ServerSocket>,
    /// Whether both sides do the same work: what was looked at.
    pub same_work: Vec<Checked>,
    /// What was asked, the least first.
    pub requests: Vec<MeasuredRequest>,
    /// The relative difference that matters.
    pub margin: f64,
    /// What waits for delayed acknowledgements, in sentences: mended, it may be all that a Unix socket would save.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<String>,
    /// What requests cost over the one socket that was measured; empty if both were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<SideCost>,
    /// The socket that was not measured, if one was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_side: Option<OtherSide>,
    /// Why both sides are not known to be of one server with nothing in front of it: what moving saves is then not known, either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<String>,
    /// What the Unix socket saves, in the order of the tables.
    pub savings: Vec<Saving>,
    /// From how much work on it stops mattering.
    pub curves: Vec<Curve>,
    /// How long requests take that are offered at a rate, from when each was due.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_rates: Vec<AtRate>,
    /// What becomes of clients that come at the same moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
}

/// What keeps other users of a machine from a private server's port; the mode of a directory keeps them from its Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Others {
    /// A secret that it was given, and that no one else has.
    Secret,
    /// A network namespace, in which no one else is.
    Network,
    /// Nothing: the user said that this does no harm.
    Admitted,
}

/// One of the server's two sockets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSocket {
    pub address: String,
    /// The name that it was given by, of which the address is the first that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The process that listens, if the system tells.
    pub process: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// Something that was compared between both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    pub what: String,
    /// Over the Unix socket.
    pub unix: String,
    pub tcp: String,
    /// Whether it is the same.
    pub same: bool,
    /// How the client makes it equal, where it differs and the client can.
    pub made_equal: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredRequest {
    pub request: String,
    pub sent: u64,
    /// Bytes of the reply.
    pub replied: u64,
    /// Whether it is the least that the server can be asked.
    pub least: bool,
}

/// What one kind of load costs over the one socket that was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SideCost {
    pub request: String,
    /// On a kept connection (`rr`) or on one of its own (`connect`).
    pub pattern: Pattern,
    pub concurrency: u32,
    /// Requests sent before the first reply is read.
    pub pipeline: u64,
    /// To which of the server's cores the client was pinned.
    pub placement: Placement,
    /// The cell, by id.
    pub cell: String,
    /// Elapsed time of a request, nanoseconds.
    pub wall_ns: Estimate,
    /// The median of the requests' own times, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// The 99th percentile of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// Processor time of client and server, nanoseconds a request; absent where the server's is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<Estimate>,
}

/// The socket of a server that was not measured, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherSide {
    /// `unix` or `tcp`.
    pub transport: String,
    /// What the server's configuration needs.
    pub setting: String,
    /// The page of the documentation.
    pub page: String,
}

/// What the Unix socket saves for one kind of load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Saving {
    pub request: String,
    /// On a kept connection (`rr`) or on one of its own (`connect`).
    pub pattern: Pattern,
    pub concurrency: u32,
    /// Requests sent before the first reply is read.
    pub pipeline: u64,
    /// Where client and server run; with a server of the user's own, to which of its cores the client was pinned.
    pub placement: Placement,
    /// Only the batches that ran so, as the processors of the threads showed, and only the rounds in which both sides did;
    /// `None` of all batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<Ran>,
    /// How many batches ran where; empty if client and server were pinned, or the system does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<RanShare>,
    /// The cell over the Unix socket, by id.
    pub unix: String,
    /// The cell over TCP, by id.
    pub tcp: String,
    /// A request over the Unix socket, nanoseconds.
    pub unix_ns: f64,
    /// A request over TCP, nanoseconds.
    pub tcp_ns: f64,
    /// The first over the second.
    pub ratio: Estimate,
    /// What is known of it.
    pub verdict: Verdict,
    /// The same of the mean costs, which rare slow epochs are part of; absent in rows of one observed placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<MeanContrast>,
    /// What is saved, nanoseconds a request.
    pub saved_ns: Option<Estimate>,
    /// Processor time of both sides that is saved, nanoseconds a request.
    pub saved_cpu_ns: Option<Estimate>,
    /// What of a request over TCP is a wait for a delayed acknowledgement, nanoseconds; absent where that is little.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_back_ns: Option<f64>,
}

impl Saving {
    /// Whether both cost the same: by the median and by the mean.
    pub(super) fn is_same(&self) -> bool {
        MeanContrast::confirms(self.mean.as_ref(), self.verdict)
    }

    /// How many of its batches ran as this row's, if it is a row of one placement.
    pub(super) fn share(&self) -> Option<&RanShare> {
        self.shares.iter().find(|share| Some(share.ran) == self.ran)
    }

    /// Whether it is the same load on the same cells.
    pub(super) fn is_same_load(&self, other: &Self) -> bool {
        self.unix == other.unix && self.tcp == other.tcp
    }

    /// Whether it mixes placements that other rows show apart.
    pub(super) fn is_split(&self, all: &[Self]) -> bool {
        self.ran.is_none() && all.iter().any(|row| row.ran.is_some() && row.is_same_load(self))
    }

    /// Whether it was measured where a curve is about.
    pub(super) fn is_where(&self, curve: &Curve) -> bool {
        (self.placement, self.ran) == (curve.placement, curve.ran)
    }

    /// Whether one client asks on a kept connection and waits for each reply.
    pub(super) fn is_plain(&self) -> bool {
        self.pattern == Pattern::Rr && self.concurrency == 1 && self.pipeline == 1
    }
}

/// A percentile of requests that are offered at a rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AtRate {
    pub request: String,
    /// So many a second.
    pub per_s: u64,
    /// Where client and server run.
    pub placement: Placement,
    /// Which percentile.
    pub percentile: Percentile,
    /// Over the Unix socket, from when each was due, nanoseconds; absent where that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_ns: Option<u64>,
    /// The first over the second, if both were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contrast: Option<LatencyContrast>,
}

/// How many batches ran on these cores, as shares of those whose cores are known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RanShare {
    pub ran: Ran,
    /// Of the batches over the Unix socket.
    pub unix: f64,
    /// Of those over TCP.
    pub tcp: f64,
}

/// What is saved as a share of a request, over how long the server works on it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Where client and server run.
    pub placement: Placement,
    /// Only the batches that ran so; `None` of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<Ran>,
    /// What the Unix socket saves of the least request, nanoseconds.
    pub saved_ns: f64,
    /// The least request over TCP, nanoseconds.
    pub least_ns: f64,
    /// Work of the server on top of the least request, nanoseconds, and the share that is then saved.
    pub points: Vec<(f64, f64)>,
    /// From this much work on the saving is below the margin, nanoseconds; `None` if it is below from the start.
    pub until_ns: Option<f64>,
}

impl Curve {
    /// The share that is saved at most of a request on which the server works so much longer than on the least.
    pub(super) fn share(&self, work_ns: f64) -> f64 {
        self.saved_ns / (self.least_ns + work_ns)
    }
}

/// What becomes of clients that connect at the same moment and do not wait for a place in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    pub clients: u32,
    /// The most that the system lets wait at any socket (`net.core.somaxconn`).
    pub somaxconn: Option<u32>,
    /// Over the Unix socket.
    pub unix: Option<BurstOutcome>,
    pub tcp: Option<BurstOutcome>,
    /// Rounds of clients that were left out, so that enough of the budget is left.
    #[serde(default, skip_serializing_if = "is_none")]
    pub left_out: u32,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}
