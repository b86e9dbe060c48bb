//! Whether anything stood still while a batch went on.

use std::time::Duration;

use ipcost_sys::clock;
use ipcost_sys::interrupt::Interrupt;

/// A machine that is suspended stays so for longer than this; two clocks differ by less.
const SUSPENSION: Duration = Duration::from_millis(1);

/// How often the machine was suspended and this program stopped so far: equal at two moments if neither happened
/// between them.
pub(super) struct Awake {
    suspended: Duration,
    continued: u64,
}

impl Awake {
    pub(super) fn now(interrupt: &Interrupt) -> Self {
        let suspended = Duration::from_nanos(clock::suspended_ns());
        Self { suspended, continued: interrupt.times_continued() }
    }
}

impl PartialEq for Awake {
    fn eq(&self, other: &Self) -> bool {
        self.continued == other.continued && self.suspended.abs_diff(other.suspended) < SUSPENSION
    }
}
