//! A server as the kernel sees it: a process, those it has forked, and what all of them use (`proc(5)`).

use std::fs;
use std::io;

use ipcost_model::Usage;
use rustix::process::Pid;
use rustix::thread::{sched_getaffinity, sched_setaffinity};

use crate::system::driven;

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
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let listed = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    listed
        .flat_map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|id| id.parse().ok())
        .collect()
}

/// What a process and its descendants have used so far: `None` if it has ended.
///
/// Living ones by their own clocks, in nanoseconds. Those that have ended and were waited for are in their parent's counts of
/// children, which the kernel shows in ticks of 10 ms.
pub fn used(root: u32) -> Option<Usage> {
    let mut all = Usage::default();
    let processes = of(root);
    driven::used_by(root)?;
    for process in processes {
        let Some(times) = times(process) else { continue };
        // One that has just ended has ticks, but no clock any more.
        let own = match driven::used_by(process) {
            Some((own_ns, switches)) => times.own.scaled_to(own_ns) + switches,
            None => times.own,
        };
        all = all + own + times.children;
    }
    Some(all)
}

struct Times {
    own: Usage,
    children: Usage,
}

/// Fields 14 to 17 of `/proc/<number>/stat`: ticks in user and kernel mode, of itself and of its ended children.
fn times(process: u32) -> Option<Times> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let mut next = || fields.next()?.parse::<u64>().ok().map(|ticks| ticks * tick_ns);
    let mut pair = || Some(Usage { user_ns: next()?, sys_ns: next()?, ..Usage::default() });
    Some(Times { own: pair()?, children: pair()? })
}

/// Lets every thread of the processes run where this thread may run.
///
/// # Errors
/// If one belongs to another user; those that end meanwhile are none.
pub fn place_here(processes: &[u32]) -> io::Result<()> {
    let here = sched_getaffinity(None)?;
    for process in processes {
        let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let id = thread.file_name().to_str().and_then(|id| id.parse().ok()).and_then(Pid::from_raw);
            match sched_setaffinity(id, &here) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

/// The process that listens at a port of loopback, if this user may look: the socket's number from `/proc/net/tcp`, then whoever
/// has it open. Of several that share it, the first that was started.
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
    let mut holders: Vec<u32> = fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|process| {
            let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
            open.filter_map(|entry| fs::read_link(entry.path()).ok())
                .any(|target| target.to_str() == Some(&link))
        })
        .collect();
    holders.sort_unstable();
    holders.first().copied()
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
        let used = used(child.id()).unwrap();
        place_here(&tree).unwrap();
        assert_eq!(tree.len(), 2, "{tree:?}");
        assert!(used.user_ns + used.sys_ns >= 10_000_000, "{used:?}");
        for process in tree.iter().rev() {
            let _ = rustix::process::kill_process(
                Pid::from_raw(process.cast_signed()).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
        child.wait().unwrap();
        assert!(super::used(child.id()).is_none());
    }

    #[test]
    fn the_process_behind_a_port_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(listener_at(listener.local_addr().unwrap().port()), Some(std::process::id()));
        assert_eq!(listener_at(1), None);
    }
}
