//! Event counts of processes: not queried here.

use std::collections::BTreeMap;

pub use crate::contract::Refusal;

/// The events that other systems count.
const EVENTS: [&str; 4] = ["instructions_user", "instructions_kernel", "page_faults", "migrations"];

#[derive(Debug, Default)]
pub struct Counters {
    refused: BTreeMap<String, Refusal>,
}

impl Counters {
    pub fn of_group(_group: u32) -> Self {
        Self { refused: EVENTS.map(|event| (event.to_owned(), Refusal::Absent)).into() }
    }

    pub fn of_calls<'a>(_group: u32, names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { refused: names.into_iter().map(|name| (name.to_owned(), Refusal::Absent)).collect() }
    }

    pub fn enable(&self) {}

    pub fn read(&self) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }

    /// Events that cannot be counted, and why.
    pub fn refused(&self) -> &BTreeMap<String, Refusal> {
        &self.refused
    }
}

/// The processes of a group; always empty.
pub fn processes(_group: u32) -> Vec<u32> {
    Vec::new()
}
