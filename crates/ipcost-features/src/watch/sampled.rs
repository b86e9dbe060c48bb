//! From sampled calls to what conversations exchange: bytes, messages with their sizes, round trips, and how they are read and written.

use std::collections::HashMap;

use ipcost_sys::observed::{CallDirection, Held, MovedCall};
use ipcost_sys::running::held_at;

use super::Medium;
use super::sampling::Window;
use super::ways::Way;

/// So many values of each kind are kept of a conversation: quartiles need no more.
const MOST_KEPT: usize = 2_000;
/// `EAGAIN`.
const AGAIN: i64 = -11;
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
    pub answers_ns: Kept,
    /// From what came to the begin of the next message, nanoseconds: the time to think or to serve.
    pub pauses_ns: Kept,
    /// Calls that asked for data and found none.
    pub empty: u64,
    /// Connections that it took, as far as windows tell.
    pub accepted: f64,
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
    pub sizes: Kept,
    /// Bytes of each call.
    pub call_sizes: Kept,
}

impl Moved {
    /// Where windows begin and end, messages are cut: those that are whole tell how many calls one takes.
    fn messages_per_call(&self) -> f64 {
        self.messages as f64 / self.calls_of_messages.max(1) as f64
    }
}

/// Values of which some are kept, all alike.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    values: Vec<u64>,
    seen: u64,
}

impl Kept {
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
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SampledProcess {
    /// Bytes that it has read and written in calls that the kernel counts.
    pub read: f64,
    pub written: f64,
    pub calls: f64,
    /// Calls that found nothing: reads without data, and polls that did not wait.
    pub empty: f64,
    pub connects: f64,
}

/// All that was sampled.
#[derive(Debug, Clone, Default)]
pub(super) struct Samples {
    /// How long windows were open, nanoseconds.
    pub open_ns: u64,
    pub windows: u64,
    pub lost: u64,
    pub ends: HashMap<(Way, bool), SampledEnd>,
    pub processes: HashMap<u32, SampledProcess>,
    turns: HashMap<(u32, i32), Turn>,
    /// Descriptors that came from a listener, by process: the listener's descriptor.
    accepted: HashMap<(u32, i32), i32>,
    /// What descriptors are, found since the last look.
    found: HashMap<(u32, i32), Option<Held>>,
}

/// What went one way at an end: each call counts as often as its window tells of others that were not seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MovedSum {
    pub bytes: f64,
    /// Of the bytes, those in calls that the kernel counts by process.
    pub counted_bytes: f64,
    /// Calls that moved something.
    pub calls: f64,
}

impl MovedSum {
    fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes - before.bytes,
            counted_bytes: self.counted_bytes - before.counted_bytes,
            calls: self.calls - before.calls,
        }
    }
}

/// All counts at a moment.
#[derive(Debug, Clone, Default)]
pub(super) struct SampledSums {
    /// What each end had taken in and given out.
    ends: HashMap<(Way, bool), (MovedSum, MovedSum)>,
    accepted: HashMap<Way, f64>,
    /// What processes had read and written.
    processes: HashMap<u32, (f64, f64)>,
}

/// What went one way, as estimated from a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    pub bytes: f64,
    pub messages: f64,
}

/// Where what a process holds leads: to which conversations, and whether to their client's end.
type Lead<'a> = &'a dyn Fn(u32, &Held) -> Vec<(Way, bool)>;

impl Samples {
    /// Forgets what descriptors are, since a look shows it again.
    pub fn looked(&mut self) {
        self.found.clear();
    }

    /// Takes in the calls of a window. `held` says what a descriptor of a process was at the last look, and `leads` where it leads.
    pub fn add(&mut self, window: &Window, held: &dyn Fn(&MovedCall) -> Option<Held>, leads: Lead<'_>) {
        if !window.continues {
            self.turns.clear();
        }
        self.open_ns += window.lasted_ns;
        self.windows += 1;
        self.lost += window.lost;
        // What was lost was as what was not: two records are a call.
        let records = 2.0 * window.calls.len().max(1) as f64;
        let weight = window.stands_for_ns as f64 / window.lasted_ns.max(1) as f64;
        let weight = weight * (records + window.lost as f64) / records;
        for call in &window.calls {
            self.count_process(call, weight);
            if call.call.starts_with("accept") && call.result >= 0 {
                self.accept(call, weight, held, leads);
            }
            if !matches!(call.direction, CallDirection::In | CallDirection::Out) || call.descriptor < 0 {
                continue;
            }
            let key = (call.process, call.descriptor);
            let known = self.found.entry(key).or_insert_with(|| held(call).or_else(|| held_at(key.0, key.1)));
            let mut ways = known.as_ref().map(|held| leads(call.process, held)).unwrap_or_default();
            if ways.is_empty()
                && let Some(listener) = self.accepted.get(&key)
            {
                // A connection shorter than the time between two looks: its listener tells what it is.
                let listener = MovedCall { descriptor: *listener, ..*call };
                ways = held(&listener).map(|held| leads(call.process, &held)).unwrap_or_default();
            }
            if ways.is_empty() {
                continue;
            }
            self.count(call, weight, &ways);
        }
    }

    /// The counts so far.
    pub fn sums(&self) -> SampledSums {
        let ends = self.ends.iter().map(|(key, end)| (key.clone(), (end.taken.sum, end.given.sum)));
        let processes = self.processes.iter().map(|(id, process)| (*id, (process.read, process.written)));
        let accepted = self.ends.iter().filter(|((_, is_client), _)| !is_client);
        let accepted = accepted.map(|((way, _), end)| (way.clone(), end.accepted)).collect();
        SampledSums { ends: ends.collect(), processes: processes.collect(), accepted }
    }

