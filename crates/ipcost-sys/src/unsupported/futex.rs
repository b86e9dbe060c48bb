//! Sleeping until a word of shared memory changes: no call here does that between processes.

use std::io;
use std::sync::atomic::AtomicU32;

use super::unsupported;

const REASON: &str = "sleeping on a word that another process changes needs Linux's futex";

/// Why this system lacks futexes.
pub const LACKS: Option<&'static str> = Some(REASON);

pub fn wake(_word: &AtomicU32) -> io::Result<()> {
    Err(unsupported(REASON))
}

/// Sleeps until the word is no longer `seen`.
pub fn wait(_word: &AtomicU32, _seen: u32) -> io::Result<u32> {
    Err(unsupported(REASON))
}

pub fn sleep(_word: &AtomicU32, _seen: u32) -> io::Result<()> {
    Err(unsupported(REASON))
}
