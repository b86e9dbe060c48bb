//! System calls by what they are for: those of one purpose count as one kind, whatever they are called.

use std::collections::BTreeMap;

use ipcost_lab::strace::{CallMode, Direction, POLLS, SLEEPS};
use ipcost_lab::system_calls::CallRecord;
use ipcost_model::protocol::PeerRole;
use ipcost_model::{Object, Pattern, Point};

use crate::explain::ExplainedCell;

/// Messages up to this arrive at once.
const AT_ONCE_BYTES: u64 = 16_384;

/// What messages go over, by transport: sockets, unless it is something else.
fn channel(transport: &str) -> Object {
    match transport {
        "pipe" => Object::Pipe,
        "fifo" => Object::File,
        "eventfd" => Object::Event,
        _ => Object::Socket,
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallKind {
    Receive,
    Send,
    /// Read from something that is not the channel.
    ReadOf(Object),
    /// Write to something that is not the channel.
    WriteTo(Object),
    Poll,
    /// Sleep for a time.
    Sleep,
    /// Something else, by name.
    Other(String),
}

impl CallKind {
    /// That of a call in a cell of this transport.
    pub(crate) fn of(call: &CallRecord, transport: &str) -> Self {
        let aside = call.on.filter(|on| *on != channel(transport));
        // What never moves anything, such as a look at a socket for signals, is not the exchange over any transport.
        if call.count > 0.0 && call.failures.values().sum::<f64>() >= call.count {
            return Self::Other(call.name.clone());
        }
        // Standard error is a pipe to the program that started the peer.
        let to_standard_error = call.in_manner(CallMode::StandardError) > 0.5 * call.count;
        match (Direction::of(&call.name), aside) {
            (Some(Direction::Write), _) if to_standard_error => Self::WriteTo(Object::Pipe),
            (Some(Direction::Read), None) => Self::Receive,
            (Some(Direction::Write), None) => Self::Send,
            (Some(Direction::Read), Some(on)) => Self::ReadOf(on),
            (Some(Direction::Write), Some(on)) => Self::WriteTo(on),
            (None, _) if POLLS.contains(&call.name.as_str()) => {
                if call.in_manner(CallMode::TimeOnly) > 0.5 * call.count { Self::Sleep } else { Self::Poll }
            }
            (None, _) if SLEEPS.contains(&call.name.as_str()) => Self::Sleep,
            (None, _) => Self::Other(call.name.clone()),
        }
    }

    /// Whether it is known how many of these a side makes while nothing traces it.
    pub(crate) fn is_certain(&self, cell: &ExplainedCell, sum: Option<&CallSum>) -> bool {
        let paced = match self {
            Self::Receive | Self::Poll => true,
            // A look at what is not there yet.
            Self::Other(name) => Direction::of(name) == Some(Direction::Read),
            _ => false,
        };
        !(paced && depends_on_pace(cell)) || sum.is_none_or(|sum| sum.only_traced == 0.0)
    }

    /// Whether such a call may wait for the other side: what it waits for is then that side's time.
    pub(crate) fn waits_for_other(&self) -> bool {
        match self {
            Self::Receive | Self::Send | Self::Poll => true,
            // A look that found nothing to move did not wait at all.
            Self::Other(name) => {
                Direction::of(name).is_some()
                    || ["accept", "accept4", "connect", "futex", "restart_syscall"].contains(&name.as_str())
            }
            _ => false,
        }
    }
}

/// Whether how often a side receives and polls depends on how fast it is: tracing, which slows it, changes that.
///
/// A receiver of a stream, or of a message that does not arrive at once, takes what lies ready, and asks again for the rest.
pub(crate) fn depends_on_pace(point: &Point) -> bool {
    point.pattern == Pattern::Stream || point.concurrency > 1 || point.size.max(point.reply) > AT_ONCE_BYTES
}

/// All calls of a kind, for one operation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CallSum {
    /// The most frequent name.
    pub name: String,
    /// What that one is made on.
    pub on: Option<Object>,
    pub count: f64,
    /// Of those that succeeded.
    pub succeeded: f64,
    pub moved: Option<f64>,
    pub asked: f64,
    /// Beyond what tracing takes, nanoseconds; `None` where that is not known.
    pub took_ns: Option<f64>,
    /// The same of the median of the calls by that name, nanoseconds.
    pub median_ns: Option<f64>,
    pub timeouts: f64,
    pub sleep_ns: f64,
    pub manners: BTreeMap<CallMode, f64>,
    /// How many of them were counted in no other batch than traced ones.
    pub only_traced: f64,
    most: f64,
}

impl CallSum {
    /// The sum of one.
    pub(crate) fn of(call: &CallRecord) -> Self {
        let mut sum = Self::default();
        sum.add(call);
        sum
    }

    fn add(&mut self, call: &CallRecord) {
        if call.count > self.most {
            (self.name, self.on, self.most) = (call.name.clone(), call.on, call.count);
            self.median_ns = call.median_ns;
        }
        self.count += call.count;
        self.only_traced += if call.traced.is_none() { call.count } else { 0.0 };
        self.succeeded += call.count - call.failures.values().sum::<f64>();
        self.asked += call.asked.unwrap_or(0.0);
        self.timeouts += call.timeouts;
        self.sleep_ns += call.sleep_ns;
        let sum = |a: Option<f64>, b: Option<f64>| [a, b].into_iter().flatten().reduce(|a, b| a + b);
        self.moved = sum(self.moved, call.moved);
        self.took_ns = sum(self.took_ns, call.took_ns);
        for (manner, rate) in &call.manners {
            *self.manners.entry(*manner).or_default() += rate;
        }
    }

    /// The bytes that one moves, where they move bytes.
    pub(crate) fn bytes_each(&self) -> Option<f64> {
        self.moved.filter(|_| self.succeeded > 0.0).map(|moved| moved / self.succeeded)
    }

    pub(crate) fn in_manner(&self, manner: CallMode) -> f64 {
        self.manners.get(&manner).copied().unwrap_or(0.0)
    }
}

/// What the threads of a side call that move messages, by kind; `None` where that could not be traced.
pub(crate) fn by_kind(cell: &ExplainedCell, side: PeerRole) -> Option<BTreeMap<CallKind, CallSum>> {
    kinds(cell, side, false)
}

/// Whether it is known how many calls a side makes while nothing traces it.
pub(crate) fn calls_are_certain(cell: &ExplainedCell, side: PeerRole) -> bool {
    let all = [by_kind(cell, side).unwrap_or_default(), aside_by_kind(cell, side)];
    all.iter().flatten().all(|(kind, sum)| kind.is_certain(cell, Some(sum)))
}

/// The same of the threads that move none.
pub(crate) fn aside_by_kind(cell: &ExplainedCell, side: PeerRole) -> BTreeMap<CallKind, CallSum> {
    kinds(cell, side, true).unwrap_or_default()
}

fn kinds(cell: &ExplainedCell, side: PeerRole, aside: bool) -> Option<BTreeMap<CallKind, CallSum>> {
    let calls = cell.sides.of(side).system_calls.as_ref()?;
    let mut kinds: BTreeMap<CallKind, CallSum> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.aside == aside) {
        kinds.entry(CallKind::of(call, &cell.transport)).or_default().add(call);
    }
    Some(kinds)
}
