//! Sleeping until a word of shared memory changes (`futex(2)`).

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::thread::futex;

/// Why this system lacks futexes.
pub const LACKS: Option<&'static str> = None;

/// Wakes a sleeper, in any process.
#[inline]
pub fn wake(word: &AtomicU32) -> io::Result<()> {
    // Without PRIVATE: another process uses the word, too.
    futex::wake(word, futex::Flags::empty(), 1)?;
    Ok(())
}

/// Sleeps until the word is no longer `seen`; returns its new value.
#[inline]
pub fn wait(word: &AtomicU32, seen: u32) -> io::Result<u32> {
    loop {
        let now = word.load(Ordering::Acquire);
        if now != seen {
            return Ok(now);
        }
        sleep(word, seen)?;
    }
}

/// Sleeps until woken; not at all if the word is no longer `seen`.
#[inline]
pub fn sleep(word: &AtomicU32, seen: u32) -> io::Result<()> {
    // No timeout: a timer at every turn would be part of the cost.
    match futex::wait(word, futex::Flags::empty(), seen, None) {
        // It was handed over before this side slept, or a signal arrived.
        Ok(()) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
