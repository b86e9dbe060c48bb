//! Parsers of Linux-only texts, for tests and fuzzers.

use super::{
    call_records, connecting, kernel_types, limits, loopback, permissions, processor_times, running, sockets,
    worker,
};

/// Parses a text as each kind here.
pub fn read_text(text: &str) {
    let _ = processor_times::parse(text);
    call_records::read_text(text);
    connecting::read_text(text);
    limits::read_text(text);
    running::read_text(text);
    worker::read_text(text);
}

/// Parses bytes as each binary format.
pub fn read_bytes(bytes: &[u8]) {
    call_records::read_bytes(bytes);
    connecting::read_bytes(bytes);
    kernel_types::read_bytes(bytes);
    loopback::read_bytes(bytes);
    permissions::read_bytes(bytes);
    sockets::read_bytes(bytes);
}
