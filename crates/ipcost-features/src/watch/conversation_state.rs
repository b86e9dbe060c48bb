//! What is known of a conversation: one entry each, with all that was seen of it since the first observation.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use derive_more::{Add, AddAssign, Sub};
use ipcost_model::HeldBack;

use super::history::History;
use super::proc_table::ProcId;
use super::sampled::{MovedSum, SampledEnd};
use super::{ConversationPattern, WatchedTransport};

/// Where one direction has so much more of the segments than the other, it is a stream.
const ONE_WAY: f64 = 8.0;
/// A connection that carries no more messages than this is for one request: some of them may be who the client is.
pub(super) const FEW_MESSAGES: u64 = 8;

/// One side of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Side {
    Proc(ProcId),
    /// One that ended before any observation met it, by its name; empty if no one knows it.
    Ended(Arc<str>),
    /// All that hold this end of a pipe, since they are many.
    Holders,
}

impl Side {
    pub fn of(process: Option<ProcId>) -> Self {
        process.map_or_else(|| Self::Ended(Arc::from("")), Self::Proc)
    }

    pub fn process(&self) -> Option<ProcId> {
        if let Self::Proc(id) = self { Some(*id) } else { None }
    }
}

/// Which conversation it is: between whom, over what and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ConversationKey {
    /// The network namespace of the server, this program's own as 0: addresses are of one.
    pub network: u64,
    pub client: Side,
    pub server: Side,
    pub medium: WatchedTransport,
    pub address: Arc<str>,
}

impl ConversationKey {
    pub fn side(&self, is_client: bool) -> &Side {
        if is_client { &self.client } else { &self.server }
    }

    pub fn is_pipe(&self) -> bool {
        matches!(self.medium, WatchedTransport::Pipe | WatchedTransport::Fifo)
    }
}

/// Who writes to a pipe and who reads from it, in words, and how many they are.
pub(super) type Holders = [(String, u32); 2];

/// What is open of a conversation at the last observation.
#[derive(Debug, Clone, Default)]
pub(super) struct Open {
    pub connections: u32,
    /// Bytes that wait at the server and at the client.
    pub waiting: (u64, u64),
    /// Of each connection, at the client.
    pub rtts: Vec<u32>,
    pub congestion: Option<String>,
    /// The network namespace and the two addresses of each server's end, its own first.
    pub ends: Vec<(u64, SocketAddr, SocketAddr)>,
    /// What a pipe holds, bytes.
    pub pipe_bytes: Option<u64>,
    /// Of a pipe that many hold.
    pub holders: Option<Holders>,
}

/// All that is known of a conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct ConversationState {
    pub open: Option<Open>,
    /// What TCP has counted.
    pub sum: FlowSum,
    /// What calls have moved, by end, the client's first, where they are counted.
    pub counted: [EndCounts; 2],
    /// What was sampled, in the same order.
    pub sampled: [SampledEnd; 2],
    /// How often it was asked where its processes wait, and how often each side waited there to write.
    pub wait_samples: u32,
    pub blocked: [u32; 2],
    /// What each end held back, the client's first, while the conversation was watched for that so long.
    pub held_back: [HeldBack; 2],
    pub watched_for: Duration,
    history: History<Totals>,
}

/// All counts of a conversation at a moment, since the first observation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Totals {
    pub sum: FlowSum,
    pub counted: [EndCounts; 2],
    /// What each end has taken in and given out.
    pub sampled: [(MovedSum, MovedSum); 2],
    pub accepted: f64,
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        for index in 0..2 {
            self.counted[index] += other.counted[index];
            self.sampled[index].0 += other.sampled[index].0;
            self.sampled[index].1 += other.sampled[index].1;
        }
        self.accepted += other.accepted;
    }
}

/// The place of an end in pairs.
pub(super) fn place(is_client: bool) -> usize {
    usize::from(!is_client)
}

impl ConversationState {
    pub fn totals(&self) -> Totals {
        let sums = |end: &SampledEnd| (end.taken.sum, end.given.sum);
        Totals {
            sum: self.sum,
            counted: self.counted,
            sampled: [sums(&self.sampled[0]), sums(&self.sampled[1])],
            accepted: self.sampled[place(false)].accepted,
        }
    }

