//! Events of processes, where the system is not asked for them.

use std::collections::BTreeMap;

pub use crate::contract::Refusal;

/// The events that other systems count.
const EVENTS: [&str; 4] = ["instructions_user", "instructions_kernel", "page_faults", "migrations"];

/// Counters that count nothing.
#[derive(Debug, Default)]
pub struct Counters {
    refused: BTreeMap<&'static str, Refusal>,
}

impl Counters {
    /// All are refused.
    pub fn of_group(_group: u32) -> Self {
        Self { refused: EVENTS.map(|event| (event, Refusal::Absent)).into() }
    }

    /// Nothing begins.
    pub fn enable(&self) {}

    /// Nothing.
    pub fn read(&self) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }

    /// What cannot be counted, and why.
    pub fn refused(&self) -> &BTreeMap<&'static str, Refusal> {
        &self.refused
    }
}

/// The processes of a group; none that could be asked.
pub fn processes(_group: u32) -> Vec<u32> {
    Vec::new()
}
