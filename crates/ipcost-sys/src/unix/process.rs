//! Peers as the engine sees them: child processes with pipes.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::process::{Pid, Signal, getppid, kill_process_group};

pub use crate::contract::{Bounds, Heard, MOST_COMPLAINT_BYTES, Spawn, Wake};
use crate::contract::{CHUNK_BYTES, COMPLAINT_BYTES, MOST_READS};
use crate::interrupt::Interrupt;
use crate::lines::{LineError, Lines};
use crate::net_namespace::Entrance;
use crate::system::child::{bound, die_with_parent, exit_descriptor, pin};
use crate::system::leftovers;

/// Where to write to a guard, from this process or one about to become a peer.
pub type GuardLine<'a> = BorrowedFd<'a>;

/// The line to a guard: its standard input.
pub fn guard_line(input: &ChildStdin) -> GuardLine<'_> {
    input.as_fd()
}

/// A peer's process: in its own group, killed by the kernel if this process dies.
#[derive(Debug)]
pub struct PeerProcess {
    child: Child,
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: OwnedFd,
    exit: Option<OwnedFd>,
    lines: Lines,
    complaint: Vec<u8>,
    /// Total bytes written to standard error.
    complained: u64,
    ended: bool,
    mark: Option<String>,
    complaint_ended: bool,
    /// Whether it has been waited for, so that its number may be reused.
    gone: bool,
}

impl PeerProcess {
    /// Starts a peer.
    ///
    /// # Errors
    /// If a system call fails; `NotFound` if the program does not exist.
    pub fn spawn(spawn: Spawn<'_>) -> io::Result<Self> {
        let (program, arguments) = spawn.command.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.envs(spawn.env.iter().map(|(name, value)| (name, value)));
        // The leader of a group cannot begin a session, and a session's leader leads a group.
        let own_session = spawn.own_session;
        if !own_session {
            command.process_group(0);
        }
        if let Some(mark) = spawn.mark {
            command.env(leftovers::MARK, mark);
        }
        let inherited: Vec<RawFd> = spawn.inherit.iter().map(AsRawFd::as_raw_fd).collect();
        let (cpu, network, bounds) = (spawn.cpu, spawn.network, spawn.bounds);
        let guard = spawn.guard.as_ref().map(AsRawFd::as_raw_fd);
        let parent = rustix::process::getpid();
        // SAFETY: the closure runs between fork and exec and only makes system calls on plain values; it neither
        // allocates nor takes a lock. The inherited descriptors stay open until after the spawn.
        unsafe {
            command.pre_exec(move || {
                if own_session {
                    rustix::process::setsid()?;
                }
                before_exec(&inherited, cpu, network, guard, parent)?;
                bounds.map_or(Ok(()), |bounds| bound(bounds))
            });
        }
        let mut child = command.spawn()?;
        drop(spawn.inherit);
        let exit = exit_descriptor(child.id());
        let pipe = |pipe: OwnedFd| ioctl_fionbio(&pipe, true).map(|()| pipe);
        let stdin = child.stdin.take().map(OwnedFd::from).map(pipe).transpose()?;
        let stdout = pipe(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?.into())?;
        let stderr = pipe(child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?.into())?;
        Ok(Self {
            child,
            stdin,
            stdout,
            stderr,
            exit,
            lines: Lines::default(),
            complaint: Vec::new(),
            complained: 0,
            ended: false,
            mark: spawn.mark.map(str::to_owned),
            complaint_ended: false,
            gone: false,
        })
    }

    /// The process ID, which is also its group's.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes to the peer's standard input.
    ///
    /// # Errors
    /// `BrokenPipe` if the peer no longer reads, `TimedOut` if it does not read in time.
    pub fn send(&mut self, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
        let stdin = self.stdin.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        while !bytes.is_empty() {
            match rustix::io::write(stdin, bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let Some(left) = until(deadline) else { return Err(io::ErrorKind::TimedOut.into()) };
                    wait(&mut [PollFd::new(stdin, PollFlags::OUT)], left)?;
                }
                Err(error) => return Err(error.into()),
            }
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
                Ok(None) if self.ended => return Ok(Heard::End),
                Ok(None) => {}
                Err(LineError) => return Ok(Heard::TooLong),
            }
            let mut chunk = [0; CHUNK_BYTES];
            match rustix::io::read(&self.stdout, &mut chunk) {
                Ok(0) => self.ended = true,
                Ok(count) => self.lines.add(&chunk[..count]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(Heard::Nothing),
                Err(error) => return Err(error.into()),
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
        self.complaint_ended
    }

    /// Ends its standard input and waits for it to leave; `None` if it had to be killed at the deadline.
    ///
    /// Kills everything that it left behind in its group.
    pub fn finish(&mut self, deadline: Instant) -> Option<ExitStatus> {
        self.stdin = None;
        let left = self.has_left_by(deadline);
        self.end();
        let status = self.child.try_wait().ok().flatten();
        if left { status } else { None }
    }

    /// Whether it is still running.
    pub fn runs(&self) -> bool {
        leftovers::runs(self.child.id())
    }

    /// The command lines of its running descendants: they are in its group, or have its mark.
    pub fn leftovers(&self) -> Vec<String> {
        leftovers::of(self.child.id(), self.mark.as_deref())
    }

    /// Kills only the process, not its group, as the kernel does when the engine dies.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()
    }

