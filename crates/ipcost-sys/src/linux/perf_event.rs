//! One counter of the processor or the kernel (`perf_event_open(2)`).

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Processor events.
pub const HARDWARE: u32 = 0;
/// Kernel events.
pub const SOFTWARE: u32 = 1;
/// Places in the kernel that tell when they are passed, such as the entry of a system call.
pub const TRACEPOINT: u32 = 2;
/// Starts disabled.
pub const DISABLED: u64 = 1;
/// Also counts what the task starts.
pub const INHERIT: u64 = 1 << 1;
/// Excludes user space.
pub const WITHOUT_USER: u64 = 1 << 4;
/// Excludes the kernel.
pub const WITHOUT_KERNEL: u64 = 1 << 5;
/// Excludes the hypervisor.
pub const WITHOUT_HYPERVISOR: u64 = 1 << 6;
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// The first version of `struct perf_event_attr`, which every kernel with events supports.
#[repr(C)]
#[derive(Default)]
struct Attributes {
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
///
/// # Errors
/// If a system call fails.
pub fn open(request: CounterRequest, task: i32) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        kind: request.kind,
        size: size_of::<Attributes>() as u32,
        config: request.event,
        read_format: request.read_format,
        flags: request.flags,
        ..Attributes::default()
    };
    let (any_processor, no_group): (libc::c_int, libc::c_int) = (-1, -1);
    // SAFETY: the pointer is valid for the size in the structure, and the kernel only reads it.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            task,
            any_processor,
            no_group,
            CLOSE_ON_EXEC,
        )
    };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just returned this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as libc::c_int) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_is_as_long_as_its_first_version() {
        assert_eq!(size_of::<Attributes>(), 64);
    }
}
