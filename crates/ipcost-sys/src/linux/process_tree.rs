//! A server as the kernel sees it: a process, those it has forked, and what all of them use (`proc(5)`).

use std::collections::BTreeMap;
use std::fs;
use std::io;

use ipcost_model::Usage;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::process_stat::{self, ProcessStat};
use crate::system::driven_program;

use super::running::threads_of;

/// More processes than that are not looked through.
const MOST: usize = 4096;

/// A process and all its descendants.
pub fn of(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() && found.len() < MOST {
        found.extend(children(found[next]));
        next += 1;
    }
    found
}

/// Those that a process has forked, by each of its threads.
fn children(process: u32) -> Vec<u32> {
    let listed = |thread: u32| fs::read_to_string(format!("/proc/{process}/task/{thread}/children")).ok();
    threads_of(process)
        .into_iter()
        .filter_map(listed)
        .flat_map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|id| id.parse().ok())
        .collect()
}

/// What processes and their descendants have used so far.
#[derive(Debug, Clone, Default)]
pub struct UsedByTree(BTreeMap<Started, ProcessTimes>);

/// A process: its number, which may be used again, and the tick of its start.
type Started = (u32, u64);

#[derive(Debug, Clone, Copy, Default)]
struct ProcessTimes {
    /// Of the process itself, from its own clock.
    cpu_ns: u64,
    /// The same in ticks of 10 ms, with its switches.
    own: Usage,
    /// Of children that have ended and were waited for, in ticks.
    children: Usage,
}

impl UsedByTree {
    /// Of these processes; `None` if one of them has ended.
    ///
    /// Processes that are `known` are looked at even if the kernel leaves them out of their parent's list, which `proc(5)` promises
    /// to be complete only for processes that are stopped.
    pub fn now(roots: &[u32], known: &Self) -> Option<Self> {
        let mut all = Self::default();
        for root in roots {
            driven_program::used_by(*root)?;
            for process in of(*root) {
                all.0.extend(times(process));
            }
        }
        for started in known.0.keys() {
            if !all.0.contains_key(started) {
                all.0.extend(times(started.0).filter(|(now, _)| now == started));
            }
        }
        Some(all)
    }

    /// What was used since then. The time of processes that have ended meanwhile is what their parents' counts of children grew by.
    pub fn since(&self, earlier: &Self) -> Usage {
        let (mut cpu_ns, mut own, mut ever, mut ended) =
            (0, Usage::default(), Usage::default(), Usage::default());
        for (started, now) in &self.0 {
            let before = earlier.0.get(started).copied().unwrap_or_default();
            cpu_ns += now.cpu_ns.saturating_sub(before.cpu_ns);
            own = own + (now.own - before.own);
            ever = ever + now.own;
            ended = ended + (now.children - before.children);
        }
        for (_, before) in earlier.0.iter().filter(|(started, _)| !self.0.contains_key(started)) {
            ended = ended - (before.own + before.children);
        }
        // Without a tick in between, the time is split as all time before.
        let split =
            if own.cpu_ns() > 0 { own } else { Usage { user_ns: ever.user_ns, sys_ns: ever.sys_ns, ..own } };
        split.scaled_to(cpu_ns) + ended
    }
}

fn times(process: u32) -> Option<(Started, ProcessTimes)> {
    let stat = ProcessStat::of(process)?;
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let usage = |ticks: [u64; 2]| {
        let [user_ns, sys_ns] = ticks.map(|ticks| ticks * tick_ns);
        Usage { user_ns, sys_ns, ..Usage::default() }
    };
    let (own, children) = (usage(stat.ticks), usage(stat.ticks_of_children));
    // One that has just ended has ticks, but no clock any more.
    let (cpu_ns, switches) = driven_program::used_by(process).unwrap_or((own.cpu_ns(), Usage::default()));
    Some(((process, stat.started), ProcessTimes { cpu_ns, own: own + switches, children }))
}

/// Lets every thread of the processes run where this thread may run.
///
/// # Errors
/// If one belongs to another user; those that end meanwhile are none.
pub fn place_here(processes: &[u32]) -> io::Result<()> {
    place(processes, &sched_getaffinity(None)?)
}

/// Keeps every thread of a process on one processor.
///
/// # Errors
/// If it belongs to another user, or may not run there.
pub fn pin(process: u32, processor: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(processor);
    place(&[process], &set)
}

/// Lets this thread run before others, where this user may ask for that.
pub fn run_before_others() -> io::Result<()> {
    /// The least that `setpriority(2)` takes.
    const FIRST: i32 = -20;
    Ok(rustix::process::setpriority_process(None, FIRST)?)
}

