//! Waiting for a moment, as precisely as the standard library can.

use std::io;
use std::time::Duration;

use crate::clock::now_ns;

/// Sleeps until a moment on the monotonic clock, nanoseconds; returns at once if it has passed.
pub fn sleep_until(at_ns: u64) {
    let now = now_ns();
    if now < at_ns {
        std::thread::sleep(Duration::from_nanos(at_ns - now));
    }
}

/// Does nothing: the system has no such setting.
pub fn set_timer_slack(_ns: u64) -> io::Result<()> {
    Ok(())
}

/// Nothing: the system has no such setting.
#[derive(Debug)]
pub struct IdleStateLimit {}

/// Refuses: the system has no such setting.
pub fn keep_awake(_most_ns: u64) -> io::Result<IdleStateLimit> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Whether this user may keep processors awake: never here.
pub fn may_keep_awake() -> bool {
    false
}
