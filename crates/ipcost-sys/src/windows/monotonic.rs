//! The monotonic clock (`QueryPerformanceCounter`).

use std::sync::atomic::{AtomicU64, Ordering};

use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};

/// The counter's frequency of Windows 10 on nearly every machine.
const USUAL_PER_SECOND: u64 = 10_000_000;
const NS_PER_SECOND: u64 = 1_000_000_000;

/// Steps per second; 0 until queried. It never changes while the system runs.
static PER_SECOND: AtomicU64 = AtomicU64::new(0);

/// Nanoseconds on the monotonic clock, which never steps back and is the same for all processes.
///
/// Reads the counter without a system call if the processor's own is reliable.
#[inline]
pub fn now_ns() -> u64 {
    let mut count = 0;
    // SAFETY: the pointer is to a number that outlives the call, which cannot fail since Windows XP.
    unsafe { QueryPerformanceCounter(&mut count) };
    let count = count as u64;
    match PER_SECOND.load(Ordering::Relaxed) {
        USUAL_PER_SECOND => count * (NS_PER_SECOND / USUAL_PER_SECOND),
        0 => nanoseconds(count, ask()),
        per_second => nanoseconds(count, per_second),
    }
}

#[cold]
fn ask() -> u64 {
    let mut per_second = 0;
    // SAFETY: as above.
    unsafe { QueryPerformanceFrequency(&mut per_second) };
    PER_SECOND.store(per_second as u64, Ordering::Relaxed);
    per_second as u64
}

/// Converts whole seconds separately, to avoid overflow.
fn nanoseconds(count: u64, per_second: u64) -> u64 {
    count / per_second * NS_PER_SECOND + count % per_second * NS_PER_SECOND / per_second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_become_nanoseconds_without_overflow() {
        assert_eq!(nanoseconds(25, USUAL_PER_SECOND), 2_500);
        let year = 365 * 24 * 3_600;
        assert_eq!(nanoseconds(3_579_545 * year + 1, 3_579_545), NS_PER_SECOND * year + 279);
    }
}