fn place(processes: &[u32], set: &CpuSet) -> io::Result<()> {
    for process in processes {
        for thread in threads_of(*process) {
            match sched_setaffinity(Pid::from_raw(thread.cast_signed()), set) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

/// This process and those that it was started by, up to the first of the system.
pub fn of_this() -> Vec<u32> {
    let mut all = vec![std::process::id()];
    while let Some(stat) = all.last().and_then(|last| ProcessStat::of(*last)).filter(|stat| stat.parent > 1) {
        all.push(stat.parent);
    }
    all
}

/// The process that listens at a port of loopback, if this user may look: the socket's number from `/proc/net/tcp`, then the process that
/// has it open. Of several that share it, the one that the others come from.
pub fn listener_at(port: u16) -> Option<u32> {
    const LISTENS: &str = "0A";
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let inode = tables.iter().flat_map(|table| table.lines()).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().take(10).collect();
        let [_, local, _, LISTENS, .., inode] = fields[..] else { return None };
        let (_, number) = local.rsplit_once(':')?;
        (u16::from_str_radix(number, 16).ok()? == port).then(|| inode.to_owned())
    })?;
    let link = format!("socket:[{inode}]");
    let holds = |process: &u32| {
        let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|target| target.to_str() == Some(&link))
    };
    let holder = |process| {
        let stat = ProcessStat::of(process)?;
        Some(Holder { process, parent: stat.parent, started: stat.started })
    };
    origin(&process_stat::all().filter(holds).filter_map(holder).collect::<Vec<_>>())
}

/// A process that has a socket open.
struct Holder {
    process: u32,
    parent: u32,
    /// Clock ticks from boot to its start.
    started: u64,
}

/// The process that the others come from. Numbers do not tell, since the kernel starts over after the largest; nor do clock ticks alone,
/// since a server forks its workers within one.
fn origin(holders: &[Holder]) -> Option<u32> {
    let is_a_holder = |process: u32| holders.iter().any(|other| other.process == process);
    let key = |it: &&Holder| (is_a_holder(it.parent), it.started, it.process);
    holders.iter().min_by_key(key).map(|it| it.process)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_server_is_all_that_it_has_forked_with_what_has_ended() {
        // The inner shell burns time and ends; the outer one waits for it, says so, and stays.
        let script = "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'; sleep 100 & echo; wait";
        let mut child = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut word = [0];
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut word).unwrap();
        let tree = of(child.id());
        let roots = [child.id()];
        let used = UsedByTree::now(&roots, &UsedByTree::default()).unwrap();
        let usage = used.since(&UsedByTree::default());
        place_here(&tree).unwrap();
        assert_eq!(tree.len(), 2, "{tree:?}");
        assert!(usage.cpu_ns() >= 10_000_000, "{usage:?}");
        for process in tree.iter().rev() {
            let _ = rustix::process::kill_process(
                Pid::from_raw(process.cast_signed()).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
        child.wait().unwrap();
        assert!(UsedByTree::now(&roots, &used).is_none());
    }

    #[test]
    fn what_ended_and_what_a_list_left_out_is_counted_once() {
        let usage = |user_ms: u64, sys_ms: u64| Usage {
            user_ns: user_ms * 1_000_000,
            sys_ns: sys_ms * 1_000_000,
            voluntary_switches: 0,
            involuntary_switches: 0,
        };
        let of = |cpu_ms: u64, own: Usage, children: Usage| ProcessTimes {
            cpu_ns: cpu_ms * 1_000_000,
            own,
            children,
        };
        let none = Usage::default();
        let master = |children| ((1, 5), of(3, usage(0, 0), children));
        let before = UsedByTree([master(usage(10, 0)), ((2, 6), of(34, usage(20, 10), none))].into());
        // Its time goes on, though no tick has passed.
        let after = UsedByTree([master(usage(10, 0)), ((2, 6), of(40, usage(20, 10), none))].into());
        assert_eq!(after.since(&before), usage(4, 2));
        // It has ended after another 20 ms; another process has its number.
        let after = UsedByTree([master(usage(50, 10)), ((2, 9), of(7, usage(0, 0), none))].into());
        assert_eq!(after.since(&before), usage(20, 7));
        // Another process stands for a child that the list of its parent leaves out.
        let [mut parent, mut left_out] = [(); 2].map(|()| Command::new("sleep").arg("100").spawn().unwrap());
        let known = UsedByTree::now(&[left_out.id()], &UsedByTree::default()).unwrap();
        let counted = || UsedByTree::now(&[parent.id()], &known).unwrap().0.len();
        assert_eq!(counted(), 2);
        left_out.kill().unwrap();
        left_out.wait().unwrap();
        assert_eq!(counted(), 1);
        parent.kill().unwrap();
        parent.wait().unwrap();
    }

    #[test]
    fn the_process_behind_a_port_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(listener_at(listener.local_addr().unwrap().port()), Some(std::process::id()));
        assert_eq!(listener_at(1), None);
    }

    #[test]
    fn this_process_and_its_parents_are_known() {
        let all = of_this();
        assert_eq!(all[0], std::process::id());
        assert!(all.len() > 1 && !all.contains(&1) && all.contains(&std::os::unix::process::parent_id()));
    }

    #[test]
    fn a_master_is_found_whatever_numbers_its_workers_have() {
        let holders = |all: &[(u32, u32, u64)]| {
            origin(
                &all.iter()
                    .map(|&(process, parent, started)| Holder { process, parent, started })
                    .collect::<Vec<_>>(),
            )
        };
        // The largest number is 32768, and all were started within one clock tick.
        assert_eq!(holders(&[(301, 32_767, 9), (302, 32_767, 9), (32_767, 1, 9)]), Some(32_767));
        // Its parent has left them: the first that was started.
        assert_eq!(holders(&[(301, 1, 12), (32_767, 1, 9)]), Some(32_767));
        assert_eq!(holders(&[]), None);
    }
}
