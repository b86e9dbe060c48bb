//! Whether the processor's counters can be used (`perf_event_open(2)`).

use std::io;
use std::os::fd::OwnedFd;

use ipcost_model::facts::Counting;

use super::perf_event::{self, CounterRequest, HARDWARE, WITHOUT_HYPERVISOR, WITHOUT_KERNEL};

const CYCLES: u64 = 0;
const INSTRUCTIONS: u64 = 1;
/// Whether this user may count instructions and cycles of its own processes.
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
        // A counter may open and still never count.
        std::hint::black_box((0..1_000_u64).map(std::hint::black_box).sum::<u64>());
        let mut count = [0; size_of::<u64>()];
        rustix::io::read(&counter, &mut count)?;
        if count == [0; 8] { Err(io::ErrorKind::Unsupported.into()) } else { Ok(()) }
    })
}

fn open(event: u64, flags: u64) -> io::Result<OwnedFd> {
    const THIS_PROCESS: i32 = 0;
    perf_event::open(CounterRequest { kind: HARDWARE, event, read_format: 0, flags }, THIS_PROCESS)
}

#[cfg(test)]
mod tests {
    #[test]
    fn whatever_this_machine_has_it_answers() {
        let _ = super::counting();
    }
}
