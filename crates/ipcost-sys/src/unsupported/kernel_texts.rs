//! Parsers of Linux-only texts: none here.

/// Does nothing.
pub fn read_text(_text: &str) {}

/// Does nothing.
pub fn read_bytes(_bytes: &[u8]) {}
