//! The system calls that move data, of programs that already run, as the kernel's tracepoints see them
//! (`perf_event_open(2)`, `raw_syscalls:sys_enter` and `raw_syscalls:sys_exit`).
//!
//! Addresses among a call's arguments are ignored: nothing here can read what a call moves.

use std::collections::HashSet;
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use super::call_records::{Layout, Pairing, Record, What, parse};
use super::sample_ring::SampleRing;
use super::{moving_calls, perf_event, tracefs};
use crate::clock::now_ns;
pub use crate::observed::{CallDirection, MovedCall, SampleError, Taken};

/// A ring's size, bytes: room for 7 000 calls.
const RING_BYTES: usize = 1 << 20;
/// The least size, where this user may lock little memory.
const LEAST_RING_BYTES: usize = 64 << 10;
/// A record is in the ring so long after its time at the latest, unless the processor is taken away just then.
const DELAY_NS: u64 = 1_000_000;
/// The number of the first namespace of processes (`PROC_PID_INIT_INO`).
pub(super) const FIRST_NAMESPACE: u64 = 0xefff_fffc;

/// A sampler of the calls that move data.
///
/// As long as it is open, every call of every program takes somewhat longer, and more so while it is enabled. Processors
/// that come online later are not sampled.
#[derive(Debug)]
pub struct CallSampler {
    processors: Vec<Processor>,
    layout: Layout,
    threads: Option<HashSet<u32>>,
    /// The process whose calls are left out: this one.
    without: Option<u32>,
    is_enabled: bool,
    /// Records that are not in order yet.
    records: Vec<Record>,
    pairing: Pairing,
    buffer: Vec<u8>,
}

/// One processor's samples.
#[derive(Debug)]
struct Processor {
    ring: SampleRing,
    enter: OwnedFd,
    exit: OwnedFd,
    /// Whether a full ring was counted as one lost record, which the kernel will tell, too.
    is_reckoned: bool,
}

impl CallSampler {
    /// Opens it for some threads, or all; it starts disabled. It never shows this program's own calls.
    ///
    /// Threads are named by their numbers in this program's namespace. Up to 64 of them are compared by the kernel, so that
    /// others take no room in the rings.
    ///
    /// # Errors
    /// If this user lacks permission (root, or `CAP_PERFMON` and a tracefs that it may read), or the kernel lacks the
    /// tracepoints, or a system call fails.
    pub fn open(threads: Option<&[u32]>) -> Result<Self, SampleError> {
        Self::open_without(threads, Some(std::process::id()))
    }

    fn open_without(threads: Option<&[u32]>, without: Option<u32>) -> Result<Self, SampleError> {
        let layout = layout().map_err(refusal)?;
        // Filters compare numbers of the first namespace.
        let is_first =
            std::fs::metadata("/proc/self/ns/pid").is_ok_and(|space| space.ino() == FIRST_NAMESPACE);
        let own = without.filter(|_| is_first).map(threads_of).unwrap_or_default();
        let only =
            threads.filter(|threads| is_first && (1..=moving_calls::MOST_THREADS).contains(&threads.len()));
        let unknown = || SampleError::Absent(io::ErrorKind::Unsupported.into());
        let filter = moving_calls::filter(&own, only).ok_or_else(unknown)?;
        let filter = CString::new(filter).map_err(|_| unknown())?;
        let mut processors = Vec::new();
        for processor in 0..processors_end().map_err(refusal)? {
            match Processor::open(processor, &layout, &filter) {
                Ok(opened) => processors.push(opened),
                // It is offline.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(refusal(error)),
            }
        }
        Ok(Self {
            processors,
            layout,
            threads: threads.map(|threads| threads.iter().copied().collect()),
            without,
            is_enabled: false,
            records: Vec::new(),
            pairing: Pairing::default(),
            buffer: Vec::new(),
        })
    }

    /// Starts sampling.
    pub fn enable(&mut self) {
        let resumed = Record { at_ns: now_ns(), process: 0, thread: 0, what: What::Resumed };
        self.records.push(resumed);
        for processor in &self.processors {
            perf_event::enable(&processor.exit);
            perf_event::enable(&processor.enter);
        }
        self.is_enabled = true;
    }

