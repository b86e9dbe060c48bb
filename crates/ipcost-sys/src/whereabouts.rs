//! The processors on which a process's threads run.

use crate::system::kernel_files;

/// The most threads to examine.
const MOST_THREADS: usize = 64;

/// A thread, from the kernel's accounting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thread {
    pub id: u32,
    /// The processor it ran on last.
    pub processor: usize,
    /// Its CPU time, nanoseconds.
    pub ran_ns: u64,
    /// How often it moved to another processor.
    pub migrations: u64,
}

/// The threads of a process; `None` if the system does not list them, or there are too many.
pub fn threads(process: u32) -> Option<Vec<Thread>> {
    let entries = kernel_files::read_dir(format!("/proc/{process}/task")).ok()?;
    let ids: Vec<u32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    if ids.is_empty() || ids.len() > MOST_THREADS {
        return None;
    }
    // Skip one that has ended meanwhile.
    Some(ids.into_iter().filter_map(|id| thread(process, id)).collect())
}

fn thread(process: u32, id: u32) -> Option<Thread> {
    let text = |file: &str| kernel_files::read_to_string(format!("/proc/{process}/task/{id}/{file}")).ok();
    let (ran_ns, migrations) = scheduled(&text("sched")?)?;
    Some(Thread { id, processor: processor(&text("stat")?)?, ran_ns, migrations })
}

/// `/proc/[pid]/stat`, field 39 (`proc_pid_stat(5)`); a name may contain anything, so count fields from its end.
fn processor(stat: &str) -> Option<usize> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(36)?.parse().ok()
}

/// `/proc/[pid]/sched`: nanoseconds run (milliseconds in the file), and migrations.
fn scheduled(sched: &str) -> Option<(u64, u64)> {
    let value = |name: &str| {
        let line = sched.lines().find_map(|line| line.trim_start().strip_prefix(name))?;
        Some(line.trim_start().strip_prefix(':')?.trim())
    };
    let ran_ms: f64 = value("se.sum_exec_runtime")?.parse().ok()?;
    Some(((ran_ms * 1e6) as u64, value("se.nr_migrations")?.parse().ok()?))
}

/// Reads a text as each of the files above.
pub(crate) fn read_text(text: &str) {
    let _ = (processor(text), scheduled(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_a_processor_a_time_and_migrations() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        assert_eq!(processor(&format!("7 (a ) b) S {}", fields[1..].join(" "))), Some(39));
        assert_eq!((processor("7 (a) S 1"), processor("")), (None, None));
        let sched =
            "cat (1, #threads: 1)\n---\nse.sum_exec_runtime    :    1.250000\nse.nr_migrations  :  3\n";
        assert_eq!(scheduled(sched), Some((1_250_000, 3)));
        assert_eq!(scheduled("se.nr_migrations : 3"), None);
    }

    #[test]
    fn this_process_is_seen_where_the_system_tells() {
        let seen = threads(std::process::id());
        assert!(seen.is_none_or(|threads| !threads.is_empty()));
    }
}
