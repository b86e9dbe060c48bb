//! From sampled calls to what conversations exchange: bytes, messages with their sizes, round trips, and how they are read and written.

use std::collections::{HashMap, HashSet};

use derive_more::{Add, AddAssign, Sub};
use ipcost_sys::observed::{CallDirection, Held, MovedCall};

use super::WatchedTransport;
use super::conversation_state::{ConversationKey, ConversationState, Side, Totals, place};
use super::leads::Leads;
use super::proc_table::{ProcId, ProcTable, ProcTotals};
use super::sampling::Window;
use super::state::Conversations;

/// So many values of each kind are kept of a conversation: quartiles need no more.
const MOST_KEPT: usize = 500;
const AGAIN: i64 = -11;
/// `EADDRNOTAVAIL` and `EINPROGRESS`.
const NO_ADDRESS: i64 = -99;
const IN_PROGRESS: i64 = -115;
/// A poll that takes longer waited, nanoseconds.
const VAIN_NS: u64 = 1_000_000;
/// TLS reads the header of a record before the record (RFC 8446, 5.1), bytes.
const TLS_HEADER: u64 = 5;
/// A wait that ends with nothing after less than this was no wait, nanoseconds.
const NO_WAIT_NS: u64 = 100_000;
/// Calls whose bytes `/proc/PID/io` counts as read and written: those of sockets alone are not in it.
const COUNTED: [&str; 7] = ["read", "write", "readv", "writev", "sendfile", "splice", "tee"];

/// One end of a conversation, as far as it was sampled.
#[derive(Debug, Clone, Default)]
pub(super) struct SampledEnd {
    /// What it took in and gave out.
    pub taken: Moved,
    pub given: Moved,
    /// From the begin of a message to the end of the first piece of what came next, nanoseconds: of a client, its round trip.
    pub answers_ns: KeptSamples,
    /// From what came to the begin of the next message, nanoseconds: the time to think or to serve.
    pub pauses_ns: KeptSamples,
    /// Calls that asked for data and found none.
    pub empty: u64,
    /// Connections that it took, as far as windows tell.
    pub accepted: f64,
}

impl SampledEnd {
    /// Takes in what was sampled of another end that is the same from now on.
    pub fn absorb(&mut self, other: Self) {
        self.taken.absorb(other.taken);
        self.given.absorb(other.given);
        self.answers_ns.absorb(other.answers_ns);
        self.pauses_ns.absorb(other.pauses_ns);
        self.empty += other.empty;
        self.accepted += other.accepted;
    }
}

/// What went one way at an end.
#[derive(Debug, Clone, Default)]
pub(super) struct Moved {
    /// All of it, as far as windows tell.
    pub sum: MovedSum,
    /// Messages that were seen from their first call to their last: what goes one way until something goes the other way.
    pub messages: u64,
    /// The calls that those took.
    pub calls_of_messages: u64,
    /// Those in several calls.
    pub in_pieces: u64,
    /// Calls that asked for the header of a TLS record.
    pub headers: u64,
    pub sizes: KeptSamples,
    /// Bytes of each call.
    pub call_sizes: KeptSamples,
}

impl Moved {
    /// Where windows begin and end, messages are cut: those that are whole tell how many calls one takes.
    fn messages_per_call(&self) -> f64 {
        self.messages as f64 / self.calls_of_messages.max(1) as f64
    }

    fn absorb(&mut self, other: Self) {
        self.sum += other.sum;
        self.messages += other.messages;
        self.calls_of_messages += other.calls_of_messages;
        self.in_pieces += other.in_pieces;
        self.headers += other.headers;
        self.sizes.absorb(other.sizes);
        self.call_sizes.absorb(other.call_sizes);
    }
}

/// Values of which some are kept, all alike.
#[derive(Debug, Clone, Default)]
pub(super) struct KeptSamples {
    values: Vec<u64>,
    seen: u64,
}

impl KeptSamples {
    fn add(&mut self, value: u64) {
        self.seen += 1;
        if self.values.len() < MOST_KEPT {
            return self.values.push(value);
        }
        // Any of those so far gives way, by a step that spreads evenly.
        let place = (self.seen.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % self.seen;
        if let Some(kept) = self.values.get_mut(place as usize) {
            *kept = value;
        }
    }

    fn absorb(&mut self, other: Self) {
        let untold = other.seen - other.values.len() as u64;
        other.values.into_iter().for_each(|value| self.add(value));
        self.seen += untold;
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.seen
    }

    /// The value that this share of them does not exceed.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let mut sorted = self.values.clone();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        sorted.get((share * last as f64).round() as usize).copied()
    }
}

/// What goes on at a descriptor.
#[derive(Debug, Clone, Default)]
struct Turn {
    direction: Option<CallDirection>,
    bytes: u64,
    calls: u64,
    began_ns: u64,
    ended_ns: u64,
}

