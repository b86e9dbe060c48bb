//! What the kernel writes into a ring of samples (`perf_event_open(2)`), and where the fields of a tracepoint are.

const LOST: u32 = 2;
const NAME: u32 = 3;
const EXECUTED: u16 = 1 << 13;
const SAMPLE: u32 = 9;
/// Bytes of `struct perf_event_header`.
const HEADER: usize = 8;

/// What a record tells of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampledRecord<'a> {
    /// When, nanoseconds on the monotonic clock.
    pub at_ns: u64,
    /// The process that ran, or has its name now; 0 for those of other namespaces, and of no meaning for losses.
    pub process: u32,
    /// The thread that ran; of no meaning for losses.
    pub thread: u32,
    pub kind: RecordKind<'a>,
}

/// What a record tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind<'a> {
    /// The fields of the tracepoint that was passed.
    Fields(&'a [u8]),
    /// Before that, the ring had no room for so many records.
    Lost(u64),
    /// The process has executed a program of this name.
    Named(&'a [u8]),
}

/// Reads a ring's bytes, from the begin of a record on. Whatever is no sample, no loss and no name is left out.
pub fn parse(mut ring: &[u8], take: &mut dyn FnMut(SampledRecord<'_>)) {
    let mut lost: Option<SampledRecord<'_>> = None;
    while let Some(size) = bytes(ring, 6).map(u16::from_ne_bytes).map(usize::from) {
        let Some((record, rest)) = ring.split_at_checked(size).filter(|_| size >= HEADER) else { break };
        ring = rest;
        let Some(sample) = read(record) else { continue };
        if let Some(lost) = lost.take() {
            // Older kernels take the time of a loss after that of the record for which they tell it.
            take(SampledRecord { at_ns: lost.at_ns.min(sample.at_ns), ..lost });
        }
        match sample.kind {
            RecordKind::Lost(_) => lost = Some(sample),
            RecordKind::Fields(_) | RecordKind::Named(_) => take(sample),
        }
    }
    if let Some(lost) = lost {
        take(lost);
    }
}

fn read(record: &[u8]) -> Option<SampledRecord<'_>> {
    let short = |at: usize| bytes(record, at).map(u32::from_ne_bytes);
    let long = |at: usize| bytes(record, at).map(u64::from_ne_bytes);
    match short(0)? {
        // Process, thread, time, then the length of the tracepoint's data, and these.
        SAMPLE => {
            let (process, thread, at_ns) = (short(HEADER)?, short(HEADER + 4)?, long(HEADER + 8)?);
            let data = record.get(HEADER + 20..)?;
            let data = data.get(..short(HEADER + 16)? as usize)?;
            Some(SampledRecord { at_ns, process, thread, kind: RecordKind::Fields(data) })
        }
        // A process, a thread, a name that ends with zeros, then both again and a time.
        NAME => {
            let (process, thread) = (short(HEADER)?, short(HEADER + 4)?);
            let at_ns = long(record.len().checked_sub(8)?)?;
            let name =
                record.get(HEADER + 8..record.len().checked_sub(16)?)?.split(|byte| *byte == 0).next()?;
            let is_executed = bytes(record, 4).map(u16::from_ne_bytes)? & EXECUTED != 0;
            let kind = RecordKind::Named(name);
            (is_executed && process == thread).then_some(SampledRecord { at_ns, process, thread, kind })
        }
        // An event's number and a count, then a process, a thread and a time.
        LOST => {
            let (lost, at_ns) = (long(HEADER + 8)?, long(HEADER + 24)?);
            Some(SampledRecord { at_ns, process: 0, thread: 0, kind: RecordKind::Lost(lost) })
        }
        _ => None,
    }
}

/// So many bytes from a place on.
pub fn bytes<const N: usize>(from: &[u8], at: usize) -> Option<[u8; N]> {
    from.get(at..)?.first_chunk().copied()
}

/// The number in the line `ID: 443` of a `format` file.
pub fn number(format: &str) -> Option<u16> {
    format.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()
}

/// Where a field of so many bytes is, from a line such as `field:long id; offset:8; size:8; signed:1;`.
pub fn field(format: &str, name: &str, bytes: usize) -> Option<usize> {
    format.lines().find_map(|line| {
        let mut parts = line.trim().split(';').map(str::trim);
        let declared = parts.next()?.strip_prefix("field:")?.rsplit(' ').next()?;
        let at = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
        let size: usize = parts.next()?.strip_prefix("size:")?.parse().ok()?;
        (declared.split('[').next() == Some(name) && size == bytes).then_some(at)
    })
}

/// Takes out what happened up to a moment, in order; the rest stays.
pub fn in_order<T>(records: &mut Vec<T>, until_ns: u64, at_ns: impl Fn(&T) -> u64) -> std::vec::Drain<'_, T> {
    // Each ring's records are almost in order, which a stable sort makes use of.
    records.sort_by_key(&at_ns);
    let count = records.partition_point(|record| at_ns(record) <= until_ns);
    records.drain(..count)
}

