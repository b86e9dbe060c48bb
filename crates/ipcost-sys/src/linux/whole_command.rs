//! A shell command that ends with everything it has started, whatever session that has moved to
//! (`PR_SET_CHILD_SUBREAPER(2const)`).

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, set_parent_process_death_signal,
    wait,
};

use crate::shell::shell_command;
use crate::system::descriptor;
use crate::system::process::{GuardLine, PeerProcess, Spawn, read_stdin};

/// How long killed processes may take to be gone.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(1);
/// Added to the number of the signal that ended the command, as shells do.
const OF_SIGNALS: i32 = 128;

/// Starts such a command; `own` starts this program in that role. `lock` lasts until all of it has ended.
pub fn start(
    own: &[String],
    line: &str,
    lock: Option<&File>,
    guard: Option<GuardLine<'_>>,
) -> io::Result<PeerProcess> {
    let inherit: Vec<_> = lock.map(File::try_clone).transpose()?.map(OwnedFd::from).into_iter().collect();
    let lock = inherit.first().map(|lock| ["--lock".to_owned(), descriptor::number(lock).to_string()]);
    let mut command = own.to_vec();
    command.extend(lock.into_iter().flatten());
    command.extend(["--".to_owned(), line.to_owned()]);
    PeerProcess::spawn(Spawn { command: &command, inherit, guard, ..Spawn::default() })
}

/// In a process of its own: runs a shell command, kills what it has left running, and gives its exit status.
///
/// The end of standard input ends all of them: then the process that wanted the command is gone, or has given it up. `lock` is an
/// inherited descriptor that stays open in this process alone until everything has ended.
///
/// # Errors
/// If the shell cannot be started, or a process cannot be ended.
pub fn run(line: &str, lock: Option<i32>) -> io::Result<u8> {
    let _lock = lock.map(descriptor::take).transpose()?;
    // This process outlives its parent until all that the command started has ended.
    set_parent_process_death_signal(None)?;
    set_child_subreaper(Some(getpid()))?;
    let given_up = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&given_up);
    std::thread::spawn(move || {
        let _ = read_stdin(&mut |_| ());
        ended.store(true, Ordering::Release);
    });
    let words = shell_command(line);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    let mut shell = command.spawn()?;
    let status = loop {
        match shell.try_wait()? {
            None if !given_up.load(Ordering::Acquire) => std::thread::sleep(LOOK),
            status => break status,
        }
    };
    end_descendants()?;
    let code = status.and_then(|status| status.code().or(status.signal().map(|signal| OF_SIGNALS + signal)));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

/// Kills every descendant of this process until it has none.
fn end_descendants() -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = descendants();
        for process in left.iter().filter_map(|id| Pid::from_raw(id.cast_signed())) {
            // It may be gone already.
            let _ = kill_process(process, Signal::KILL);
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => break,
                // No child, and orphans are children of this process: there are no descendants either.
                Err(_) => return Ok(()),
            }
        }
        if Instant::now() > deadline {
            let left: Vec<String> = left.iter().map(u32::to_string).collect();
            let reason =
                format!("it left processes that cannot be ended ({}); end them by hand", left.join(", "));
            return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
        }
        std::thread::sleep(LOOK);
    }
}

/// The parents of all processes, followed down from this one: not every kernel lists children.
fn descendants() -> BTreeSet<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let parent = |entry: fs::DirEntry| {
        let process: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let parent: u32 = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
        Some((process, parent))
    };
    let all: Vec<(u32, u32)> = entries.filter_map(parent).collect();
    let own = std::process::id();
    let mut found = BTreeSet::from([own]);
    loop {
        let more: Vec<u32> = all
            .iter()
            .filter(|(process, parent)| found.contains(parent) && !found.contains(process))
            .map(|(process, _)| *process)
            .collect();
        if more.is_empty() {
            found.remove(&own);
            return found;
        }
        found.extend(more);
    }
}