/// What a process does apart from moving data.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct SampledProcess {
    /// Bytes that it has read and written in calls that the kernel counts.
    pub read: f64,
    pub written: f64,
    pub calls: f64,
    /// Calls that found nothing: reads without data, and polls that did not wait.
    pub empty: f64,
    /// Connections that it asked for, and those that got no local port.
    pub connects: f64,
    pub no_port: f64,
    /// Polls after one that was begun without waiting that ended only with their time, and how long they took, nanoseconds.
    pub vain_polls: f64,
    pub vain_ns: f64,
    /// Datagrams, as far as that can be seen, that it sent, and those that found a full queue.
    pub sends: f64,
    pub refused_sends: f64,
}

/// A descriptor of a process.
type ProcessDescriptor = (ProcId, i32);

/// All that was sampled, apart from what belongs to conversations and processes.
#[derive(Debug, Clone, Default)]
pub(super) struct CallSamples {
    /// How long windows were open, nanoseconds.
    pub open_ns: u64,
    pub windows: u64,
    pub lost: u64,
    turns: HashMap<ProcessDescriptor, Turn>,
    /// Descriptors that came from a listener, and may again: the listener's descriptor.
    accepted: HashMap<ProcessDescriptor, i32>,
    /// What descriptors are, since the observation before.
    found: HashMap<ProcessDescriptor, Option<Held>>,
    /// Those that were closed since then: what they were before says nothing more of them.
    closed: HashSet<ProcessDescriptor>,
    /// Threads that have begun a connection and not waited for it yet.
    connecting: HashSet<u32>,
    /// Those descriptors that are closed still, as far as the calls that were seen without a gap tell.
    still_closed: HashSet<ProcessDescriptor>,
}

/// What went one way at an end: each call counts as often as its window tells of others that were not seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Add, AddAssign, Sub)]
pub(super) struct MovedSum {
    pub bytes: f64,
    /// Of the bytes, those in calls that the kernel counts by process.
    pub counted_bytes: f64,
    /// Calls that moved something.
    pub calls: f64,
}

/// What went one way, as estimated from a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SampledEstimate {
    pub bytes: f64,
    pub messages: f64,
    /// Calls that tell messages and not bytes.
    pub unsized_calls: u64,
}

/// What tells which conversations a call belongs to.
pub(super) struct Resolver<'a> {
    pub procs: &'a mut ProcTable,
    /// Where sockets and pipes lead now, and did at the observation before.
    pub leads: &'a Leads,
    pub before: &'a Leads,
    /// What a call was made on, where that is known of the call itself.
    pub target: &'a dyn Fn(&MovedCall) -> Option<Held>,
    /// What descriptors were that no observation showed.
    pub late: &'a HashMap<(u32, i32), Held>,
}

impl Resolver<'_> {
    fn held(
        &self,
        (process, descriptor): ProcessDescriptor,
        call: &MovedCall,
        is_closed: bool,
    ) -> Option<Held> {
        let (now, before) = self.procs.held_at(process, descriptor);
        let before = before.filter(|_| !is_closed);
        let late = || self.late.get(&(process.pid, descriptor)).cloned();
        (self.target)(call).or_else(|| before.or(now).cloned()).or_else(late)
    }

    fn ends(&self, process: ProcId, held: &Held, direction: CallDirection) -> Vec<(ConversationKey, bool)> {
        match self.before.of(process, held, direction) {
            none if none.is_empty() => self.leads.of(process, held, direction),
            found => found,
        }
    }
}

impl CallSamples {
    /// Takes in windows of calls between the observation before and this one.
    pub fn add(
        &mut self,
        windows: &[Window],
        resolver: &mut Resolver<'_>,
        conversations: &mut Conversations,
    ) {
        self.found.clear();
        self.closed.clear();
        for window in windows {
            self.add_window(window, resolver, conversations);
        }
        let Self { turns, accepted, .. } = self;
        let procs = &*resolver.procs;
        turns.retain(|(process, _), _| procs.is_live(*process));
        // What is open as something else is no listener's any more.
        accepted.retain(|(process, descriptor), _| {
            let now = procs.held_at(*process, *descriptor).0;
            procs.is_live(*process) && now.is_none_or(|held| resolver.leads.know(held))
        });
    }