    /// Stops sampling; what was sampled so far can still be taken.
    pub fn disable(&mut self) {
        for processor in &self.processors {
            perf_event::disable(&processor.enter);
            perf_event::disable(&processor.exit);
        }
        self.is_enabled = false;
    }

    /// Takes the calls that have ended since the last time, in the order of their ends.
    ///
    /// While sampling is enabled, those of the last millisecond are left for the next time: processors may write them in
    /// another order. A call that has not ended yet is complete when it does, even if sampling was disabled in between;
    /// then it is marked. The kernel tells of some lost records only with the next one.
    pub fn take(&mut self, found: &mut dyn FnMut(MovedCall)) -> Taken {
        let until_ns = if self.is_enabled { now_ns().saturating_sub(DELAY_NS) } else { u64::MAX };
        let mut taken = Taken::default();
        for processor in &mut self.processors {
            self.buffer.clear();
            let was_full = processor.ring.drain(&mut self.buffer);
            let (records, threads, without) = (&mut self.records, &self.threads, self.without);
            let mut lost = 0;
            parse(&self.buffer, &self.layout, &mut |record| match record.what {
                What::Lost(count) => {
                    lost += count;
                    records.push(record);
                }
                _ => {
                    // Processes of other namespaces have no number here.
                    let is_other = record.process != 0 && without != Some(record.process);
                    if is_other && threads.as_ref().is_none_or(|all| all.contains(&record.thread)) {
                        records.push(record);
                    }
                }
            });
            if lost > 0 {
                taken.lost += lost - u64::from(processor.is_reckoned);
                processor.is_reckoned = false;
            }
            if was_full && !processor.is_reckoned {
                taken.lost += 1;
                processor.is_reckoned = true;
            }
        }
        // Each ring's records are almost in order, which a stable sort makes use of.
        self.records.sort_by_key(|record| record.at_ns);
        let count = self.records.partition_point(|record| record.at_ns <= until_ns);
        for record in self.records.drain(..count) {
            if let Some(call) = self.pairing.take(record) {
                found(call);
            }
        }
        taken
    }
}

impl Processor {
    fn open(processor: i32, layout: &Layout, filter: &CString) -> io::Result<Self> {
        let enter = perf_event::sample(layout.enter.into(), processor)?;
        let exit = perf_event::sample(layout.exit.into(), processor)?;
        for event in [&enter, &exit] {
            perf_event::filter(event, filter)?;
        }
        let mut bytes = RING_BYTES;
        let ring = loop {
            match SampleRing::of(&enter, bytes) {
                Err(error) if error.raw_os_error() == Some(libc::EPERM) && bytes > LEAST_RING_BYTES => {
                    bytes /= 2
                }
                made => break made?,
            }
        };
        perf_event::share_ring(&exit, &enter)?;
        Ok(Self { ring, enter, exit, is_reckoned: false })
    }
}

fn refusal(error: io::Error) -> SampleError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => SampleError::Forbidden(error),
        io::ErrorKind::NotFound | io::ErrorKind::Unsupported | io::ErrorKind::InvalidData => {
            SampleError::Absent(error)
        }
        _ if error.raw_os_error() == Some(libc::ENODEV) => SampleError::Absent(error),
        _ => SampleError::Failed(error),
    }
}

fn layout() -> io::Result<Layout> {
    let directory = tracefs::open("events/raw_syscalls")?;
    let format = |point: &str| tracefs::read(&directory, &format!("{point}/format"));
    Layout::parse(&format("sys_enter")?, &format("sys_exit")?)
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// One more than the number of the last online processor, from a list such as `0-3,8`.
fn processors_end() -> io::Result<i32> {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    let last: Option<i32> = online.trim().rsplit([',', '-']).next().and_then(|last| last.parse().ok());
    last.and_then(|last| last.checked_add(1)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The threads of a process. Calls of those that start later are left out when they are taken.
fn threads_of(process: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests;
