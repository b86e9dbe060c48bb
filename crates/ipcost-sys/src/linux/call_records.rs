//! Samples of system calls as the kernel writes them (`perf_event_open(2)`), and the calls that they make up.
//!
//! Programs of 32 bits have other numbers, and no sample tells that a call is theirs: such a call is shown under the name that its number has for programs of 64 bits,
//! or not at all. Who shows calls may leave out such programs.

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
    let mut last_ns = 0;
    while let Some(size) = bytes(ring, 6).map(u16::from_ne_bytes).map(usize::from) {
        let Some((record, rest)) = ring.split_at_checked(size).filter(|_| size >= HEADER) else { return };
        ring = rest;
        let Some(record) = read(record, layout, last_ns) else { continue };
        last_ns = record.at_ns;
        take(record);
    }
}

fn read(record: &[u8], layout: &Layout, last_ns: u64) -> Option<Record> {
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
        // An event's number and a count, then process, thread and time of the next record.
        LOST => {
            let at_ns = long(HEADER + 24).unwrap_or(last_ns);
            Some(Record { at_ns, process: 0, thread: 0, what: What::Lost(long(HEADER + 8)?) })
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::observed::CallDirection;

    const ENTER: &str = "name: sys_enter\nID: 443\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n\nprint fmt: \"NR %ld\"\n";
    const EXIT: &str = "name: sys_exit\nID: 442\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n";

    /// A sample as the kernel writes it, with what it pads.
    fn sample(at_ns: u64, thread: u32, kind: u16, words: &[u64]) -> Vec<u8> {
        let length = 8 + words.len() * 8 + 4;
        let mut bytes = [SAMPLE.to_ne_bytes(), [0; 4]].concat();
        bytes[6..].copy_from_slice(&((HEADER + 20 + length) as u16).to_ne_bytes());
        bytes.extend([7_u32.to_ne_bytes(), thread.to_ne_bytes()].concat());
        bytes.extend(at_ns.to_ne_bytes());
        bytes.extend((length as u32).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 6]);
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend([0; 4]);
        bytes
    }

    fn lost(count: u64, at_ns: u64) -> Vec<u8> {
        let mut bytes = [LOST.to_ne_bytes(), [0; 4]].concat();
        bytes[6..].copy_from_slice(&40_u16.to_ne_bytes());
        bytes.extend([3, count, 0, at_ns].into_iter().flat_map(u64::to_ne_bytes));
        bytes
    }

    fn calls(ring: &[Vec<u8>]) -> Vec<MovedCall> {
        let layout = Layout::parse(ENTER, EXIT).unwrap();
        let (mut pairing, mut found) = (Pairing::default(), Vec::new());
        parse(&ring.concat(), &layout, &mut |record| found.extend(pairing.take(record)));
        found
    }

    fn enter(at_ns: u64, thread: u32, call: libc::c_long, arguments: [u64; 3]) -> Vec<u8> {
        sample(at_ns, thread, 443, &[&[call as u64], &arguments[..], &[0; 3]].concat())
    }

    fn exit(at_ns: u64, thread: u32, call: libc::c_long, result: i64) -> Vec<u8> {
        sample(at_ns, thread, 442, &[call as u64, result.cast_unsigned()])
    }

    #[test]
    fn formats_are_read_or_refused() {
        let layout = Layout::parse(ENTER, EXIT).unwrap();
        assert_eq!((layout.enter, layout.exit, layout.arguments_at, layout.result_at), (443, 442, 16, 16));
        assert_eq!(Layout::parse(EXIT, ENTER), None);
        assert_eq!(Layout::parse(&ENTER.replace("size:48", "size:24"), EXIT), None, "a system of 32 bits");
    }

    #[test]
    fn calls_are_paired_by_thread() {
        let ring = [
            exit(5, 1, libc::SYS_write, 3),
            enter(10, 1, libc::SYS_read, [4, 99, 64]),
            enter(11, 2, libc::SYS_ppoll, [99, 1, 99]),
            enter(12, 3, libc::SYS_futex, [1, 2, 3]),
            exit(20, 1, libc::SYS_read, -11),
            exit(30, 2, libc::SYS_ppoll, 1),
        ];
        let found = calls(&ring);
        let read = MovedCall {
            process: 7,
            thread: 1,
            call: "read",
            descriptor: 4,
            direction: CallDirection::In,
            asked: 64,
            result: -11,
            began_ns: 10,
            ended_ns: 20,
            is_whole: true,
        };
        let ppoll = ("ppoll", -1, CallDirection::Wait, 0, 1);
        assert_eq!(found[0], read);
        let second = found[1];
        assert_eq!((second.call, second.descriptor, second.direction, second.asked, second.result), ppoll);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn what_contradicts_is_forgotten_and_what_may_be_two_calls_is_marked() {
        let ring = [
            enter(10, 1, libc::SYS_read, [4, 0, 64]),
            enter(11, 2, libc::SYS_read, [5, 0, 64]),
            enter(12, 3, libc::SYS_read, [6, 0, 64]),
            lost(9, 20),
            enter(21, 1, libc::SYS_read, [7, 0, 64]),
            exit(22, 1, libc::SYS_read, 1),
            exit(23, 2, libc::SYS_write, 2),
            exit(24, 2, libc::SYS_read, 3),
            exit(25, 3, libc::SYS_read, 4),
        ];
        let found: Vec<_> =
            calls(&ring).iter().map(|call| (call.descriptor, call.result, call.is_whole)).collect();
        assert_eq!(found, [(7, 1, true), (6, 4, false)]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(
            kinds in proptest::collection::vec((prop_oneof![Just(LOST), Just(SAMPLE), any::<u32>()], any::<[u8; 60]>()), 0..5),
            cut in 0..400_usize,
            text in ".{0,80}",
        ) {
            let mut bytes: Vec<u8> = kinds.iter().flat_map(|(kind, rest)| {
                [&kind.to_ne_bytes()[..], &[0, 0, 64, 0], &rest[..56]].concat()
            }).collect();
            bytes.truncate(cut);
            read_bytes(&bytes);
            read_text(&text);
            read_text(&format!("ID: 1\nfield:long id;\toffset:{text};\tsize:8;"));
        }
    }
}
