//! Whether the machine was suspended, or this program stopped, during a batch.

use std::time::Duration;

use ipcost_sys::clock;
use ipcost_sys::interrupt::Interrupt;

/// Suspensions last longer than this; two clocks differ by less.
const SUSPENSION: Duration = Duration::from_millis(1);

/// Suspensions of the machine and stops of this program so far: equal at two times if neither happened in between.
pub(super) struct WakeState {
    suspended: Duration,
    continued: u64,
}

impl WakeState {
    pub(super) fn now(interrupt: &Interrupt) -> Self {
        let suspended = Duration::from_nanos(clock::suspended_ns());
        Self { suspended, continued: interrupt.times_continued() }
    }
}

impl PartialEq for WakeState {
    fn eq(&self, other: &Self) -> bool {
        self.continued == other.continued && self.suspended.abs_diff(other.suspended) < SUSPENSION
    }
}
