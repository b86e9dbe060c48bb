//! The system's limits.

use std::io;

use windows_sys::Win32::Foundation::{
    ERROR_COMMITMENT_LIMIT, ERROR_DISK_FULL, ERROR_NO_SYSTEM_RESOURCES, ERROR_NOT_ENOUGH_MEMORY,
    ERROR_TOO_MANY_OPEN_FILES,
};

use super::is;
pub use crate::contract::{Room, TaskLimit};

/// The remaining room: Windows has no limits that a run could meet before it runs out of memory.
pub fn room() -> Room {
    Room { descriptors: raise_descriptors(), ..Room::default() }
}

/// The resource that ran out, and the remedy; `None` for any other error.
pub fn shortage(error: &io::Error) -> Option<&'static str> {
    const MEMORY: [u32; 3] = [ERROR_COMMITMENT_LIMIT, ERROR_NO_SYSTEM_RESOURCES, ERROR_NOT_ENOUGH_MEMORY];
    if is(error, ERROR_TOO_MANY_OPEN_FILES) {
        return Some("no handles are left: take fewer cells or less concurrency");
    }
    if is(error, ERROR_DISK_FULL) {
        return Some("the disk is full: make room, or set TEMP to another");
    }
    MEMORY
        .iter()
        .any(|code| is(error, *code))
        .then_some("memory is exhausted: take fewer cells or less concurrency")
}

/// The number of handles that this process may open: more than any run needs.
pub fn raise_descriptors() -> u64 {
    u64::MAX
}

/// The same as a limit; `None`, as it is never reached.
pub fn most_descriptors() -> Option<u64> {
    None
}
