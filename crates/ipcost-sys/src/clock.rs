//! The clock of every measurement.

use std::time::SystemTime;

pub use crate::system::monotonic::now_ns;
pub use crate::system::suspension::suspended_ns;

/// By how much the wall clock is ahead of [`now_ns`] just now, nanoseconds: it converts times that other programs have
/// written. What happens when the wall clock is set is not known afterwards.
pub fn wall_ahead_ns() -> u64 {
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX).saturating_sub(now_ns())
}

/// The clock's cost and resolution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quality {
    /// What one reading costs, nanoseconds.
    pub read_ns: u64,
    /// The smallest step observed, nanoseconds.
    pub step_ns: u64,
}

/// Reads the clock some thousand times and measures its cost and resolution.
pub fn quality() -> Quality {
    const READINGS: u64 = 4_000;
    let mut least = u64::MAX;
    // The fastest of several runs: an interrupted one says nothing about the clock.
    let read_ns = (0..5)
        .map(|_| {
            let began = now_ns();
            let mut last = began;
            for _ in 0..READINGS {
                let now = now_ns();
                if now > last {
                    least = least.min(now - last);
                }
                last = now;
            }
            (last - began) / READINGS
        })
        .min()
        .unwrap_or(0);
    Quality { read_ns, step_ns: if least == u64::MAX { 0 } else { least } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_takes_some_time() {
        let quality = quality();
        assert!((1..100_000).contains(&quality.read_ns), "{quality:?}");
        assert!(quality.step_ns > 0, "{quality:?}");
    }

    #[test]
    fn a_machine_that_stays_awake_is_not_taken_for_suspended() {
        let before = suspended_ns();
        for _ in 0..10_000 {
            assert!(suspended_ns().abs_diff(before) < 1_000_000);
        }
    }

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