    /// Ends its standard input, so that it leaves by itself.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    fn has_left_by(&mut self, deadline: Instant) -> bool {
        loop {
            let Some(left) = until(deadline) else { return matches!(self.child.try_wait(), Ok(Some(_))) };
            self.discard_output();
            let Some(exit) = &self.exit else {
                if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                    return true;
                }
                std::thread::sleep(Duration::from_millis(1).min(left));
                continue;
            };
            let mut watched = vec![PollFd::new(exit, PollFlags::IN)];
            watched.extend(self.talking());
            if wait(&mut watched, left).is_ok() && !watched[0].revents().is_empty() {
                return true;
            }
        }
    }

    /// Kills every process of the group, and waits for the first.
    fn end(&mut self) {
        if std::mem::replace(&mut self.gone, true) {
            return;
        }
        // The group's number cannot have been reused: its leader has not been waited for yet.
        kill_group(self.child.id());
        let _ = self.child.wait();
    }

    /// Reads and discards its remaining output, so that it does not block.
    fn discard_output(&mut self) {
        self.drain_complaint();
        let mut chunk = [0; CHUNK_BYTES];
        for _ in 0..MOST_READS {
            match rustix::io::read(&self.stdout, &mut chunk) {
                Ok(0) => self.ended = true,
                Ok(_) | Err(Errno::INTR) => continue,
                Err(_) => {}
            }
            return;
        }
    }

    fn drain_complaint(&mut self) {
        let mut chunk = [0; CHUNK_BYTES];
        for _ in 0..MOST_READS {
            match rustix::io::read(&self.stderr, &mut chunk) {
                Ok(0) => self.complaint_ended = true,
                Ok(count) => {
                    self.complained += count as u64;
                    self.complaint.extend_from_slice(&chunk[..count]);
                    let excess = self.complaint.len().saturating_sub(COMPLAINT_BYTES);
                    self.complaint.drain(..excess);
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(_) => {}
            }
            return;
        }
    }

    /// Its open outputs, to wait on: an ended one would be readable again and again.
    fn talking(&self) -> impl Iterator<Item = PollFd<'_>> {
        let descriptors = [(self.ended, &self.stdout), (self.complaint_ended, &self.stderr)];
        let open = descriptors.into_iter().filter(|(ended, _)| !ended);
        open.map(|(_, descriptor)| PollFd::new(descriptor, PollFlags::IN))
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// In the child, before exec: descriptors, processor, network, and dying with the parent.
fn before_exec(
    inherited: &[RawFd],
    cpu: Option<usize>,
    network: Option<Entrance>,
    guard: Option<RawFd>,
    parent: Pid,
) -> io::Result<()> {
    if let Some(guard) = guard {
        announce(guard);
    }
    for number in inherited {
        // SAFETY: the parent holds these descriptors open across the fork, so they are open here.
        let descriptor = unsafe { BorrowedFd::borrow_raw(*number) };
        fcntl_setfd(descriptor, FdFlags::empty())?;
    }
    if let Some(cpu) = cpu {
        pin(cpu)?;
    }
    if let Some(network) = network {
        network.enter()?;
    }
    // Only now: changing credentials clears the parent-death signal.
    die_with_parent()?;
    // The parent may have died before the request to the kernel.
    if getppid() != Some(parent) {
        return Err(io::ErrorKind::Interrupted.into());
    }
    Ok(())
}

/// Sends a guard this process's number; between fork and exec, so it allocates nothing.
fn announce(guard: RawFd) {
    const WORD: &[u8] = b"watch ";
    let mut line = [0_u8; 32];
    let mut end = line.len() - 1;
    line[end] = b'\n';
    let mut number = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
    while number > 0 {
        end -= 1;
        line[end] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    let start = end - WORD.len();
    line[start..end].copy_from_slice(WORD);
    // SAFETY: plain system calls. The parent holds the descriptor open across the fork. The standard library has set
    // SIGPIPE to its default, which must not end this process if the guard is gone; it is restored.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        let guard = BorrowedFd::borrow_raw(guard);
        // Writes below PIPE_BUF bytes are atomic. Without a guard the run continues.
        let _ = rustix::io::write(guard, &line[start..]);
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

/// Waits until one of the peers may have said something.
pub fn wait_any<'a>(
    peers: impl Iterator<Item = &'a PeerProcess>,
    interrupt: &Interrupt,
    deadline: Instant,
) -> io::Result<Wake> {
    let bell = interrupt.descriptor();
    let mut watched = vec![PollFd::new(&bell, PollFlags::IN)];
    for peer in peers {
        watched.extend(peer.talking());
    }
    if interrupt.asked() {
        return Ok(Wake::Interrupted);
    }
    let Some(left) = until(deadline) else { return Ok(Wake::Deadline) };
    let ready = wait(&mut watched, left)?;
    Ok(match ready {
        _ if interrupt.asked() => Wake::Interrupted,
        0 if until(deadline).is_none() => Wake::Deadline,
        _ => Wake::Heard,
    })
}

/// Asks every process of a group to end, and tells whether there was one.
pub fn ask_group_to_end(group: u32) -> bool {
    let group = i32::try_from(group).ok().and_then(Pid::from_raw);
    group.is_some_and(|group| kill_process_group(group, Signal::TERM).is_ok())
}

/// Whether a process is running.
pub fn is_running(process: u32) -> bool {
    leftovers::runs(process)
}

/// Kills every process of a group, without waiting.
pub fn kill_group(group: u32) {
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        // It may be gone already.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// A helper that outlives this process while its standard input is open: the guard.
///
/// It runs in its own session, so that no signal from the terminal reaches it. A lock that this process holds is the guard's, too.
pub fn spawn_guard(command: &[String], lock: Option<&File>) -> io::Result<Child> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    // What it says on its standard error matters once this process is gone: that it cannot put the machine back.
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null());
    let lock = lock.map(AsRawFd::as_raw_fd);
    // SAFETY: between fork and exec the closure makes only system calls on plain values. The lock stays open until after the spawn.
    unsafe {
        command.pre_exec(move || {
            if let Some(lock) = lock {
                fcntl_setfd(BorrowedFd::borrow_raw(lock), FdFlags::empty())?;
            }
            rustix::process::setsid().map(|_| ()).map_err(io::Error::from)
        });
    }
    command.spawn()
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

fn until(deadline: Instant) -> Option<Duration> {
    deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
}

/// `poll(2)`; an interrupted wait counts as nothing ready.
fn wait(watched: &mut [PollFd<'_>], at_most: Duration) -> io::Result<usize> {
    let timeout = Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
    match poll(watched, Some(&timeout)) {
        Err(Errno::INTR) => Ok(0),
        result => Ok(result?),
    }
}

/// The standard input of a guard, or of any child, as something to write to.
pub use std::process::ChildStdin;

const _: () = {
    const fn sendable<T: Send>() {}
    sendable::<PeerProcess>();
};

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> PeerProcess {
        let command = ["sh", "-c", script].map(str::to_owned);
        PeerProcess::spawn(Spawn { command: &command, ..Spawn::default() }).unwrap()
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn hear(peer: &mut PeerProcess) -> Heard {
        let never = Interrupt::never().unwrap();
        loop {
            match peer.hear().unwrap() {
                Heard::Nothing => {
                    assert_eq!(wait_any(std::iter::once(&*peer), &never, soon()).unwrap(), Wake::Heard);
                }
                heard => return heard,
            }
        }
    }

    #[test]
    fn talks_both_ways_and_leaves_at_the_end_of_input() {
        let mut peer = sh("read line; echo \"got $line\"; echo oops >&2; cat");
        peer.send(b"hello\n", soon()).unwrap();
        assert_eq!(hear(&mut peer), Heard::Line(b"got hello".to_vec()));
        assert!(peer.finish(soon()).unwrap().success());
        assert_eq!(peer.complaint(), "oops");
    }

    #[test]
    fn says_when_the_other_end_is_gone() {
        let mut peer = sh("printf unfinished");
        assert_eq!(hear(&mut peer), Heard::End);
    }

    #[test]
    fn a_line_without_end_is_cut_off() {
        let mut peer = sh("tr '\\0' x < /dev/zero");
        assert_eq!(hear(&mut peer), Heard::TooLong);
    }

    #[test]
    fn one_that_does_not_leave_is_killed_with_its_children() {
        let mut peer = sh("trap '' TERM; sleep 1000 & echo $!; sleep 1000");
        let Heard::Line(child) = hear(&mut peer) else { panic!("no line") };
        let child: i32 = String::from_utf8(child).unwrap().parse().unwrap();
        assert!(peer.finish(Instant::now()).is_none());
        let gone = || match std::fs::read_to_string(format!("/proc/{child}/stat")) {
            Ok(stat) => stat.contains(") Z "),
            Err(_) => true,
        };
        let deadline = soon();
        while !gone() {
            assert!(Instant::now() < deadline, "the child is still there");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_missing_program_is_not_found() {
        let command = ["/does/not/exist".to_owned()];
        let error = PeerProcess::spawn(Spawn { command: &command, ..Spawn::default() }).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