    fn add_window(
        &mut self,
        window: &Window,
        resolver: &mut Resolver<'_>,
        conversations: &mut Conversations,
    ) {
        if !window.continues {
            self.turns.clear();
            self.still_closed.clear();
            self.connecting.clear();
        }
        self.open_ns += window.lasted_ns;
        self.windows += 1;
        self.lost += window.lost;
        // What was lost was as what was not: two records are a call.
        let records = 2.0 * window.calls.len().max(1) as f64;
        let weight = window.stands_for_ns as f64 / window.lasted_ns.max(1) as f64;
        let weight = weight * (records + window.lost as f64) / records;
        for call in &window.calls {
            let Some(process) = resolver.procs.named(call.process) else { continue };
            if let Some(known) = resolver.procs.get_mut(process) {
                count_process(&mut known.sampled, call, weight);
                count_connect(&mut known.sampled, &mut self.connecting, call, weight);
            }
            let at = (process, call.descriptor);
            match call.call {
                "close" if call.result == 0 => self.close(at),
                // It is a client's from here on.
                "connect" => drop(self.accepted.remove(&at)),
                _ => {}
            }
            if call.call.starts_with("accept") && call.result >= 0 {
                self.count_accepted(at, call, weight, resolver, conversations);
            }
            if !matches!(call.direction, CallDirection::In | CallDirection::Out) || call.descriptor < 0 {
                continue;
            }
            let is_closed = self.closed.contains(&at);
            let known = self.found.entry(at).or_insert_with(|| resolver.held(at, call, is_closed)).clone();
            let ends = match &known {
                Some(held) if resolver.before.know(held) || resolver.leads.know(held) => {
                    resolver.ends(process, held, call.direction)
                }
                // A connection shorter than the time between two observations: its listener tells what it is.
                _ => self.ends_of_accepted(at, call, resolver),
            };
            // What has no conversation is a socket that is closed by now.
            let may_be_datagram = match &ends[..] {
                [] => known.is_none(),
                ends => ends.iter().any(|(key, _)| key.medium == WatchedTransport::UnixDgram),
            };
            if may_be_datagram
                && call.direction == CallDirection::Out
                && let Some(known) = resolver.procs.get_mut(process)
            {
                known.sampled.sends += weight;
                known.sampled.refused_sends += if call.result == AGAIN { weight } else { 0.0 };
            }
            if !ends.is_empty() {
                self.count(at, call, weight, ends, conversations);
            }
        }
    }

    fn count_accepted(
        &mut self,
        at: ProcessDescriptor,
        call: &MovedCall,
        weight: f64,
        resolver: &Resolver<'_>,
        conversations: &mut Conversations,
    ) {
        let new = (at.0, i32::try_from(call.result).unwrap_or(-1));
        self.close(new);
        self.still_closed.remove(&new);
        self.accepted.insert(new, call.descriptor);
        let held = resolver.held(at, call, self.closed.contains(&at));
        for (key, is_client) in held.iter().flat_map(|held| resolver.ends(at.0, held, CallDirection::In)) {
            conversations.entry(key).or_default().sampled[place(is_client)].accepted += weight;
        }
    }

    /// What a descriptor was is over.
    fn close(&mut self, at: ProcessDescriptor) {
        self.turns.remove(&at);
        self.found.remove(&at);
        self.closed.insert(at);
        self.still_closed.insert(at);
    }

    fn ends_of_accepted(
        &self,
        at: ProcessDescriptor,
        call: &MovedCall,
        resolver: &Resolver<'_>,
    ) -> Vec<(ConversationKey, bool)> {
        let accepted = self.accepted.get(&at).filter(|_| !self.still_closed.contains(&at));
        let Some(listener) = accepted else { return Vec::new() };
        let (listener, call) = ((at.0, *listener), MovedCall { descriptor: *listener, ..*call });
        let held = resolver.held(listener, &call, self.closed.contains(&listener));
        held.map(|held| resolver.ends(at.0, &held, call.direction)).unwrap_or_default()
    }

    /// The listener that a descriptor of a process comes from, if one was seen to and nothing else was since.
    pub fn listener(&self, process: ProcId, descriptor: i32) -> Option<i32> {
        self.accepted.get(&(process, descriptor)).copied()
    }

    fn count(
        &mut self,
        at: ProcessDescriptor,
        call: &MovedCall,
        weight: f64,
        ends: Vec<(ConversationKey, bool)>,
        conversations: &mut Conversations,
    ) {
        let is_in = call.direction == CallDirection::In;
        let turn = self.turns.entry(at).or_default();
        let bytes = call.result.max(0).cast_unsigned();
        for (key, is_client) in ends {
            let end = &mut conversations.entry(key).or_default().sampled[place(is_client)];
            if is_in && call.result == AGAIN {
                end.empty += 1;
            }
            if bytes == 0 {
                continue;
            }
            let moved = if is_in { &mut end.taken } else { &mut end.given };
            moved.sum.bytes += bytes as f64 * weight;
            moved.sum.calls += weight;
            moved.call_sizes.add(bytes);
            moved.headers += u64::from(is_in && call.asked == TLS_HEADER && bytes == TLS_HEADER);
            if COUNTED.contains(&call.call) {
                moved.sum.counted_bytes += bytes as f64 * weight;
            }
            if turn.direction == Some(call.direction) {
                continue;
            }
            // The other way from here on: what went before is a message.
            if let Some(before) = turn.direction {
                let done = if before == CallDirection::In { &mut end.taken } else { &mut end.given };
                done.messages += 1;
                done.calls_of_messages += turn.calls;
                done.sizes.add(turn.bytes);
                done.in_pieces += u64::from(turn.calls > 1);
                match is_in {
                    true => end.answers_ns.add(call.ended_ns.saturating_sub(turn.began_ns)),
                    false => end.pauses_ns.add(call.began_ns.saturating_sub(turn.ended_ns)),
                }
            }
        }
        if bytes == 0 {
            return;
        }
        if turn.direction != Some(call.direction) {
            *turn = Turn { direction: Some(call.direction), began_ns: call.began_ns, ..Turn::default() };
        }
        turn.bytes += bytes;
        turn.calls += 1;
        turn.ended_ns = call.ended_ns;
    }
}