/// Records as the kernel writes them, for tests of their parsers.
#[cfg(test)]
pub mod written {
    use super::{EXECUTED, HEADER, LOST, NAME, SAMPLE};

    /// A sample with what the kernel pads; of process 7.
    pub fn sample(at_ns: u64, thread: u32, fields: &[u8]) -> Vec<u8> {
        let length = fields.len() + 4;
        let mut bytes = [SAMPLE.to_ne_bytes(), [0; 4]].concat();
        bytes[6..].copy_from_slice(&((HEADER + 20 + length) as u16).to_ne_bytes());
        bytes.extend([7_u32.to_ne_bytes(), thread.to_ne_bytes()].concat());
        bytes.extend(at_ns.to_ne_bytes());
        bytes.extend((length as u32).to_ne_bytes());
        bytes.extend(fields);
        bytes.extend([0; 4]);
        bytes
    }

    /// A name that a process has taken.
    pub fn named(at_ns: u64, process: u32, name: &[u8; 8]) -> Vec<u8> {
        let mut bytes = [NAME.to_ne_bytes(), [0; 4]].concat();
        bytes[4..6].copy_from_slice(&EXECUTED.to_ne_bytes());
        bytes[6..].copy_from_slice(&40_u16.to_ne_bytes());
        let both = [process.to_ne_bytes(), process.to_ne_bytes()].concat();
        [&bytes[..], &both, name, &both, &at_ns.to_ne_bytes()].concat()
    }

    pub fn lost(count: u64, at_ns: u64) -> Vec<u8> {
        let mut bytes = [LOST.to_ne_bytes(), [0; 4]].concat();
        bytes[6..].copy_from_slice(&40_u16.to_ne_bytes());
        bytes.extend([3, count, 0, at_ns].into_iter().flat_map(u64::to_ne_bytes));
        bytes
    }

    /// Some records of any content, cut off anywhere.
    pub fn any() -> impl proptest::strategy::Strategy<Value = Vec<u8>> {
        use proptest::prelude::*;
        let kind = prop_oneof![Just(LOST), Just(SAMPLE), Just(NAME), any::<u32>()];
        let records = proptest::collection::vec((kind, any::<[u8; 32]>(), any::<[u8; 32]>()), 0..5);
        (records, 0..700_usize).prop_map(|(records, cut)| {
            let record = |(kind, one, two): &(u32, [u8; 32], [u8; 32])| {
                let whole =
                    [&kind.to_ne_bytes()[..], &[0, 0, 108, 0], &one[..16], &80_u32.to_ne_bytes(), two];
                [&whole.concat()[..], &one[..], &two[..16]].concat()
            };
            let mut bytes: Vec<u8> = records.iter().flat_map(record).collect();
            bytes.truncate(cut);
            bytes
        })
    }
}
