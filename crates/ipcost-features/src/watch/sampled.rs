//! From sampled calls to what conversations exchange: bytes, messages with their sizes, round trips, and how they are read and written.

use std::collections::HashMap;

use ipcost_sys::observed::{CallDirection, Held, MovedCall};
use ipcost_sys::running::held_at;

use super::Medium;
use super::judge::Way;
use super::sampling::Window;

/// So many values of each kind are kept of a conversation: quartiles need no more.
const MOST_KEPT: usize = 2_000;
/// `EAGAIN`.
const AGAIN: i64 = -11;
/// TLS reads the header of a record before the record (RFC 8446, 5.1), bytes.
const TLS_HEADER: u64 = 5;
/// A wait that ends with nothing after less than this was no wait, nanoseconds.
const NO_WAIT_NS: u64 = 100_000;
/// Windows that were open for this share of the time missed nothing.
const WHOLE: f64 = 0.95;
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
}

/// What went one way at an end.
#[derive(Debug, Clone, Default)]
pub(super) struct Moved {
    pub bytes: u64,
    pub calls: u64,
    /// Of the bytes, those in calls that the kernel counts by process.
    pub counted_bytes: u64,
    /// Messages: what goes one way until something goes the other way.
    pub messages: u64,
    /// Those in several calls.
    pub in_pieces: u64,
    /// Calls that asked for the header of a TLS record.
    pub headers: u64,
    pub sizes: Kept,
    /// Bytes of each call.
    pub call_sizes: Kept,
}

impl Moved {
    fn sum(&self) -> MovedSum {
        MovedSum { bytes: self.bytes, counted_bytes: self.counted_bytes, messages: self.messages }
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
    pub read: u64,
    pub written: u64,
    pub calls: u64,
    /// Calls that found nothing: reads without data, and polls that did not wait.
    pub empty: u64,
    pub connects: u64,
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
    /// What descriptors are, found since the last look.
    found: HashMap<(u32, i32), Option<Held>>,
}

/// Counts of one direction at an end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MovedSum {
    pub bytes: u64,
    pub counted_bytes: u64,
    pub messages: u64,
}

impl MovedSum {
    fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes - before.bytes,
            counted_bytes: self.counted_bytes - before.counted_bytes,
            messages: self.messages - before.messages,
        }
    }
}

/// All counts at a moment.
#[derive(Debug, Clone, Default)]
pub(super) struct SampledSums {
    /// What each end had taken in and given out.
    ends: HashMap<(Way, bool), (MovedSum, MovedSum)>,
    /// What processes had read and written.
    processes: HashMap<u32, (u64, u64)>,
    open_ns: u64,
}

/// What went one way, as estimated from a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    pub bytes: f64,
    pub messages: f64,
}

impl Samples {
    /// Forgets what descriptors are, since a look shows it anew.
    pub fn looked(&mut self) {
        self.found.clear();
    }

    /// Takes in the calls of a window. `held` says what a descriptor of a process was at the last look, and `leads` where it leads.
    pub fn add(
        &mut self,
        window: &Window,
        held: &dyn Fn(u32, i32) -> Option<Held>,
        leads: &dyn Fn(u32, &Held) -> Vec<(Way, bool)>,
    ) {
        if !window.continues {
            self.turns.clear();
        }
        self.open_ns += window.lasted_ns;
        self.windows += 1;
        self.lost += window.lost;
        for call in &window.calls {
            self.count_process(call);
            if !matches!(call.direction, CallDirection::In | CallDirection::Out) || call.descriptor < 0 {
                continue;
            }
            let key = (call.process, call.descriptor);
            let known = self.found.entry(key).or_insert_with(|| {
                held(key.0, key.1).or_else(|| held_at(key.0, key.1))
            });
            let Some(held) = known.clone() else { continue };
            let ways = leads(call.process, &held);
            if ways.is_empty() {
                continue;
            }
            self.count(call, &ways);
        }
    }

    /// The counts so far.
    pub fn sums(&self) -> SampledSums {
        let ends = self.ends.iter().map(|(key, end)| (key.clone(), (end.taken.sum(), end.given.sum())));
        let processes = self.processes.iter().map(|(id, process)| (*id, (process.read, process.written)));
        SampledSums { ends: ends.collect(), processes: processes.collect(), open_ns: self.open_ns }
    }

