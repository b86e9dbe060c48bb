//! The system calls that move data, of programs that already run, as the kernel's tracepoints see them
//! (`perf_event_open(2)`, `raw_syscalls:sys_enter` and `raw_syscalls:sys_exit`).
//!
//! Addresses among a call's arguments are ignored: nothing here can read what a call moves.

use std::collections::HashSet;
use std::ffi::CString;
use std::io;
use std::os::unix::fs::MetadataExt;

use super::call_records::{CallEvent, CallTracepoints, Pairing, Record, record};
use super::moving_calls;
pub use super::moving_calls::{error_number, of_name};
use super::processor_rings::{DELAY_NS, ProcessorRings, layout};
use super::running::threads_of;
use super::sample_records::in_order;
use crate::clock::now_ns;
pub use crate::observed::{CallDirection, MovedCall, MovingCall, SampleError, Taken};

/// A ring's size, bytes: room for 7 000 calls.
const RING_BYTES: usize = 1 << 20;
/// The number of the first namespace of processes (`PROC_PID_INIT_INO`).
pub(super) const FIRST_NAMESPACE: u64 = 0xefff_fffc;

/// A sampler of the calls that move data.
///
/// As long as it is open, every call of every program takes somewhat longer, and more so while it is enabled. Processors
/// that come online later are not sampled.
#[derive(Debug)]
pub struct CallSampler {
    rings: ProcessorRings,
    layout: CallTracepoints,
    threads: Option<HashSet<u32>>,
    /// The process whose calls are left out: this one.
    without: Option<u32>,
    is_enabled: bool,
    /// Records that are not in order yet.
    records: Vec<Record>,
    pairing: Pairing,
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
        let layout = layout("raw_syscalls", ["sys_enter", "sys_exit"], |[enter, exit]| {
            CallTracepoints::parse(enter, exit)
        })?;
        // Filters compare numbers of the first namespace.
        let is_first =
            std::fs::metadata("/proc/self/ns/pid").is_ok_and(|space| space.ino() == FIRST_NAMESPACE);
        let own = without.filter(|_| is_first).map(threads_of).unwrap_or_default();
        let only =
            threads.filter(|threads| is_first && (1..=moving_calls::MOST_THREADS).contains(&threads.len()));
        let unknown = || SampleError::Absent(io::ErrorKind::Unsupported.into());
        let filter = moving_calls::filter(&own, only).ok_or_else(unknown)?;
        let filter = CString::new(filter).map_err(|_| unknown())?;
        let rings = ProcessorRings::open(&[layout.enter, layout.exit], &filter, RING_BYTES, 0)?;
        Ok(Self {
            rings,
            layout,
            threads: threads.map(|threads| threads.iter().copied().collect()),
            without,
            is_enabled: false,
            records: Vec::new(),
            pairing: Pairing::default(),
        })
    }

    pub fn enable(&mut self) {
        let resumed = Record { at_ns: now_ns(), process: 0, thread: 0, what: CallEvent::Resumed };
        self.records.push(resumed);
        self.rings.enable();
        self.is_enabled = true;
    }

    /// Stops sampling; what was sampled so far can still be taken.
    pub fn disable(&mut self) {
        self.rings.disable();
        self.is_enabled = false;
    }

    /// Takes the calls that have ended since the last time, in the order of their ends.
    ///
    /// While sampling is enabled, those of the last millisecond are left for the next time: processors may write them in
    /// another order. A call that has not ended yet is complete when it does, even if sampling was disabled in between;
    /// then it is marked. The kernel tells of some lost records only with the next one.
    pub fn take(&mut self, found: &mut dyn FnMut(MovedCall)) -> Taken {
        let until_ns = if self.is_enabled { now_ns().saturating_sub(DELAY_NS) } else { u64::MAX };
        let (records, threads, without, layout) =
            (&mut self.records, &self.threads, self.without, &self.layout);
        let taken = self.rings.take(&mut |sample| {
            let Some(record) = record(sample, layout) else { return };
            // Processes of other namespaces have no number here.
            let is_other = record.process != 0 && without != Some(record.process);
            let is_meant = is_other && threads.as_ref().is_none_or(|all| all.contains(&record.thread));
            if is_meant || matches!(record.what, CallEvent::Lost(_)) {
                records.push(record);
            }
        });
        for record in in_order(records, until_ns, |record| record.at_ns) {
            if let Some(call) = self.pairing.take(record) {
                found(call);
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests;
