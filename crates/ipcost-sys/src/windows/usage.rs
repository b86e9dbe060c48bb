//! This process's resource usage.

use std::sync::atomic::{AtomicU64, Ordering};

use ipcost_model::Usage;
use windows_sys::Win32::Foundation::{FILETIME, HANDLE};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes};
use windows_sys::Win32::System::WindowsProgramming::QueryProcessCycleTime;

/// The unit of Windows' times.
const NS_PER_UNIT: u64 = 100;

static CHILDREN_USER_NS: AtomicU64 = AtomicU64::new(0);
static CHILDREN_SYS_NS: AtomicU64 = AtomicU64::new(0);

/// Usage of this process since its start, all threads (`GetProcessTimes`).
///
/// Windows counts in clock interrupts, 15.6 ms apart unless a program requests more; it does not count switches.
pub fn own() -> Usage {
    // SAFETY: the handle denotes this process and needs no closing.
    of(unsafe { GetCurrentProcess() })
}

/// Usage of a process since its start; zero if its handle does not permit the query.
pub(super) fn of(process: HANDLE) -> Usage {
    let zero = FILETIME::default();
    let [mut created, mut ended, mut kernel, mut user] = [zero; 4];
    // SAFETY: the call rejects anything but an open handle; the pointers are to four times.
    let result = unsafe { GetProcessTimes(process, &mut created, &mut ended, &mut kernel, &mut user) };
    if result == 0 {
        return Usage::default();
    }
    from_units(units(user), units(kernel))
}

/// Usage of children that have ended and been waited for, and of their children in turn.
pub fn children() -> Usage {
    Usage {
        user_ns: CHILDREN_USER_NS.load(Ordering::Relaxed),
        sys_ns: CHILDREN_SYS_NS.load(Ordering::Relaxed),
        ..Usage::default()
    }
}

/// Adds to the children's usage.
pub(super) fn add_children(used: Usage) {
    CHILDREN_USER_NS.fetch_add(used.user_ns, Ordering::Relaxed);
    CHILDREN_SYS_NS.fetch_add(used.sys_ns, Ordering::Relaxed);
}

/// User and kernel time, in Windows' time units.
pub(super) fn from_units(user: u64, kernel: u64) -> Usage {
    Usage { user_ns: user * NS_PER_UNIT, sys_ns: kernel * NS_PER_UNIT, ..Usage::default() }
}

/// Processor cycles of this process, all threads (`QueryProcessCycleTime`): unlike times, these are exact. `None` if
/// the system does not count them.
pub fn cycles() -> Option<u64> {
    let mut cycles = 0;
    // SAFETY: the handle denotes this process; the pointer is to a number that outlives the call.
    let result = unsafe { QueryProcessCycleTime(GetCurrentProcess(), &mut cycles) };
    (result != 0 && cycles > 0).then_some(cycles)
}

fn units(time: FILETIME) -> u64 {
    (u64::from(time.dwHighDateTime) << 32) | u64::from(time.dwLowDateTime)
}
