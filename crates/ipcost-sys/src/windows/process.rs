//! Peers as the engine sees them: child processes with pipes, each in its own job.

use std::fs::File;
use std::io::{self, Read};
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle};
use std::os::windows::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{FALSE, HANDLE, WAIT_FAILED, WAIT_OBJECT_0, WAIT_TIMEOUT};
use windows_sys::Win32::System::Threading::{
    DETACHED_PROCESS, GetExitCodeProcess, INFINITE, TerminateProcess, WaitForMultipleObjects,
    WaitForSingleObject,
};

use super::checked;
use super::job::{self, Job};
use super::launch::launch;
use super::overlapped::{Incoming, Outgoing, milliseconds};
pub use crate::contract::{Bounds, Heard, MOST_COMPLAINT_BYTES, Spawn, Wake};
use crate::contract::{CHUNK_BYTES, COMPLAINT_BYTES, MOST_READS};
use crate::interrupt::Interrupt;
use crate::lines::{LineError, Lines};

/// The exit status of a killed process.
const KILLED: u32 = 1;

/// Where to write to a guard; a peer writes nothing, as its job ends with the engine.
pub type GuardLine<'a> = BorrowedHandle<'a>;

/// The line to a guard: its standard input.
pub fn guard_line(input: &ChildStdin) -> GuardLine<'_> {
    input.as_handle()
}

/// A peer's process: in its own job, which ends if this process dies.
#[derive(Debug)]
pub struct PeerProcess {
    process: OwnedHandle,
    id: u32,
    job: Job,
    stdin: Option<Outgoing>,
    stdout: Incoming,
    stderr: Incoming,
    lines: Lines,
    complaint: Vec<u8>,
    /// Total bytes written to standard error.
    complained: u64,
    waited_for: bool,
}

