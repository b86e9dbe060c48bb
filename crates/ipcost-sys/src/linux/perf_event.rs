//! One counter of the processor or the kernel, or samples of it (`perf_event_open(2)`).

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub const HARDWARE: u32 = 0;
pub const SOFTWARE: u32 = 1;
/// Places in the kernel that tell when they are passed, such as the entry of a system call.
pub const TRACEPOINT: u32 = 2;
pub const DISABLED: u64 = 1;
/// Also counts what the task starts.
pub const INHERIT: u64 = 1 << 1;
pub const WITHOUT_USER: u64 = 1 << 4;
pub const WITHOUT_KERNEL: u64 = 1 << 5;
pub const WITHOUT_HYPERVISOR: u64 = 1 << 6;
/// Also records when a task takes the name of a program that it executes.
pub const NAMES: u64 = 1 << 9;
/// Records other than samples have a process, a thread and a time as well.
const WITH_ALL: u64 = 1 << 18;
/// Times are those of a clock that is named.
const USES_CLOCK: u64 = 1 << 25;
const CLOSE_ON_EXEC: libc::c_ulong = 8;
/// Bytes of the first version of the structure, which every kernel with events supports.
const FIRST_VERSION: usize = 64;
/// `PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW`.
const WHO_WHEN_AND_WHAT: u64 = 1 << 1 | 1 << 2 | 1 << 10;
const ENABLE: libc::Ioctl = 0x2400;
const DISABLE: libc::Ioctl = 0x2401;
const SET_OUTPUT: libc::Ioctl = 0x2405;
/// `PERF_EVENT_IOC_SET_FILTER`, with the length of a pointer.
const SET_FILTER: libc::Ioctl = (0x4000_2406 | size_of::<usize>() << 16) as libc::Ioctl;

/// `struct perf_event_attr`, up to its version that names a clock.
#[repr(C)]
#[derive(Default)]
struct PerfEventAttr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
    config_2: u64,
    branches: u64,
    registers: u64,
    stack_bytes: u32,
    clock: i32,
}

/// What is counted, and how.
#[derive(Debug, Clone, Copy)]
pub struct CounterRequest {
    /// [`HARDWARE`], [`SOFTWARE`] or [`TRACEPOINT`].
    pub kind: u32,
    /// The event's number within that kind.
    pub event: u64,
    /// The format of readings.
    pub read_format: u64,
    /// Flags such as [`DISABLED`].
    pub flags: u64,
}

/// Opens a counter of a task, on any processor; 0 is this process.
pub fn open(request: CounterRequest, task: i32) -> io::Result<OwnedFd> {
    const ANY_PROCESSOR: i32 = -1;
    let attributes = PerfEventAttr {
        kind: request.kind,
        size: FIRST_VERSION as u32,
        config: request.event,
        read_format: request.read_format,
        flags: request.flags,
        ..PerfEventAttr::default()
    };
    open_as(&attributes, task, ANY_PROCESSOR)
}

/// Opens samples of each time that any task passes a tracepoint on a processor: who, when on the monotonic clock, and its fields.
///
/// They start disabled; flags may be added, such as [`NAMES`].
pub fn sample(tracepoint: u64, processor: i32, flags: u64) -> io::Result<OwnedFd> {
    sample_of(TRACEPOINT, tracepoint, processor, flags)
}

fn sample_of(kind: u32, event: u64, processor: i32, flags: u64) -> io::Result<OwnedFd> {
    const ANY_TASK: i32 = -1;
    let attributes = PerfEventAttr {
        kind,
        size: size_of::<PerfEventAttr>() as u32,
        config: event,
        sample_period: 1,
        sample_type: WHO_WHEN_AND_WHAT,
        flags: DISABLED | WITH_ALL | USES_CLOCK | flags,
        clock: libc::CLOCK_MONOTONIC,
        ..PerfEventAttr::default()
    };
    open_as(&attributes, ANY_TASK, processor)
}

/// Opens what programs in the kernel hand over on a processor, in samples as those of [`sample`]. It starts disabled.
pub fn output(processor: i32) -> io::Result<OwnedFd> {
    const BY_PROGRAMS: u64 = 10;
    sample_of(SOFTWARE, BY_PROGRAMS, processor, 0)
}

fn open_as(attributes: &PerfEventAttr, task: i32, processor: i32) -> io::Result<OwnedFd> {
    let no_group: libc::c_int = -1;
    let pointer: *const PerfEventAttr = attributes;
    // SAFETY: the pointer is valid for the size in the structure, and the kernel only reads it.
    let descriptor = unsafe {
        libc::syscall(libc::SYS_perf_event_open, pointer, task, processor, no_group, CLOSE_ON_EXEC)
    };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just returned this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as libc::c_int) })
}

pub fn enable(event: &OwnedFd) {
    // SAFETY: this request takes no pointer. It fails only for what is no event, and then reading reports that.
    let _ = unsafe { libc::ioctl(event.as_raw_fd(), ENABLE, 0) };
}

/// Stops counting; what was sampled so far is in the ring when this returns.
pub fn disable(event: &OwnedFd) {
    // SAFETY: as for enabling.
    let _ = unsafe { libc::ioctl(event.as_raw_fd(), DISABLE, 0) };
}

/// Puts an event's samples into the ring of another event of the same processor, which has one.
pub fn share_ring(event: &OwnedFd, of: &OwnedFd) -> io::Result<()> {
    // SAFETY: both are open, and this request takes no pointer.
    checked(unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, of.as_raw_fd()) })
}

/// Samples only where a tracepoint's fields are so, such as `id==0&&common_pid!=1`.
pub fn filter(event: &OwnedFd, filter: &CStr) -> io::Result<()> {
    // SAFETY: the text ends with a zero, and the kernel only reads it.
    checked(unsafe { libc::ioctl(event.as_raw_fd(), SET_FILTER, filter.as_ptr()) })
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_is_as_long_as_its_versions() {
        assert_eq!(std::mem::offset_of!(PerfEventAttr, config_2), FIRST_VERSION);
        assert_eq!(size_of::<PerfEventAttr>(), 96);
    }
}
