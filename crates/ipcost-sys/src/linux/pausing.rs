//! Waiting for a moment (`clock_nanosleep(2)`), and how late the kernel may end the wait (`prctl(2)`).

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU64;

use rustix::io::Errno;
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec};

use crate::file_writer::open_kernel_file;

/// Sleeps until a moment on the monotonic clock, nanoseconds; returns at once if it has passed.
pub fn sleep_until(at_ns: u64) {
    const SECOND: u64 = 1_000_000_000;
    let at = Timespec { tv_sec: (at_ns / SECOND) as i64, tv_nsec: (at_ns % SECOND) as i64 };
    while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(Errno::INTR) {}
}

/// Sets how late the kernel may wake this thread, nanoseconds, to save wake-ups (`PR_SET_TIMERSLACK`).
pub fn set_timer_slack(ns: u64) -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(ns))?)
}

/// Keeps all processors from idle states that take longer to leave, until it is dropped.
#[derive(Debug)]
pub struct IdleStateLimit {
    // The kernel keeps to it while this is open.
    _device: File,
}

/// Where the longest exit from an idle state is requested (`Documentation/power/pm_qos_interface.rst` of Linux).
const DEVICE: &str = "/dev/cpu_dma_latency";

/// Keeps all processors of this machine from idle states that take longer than so many nanoseconds to leave; 0 keeps them from all.
pub fn keep_awake(most_ns: u64) -> io::Result<IdleStateLimit> {
    let mut device = open_kernel_file(DEVICE.as_ref())?;
    let most_us = i32::try_from(most_ns / 1_000).unwrap_or(i32::MAX);
    device.write_all(&most_us.to_ne_bytes())?;
    Ok(IdleStateLimit { _device: device })
}

/// Whether this user may keep processors awake.
pub fn may_keep_awake() -> bool {
    open_kernel_file(DEVICE.as_ref()).is_ok()
}
