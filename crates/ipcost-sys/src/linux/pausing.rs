//! Waiting for a moment (`clock_nanosleep(2)`), and how late the kernel may end the wait (`prctl(2)`).

use std::io;
use std::num::NonZeroU64;

use rustix::io::Errno;
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec};

/// Sleeps until a moment on the monotonic clock, nanoseconds; returns at once if it has passed.
pub fn sleep_until(at_ns: u64) {
    const SECOND: u64 = 1_000_000_000;
    let at = Timespec { tv_sec: (at_ns / SECOND) as i64, tv_nsec: (at_ns % SECOND) as i64 };
    while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(Errno::INTR) {}
}

/// Sets how late the kernel may wake this thread, nanoseconds, to save wake-ups (`PR_SET_TIMERSLACK`).
///
/// # Errors
/// That of the kernel.
pub fn set_timer_slack(ns: u64) -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(ns))?)
}
