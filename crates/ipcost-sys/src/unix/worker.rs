//! Worker processes: copies of this one, each with one task.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

pub use crate::contract::Link;
use crate::system::child::die_with_parent;
use crate::system::close_on_exec::pipe;
use crate::{Context, SysError};

/// A worker as its parent sees it; dropping this kills it.
#[derive(Debug)]
pub struct Worker {
    process: Pid,
    /// What the worker reads.
    pub orders: File,
    /// What the worker writes.
    pub answers: File,
}

/// Waits until a worker has written something, or has ended; returns its index.
pub fn wait_any(workers: &[&Worker]) -> Result<usize, SysError> {
    let mut watched: Vec<PollFd<'_>> =
        workers.iter().map(|worker| PollFd::new(&worker.answers, PollFlags::IN)).collect();
    loop {
        match poll(&mut watched, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error).context(|| "cannot wait for workers".to_owned()),
        }
        if let Some(place) = watched.iter().position(|worker| !worker.revents().is_empty()) {
            return Ok(place);
        }
    }
}

/// Copies this process (`fork(2)`); the copy runs the task and ends.
///
/// # Errors
/// If the system has no room for it, or this process has more than one thread: a copy has only the calling thread, and
/// locks that others hold would stay locked for ever.
pub fn start(task: impl FnOnce(Link)) -> Result<Worker, SysError> {
    let action = || "cannot start a worker process".to_owned();
    check_single_threaded().context(action)?;
    let (orders, from_parent) = pipe().context(action)?;
    let (to_parent, answers) = pipe().context(action)?;
    let file = |descriptor: OwnedFd| File::from(descriptor);
    // SAFETY: there is one thread (checked above), so the copy's memory is whole and no lock is held.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()).context(action),
        0 => {
            drop((from_parent, to_parent));
            if die_with_parent().is_ok() {
                task(Link { orders: file(orders), answers: file(answers) });
            }
            // SAFETY: ends the copy without running the parent's exit handlers a second time.
            unsafe { libc::_exit(0) }
        }
        process => {
            let process = Pid::from_raw(process).expect("fork gives a process number");
            Ok(Worker { process, orders: file(from_parent), answers: file(to_parent) })
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = kill_process(self.process, Signal::KILL);
        let _ = waitpid(Some(self.process), WaitOptions::empty());
    }
}

/// A copy of this process that runs its task once this one has ended, however it ends.
#[derive(Debug)]
pub struct Keeper {
    process: Pid,
    /// The keeper waits for its end of file.
    held: Option<OwnedFd>,
}

impl Keeper {
    /// Copies this process; the copy is in its own session, so that it is not killed with this one.
    pub fn start(task: impl FnOnce()) -> Result<Self, SysError> {
        let action = || "cannot start a process that cleans up in the end".to_owned();
        check_single_threaded().context(action)?;
        let (waits, held) = pipe().context(action)?;
        // SAFETY: as for a worker.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()).context(action),
            0 => {
                drop(held);
                if rustix::process::setsid().is_ok() && let_go_of_streams().is_ok() {
                    let _ = io::Read::read(&mut File::from(waits), &mut [0]);
                    task();
                }
                // SAFETY: as for a worker.
                unsafe { libc::_exit(0) }
            }
            process => {
                let process = Pid::from_raw(process).expect("fork gives a process number");
                Ok(Self { process, held: Some(held) })
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.held = None;
        let _ = waitpid(Some(self.process), WaitOptions::empty());
    }
}

/// Only the other process speaks the protocol.
fn let_go_of_streams() -> io::Result<()> {
    let nowhere = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    Ok(rustix::stdio::dup2_stderr(&nowhere)?)
}

fn check_single_threaded() -> io::Result<()> {
    match threads() {
        Some(count) if count > 1 => Err(io::Error::other("this process has several threads")),
        _ => Ok(()),
    }
}

fn threads() -> Option<u32> {
    threads_of(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn threads_of(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("Threads:"))?.trim().parse().ok()
}

/// Reads a text as that file.
#[cfg(target_os = "linux")]
pub(crate) fn read_text(text: &str) {
    let _ = threads_of(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_to_copy_a_process_with_threads() {
        // The test harness runs tests on separate threads.
        let error = start(|_| {}).unwrap_err().to_string();
        assert!(error.contains("several threads"), "{error}");
    }
}
