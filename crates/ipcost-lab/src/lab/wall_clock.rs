//! The wall clock, which may step: no measurement depends on it.
#![allow(clippy::disallowed_types)]

use std::time::SystemTime;

/// The current time as in records, RFC 3339.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// A short seed, easy to type again.
pub fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (now.as_nanos() as u64 ^ u64::from(std::process::id())) & 0xffff_ffff
}
