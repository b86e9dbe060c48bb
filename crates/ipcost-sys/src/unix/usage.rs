//! This process's resource usage.

use std::mem::MaybeUninit;

use ipcost_model::Usage;

/// Usage of this process since its start, all threads, living and ended (`getrusage(2)`).
pub fn own() -> Usage {
    of(libc::RUSAGE_SELF)
}

/// Usage of children that have ended and been waited for, and of their children in turn.
pub fn children() -> Usage {
    of(libc::RUSAGE_CHILDREN)
}

/// Processor cycles of this process, all threads; `None`, as Unix has no cheap call for them.
pub fn cycles() -> Option<u64> {
    None
}

fn of(who: libc::c_int) -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one rusage; zeroed memory is a valid rusage even if the call fails.
    let usage = unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    };
    let nanoseconds = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Usage {
        user_ns: nanoseconds(usage.ru_utime),
        sys_ns: nanoseconds(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_shows() {
        let before = own();
        let start = crate::clock::now_ns();
        // Until it shows, however little processor time others leave.
        while (own() - before).cpu_ns() < 5_000_000 {
            assert!(crate::clock::now_ns() - start < 60_000_000_000, "{:?}", own() - before);
        }
    }
}
