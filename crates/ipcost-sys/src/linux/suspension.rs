//! Whether the machine was suspended.

use rustix::time::{ClockId, clock_gettime};

use crate::clock::now_ns;

/// How long the machine was suspended since it started, nanoseconds: the clock that counts suspension
/// (`CLOCK_BOOTTIME`) minus the one that does not (`clock_gettime(2)`).
pub fn suspended_ns() -> u64 {
    let boot_ns = || {
        let time = clock_gettime(ClockId::Boottime);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    // An interruption between the two readings looks like a suspension: the closest readings count.
    let reading = |_| {
        let (before, boot, after) = (now_ns(), boot_ns(), now_ns());
        (after - before, boot.saturating_sub(u64::midpoint(before, after)))
    };
    (0..3).map(reading).min().map_or(0, |(_, ahead)| ahead)
}