impl PeerProcess {
    /// Starts a peer.
    ///
    /// # Errors
    /// If a system call fails; `NotFound` if the program does not exist.
    pub fn spawn(spawn: Spawn<'_>) -> io::Result<Self> {
        if spawn.own_session {
            let reason = "Windows has no sessions that a process begins; leave out session=own";
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        let (stdin, its_input) = Outgoing::new()?;
        let (stdout, its_output) = Incoming::new(CHUNK_BYTES)?;
        let (stderr, its_errors) = Incoming::new(COMPLAINT_BYTES)?;
        let job = Job::new()?;
        let streams = [its_input, its_output, its_errors];
        let (process, id) = launch(spawn.command, &streams, &spawn.inherit, spawn.cpu, spawn.env, &job)?;
        Ok(Self {
            process,
            id,
            job,
            stdin: Some(stdin),
            stdout,
            stderr,
            lines: Lines::default(),
            complaint: Vec::new(),
            complained: 0,
            waited_for: false,
        })
    }

    pub fn id(&self) -> u32 {
        self.id
    }

    /// Writes to the peer's standard input.
    ///
    /// # Errors
    /// `BrokenPipe` if the peer no longer reads, `TimedOut` if it does not read in time.
    pub fn send(&mut self, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
        let stdin = self.stdin.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        while !bytes.is_empty() {
            let count = stdin.write(bytes, until(deadline).unwrap_or_default())?;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// The peer's next output, if any; never waits.
    pub fn hear(&mut self) -> io::Result<Heard> {
        self.drain_complaint();
        if self.complained > MOST_COMPLAINT_BYTES {
            return Ok(Heard::TooMuchComplaint);
        }
        loop {
            match self.lines.take() {
                Ok(Some(line)) => return Ok(Heard::Line(line)),
                Ok(None) => {}
                Err(LineError) => return Ok(Heard::TooLong),
            }
            let lines = &mut self.lines;
            if !self.stdout.take(|bytes| lines.add(bytes))? {
                return Ok(if self.stdout.has_ended() { Heard::End } else { Heard::Nothing });
            }
        }
    }

    /// The end of its standard error output.
    pub fn complaint(&mut self) -> String {
        self.drain_complaint();
        String::from_utf8_lossy(&self.complaint).trim().to_owned()
    }

    /// Whether the end of its standard error has been read.
    pub fn complaint_has_ended(&self) -> bool {
        self.stderr.has_ended()
    }

    /// Ends its standard input and waits for it to leave; `None` if it had to be killed at the deadline.
    ///
    /// Kills everything that it left behind in its job.
    pub fn finish(&mut self, deadline: Instant) -> Option<ExitStatus> {
        self.stdin = None;
        let left = self.has_left_by(deadline);
        self.end();
        let mut code = 0;
        // SAFETY: the handle is open; the pointer is to a number that outlives the call.
        let known = unsafe { GetExitCodeProcess(self.process.as_raw_handle(), &mut code) } != 0;
        (left && known).then(|| ExitStatus::from_raw(code))
    }

    /// Whether it is still running.
    pub fn runs(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { WaitForSingleObject(self.process.as_raw_handle(), 0) == WAIT_TIMEOUT }
    }

    /// Its running descendants: they are in its job.
    pub fn leftovers(&self) -> Vec<String> {
        self.job.members().into_iter().filter(|member| *member != self.id).map(job::shown).collect()
    }

    /// Kills only the process, not its job.
    pub fn kill(&mut self) -> io::Result<()> {
        // SAFETY: the handle is open.
        checked(unsafe { TerminateProcess(self.process.as_raw_handle(), KILLED) })
    }

    /// Ends its standard input, so that it leaves by itself.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    fn has_left_by(&mut self, deadline: Instant) -> bool {
        loop {
            let Some(left) = until(deadline) else { return !self.runs() };
            // Unread output must not block its exit.
            while matches!(self.hear(), Ok(Heard::Line(_))) {}
            let mut watched = vec![self.process.as_raw_handle()];
            if !self.stdout.has_ended() {
                watched.push(self.stdout.event());
            }
            if matches!(wait(&watched, left), Ok(Some(0))) {
                return true;
            }
        }
    }

    /// Kills the rest of the job, waits, and adds up its usage.
    fn end(&mut self) {
        self.job.kill();
        // SAFETY: the handle is open. A killed process ends.
        unsafe { WaitForSingleObject(self.process.as_raw_handle(), INFINITE) };
        if !std::mem::replace(&mut self.waited_for, true) {
            self.job.account(&self.process);
        }
    }

    fn drain_complaint(&mut self) {
        let (complaint, complained) = (&mut self.complaint, &mut self.complained);
        let mut take = || {
            self.stderr.take(|bytes| {
                *complained += bytes.len() as u64;
                complaint.extend_from_slice(bytes);
                let excess = complaint.len().saturating_sub(COMPLAINT_BYTES);
                complaint.drain(..excess);
            })
        };
        // A peer that writes endlessly is noticed, and others get their turn.
        for _ in 0..MOST_READS {
            if !matches!(take(), Ok(true)) {
                return;
            }
        }
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        if !self.waited_for {
            self.end();
        }
    }
}

/// Waits until one of the peers may have said something.
///
/// # Errors
/// If waiting itself fails, as for more than 31 peers at once.
pub fn wait_any<'a>(
    peers: impl Iterator<Item = &'a PeerProcess>,
    interrupt: &Interrupt,
    deadline: Instant,
) -> io::Result<Wake> {
    let mut watched = vec![interrupt.bell()];
    for peer in peers {
        watched.push(peer.stdout.event());
        if !peer.stderr.has_ended() {
            watched.push(peer.stderr.event());
        }
    }
    if interrupt.asked() {
        return Ok(Wake::Interrupted);
    }
    let Some(left) = until(deadline) else { return Ok(Wake::Deadline) };
    let ready = wait(&watched, left)?;
    Ok(match ready {
        _ if interrupt.asked() => Wake::Interrupted,
        None if until(deadline).is_none() => Wake::Deadline,
        _ => Wake::Heard,
    })
}

/// Nothing is there: a job has ended with the process that held it.
pub fn ask_group_to_end(_group: u32) -> bool {
    false
}

/// Does nothing: a job has ended with the process that held it.
pub fn kill_group(_group: u32) {}

/// A helper that outlives this process while its standard input is open: the guard.
///
/// It has no console, so that no key press reaches it.
pub fn spawn_guard(command: &[String], _lock: Option<&File>) -> io::Result<Child> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.creation_flags(DETACHED_PROCESS).spawn()
}

/// Not known: whatever this program starts is in a job, which ends it.
pub fn is_running(_process: u32) -> bool {
    false
}

/// Reads standard input to its end.
pub fn read_stdin(each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut chunk = [0; 4096];
    loop {
        match io::stdin().read(&mut chunk)? {
            0 => return Ok(()),
            count => each(&chunk[..count]),
        }
    }
}

/// The standard input of a guard, or of any child, as something to write to.
pub use std::process::ChildStdin;

fn until(deadline: Instant) -> Option<Duration> {
    deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
}

/// Waits until one of them is set; returns which, or `None` on a timeout.
fn wait(watched: &[HANDLE], at_most: Duration) -> io::Result<Option<usize>> {
    // SAFETY: pointer and length describe handles that are open.
    let result = unsafe {
        WaitForMultipleObjects(watched.len() as u32, watched.as_ptr(), FALSE, milliseconds(at_most))
    };
    match result {
        WAIT_FAILED => Err(io::Error::last_os_error()),
        WAIT_TIMEOUT => Ok(None),
        place => Ok(Some((place - WAIT_OBJECT_0) as usize)),
    }
}

const _: () = {
    const fn sendable<T: Send>() {}
    sendable::<PeerProcess>();
};
