//! The system's limits on descriptors, processes, memory and queues.

use std::fs;
use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit, setrlimit};

pub use crate::contract::{Room, TaskLimit};
use crate::control_group::Hierarchy;
use crate::facts::text::{field, kibibytes, number, numbers};

/// Reads the remaining room, after raising the number of descriptors to its maximum.
pub fn room() -> Room {
    let memory = field("/proc/meminfo", "MemAvailable").as_deref().and_then(kibibytes);
    let ports = numbers("/proc/sys/net/ipv4/ip_local_port_range");
    let ports = ports.and_then(|[first, last]| Some(last.checked_sub(first)? + 1));
    Room {
        descriptors: raise_descriptors(),
        tasks: tasks(),
        mappings: number("/proc/sys/vm/max_map_count"),
        memory_bytes: memory,
        somaxconn: number("/proc/sys/net/core/somaxconn"),
        ports,
    }
}

fn tasks() -> Vec<TaskLimit> {
    let running = fs::read_to_string("/proc/loadavg").ok().and_then(|text| running(&text)).unwrap_or(0);
    let left = |name, most: Option<u64>, running: u64, remedy| {
        most.map(|most| TaskLimit { name, left: most.saturating_sub(running), remedy })
    };
    let user = getrlimit(Resource::Nproc).maximum.filter(|_| !rustix::process::geteuid().is_root());
    let group = group_tasks();
    [
        left(
            "kernel.pid_max",
            number("/proc/sys/kernel/pid_max"),
            running,
            "sysctl -w kernel.pid_max=4194304",
        ),
        left(
            "kernel.threads-max",
            number("/proc/sys/kernel/threads-max"),
            running,
            "sysctl -w kernel.threads-max=1000000",
        ),
        left("ulimit -u", user, running, "ulimit -u raises it in the shell that starts ipcost"),
        group.and_then(|(most, current)| {
            left("pids.max of the control group", Some(most), current, "raise pids.max of its control group")
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The number of tasks, from `/proc/loadavg` (`proc_loadavg(5)`): runnable/all is its fourth word.
fn running(text: &str) -> Option<u64> {
    text.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// Reads a text as that file.
#[cfg(target_os = "linux")]
pub(crate) fn read_text(text: &str) {
    let _ = running(text);
}

/// The tightest `pids.max` of this process's control groups, and that group's number of tasks (`cgroups(7)`).
fn group_tasks() -> Option<(u64, u64)> {
    let of = |group: PathBuf| {
        let read = |file: &str| fs::read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
        Some((read("pids.max")?, read("pids.current")?))
    };
    let groups = Hierarchy::of_this_process("pids")?.levels().into_iter().filter_map(of);
    groups.min_by_key(|(most, current)| most.saturating_sub(*current))
}

/// The resource that ran out, and the remedy; `None` for any other error.
pub fn shortage(error: &io::Error) -> Option<&'static str> {
    Some(match Errno::from_io_error(error)? {
        Errno::MFILE => {
            "this program has no descriptors left: raise ulimit -n, or take fewer cells or less concurrency"
        }
        Errno::NFILE => {
            "the system has no descriptors left: raise fs.file-max, or take fewer cells or less concurrency"
        }
        Errno::AGAIN => {
            "no more processes or threads may start: raise ulimit -u, pids.max of the control group or kernel.pid_max, or take fewer cells or less concurrency"
        }
        Errno::NOMEM => "memory is exhausted: take fewer cells or less concurrency",
        Errno::NOSPC => "the disk is full: make room, or set TMPDIR to another",
        _ => return None,
    })
}

/// Raises the limit on open descriptors to its maximum, and returns it.
///
/// Children start with the same limit.
pub fn raise_descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    if limit.current.is_some_and(|current| current < most) {
        let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
        // If this fails the old limit stands, and the caller compares it with its needs.
        let _ = setrlimit(Resource::Nofile, raised);
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The limit on open descriptors that [`raise_descriptors`] can reach; `None` if unlimited.
pub fn most_descriptors() -> Option<u64> {
    getrlimit(Resource::Nofile).maximum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_system_has_room() {
        let room = room();
        assert!(room.descriptors > 0);
        if cfg!(target_os = "linux") {
            assert!(room.tasks.iter().any(|limit| limit.name == "kernel.pid_max"), "{room:?}");
            assert!(room.tasks.iter().all(|limit| limit.left > 0), "{room:?}");
            assert!(room.memory_bytes.is_some() && room.mappings.is_some() && room.ports.is_some());
        }
        assert_eq!(running("0.20 0.18 0.12 1/473 11206\n"), Some(473));
        assert_eq!(running("rubbish"), None);
    }

    #[test]
    fn what_is_short_is_told_with_its_remedy() {
        let told = |errno: Errno| shortage(&errno.into());
        assert!(told(Errno::MFILE).unwrap().contains("ulimit -n"));
        assert!(told(Errno::AGAIN).unwrap().contains("pids.max"));
        assert_eq!(told(Errno::NOENT), None);
    }
}
