//! The clock of every measurement.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds on the monotonic clock, which never steps back and is the same for all processes.
///
/// `CLOCK_MONOTONIC` through the vDSO: no system call where the kernel can avoid it.
#[inline]
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_steps_back() {
        let mut last = now_ns();
        for _ in 0..10_000 {
            let now = now_ns();
            assert!(now >= last);
            last = now;
        }
    }
}