/// What went from the client to the server, or back, since earlier counts; `moved` tells how much a process has read and written since
/// then by its own counters, and as far as it was sampled. `None` of one of which nothing was sampled.
pub(super) fn estimate(
    key: &ConversationKey,
    state: &ConversationState,
    there: bool,
    since: &Totals,
    moved: &dyn Fn(&Side) -> Option<ProcTotals>,
) -> SampledEstimate {
    let now = state.totals();
    let given = now.sampled[place(there)].1 - since.sampled[place(there)].1;
    let taken = now.sampled[place(!there)].0 - since.sampled[place(!there)].0;
    // Calls that the process's own counters hold need no guess at what went on outside the windows.
    let by_counters = |end: MovedSum, is_client: bool, is_read: bool| {
        let process = moved(key.side(is_client))?;
        let (read, written) = process.moved?;
        let (sampled, counted) =
            if is_read { (process.sampled.0, read) } else { (process.sampled.1, written) };
        let is_all = end.bytes > 0.0 && end.bytes - end.counted_bytes < 0.5;
        (is_all && sampled > 0.0).then_some(counted as f64 / sampled)
    };
    let of = |end: MovedSum, is_client: bool, is_read: bool| {
        let scale = by_counters(end, is_client, is_read);
        let per_call = messages_per_call(state, there, !is_read);
        let times = scale.unwrap_or(1.0);
        let messages = end.calls * per_call * times;
        (SampledEstimate { bytes: end.bytes * times, messages, unsized_calls: 0 }, scale.is_some())
    };
    let ((out, by_giver), (into, by_taker)) = (of(given, there, false), of(taken, !there, true));
    let is_less = out.bytes < into.bytes;
    match key.is_pipe() {
        // Of several that hold a pipe, those talk that move something.
        true if is_less => out,
        true => into,
        false if by_giver => out,
        false if by_taker || is_less => into,
        false => out,
    }
}

/// How many messages a call moves, from the client to the server or back: less than one where a message takes several calls; by the end
/// that gives, or the one that takes.
pub(super) fn messages_per_call(state: &ConversationState, there: bool, by_giver: bool) -> f64 {
    let end = &state.sampled[place(there == by_giver)];
    if by_giver { end.given.messages_per_call() } else { end.taken.messages_per_call() }
}

/// A connection that is begun without waiting is there at once on one machine: a poll for it that ends with its time waited for the wrong thing.
fn count_connect(process: &mut SampledProcess, connecting: &mut HashSet<u32>, call: &MovedCall, weight: f64) {
    let took_ns = call.ended_ns.saturating_sub(call.began_ns);
    if call.call == "connect" {
        process.connects += weight;
        process.no_port += if call.result == NO_ADDRESS { weight } else { 0.0 };
        if call.result == IN_PROGRESS {
            connecting.insert(call.thread);
        }
    } else if connecting.remove(&call.thread) && call.direction == CallDirection::Wait {
        let is_vain = call.result == 0 && took_ns >= VAIN_NS;
        process.vain_polls += if is_vain { weight } else { 0.0 };
        process.vain_ns += if is_vain { took_ns as f64 * weight } else { 0.0 };
    }
}

fn count_process(process: &mut SampledProcess, call: &MovedCall, weight: f64) {
    process.calls += weight;
    let moved = call.result.max(0) as f64 * weight;
    let is_counted = COUNTED.contains(&call.call);
    match call.direction {
        CallDirection::In if is_counted => process.read += moved,
        CallDirection::Out if is_counted => process.written += moved,
        CallDirection::Wait if call.result == 0 && call.ended_ns - call.began_ns < NO_WAIT_NS => {
            process.empty += weight
        }
        _ => {}
    }
    if call.direction == CallDirection::In && call.result == AGAIN {
        process.empty += weight;
    }
}
