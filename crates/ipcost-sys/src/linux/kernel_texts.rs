//! The readers of what Linux alone writes, for tests and fuzzers.

use super::{limits, loopback, perf, permissions, processor_times, worker};

/// Reads a text as each kind there is here.
pub fn read_text(text: &str) {
    let _ = processor_times::parse(text);
    limits::read_text(text);
    perf::read_text(text);
    worker::read_text(text);
}

/// Reads bytes as what is no text.
pub fn read_bytes(bytes: &[u8]) {
    loopback::read_bytes(bytes);
    permissions::read_bytes(bytes);
}
