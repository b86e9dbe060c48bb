//! Samples of system calls as the kernel writes them (`perf_event_open(2)`), and the calls that they make up.
//!
//! Programs of 32 bits have other numbers, and no sample tells that a call is theirs: such a call is shown under the name
//! that its number has for programs of 64 bits, or not at all. Who shows calls may leave out such programs.

use std::collections::HashMap;

use super::moving_calls::{Call, of_number};
use crate::observed::MovedCall;

/// `PERF_RECORD_LOST`.
const LOST: u32 = 2;
/// `PERF_RECORD_SAMPLE`.
const SAMPLE: u32 = 9;
/// Bytes of `struct perf_event_header`.
const HEADER: usize = 8;

/// Where the fields of both tracepoints are, in bytes from the start of their data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The number of `sys_enter`.
    pub enter: u16,
    /// The number of `sys_exit`.
    pub exit: u16,
    kind_at: usize,
    enter_call_at: usize,
    arguments_at: usize,
    exit_call_at: usize,
    result_at: usize,
}

impl Layout {
    /// Reads the `format` files of `sys_enter` and `sys_exit`; `None` if they are not as on a system of 64 bits.
    pub fn parse(enter: &str, exit: &str) -> Option<Self> {
        Some(Self {
            enter: number(enter)?,
            exit: number(exit)?,
            kind_at: field(enter, "common_type", 2)
                .filter(|at| field(exit, "common_type", 2) == Some(*at))?,
            enter_call_at: field(enter, "id", 8)?,
            arguments_at: field(enter, "args", 6 * 8)?,
            exit_call_at: field(exit, "id", 8)?,
            result_at: field(exit, "ret", 8)?,
        })
    }

    fn what(&self, data: &[u8]) -> Option<What> {
        let kind = bytes(data, self.kind_at).map(u16::from_ne_bytes)?;
        let word = |at: usize| bytes(data, at).map(u64::from_ne_bytes);
        if kind == self.enter {
            let call = of_number(word(self.enter_call_at)?.cast_signed())?;
            let argument = |index: usize| word(self.arguments_at.checked_add(index * 8)?);
            let descriptor = match call.descriptor {
                // The kernel, too, looks at the lower half alone.
                Some(index) => (argument(index)? as u32).cast_signed(),
                None => -1,
            };
            let asked = call.asked.map_or(Some(0), argument)?;
            return Some(What::Began { call, descriptor, asked });
        }
        if kind == self.exit {
            let call = of_number(word(self.exit_call_at)?.cast_signed())?;
            return Some(What::Ended { call, result: word(self.result_at)?.cast_signed() });
        }
        None
    }
}

/// The number in the line `ID: 443` of a `format` file.
fn number(format: &str) -> Option<u16> {
    format.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()
}

/// Where a field of so many bytes is, from a line such as `field:long id; offset:8; size:8; signed:1;`.
fn field(format: &str, name: &str, bytes: usize) -> Option<usize> {
    format.lines().find_map(|line| {
        let mut parts = line.trim().split(';').map(str::trim);
        let declared = parts.next()?.strip_prefix("field:")?.rsplit(' ').next()?;
        let at = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
        let size: usize = parts.next()?.strip_prefix("size:")?.parse().ok()?;
        (declared.split('[').next() == Some(name) && size == bytes).then_some(at)
    })
}

/// What happened at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When, nanoseconds on the monotonic clock.
    pub at_ns: u64,
    /// The process; of no meaning for breaks.
    pub process: u32,
    /// The thread; of no meaning for breaks.
    pub thread: u32,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A call began.
    Began {
        /// Which.
        call: &'static Call,
        /// On what.
        descriptor: i32,
        /// Bytes asked for.
        asked: u64,
    },
    /// A call ended.
    Ended {
        /// Which.
        call: &'static Call,
        /// What it returned.
        result: i64,
    },
    /// Before that, the ring had no room for so many records.
    Lost(u64),
    /// Sampling went on again.
    Resumed,
}

