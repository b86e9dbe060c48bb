//! What calls have moved through sockets and pipes, counted in the kernel (`bpf(2)`, `bpf-helpers(7)`).
//!
//! A program of a hundred instructions runs at the end of every system call. Of the calls that move data it reads the
//! process, the descriptor, what that is, and the result; never what was moved.
//!
//! What is missed: `io_uring`; shared memory; descriptors that `sendfile`, `splice` and `tee` read from; message queues;
//! and programs of 32 bits. In a namespace of processes, those of namespaces within it.
//!
//! A call whose descriptor another thread closed before it ended is counted as lost, or for what took the descriptor since.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use crate::clock::now_ns;

use super::bpf::{self, Map, Plain};
use super::call_program::{TracepointOffsets, called_on, kind_and_number};
use super::call_samples::FIRST_NAMESPACE;
use super::count_program::{self, KEY_BYTES, Numbers, WAY_BYTES, Wanted};
use super::kernel_types::KernelTypes;
use super::moving_calls;
pub use crate::observed::{CallDirection, CalledOn, CountedCalls, SampleError};

/// For so long calls are counted after the last reading: if this program is stopped, other programs' calls are not to take longer for good.
pub const LASTS: Duration = Duration::from_secs(15);

/// Descriptors that have counts at once.
const MOST_COUNTED: u32 = 1 << 17;

/// A key of the counts.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct CountKey {
    process: u32,
    descriptor: i32,
    number: u64,
    kind: u32,
    zero: u32,
}

/// Counts of a direction.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct DirectionCounts {
    bytes: u64,
    calls: u64,
    empty: u64,
    unsized_calls: u64,
}

/// The counts of a key.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct CallCounts {
    into: DirectionCounts,
    out: DirectionCounts,
}

const _: () = assert!(size_of::<CountKey>() == KEY_BYTES as usize);
const _: () = assert!(size_of::<CallCounts>() == 2 * WAY_BYTES as usize);

// SAFETY: numbers alone, which fill it.
unsafe impl Plain for CountKey {}
// SAFETY: numbers alone, which fill it.
unsafe impl Plain for CallCounts {}

/// A counter of the calls that move data, of every process but this one.
///
/// As long as it is open, every call of every program takes somewhat longer. It ends with this value, or with this
/// process, however that ends.
#[derive(Debug)]
pub struct CallCounter {
    counts: Map<CountKey, CallCounts>,
    lost: Map<u32, u64>,
    until: Map<u32, u64>,
    /// Runs the program until it is closed.
    _attached: OwnedFd,
}

impl CallCounter {
    /// Opens it: calls are counted that end from now on. Processes have the numbers of this one's namespace.
    ///
    /// # Errors
    /// If this user lacks permission (root, or `CAP_BPF` and `CAP_PERFMON`), or the kernel lacks what the program needs
    /// (Linux 5.11 with `CONFIG_DEBUG_INFO_BTF`), or it refuses the program.
    pub fn open() -> Result<Self, SampleError> {
        let space = std::fs::metadata("/proc/self/ns/pid").map_err(refusal)?;
        let numbers = match space.ino() {
            FIRST_NAMESPACE => Numbers::First,
            number => Numbers::Namespace(kernel_device(space.dev()), number),
        };
        Self::open_as(numbers, Some(std::process::id()), MOST_COUNTED)
    }

    fn open_as(numbers: Numbers, without: Option<u32>, entries: u32) -> Result<Self, SampleError> {
        let unknown = || SampleError::Absent(io::ErrorKind::Unsupported.into());
        let counts = Map::hash(entries).map_err(refusal)?;
        let lost = Map::array(1).map_err(refusal)?;
        let until = Map::array(1).map_err(refusal)?;
        let types = KernelTypes::read().map_err(refusal)?;
        let tracepoint = types.tracepoint(count_program::TRACEPOINT).ok_or_else(unknown)?;
        let wanted = Wanted {
            calls: &moving_calls::countable(),
            numbers,
            without,
            offsets: TracepointOffsets::of(&types).ok_or_else(unknown)?,
            counts: counts.descriptor(),
            lost: lost.descriptor(),
            until: until.descriptor(),
        };
        let program = count_program::write(&wanted).ok_or_else(unknown)?;
        let program = bpf::load(&program, tracepoint, count_program::LICENSE).map_err(refusal)?;
        let attached = bpf::attach(&program).map_err(refusal)?;
        let counter = Self { counts, lost, until, _attached: attached };
        counter.last(LASTS).map_err(refusal)?;
        Ok(counter)
    }

    /// Counts for so long from now on.
    fn last(&self, time: Duration) -> io::Result<()> {
        self.until.set(&0, &(now_ns() + time.as_nanos() as u64))
    }

    /// What was counted since it was opened, of each descriptor and direction in which anything was. It goes on for [`LASTS`].
    pub fn read(&mut self) -> io::Result<Vec<CountedCalls>> {
        self.last(LASTS)?;
        let mut found = Vec::new();
        self.counts.for_each(&mut |key, counts| {
            let on = called_on(key.kind, key.number);
            for (direction, way) in [(CallDirection::In, &counts.into), (CallDirection::Out, &counts.out)] {
                if way.calls > 0 || way.empty > 0 {
                    found.push(CountedCalls {
                        process: key.process,
                        descriptor: key.descriptor,
                        on,
                        direction,
                        bytes: way.bytes,
                        calls: way.calls,
                        empty: way.empty,
                        unsized_calls: way.unsized_calls,
                    });
                }
            }
        })?;
        Ok(found)
    }

    /// Calls that moved data or found none, and that are in no count: there was no room for another descriptor, or
    /// the call's own was closed before it ended.
    pub fn lost(&self) -> io::Result<u64> {
        self.lost.value(&0)
    }

    /// Forgets the counts of a descriptor, both directions, to make room: of a process that has ended, or of a socket or
    /// pipe that it has closed. If more calls come, they are counted from 0.
    pub fn forget(&mut self, process: u32, descriptor: i32, on: CalledOn) {
        let (kind, number) = kind_and_number(on);
        self.counts.remove(&CountKey { process, descriptor, number, kind, zero: 0 });
    }
}

/// A device as the kernel numbers it within, from what it tells programs.
fn kernel_device(device: u64) -> u64 {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    u64::from(major) << 20 | u64::from(minor)
}

pub(super) fn refusal(error: io::Error) -> SampleError {
    use io::ErrorKind::{ArgumentListTooLong, InvalidData, InvalidInput, NotFound, Unsupported};
    // What the verifier says has no number any more.
    if matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES)) {
        return SampleError::Forbidden(error);
    }
    match error.kind() {
        ArgumentListTooLong | InvalidData | InvalidInput | NotFound | Unsupported => {
            SampleError::Absent(error)
        }
        _ => SampleError::Failed(error),
    }
}

#[cfg(test)]
mod tests;
