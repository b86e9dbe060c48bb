//! Parsers of Linux-only texts: none here.

pub fn read_text(_text: &str) {}

pub fn read_bytes(_bytes: &[u8]) {}