/// Reads a ring's bytes, from the begin of a record on. Whatever is no record that matters here is left out.
pub fn parse(mut ring: &[u8], layout: &Layout, take: &mut dyn FnMut(Record)) {
    let mut lost: Option<Record> = None;
    while let Some(size) = bytes(ring, 6).map(u16::from_ne_bytes).map(usize::from) {
        let Some((record, rest)) = ring.split_at_checked(size).filter(|_| size >= HEADER) else { break };
        ring = rest;
        let Some(record) = read(record, layout) else { continue };
        if let Some(lost) = lost.take() {
            // Older kernels take the time of a loss after that of the record for which they tell it.
            take(Record { at_ns: lost.at_ns.min(record.at_ns), ..lost });
        }
        match record.what {
            What::Lost(_) => lost = Some(record),
            _ => take(record),
        }
    }
    if let Some(lost) = lost {
        take(lost);
    }
}

fn read(record: &[u8], layout: &Layout) -> Option<Record> {
    let short = |at: usize| bytes(record, at).map(u32::from_ne_bytes);
    let long = |at: usize| bytes(record, at).map(u64::from_ne_bytes);
    match short(0)? {
        // Process, thread, time, then the length of the tracepoint's data, and these.
        SAMPLE => {
            let (process, thread, at_ns) = (short(HEADER)?, short(HEADER + 4)?, long(HEADER + 8)?);
            let data = record.get(HEADER + 20..)?;
            let data = data.get(..short(HEADER + 16)? as usize)?;
            Some(Record { at_ns, process, thread, what: layout.what(data)? })
        }
        // An event's number and a count, then a process, a thread and a time.
        LOST => {
            let (lost, at_ns) = (long(HEADER + 8)?, long(HEADER + 24)?);
            Some(Record { at_ns, process: 0, thread: 0, what: What::Lost(lost) })
        }
        _ => None,
    }
}

fn bytes<const N: usize>(from: &[u8], at: usize) -> Option<[u8; N]> {
    from.get(at..)?.first_chunk().copied()
}

/// The calls that have begun and not ended yet, by thread.
#[derive(Debug, Default)]
pub struct Pairing {
    /// One for each thread at most. A thread that was ended in a call stays until another has its number.
    begun: HashMap<u32, Begun>,
    /// How often records may have been missed so far.
    breaks: u64,
}

#[derive(Debug)]
struct Begun {
    record: Record,
    call: &'static Call,
    descriptor: i32,
    asked: u64,
    breaks: u64,
}

impl Pairing {
    /// Takes the next record in order of time; the call, if it has ended with that.
    ///
    /// A begin without its end is forgotten when the thread begins another call, or ends one that is not that.
    pub fn take(&mut self, record: Record) -> Option<MovedCall> {
        match record.what {
            What::Began { call, descriptor, asked } => {
                let begun = Begun { record, call, descriptor, asked, breaks: self.breaks };
                self.begun.insert(record.thread, begun);
                None
            }
            What::Ended { call, result } => {
                let begun = self.begun.remove(&record.thread)?;
                let is_same = begun.call == call && begun.record.process == record.process;
                is_same.then_some(MovedCall {
                    process: record.process,
                    thread: record.thread,
                    call: call.name,
                    descriptor: begun.descriptor,
                    direction: call.direction,
                    asked: begun.asked,
                    result,
                    began_ns: begun.record.at_ns,
                    ended_ns: record.at_ns,
                    is_whole: begun.breaks == self.breaks,
                })
            }
            What::Lost(_) | What::Resumed => {
                self.breaks += 1;
                None
            }
        }
    }
}

/// Reads a text as such a format.
pub(crate) fn read_text(text: &str) {
    let _ = Layout::parse(text, text);
}

/// Reads bytes as such a ring.
pub(crate) fn read_bytes(bytes: &[u8]) {
    let layout = Layout {
        enter: 1,
        exit: 2,
        kind_at: 0,
        enter_call_at: 8,
        arguments_at: 16,
        exit_call_at: 8,
        result_at: 16,
    };
    let mut pairing = Pairing::default();
    parse(bytes, &layout, &mut |record| {
        let _ = pairing.take(record);
    });
}

#[cfg(test)]
mod tests;
