//! What conversations have moved, and what they had at earlier looks.

use std::collections::HashMap;
use std::time::Duration;

use ipcost_sys::observed::Program;

use super::Manner;
use super::sampled::SampledSums;
use super::ways::Way;

/// Where one direction has so much more of the segments than the other, it is a stream.
const ONE_WAY: f64 = 8.0;
/// A connection that carries no more messages than this is for one request: some of them may be who the client is.
pub(super) const FEW_MESSAGES: u64 = 8;

/// What went one way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub bytes: u64,
    pub segments: u64,
    /// How long senders waited for room at the receiver, over all connections, microseconds.
    pub held_up_us: u64,
    pub retransmitted: u64,
}

impl Amount {
    pub fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes - before.bytes,
            segments: self.segments - before.segments,
            held_up_us: self.held_up_us - before.held_up_us,
            retransmitted: self.retransmitted - before.retransmitted,
        }
    }

    pub fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.segments += other.segments;
        self.held_up_us += other.held_up_us;
        self.retransmitted += other.retransmitted;
    }
}

/// What a conversation has moved since the first look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub there: Amount,
    pub back: Amount,
    pub opened: u64,
}

impl Sum {
    pub fn since(self, before: Self) -> Self {
        let (there, back) = (self.there.since(before.there), self.back.since(before.back));
        Self { there, back, opened: self.opened - before.opened }
    }

    pub fn add(&mut self, other: Self) {
        self.there.add(other.there);
        self.back.add(other.back);
        self.opened += other.opened;
    }
}

/// What calls have moved at an end: bytes and calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct EndCounts {
    pub taken: (u64, u64),
    pub given: (u64, u64),
}

impl EndCounts {
    pub fn add(&mut self, other: Self) {
        let sum = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
        (self.taken, self.given) = (sum(self.taken, other.taken), sum(self.given, other.given));
    }
}

/// All that had been counted at an earlier look.
#[derive(Debug, Clone, Default)]
pub(super) struct Past {
    pub at: Duration,
    pub sums: HashMap<Way, Sum>,
    pub sampled: SampledSums,
    /// What each end had taken in and given out, where calls are counted.
    pub counted: HashMap<(Way, bool), EndCounts>,
    /// By process: its ticks, and what its calls have read and written.
    pub programs: HashMap<u32, (u64, Option<(u64, u64)>)>,
}

pub(super) fn counted_of(program: &Program) -> (u64, Option<(u64, u64)>) {
    (program.ticks, program.moved)
}

/// How a conversation over TCP goes, and how many requests it had.
pub(super) fn manner(sum: Sum) -> (Manner, Option<u64>) {
    let (sent, answered) = (sum.there.segments, sum.back.segments);
    let (less, more) = (sent.min(answered), sent.max(answered));
    if more == 0 && sum.opened == 0 {
        return (Manner::Idle, None);
    }
    if sum.opened > 1 && sent.min(answered) <= FEW_MESSAGES * sum.opened {
        return (Manner::Connections, Some(sum.opened));
    }
    match less == 0 || more as f64 >= ONE_WAY * less as f64 {
        true => (Manner::Stream, None),
        // A request is a segment or more, and so is its answer.
        false => (Manner::Requests, Some(less)),
    }
}
