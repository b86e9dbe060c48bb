//! Event counts of processes, from the kernel and the processor (`perf_event_open(2)`).

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use super::perf_event::{
    self, CounterRequest, DISABLED, HARDWARE, INHERIT, SOFTWARE, TRACEPOINT, WITHOUT_HYPERVISOR,
    WITHOUT_KERNEL, WITHOUT_USER,
};
use super::running::threads_of;
use super::tracefs;
pub use crate::contract::Refusal;
use crate::process_stat::{self, ProcessStat};

/// `PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING`.
const WITH_TIMES: u64 = 3;

struct Event<'a> {
    name: &'a str,
    kind: u32,
    config: u64,
    without: u64,
}

const fn event(name: &str, kind: u32, config: u64, without: u64) -> Event<'_> {
    Event { name, kind, config, without }
}

/// Hardware events first; user and kernel separately, so that a system call's own work shows.
const EVENTS: [Event<'static>; 8] = [
    event("instructions_user", HARDWARE, 1, WITHOUT_KERNEL),
    event("instructions_kernel", HARDWARE, 1, WITHOUT_USER),
    event("cycles_user", HARDWARE, 0, WITHOUT_KERNEL),
    event("cycles_kernel", HARDWARE, 0, WITHOUT_USER),
    event("cache_misses_user", HARDWARE, 3, WITHOUT_KERNEL),
    event("cache_misses_kernel", HARDWARE, 3, WITHOUT_USER),
    event("page_faults", SOFTWARE, 2, 0),
    event("migrations", SOFTWARE, 4, 0),
];

/// Counters of all tasks in a process group, and of tasks that they start from now on.
#[derive(Debug, Default)]
pub struct Counters {
    open: Vec<(String, OwnedFd)>,
    refused: BTreeMap<String, Refusal>,
}

impl Counters {
    /// Opens every permitted counter of a group's processes; nothing is counted before [`Counters::enable`].
    pub fn of_group(group: u32) -> Self {
        Self::open(group, EVENTS.iter().map(|event| (event.name, Ok(event))))
    }

    /// The same for system calls by these names; nothing traces them, so they take hardly longer.
    pub fn of_calls<'a>(group: u32, names: impl IntoIterator<Item = &'a str>) -> Self {
        let directory = tracefs::open("events/syscalls");
        let entry = |name: &str| match &directory {
            Ok(directory) => entry_of(directory, name),
            Err(error) => Err(error.kind().into()),
        };
        let point = |name: &'a str| (name, entry(name).map(|number| event(name, TRACEPOINT, number, 0)));
        let points: Vec<_> = names.into_iter().map(point).collect();
        Self::open(group, points.into_iter())
    }

    fn open<'a, E: Borrow<Event<'a>>>(
        group: u32,
        events: impl Iterator<Item = (&'a str, io::Result<E>)>,
    ) -> Self {
        let tasks: Vec<i32> =
            processes(group).into_iter().flat_map(threads_of).map(u32::cast_signed).collect();
        let mut counters = Self::default();
        for (name, event) in events {
            let opened: io::Result<Vec<OwnedFd>> =
                event.and_then(|event| tasks.iter().map(|task| open(event.borrow(), *task)).collect());
            match opened {
                Ok(opened) => {
                    counters.open.extend(opened.into_iter().map(|counter| (name.to_owned(), counter)));
                }
                Err(error) => {
                    let forbidden = error.kind() == io::ErrorKind::PermissionDenied;
                    let refusal = if forbidden { Refusal::Forbidden } else { Refusal::Absent };
                    counters.refused.insert(name.to_owned(), refusal);
                }
            }
        }
        counters
    }

    pub fn enable(&self) {
        for (_, counter) in &self.open {
            // This also acts on inherited counters of children.
            perf_event::enable(counter);
        }
    }

    /// Counts so far, by event. If the processor shared its counters between events, the count is scaled to the whole
    /// time; an event that never had its turn is absent.
    pub fn read(&self) -> BTreeMap<String, f64> {
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        let mut starved = Vec::new();
        for (name, counter) in &self.open {
            match read(counter) {
                Some(count) => *sums.entry(name.clone()).or_default() += count,
                None => starved.push(name.as_str()),
            }
        }
        sums.retain(|name, _| !starved.contains(&name.as_str()));
        sums
    }

    /// Events that cannot be counted, and why.
    pub fn refused(&self) -> &BTreeMap<String, Refusal> {
        &self.refused
    }
}

/// The number of the place where the kernel enters a system call.
fn entry_of(directory: &OwnedFd, call: &str) -> io::Result<u64> {
    let text = tracefs::read(directory, &format!("sys_enter_{call}/id"))?;
    text.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
}

fn open(event: &Event<'_>, task: i32) -> io::Result<OwnedFd> {
    let flags = DISABLED | INHERIT | WITHOUT_HYPERVISOR | event.without;
    perf_event::open(
        CounterRequest { kind: event.kind, event: event.config, read_format: WITH_TIMES, flags },
        task,
    )
}

fn read(counter: &OwnedFd) -> Option<f64> {
    let mut bytes = [0; 3 * size_of::<u64>()];
    if rustix::io::read(counter, &mut bytes).ok()? != bytes.len() {
        return None;
    }
    let word = |index: usize| u64::from_ne_bytes(bytes[index * 8..][..8].try_into().expect("eight bytes"));
    let (count, enabled, running) = (word(0), word(1), word(2));
    match (enabled, running) {
        // The task did not run at all.
        (0, _) => Some(0.0),
        (_, 0) => None,
        _ => Some(count as f64 * enabled as f64 / running as f64),
    }
}

pub fn processes(group: u32) -> Vec<u32> {
    process_stat::all().filter(|id| ProcessStat::of(*id).is_some_and(|stat| stat.group == group)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_this_group_are_counted_or_refused() {
        let group = rustix::process::getpgrp().as_raw_nonzero().get() as u32;
        let counters = Counters::of_calls(group, ["getppid", "no_such_call"]);
        counters.enable();
        for _ in 0..1_000 {
            let _ = rustix::process::getppid();
        }
        let counted = counters.read();
        match counted.get("getppid") {
            Some(count) => assert!(*count >= 1_000.0, "{counted:?}"),
            None => assert!(counters.refused().contains_key("getppid"), "{counters:?}"),
        }
        assert!(counters.refused().contains_key("no_such_call"), "{counters:?}");
    }

    #[test]
    fn page_faults_of_this_group_are_counted_or_refused() {
        let group = rustix::process::getpgrp().as_raw_nonzero().get() as u32;
        let counters = Counters::of_group(group);
        counters.enable();
        let pages = vec![1_u8; 64 << 20];
        std::hint::black_box(&pages);
        let counted = counters.read();
        match counted.get("page_faults") {
            // Huge pages reduce the count, but not to zero.
            Some(count) => assert!(*count >= 1.0, "{counted:?}"),
            None => assert!(counters.refused().contains_key("page_faults"), "{counters:?}"),
        }
    }
}
