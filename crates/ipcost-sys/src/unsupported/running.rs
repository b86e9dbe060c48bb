//! No view of what other programs hold.

pub use crate::observed::{Held, Program, SharedMemory};

/// Which parts of a process are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    Counts,
    All,
}

/// The processes, which this system does not show.
#[derive(Debug, Default)]
pub struct RunningPrograms {
    pub all: Vec<Program>,
    pub left_out: u64,
    pub left_out_descriptors: u64,
}

impl RunningPrograms {
    pub fn read(_depth: impl Fn(u32) -> Depth) -> std::io::Result<Self> {
        Err(super::unsupported("only Linux shows what programs hold (proc)"))
    }
}

/// None: the system does not show what programs hold.
pub fn program_of(_id: u32, _depth: Depth) -> Option<Program> {
    None
}

/// Nothing: the system does not show it.
pub fn held_at(_process: u32, _descriptor: i32) -> Option<Held> {
    None
}

/// Nothing: the system does not show it.
pub fn waits_in(_process: u32) -> Vec<String> {
    Vec::new()
}

/// None: the system does not show them.
pub fn threads_of(_process: u32) -> Vec<u32> {
    Vec::new()
}

pub fn own_network() -> u64 {
    0
}

pub fn pipe_bytes(_process: u32, _descriptor: i32) -> Option<u64> {
    None
}

pub fn new_pipe_bytes() -> Option<u64> {
    None
}

/// None: the system does not show them.
pub fn pipe_pages() -> Vec<(String, u64)> {
    Vec::new()
}
