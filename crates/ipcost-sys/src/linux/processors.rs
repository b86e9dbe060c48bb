//! The processors available to this program.

use std::collections::BTreeMap;
use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity};

/// The logical processors of each physical core, ascending, within this program's affinity; from
/// `/sys/devices/system/cpu`.
///
/// If a core's siblings cannot be read, every processor counts as its own core.
pub fn by_core() -> Vec<Vec<usize>> {
    let allowed = sched_getaffinity(None).unwrap_or_default();
    let mut cores: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)) {
        let siblings = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let core = fs::read_to_string(siblings).unwrap_or_else(|_| cpu.to_string());
        cores.entry(core).or_default().push(cpu);
    }
    cores.into_values().collect()
}