    /// What went from the client to the server, or back, since earlier counts that are `elapsed_ns` old; `moved` tells how much a process
    /// has read and written since then by its own counters. `None` if nothing was sampled.
    pub fn estimate(
        &self,
        way: &Way,
        there: bool,
        since: &SampledSums,
        elapsed_ns: u64,
        moved: &dyn Fn(u32) -> Option<(u64, u64)>,
    ) -> Option<Estimate> {
        let open_ns = self.open_ns - since.open_ns;
        if open_ns == 0 {
            return None;
        }
        let now = self.sums_of(way);
        let before = |client: bool| since.ends.get(&(way.clone(), client)).copied().unwrap_or_default();
        let given = now(there).1.since(before(there).1);
        let taken = now(!there).0.since(before(!there).0);
        let (giver, taker) = if there { (way.client, way.server) } else { (way.server, way.client) };
        let share = (open_ns as f64 / elapsed_ns.max(1) as f64).min(1.0);
        // Calls that the process's own counters hold need no guess at what went on outside the windows.
        let by_counters = |end: MovedSum, process: Option<u32>, is_read: bool| {
            let process = process?;
            let of = |(read, written): (u64, u64)| if is_read { read } else { written };
            let before = since.processes.get(&process).copied().unwrap_or_default();
            let now = self.processes.get(&process)?;
            let sampled = of((now.read, now.written)).checked_sub(of(before)).filter(|bytes| *bytes > 0)?;
            let is_all = end.bytes > 0 && end.counted_bytes == end.bytes;
            is_all.then_some(of(moved(process)?) as f64 / sampled as f64)
        };
        let scale = |end: MovedSum, process, is_read| match share >= WHOLE {
            true => 1.0 / share,
            false => by_counters(end, process, is_read).unwrap_or(1.0 / share),
        };
        let of = |end: MovedSum, process, is_read| {
            let scale = scale(end, process, is_read);
            Estimate { bytes: end.bytes as f64 * scale, messages: end.messages as f64 * scale }
        };
        let (out, into) = (of(given, giver, false), of(taken, taker, true));
        let is_counted = |end: MovedSum, process, is_read| by_counters(end, process, is_read).is_some();
        Some(match way.medium {
            // Of several that hold a pipe, those talk that move something.
            Medium::Pipe | Medium::Fifo => if out.bytes < into.bytes { out } else { into },
            _ if is_counted(given, giver, false) => out,
            _ if is_counted(taken, taker, true) => into,
            _ => if out.bytes > into.bytes { out } else { into },
        })
    }

    fn sums_of(&self, way: &Way) -> impl Fn(bool) -> (MovedSum, MovedSum) {
        let end = |client: bool| {
            let end = self.ends.get(&(way.clone(), client));
            end.map(|end| (end.taken.sum(), end.given.sum())).unwrap_or_default()
        };
        let (client, server) = (end(true), end(false));
        move |is_client| if is_client { client } else { server }
    }

    fn count_process(&mut self, call: &MovedCall) {
        let process = self.processes.entry(call.process).or_default();
        process.calls += 1;
        let moved = call.result.max(0).cast_unsigned();
        let is_counted = COUNTED.contains(&call.call);
        match call.direction {
            CallDirection::In if is_counted => process.read += moved,
            CallDirection::Out if is_counted => process.written += moved,
            CallDirection::Wait if call.result == 0 && call.ended_ns - call.began_ns < NO_WAIT_NS => process.empty += 1,
            CallDirection::Other if call.call == "connect" => process.connects += 1,
            _ => {}
        }
        if call.direction == CallDirection::In && call.result == AGAIN {
            process.empty += 1;
        }
    }

    fn count(&mut self, call: &MovedCall, ways: &[(Way, bool)]) {
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
            moved.bytes += bytes;
            moved.calls += 1;
            moved.call_sizes.add(bytes);
            moved.headers += u64::from(is_in && call.asked == TLS_HEADER && bytes == TLS_HEADER);
            if COUNTED.contains(&call.call) {
                moved.counted_bytes += bytes;
            }
            if turn.direction == Some(call.direction) {
                continue;
            }
            // The other way from here on: what went before is a message.
            if let Some(before) = turn.direction {
                let done = if before == CallDirection::In { &mut end.taken } else { &mut end.given };
                done.messages += 1;
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
