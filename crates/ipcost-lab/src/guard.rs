//! The guard: a small process that cleans up if the engine is killed.
//!
//! The engine writes to the guard's standard input which directory to remove, before making it; every peer writes its
//! own process group before it starts. Whenever the engine is killed, the guard therefore knows everything. At the
//! end of input it kills and removes whatever is still named: nothing, after a run that ended normally.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use ipcost_sys::private_dir::is_private_name;
use ipcost_sys::process::{
    ChildStdin, GuardLine, ask_group_to_end, guard_line, is_running, kill_group, read_stdin, spawn_guard,
};

use crate::journal::clear;
use crate::processes::Restoration;

/// How long to keep trying to remove a directory, and how long to wait between attempts.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long processes have to end by themselves.
const LAST_CHANCE: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub struct Guard {
    child: Child,
    input: Option<ChildStdin>,
}

impl Guard {
    /// Starts the guard, which holds a lock of this process, too.
    pub fn start(command: &[String], lock: Option<&File>) -> io::Result<Self> {
        let mut child = spawn_guard(command, lock)?;
        let input = child.stdin.take();
        Ok(Self { child, input })
    }

    /// Names the directory to remove, which may not exist yet.
    pub fn watch_dir(&mut self, dir: &Path) {
        self.send(&format!("dir {}", dir.display()));
    }

    /// Starts a process that sends the guard its own process group.
    pub fn watch<T, E>(&mut self, start: impl FnOnce(Option<GuardLine<'_>>) -> Result<T, E>) -> Result<T, E> {
        self.send("start");
        let started = start(self.input.as_ref().map(guard_line));
        if started.is_err() {
            // Its ID may soon belong to another process.
            self.send("failed");
        }
        started
    }

    /// Removes process groups that have ended.
    pub fn forget(&mut self, groups: &[u32]) {
        self.send(&format!("forget {}", list(groups)));
    }

    /// As [`Guard::watch`], for a process that ends by itself once its standard input does, and everything it has started with it.
    pub(crate) fn watch_command<T, E>(
        &mut self,
        start: impl FnOnce(Option<GuardLine<'_>>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.send("command");
        let started = start(self.input.as_ref().map(guard_line));
        self.send(if started.is_ok() { "started" } else { "failed" });
        started
    }

    /// Names how to put the machine back should this process be killed, and the journal to remove then.
    pub(crate) fn restores(&mut self, restoration: &Restoration, journal: &Path) {
        // JSON has no line breaks of its own.
        let text = serde_json::to_string(&(restoration, journal)).expect("plain data");
        self.send(&format!("restore {text}"));
    }

    /// The machine has been put back.
    pub(crate) fn restored(&mut self) {
        self.send("restored");
    }

    fn send(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            // The run goes on without a guard; it is needed only if the engine is killed.
            let _ = writeln!(input, "{line}");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

fn list(groups: &[u32]) -> String {
    groups.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

/// Everything to clean up.
#[derive(Debug, Default, PartialEq, Eq)]
struct CleanUp {
    dir: Option<PathBuf>,
    groups: BTreeSet<u32>,
    /// Groups added since the last `start`.
    starting: Vec<u32>,
    /// Processes that end by themselves.
    commands: BTreeSet<u32>,
    /// Whether the next process is one of those.
    is_command: bool,
    /// How to put the machine back, while it is changed, and the journal.
    restoration: Option<(Restoration, PathBuf)>,
}

impl CleanUp {
    fn apply(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let groups = rest.split(' ').filter_map(|number| number.parse().ok());
        match word {
            "dir" => self.dir = Some(PathBuf::from(rest)),
            "restore" => self.restoration = serde_json::from_str(rest).ok(),
            "restored" => self.restoration = None,
            "start" | "started" | "command" => {
                self.starting.clear();
                self.is_command = word == "command";
            }
            "watch" if self.is_command => self.commands.extend(groups),
            "failed" if self.is_command => self.commands.clear(),
            "failed" => self.starting.drain(..).for_each(|group| {
                self.groups.remove(&group);
            }),
            "watch" => groups.for_each(|group: u32| {
                self.groups.insert(group);
                self.starting.push(group);
            }),
            "forget" => groups.for_each(|group: u32| {
                self.groups.remove(&group);
                self.commands.remove(&group);
            }),
            _ => {}
        }
    }
}

/// Runs the guard: reads until the engine is gone, then cleans up.
pub fn run() -> io::Result<()> {
    let mut watched = CleanUp::default();
    let mut unread = Vec::new();
    read_stdin(&mut |bytes| {
        unread.extend_from_slice(bytes);
        while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
            watched.apply(&String::from_utf8_lossy(&unread[..end]));
            unread.drain(..=end);
        }
    })?;
    // A database removes what it shares with its processes outside of its directory, given a moment.
    let deadline = Instant::now() + LAST_CHANCE;
    while watched.groups.iter().filter(|group| ask_group_to_end(**group)).count() > 0
        && Instant::now() < deadline
    {
        std::thread::sleep(AGAIN);
    }
    for group in &watched.groups {
        kill_group(*group);
    }
    let deadline = Instant::now() + PATIENCE;
    while watched.commands.iter().any(|command| is_running(*command)) && Instant::now() < deadline {
        std::thread::sleep(AGAIN);
    }
    if let Some((restoration, journal)) = &watched.restoration
        && let Err(error) = restoration.carry_out().and_then(|()| clear(journal))
    {
        // The terminal of the process that was killed, if it is still there.
        eprintln!("error: ipcost was killed, and {}", ipcost_model::escaped(&error.to_string()));
    }
    // Remove only a directory named like ours: a line on our input must never remove anything else.
    let ours = |dir: &&PathBuf| dir.file_name().and_then(|name| name.to_str()).is_some_and(is_private_name);
    watched.dir.as_ref().filter(ours).map_or(Ok(()), |dir| removed(dir))
}

/// Removes a directory, in which dying processes may still create files.
fn removed(dir: &Path) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match std::fs::remove_dir_all(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if Instant::now() >= deadline => return Err(error),
            // Try once more after it is gone: a dying process may be creating it.
            _ => std::thread::sleep(AGAIN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heeds_what_it_is_told_and_nothing_else() {
        let mut watched = CleanUp::default();
        let lines = [
            "dir /tmp/ipcost-a b", "start", "watch 5", "start", "watch 6", "start", "failed", "start",
            "watch 7", "forget 6", "start", "watch 8", "failed", "remove /", "watch x", "",
        ];
        lines.into_iter().for_each(|line| watched.apply(line));
        let dir = Some("/tmp/ipcost-a b".into());
        assert_eq!(watched, CleanUp { dir, groups: [5, 7].into(), ..CleanUp::default() });
    }
}
