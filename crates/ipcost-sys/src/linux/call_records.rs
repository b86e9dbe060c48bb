//! Samples of system calls as the kernel writes them (`perf_event_open(2)`), and the calls that they make up.
//!
//! Programs of 32 bits have other numbers, and no sample tells that a call is theirs: such a call is shown under the name
//! that its number has for programs of 64 bits, or not at all. Who shows calls may leave out such programs.

use std::collections::HashMap;

use super::moving_calls::of_number;
use super::sample_records::{RecordKind, SampledRecord, bytes, field, number, parse};
use crate::observed::{MovedCall, MovingCall};

/// Where the fields of both tracepoints are, in bytes from the start of their data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTracepoints {
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

impl CallTracepoints {
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

    fn what(&self, data: &[u8]) -> Option<CallEvent> {
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
            return Some(CallEvent::Began { call, descriptor, asked });
        }
        if kind == self.exit {
            let call = of_number(word(self.exit_call_at)?.cast_signed())?;
            return Some(CallEvent::Ended { call, result: word(self.result_at)?.cast_signed() });
        }
        None
    }
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
    pub what: CallEvent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEvent {
    Began {
        call: &'static MovingCall,
        descriptor: i32,
        asked: u64,
    },
    Ended {
        call: &'static MovingCall,
        result: i64,
    },
    /// Before that, the ring had no room for so many records.
    Lost(u64),
    /// Sampling went on again.
    Resumed,
}

/// What a sample tells of calls; `None` if it is of no call that matters here.
pub fn record(sample: SampledRecord<'_>, layout: &CallTracepoints) -> Option<Record> {
    let SampledRecord { at_ns, process, thread, kind } = sample;
    let what = match kind {
        RecordKind::Fields(fields) => layout.what(fields)?,
        RecordKind::Lost(count) => CallEvent::Lost(count),
        RecordKind::Named(_) => return None,
    };
    Some(Record { at_ns, process, thread, what })
}

/// The calls that have begun and not ended yet, by thread.
#[derive(Debug, Default)]
pub struct Pairing {
    /// One for each thread at most. A thread that was ended in a call stays until another has its number.
    begun: HashMap<u32, BegunCall>,
    /// How often records may have been missed so far.
    breaks: u64,
}

#[derive(Debug)]
struct BegunCall {
    record: Record,
    call: &'static MovingCall,
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
            CallEvent::Began { call, descriptor, asked } => {
                let begun = BegunCall { record, call, descriptor, asked, breaks: self.breaks };
                self.begun.insert(record.thread, begun);
                None
            }
            CallEvent::Ended { call, result } => {
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
            CallEvent::Lost(_) | CallEvent::Resumed => {
                self.breaks += 1;
                None
            }
        }
    }
}

/// Reads a text as such a format.
pub(crate) fn read_text(text: &str) {
    let _ = CallTracepoints::parse(text, text);
}

/// Reads bytes as such a ring.
pub(crate) fn read_bytes(bytes: &[u8]) {
    let layout = CallTracepoints {
        enter: 1,
        exit: 2,
        kind_at: 0,
        enter_call_at: 8,
        arguments_at: 16,
        exit_call_at: 8,
        result_at: 16,
    };
    let mut pairing = Pairing::default();
    parse(bytes, &mut |sample| {
        let _ = record(sample, &layout).and_then(|record| pairing.take(record));
    });
}

#[cfg(test)]
mod tests;
