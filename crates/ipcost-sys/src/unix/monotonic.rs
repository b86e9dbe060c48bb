//! The monotonic clock (`clock_gettime(2)`).

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds on the monotonic clock, which never steps back and is the same for all processes.
///
/// `CLOCK_MONOTONIC` through the vDSO: no system call if the kernel can avoid it.
#[inline]
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
