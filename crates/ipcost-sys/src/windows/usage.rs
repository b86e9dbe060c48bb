//! What this process takes of the machine.

use std::sync::atomic::{AtomicU64, Ordering};

use ipcost_model::Usage;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes};
use windows_sys::Win32::System::WindowsProgramming::QueryProcessCycleTime;

/// The unit of Windows' times.
const NS_PER_UNIT: u64 = 100;

static CHILDREN_USER_NS: AtomicU64 = AtomicU64::new(0);
static CHILDREN_SYS_NS: AtomicU64 = AtomicU64::new(0);

/// What this process has used since its start, all threads (`GetProcessTimes`).
///
/// Windows counts in clock interrupts, 15.6 ms apart unless somebody asked for more; it does not count switches.
pub fn own() -> Usage {
    let zero = FILETIME::default();
    let [mut created, mut ended, mut kernel, mut user] = [zero; 4];
    // SAFETY: the handle stands for this process and needs no closing; the pointers are to four times.
    let result =
        unsafe { GetProcessTimes(GetCurrentProcess(), &mut created, &mut ended, &mut kernel, &mut user) };
    if result == 0 {
        return Usage::default();
    }
    Usage { user_ns: nanoseconds(user), sys_ns: nanoseconds(kernel), ..Usage::default() }
}

/// What children that have ended and been waited for have used, and theirs in turn.
pub fn children() -> Usage {
    Usage {
        user_ns: CHILDREN_USER_NS.load(Ordering::Relaxed),
        sys_ns: CHILDREN_SYS_NS.load(Ordering::Relaxed),
        ..Usage::default()
    }
}

/// Adds what the processes of a job have used; the units are those of Windows' times.
pub fn add_children(user: i64, kernel: i64) {
    CHILDREN_USER_NS.fetch_add(user as u64 * NS_PER_UNIT, Ordering::Relaxed);
    CHILDREN_SYS_NS.fetch_add(kernel as u64 * NS_PER_UNIT, Ordering::Relaxed);
}

/// Processor cycles that this process has taken, all threads (`QueryProcessCycleTime`): unlike times, these are
/// exact. `None` where the system does not count them.
pub fn cycles() -> Option<u64> {
    let mut cycles = 0;
    // SAFETY: the handle stands for this process; the pointer is to a number that outlives the call.
    let result = unsafe { QueryProcessCycleTime(GetCurrentProcess(), &mut cycles) };
    (result != 0 && cycles > 0).then_some(cycles)
}

fn nanoseconds(time: FILETIME) -> u64 {
    ((u64::from(time.dwHighDateTime) << 32) | u64::from(time.dwLowDateTime)) * NS_PER_UNIT
}
