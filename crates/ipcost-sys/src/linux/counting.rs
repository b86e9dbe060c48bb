//! Whether the processor's counters can be used (`perf_event_open(2)`).

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use ipcost_model::doctor::Counting;

/// The first version of `struct perf_event_attr`, which every kernel knows.
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

const HARDWARE: u32 = 0;
const CYCLES: u64 = 0;
const INSTRUCTIONS: u64 = 1;
const WITHOUT_KERNEL: u64 = 1 << 5;
const WITHOUT_HYPERVISOR: u64 = 1 << 6;
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// How far this user may count instructions and cycles of its own processes.
pub fn counting() -> Counting {
    match both(0) {
        Ok(()) => Counting::Kernel,
        Err(error) if is_forbidden(&error) => match both(WITHOUT_KERNEL) {
            Ok(()) => Counting::User,
            Err(error) if is_forbidden(&error) => Counting::Forbidden,
            Err(_) => Counting::Absent,
        },
        Err(_) => Counting::Absent,
    }
}

fn is_forbidden(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn both(flags: u64) -> io::Result<()> {
    [INSTRUCTIONS, CYCLES].into_iter().try_for_each(|event| {
        let counter = open(event, flags | WITHOUT_HYPERVISOR)?;
        // A counter may be opened and still never count.
        std::hint::black_box((0..1_000_u64).map(std::hint::black_box).sum::<u64>());
        let mut count = [0; size_of::<u64>()];
        rustix::io::read(&counter, &mut count)?;
        if count == [0; 8] { Err(io::ErrorKind::Unsupported.into()) } else { Ok(()) }
    })
}

fn open(event: u64, flags: u64) -> io::Result<OwnedFd> {
    let size = size_of::<Attributes>() as u32;
    let attributes = Attributes { kind: HARDWARE, size, config: event, flags, ..Attributes::default() };
    let (this_process, any_processor, no_group): (libc::pid_t, libc::c_int, libc::c_int) = (0, -1, -1);
    // SAFETY: the pointer is valid for as many bytes as the structure says it has, and the kernel only reads them.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            this_process,
            any_processor,
            no_group,
            CLOSE_ON_EXEC,
        )
    };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just given this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as libc::c_int) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_is_as_long_as_its_first_version() {
        assert_eq!(size_of::<Attributes>(), 64);
        // Whatever this machine has, it answers.
        let _ = counting();
    }
}