    /// What went from the client to the server, or back, since earlier counts; `moved` tells how much a process has read and written since
    /// then by its own counters. `None` if nothing was sampled.
    pub fn estimate(
        &self,
        way: &Way,
        there: bool,
        since: &SampledSums,
        moved: &dyn Fn(u32) -> Option<(u64, u64)>,
    ) -> Option<Estimate> {
        if self.windows == 0 {
            return None;
        }
        let ends = |client| self.ends.get(&(way.clone(), client));
        let now = |client| ends(client).map(|end| (end.taken.sum, end.given.sum)).unwrap_or_default();
        let before = |client: bool| since.ends.get(&(way.clone(), client)).copied().unwrap_or_default();
        let given = now(there).1.since(before(there).1);
        let taken = now(!there).0.since(before(!there).0);
        let (giver, taker) = if there { (way.client, way.server) } else { (way.server, way.client) };
        // Calls that the process's own counters hold need no guess at what went on outside the windows.
        let by_counters = |end: MovedSum, process: Option<u32>, is_read: bool| {
            let process = process?;
            let before = since.processes.get(&process).copied().unwrap_or_default();
            let now = self.processes.get(&process)?;
            let (read, written) = moved(process)?;
            let (sampled, counted) = match is_read {
                true => (now.read - before.0, read),
                false => (now.written - before.1, written),
            };
            let is_all = end.bytes > 0.0 && end.bytes - end.counted_bytes < 0.5;
            (is_all && sampled > 0.0).then_some(counted as f64 / sampled)
        };
        let of = |end: MovedSum, process, is_read| {
            let scale = by_counters(end, process, is_read).unwrap_or(1.0);
            let per_call =
                if is_read { ends(!there).map(|end| &end.taken) } else { ends(there).map(|end| &end.given) };
            let per_call = per_call.map_or(0.0, Moved::messages_per_call);
            Estimate { bytes: end.bytes * scale, messages: end.calls * per_call * scale }
        };
        let (out, into) = (of(given, giver, false), of(taken, taker, true));
        let is_counted = |end: MovedSum, process, is_read| by_counters(end, process, is_read).is_some();
        Some(match way.medium {
            // Of several that hold a pipe, those talk that move something.
            Medium::Pipe | Medium::Fifo => {
                if out.bytes < into.bytes {
                    out
                } else {
                    into
                }
            }
            _ if is_counted(given, giver, false) => out,
            _ if is_counted(taken, taker, true) => into,
            _ => {
                if out.bytes > into.bytes {
                    out
                } else {
                    into
                }
            }
        })
    }

    /// Keeps from which listener a descriptor comes.
    fn accept(
        &mut self,
        call: &MovedCall,
        weight: f64,
        held: &dyn Fn(&MovedCall) -> Option<Held>,
        leads: Lead<'_>,
    ) {
        let key = (call.process, i32::try_from(call.result).unwrap_or(-1));
        self.accepted.insert(key, call.descriptor);
        self.turns.remove(&key);
        self.found.remove(&key);
        let ways = held(call).map(|held| leads(call.process, &held)).unwrap_or_default();
        for way in ways {
            self.ends.entry(way).or_default().accepted += weight;
        }
    }

    /// Forgets what is of other processes than these.
    pub fn forget(&mut self, is_kept: &dyn Fn(&u32) -> bool) {
        self.processes.retain(|id, _| is_kept(id));
        self.turns.retain(|(id, _), _| is_kept(id));
        self.accepted.retain(|(id, _), _| is_kept(id));
    }

    /// The listener that a descriptor of a process came from, if one was seen to.
    pub fn listener(&self, process: u32, descriptor: i32) -> Option<i32> {
        self.accepted.get(&(process, descriptor)).copied()
    }

    /// How many messages a call moves, from the client to the server or back: less than one where a message takes several calls; by the end
    /// that gives, or the one that takes.
    pub fn messages_per_call(&self, way: &Way, there: bool, by_giver: bool) -> f64 {
        let end = self.ends.get(&(way.clone(), there == by_giver));
        end.map_or(
            0.0,
            |end| if by_giver { end.given.messages_per_call() } else { end.taken.messages_per_call() },
        )
    }

    /// Connections that the server took since earlier counts.
    pub fn accepted(&self, way: &Way, since: &SampledSums) -> f64 {
        let now = self.ends.get(&(way.clone(), false)).map_or(0.0, |end| end.accepted);
        now - since.accepted.get(way).copied().unwrap_or(0.0)
    }

    fn count_process(&mut self, call: &MovedCall, weight: f64) {
        let process = self.processes.entry(call.process).or_default();
        process.calls += weight;
        let moved = call.result.max(0) as f64 * weight;
        let is_counted = COUNTED.contains(&call.call);
        match call.direction {
            CallDirection::In if is_counted => process.read += moved,
            CallDirection::Out if is_counted => process.written += moved,
            CallDirection::Wait if call.result == 0 && call.ended_ns - call.began_ns < NO_WAIT_NS => {
                process.empty += weight
            }
            CallDirection::Other if call.call == "connect" => process.connects += weight,
            _ => {}
        }
        if call.direction == CallDirection::In && call.result == AGAIN {
            process.empty += weight;
        }
    }

    fn count(&mut self, call: &MovedCall, weight: f64, ways: &[(Way, bool)]) {
        let is_in = call.direction == CallDirection::In;
        let turn = self.turns.entry((call.process, call.descriptor)).or_default();
        let bytes = call.result.max(0).cast_unsigned();
        for way in ways {
            let end = self.ends.entry(way.clone()).or_default();
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