    /// What had been counted at an earlier observation.
    pub fn totals_at(&self, observation: u32) -> Totals {
        self.history.at(observation).unwrap_or_default()
    }

    /// Keeps what was counted until this observation.
    pub fn remember(&mut self, observation: u32) {
        self.history.remember(observation, self.totals());
    }

    /// All that is known to have moved, bytes.
    pub fn moved(&self) -> u64 {
        let counted = self.counted.iter().map(|end| end.taken.bytes.max(end.given.bytes)).sum::<u64>();
        let sampled =
            self.sampled.iter().map(|end| end.taken.sum.bytes.max(end.given.sum.bytes)).sum::<f64>();
        self.sum.there.bytes + self.sum.back.bytes + counted.max(sampled as u64)
    }

    /// Takes in what is known of another conversation that is the same from now on.
    pub fn absorb(&mut self, other: Self) {
        let at: BTreeMap<u32, Totals> = {
            let numbers = self.history.numbers().chain(other.history.numbers());
            numbers.map(|number| (number, sum_of(self.totals_at(number), &other.totals_at(number)))).collect()
        };
        self.history = at.into_iter().collect();
        self.sum += other.sum;
        for (index, counted) in other.counted.into_iter().enumerate() {
            self.counted[index] += counted;
            self.blocked[index] += other.blocked[index];
            add_held_back(&mut self.held_back[index], &other.held_back[index]);
        }
        self.wait_samples += other.wait_samples;
        self.watched_for += other.watched_for;
        for (mine, its) in self.sampled.iter_mut().zip(other.sampled) {
            mine.absorb(its);
        }
        self.open = self.open.take().or(other.open);
    }
}

fn sum_of(mut a: Totals, b: &Totals) -> Totals {
    a.add(b);
    a
}

pub(super) fn add_held_back(known: &mut HeldBack, held: &HeldBack) {
    known.waits += held.waits;
    known.ns += held.ns;
    known.nodelay = held.nodelay.or(known.nodelay);
}

/// What went one way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Add, AddAssign, Sub)]
pub(super) struct FlowAmount {
    pub bytes: u64,
    pub segments: u64,
    /// How long senders waited for room at the receiver, over all connections, microseconds.
    pub held_up_us: u64,
    pub retransmitted: u64,
}

/// What TCP has counted of a conversation since the first observation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Add, AddAssign, Sub)]
pub(super) struct FlowSum {
    pub there: FlowAmount,
    pub back: FlowAmount,
    pub opened: u64,
}

/// What calls have moved one way at an end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Add, AddAssign)]
pub(super) struct CallSum {
    pub bytes: u64,
    pub calls: u64,
    /// Those of the calls that tell messages and not bytes.
    pub unsized_calls: u64,
}

impl CallSum {
    /// What came since; nothing if it was counted from 0 again.
    pub fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(before.bytes),
            calls: self.calls.saturating_sub(before.calls),
            unsized_calls: self.unsized_calls.saturating_sub(before.unsized_calls),
        }
    }
}

/// What calls have moved at an end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Add, AddAssign)]
pub(super) struct EndCounts {
    pub taken: CallSum,
    pub given: CallSum,
}

/// How a conversation over TCP goes, and how many requests it had.
pub(super) fn manner(sum: FlowSum) -> (ConversationPattern, Option<u64>) {
    let (sent, answered) = (sum.there.segments, sum.back.segments);
    let (less, more) = (sent.min(answered), sent.max(answered));
    if more == 0 && sum.opened == 0 {
        return (ConversationPattern::Idle, None);
    }
    if sum.opened > 1 && sent.min(answered) <= FEW_MESSAGES * sum.opened {
        return (ConversationPattern::Connections, Some(sum.opened));
    }
    match less == 0 || more as f64 >= ONE_WAY * less as f64 {
        true => (ConversationPattern::Stream, None),
        // A request is a segment or more, and so is its answer.
        false => (ConversationPattern::Requests, Some(less)),
    }
}
