//! The wall clock, which may step: nothing that is measured depends on it.
#![allow(clippy::disallowed_types)]

use std::time::SystemTime;

/// This moment as records tell it, RFC 3339.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// A short seed, so that it is easily typed again.
pub fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (now.as_nanos() as u64 ^ u64::from(std::process::id())) & 0xffff_ffff
}
