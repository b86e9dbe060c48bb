//! The calls of programs that run, through an attached strace: for users whom the kernel's tracepoints are closed to.
//!
//! A traced program waits for strace in each of its calls, so this is for a second at most. It goes on unharmed afterwards,
//! also if this program or strace is killed: the kernel detaches what a tracer leaves. Attaching and detaching interrupt
//! calls that wait, as stopping and continuing a program does (`signal(7)`): some of them, such as `epoll_wait`, fail with
//! `EINTR`, which programs take as a reason to try again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use ipcost_model::escaped;
use ipcost_sys::clock::wall_ahead_ns;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::observed::{Held, MovedCall};
use ipcost_sys::private_dir::PrivateDir;
use ipcost_sys::process::{Bounds, Heard, PeerProcess, Spawn, Wake, ask_group_to_end, wait_any};
use ipcost_sys::running::threads_of;
use ipcost_sys::{Context, SysError};

use crate::strace::{TraceSummary, attaching};

mod calls;

/// The longest that programs are traced.
pub const MOST: Duration = Duration::from_secs(1);
/// How long strace may take to attach. A program that does not get to run cannot be stopped.
const ATTACHES: Duration = Duration::from_secs(2);
/// How long it may take to write its first line; one that only computes makes no call.
const SETTLES: Duration = Duration::from_millis(20);
/// How long it may take to detach, before it is killed.
const DETACHES: Duration = Duration::from_secs(1);
/// What ends it if this program cannot: it may be stopped while strace is attached, which it cannot notice.
const BOUNDS: Bounds = Bounds { seconds: 10, file_bytes: 64 << 20 };
const LOOK: Duration = Duration::from_millis(1);
/// The most characters of what strace says in an error.
const MOST_SAID: usize = 200;
/// Where the kernel says who may trace whom.
const SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// What a trace of programs that run has shown, never what they move.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Traced {
    /// The calls that move data or wait for it and that have ended, in the order of their ends.
    ///
    /// Times are those of the wall clock, to a microsecond, brought to the monotonic one. The first call of a thread that
    /// was there at the begin is not whole: it may have begun earlier. Where data move to or from files is included.
    pub calls: Vec<MovedCall>,
    /// The sockets and pipes of those calls, by process and descriptor: each from when on, nanoseconds on the monotonic
    /// clock, in that order. A pipe reads or writes as far as that was seen. FIFOs are left out: strace writes their names alone.
    pub targets: HashMap<(u32, i32), Vec<(u64, Held)>>,
    /// All calls, by process. Those that were started meanwhile are included.
    pub by_process: BTreeMap<u32, TraceSummary>,
    /// The processes that strace was attached to, without those that it may not trace or that were gone.
    pub attached: BTreeSet<u32>,
    /// How long all of them were traced.
    pub lasted: Duration,
}

impl Traced {
    /// The socket or pipe that a call was made on.
    pub fn target(&self, call: &MovedCall) -> Option<&Held> {
        let all = self.targets.get(&(call.process, call.descriptor))?;
        let count = all.partition_point(|(from_ns, _)| *from_ns <= call.ended_ns);
        all.get(count.checked_sub(1)?).map(|(_, held)| held)
    }
}

/// Why programs could not be traced, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// There is no process to trace: this program does not trace itself.
    #[error("no process to trace")]
    NoProcess,
    /// strace is not installed.
    #[error("strace is not installed (Debian's package strace)")]
    NotInstalled,
    /// This user may not trace the process.
    #[error("this user may not trace process {process}: {reason}")]
    Forbidden {
        process: u32,
        /// Why not, and what helps.
        reason: String,
    },
    /// Another program traces it already, such as a debugger; the kernel lets only one.
    #[error("process {process} is traced by process {by} already")]
    AlreadyTraced { process: u32, by: u32 },
    /// The process has ended.
    #[error("process {0} has ended")]
    Gone(u32),
    #[error("strace failed: {said}; see whether strace -p works here by itself")]
    Failed {
        /// The last line that it wrote.
        said: String,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// Its file cannot be kept, or it cannot be started or read.
    #[error(transparent)]
    System(#[from] SysError),
}

/// Traces processes, with the children that they start meanwhile, for so long, or for [`MOST`] if that is less; not longer
/// if all of them end. A process that cannot be traced is left out, unless none can.
///
/// Attaching may take two seconds before that, and detaching one second afterwards.
///
/// # Errors
/// If strace is missing, may not trace any of the processes, or fails; if all of them have ended; if the user asks to stop.
pub fn attached(processes: &[u32], lasts: Duration, interrupt: &Interrupt) -> Result<Traced, AttachError> {
    while_attached(processes, interrupt, &mut |tracer, _| {
        let deadline = Instant::now() + lasts.min(MOST);
        while !tracer.has_ended()? {
            match wait_any(std::iter::once(&tracer.strace), interrupt, deadline).context(cannot_read)? {
                Wake::Heard => {}
                Wake::Deadline => break,
                Wake::Interrupted => return Err(AttachError::Interrupted),
            }
        }
        Ok(())
    })
}

/// Traces processes while something is done, which is given strace's file.
fn while_attached(
    processes: &[u32],
    interrupt: &Interrupt,
    during: &mut dyn FnMut(&mut Tracer, &Path) -> Result<(), AttachError>,
) -> Result<Traced, AttachError> {
    let own = std::process::id();
    let meant: BTreeSet<u32> =
        processes.iter().copied().filter(|process| ![0, own].contains(process)).collect();
    let first = *meant.first().ok_or(AttachError::NoProcess)?;
    let free = |process: &u32| Status::of(*process).is_some_and(|status| status.tracer == 0);
    let meant: Vec<u32> = meant.into_iter().filter(free).collect();
    if meant.is_empty() {
        return Err(refusal(first, ""));
    }
    let scratch = PrivateDir::create()?;
    let file = scratch.path().join("calls");
    // Dropped before the directory: it still writes there.
    let mut tracer = Tracer::start(&meant, &file)?;
    let attached = tracer.confirm(&meant, &file, interrupt)?;
    if attached.is_empty() {
        // All that it says is there once it has ended.
        tracer.finish();
        return Err(refusal(meant[0], &tracer.strace.complaint()));
    }
    let at_begin = threads(&attached);
    let began = Instant::now();
    during(&mut tracer, &file)?;
    let mut threads = threads(&attached);
    tracer.stop();
    let lasted = began.elapsed();
    tracer.finish();
    let attached_threads = at_begin.keys().copied().collect();
    threads.extend(at_begin);
    // Names in a trace may hold any bytes; what matters is ASCII.
    let bytes = fs::read(&file).context(cannot_read)?;
    let known = calls::TraceContext { threads, attached: attached_threads, ahead_ns: wall_ahead_ns() };
    let process_of = |thread: u32| Status::of(thread).map(|status| status.process);
    let traced = calls::read(&String::from_utf8_lossy(&bytes), known, &process_of);
    Ok(Traced { attached, lasted, ..traced })
}

fn cannot_read() -> String {
    "cannot read from strace".to_owned()
}

/// A running strace, in a session of its own, so that only this program ends it. Dropping it lets it detach. The kernel kills it if this
/// program is killed, and ends it after a time if this program is stopped, whereby it detaches, too.
#[derive(Debug)]
struct Tracer {
    strace: PeerProcess,
}

impl Tracer {
    fn start(processes: &[u32], file: &Path) -> Result<Self, AttachError> {
        let command = attaching(processes, file);
        // Its errors are read here.
        let env = [("LC_ALL".to_owned(), "C".to_owned())];
        let spawn = Spawn {
            command: &command,
            env: &env,
            own_session: true,
            bounds: Some(BOUNDS),
            ..Spawn::default()
        };
        match PeerProcess::spawn(spawn) {
            Ok(strace) => Ok(Self { strace }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(AttachError::NotInstalled),
            Err(error) => Err(error).context(|| "cannot start strace".to_owned())?,
        }
    }

    /// Whether it has ended, as it does when there is nothing left to trace.
    fn has_ended(&mut self) -> Result<bool, AttachError> {
        Ok(match self.strace.hear().context(cannot_read)? {
            // It writes nothing there.
            Heard::Line(_) | Heard::Nothing => false,
            Heard::End | Heard::TooLong | Heard::TooMuchComplaint => true,
        })
    }

    /// Waits until it is attached to all threads of these processes, except of those that it may not trace: which ones those are.
    fn confirm(
        &mut self,
        processes: &[u32],
        file: &Path,
        interrupt: &Interrupt,
    ) -> Result<BTreeSet<u32>, AttachError> {
        let deadline = Instant::now() + ATTACHES;
        // What is started for it waits for strace, and ends it in time.
        let own = self.strace.id();
        let is_own = |tracer: u32| Status::of(tracer).is_some_and(|status| status.parent == own);
        let is_ours = |thread: &u32| Status::of(*thread).is_none_or(|status| is_own(status.tracer));
        let is_attached = |process: &&u32| {
            let threads = threads_of(**process);
            !threads.is_empty() && threads.iter().all(is_ours)
        };
        loop {
            let has_ended = self.has_ended()?;
            let complaint = self.strace.complaint();
            let attached: BTreeSet<u32> = processes.iter().filter(is_attached).copied().collect();
            let is_settled = |process: &u32| {
                let is_refused = complaint.contains(&format!(", {process}):"));
                attached.contains(process) || is_refused || Status::of(*process).is_none()
            };
            if has_ended || Instant::now() > deadline {
                return Ok(attached);
            }
            if processes.iter().all(is_settled) {
                let deadline = Instant::now() + SETTLES;
                let has_lines = || fs::metadata(file).is_ok_and(|file| file.len() > 0);
                while !has_lines() && Instant::now() < deadline {
                    std::thread::sleep(LOOK);
                }
                return Ok(attached);
            }
            if interrupt.asked() {
                return Err(AttachError::Interrupted);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Asks it to detach.
    fn stop(&self) {
        ask_group_to_end(self.strace.id());
    }

    /// Waits until it has ended, and kills it if it does not.
    fn finish(&mut self) {
        self.strace.finish(Instant::now() + DETACHES);
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        if self.strace.runs() {
            self.stop();
            self.finish();
        }
    }
}

/// What `/proc/PID/status` says of a process or a thread that runs.
struct Status {
    process: u32,
    parent: u32,
    tracer: u32,
    user: u32,
}

impl Status {
    /// `None` if it has ended.
    fn of(thread: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let number = |name: &str, place| field(name)?.split_whitespace().nth(place)?.parse().ok();
        if field("State").is_some_and(|state| state.trim_start().starts_with(['Z', 'X'])) {
            return None;
        }
        Some(Self {
            process: number("Tgid", 0)?,
            parent: number("PPid", 0)?,
            tracer: number("TracerPid", 0)?,
            user: number("Uid", 1)?,
        })
    }
}

/// The threads of processes, each with its process.
fn threads(processes: &BTreeSet<u32>) -> BTreeMap<u32, u32> {
    let of = |process: &u32| {
        threads_of(*process).into_iter().map(move |thread| (thread, *process)).collect::<Vec<_>>()
    };
    processes.iter().flat_map(of).collect()
}

/// Why a process could not be traced.
fn refusal(process: u32, complaint: &str) -> AttachError {
    let Some(status) = Status::of(process) else { return AttachError::Gone(process) };
    if status.tracer != 0 {
        return AttachError::AlreadyTraced { process, by: status.tracer };
    }
    let scope = fs::read_to_string(SCOPE).ok().and_then(|scope| scope.trim().parse().ok());
    let own = Status::of(std::process::id()).map(|status| status.user);
    if complaint.contains("Operation not permitted") {
        return AttachError::Forbidden { process, reason: forbidden(own, status.user, scope) };
    }
    let last = complaint.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it says nothing");
    let said = escaped(&last.chars().take(MOST_SAID).collect::<String>());
    AttachError::Failed { said: said.trim_end_matches('.').to_owned() }
}

/// Why this user may not trace a process of a user, and what helps (`ptrace(2)`).
fn forbidden(own: Option<u32>, user: u32, scope: Option<u8>) -> String {
    match (own, scope) {
        (Some(own @ 1..), _) if own != user => "it belongs to another user; run as root".to_owned(),
        (Some(1..), Some(scope @ 1..=2)) => {
            format!("kernel.yama.ptrace_scope is {scope}; run as root, or set it to 0")
        }
        (_, Some(scope @ 3..)) => {
            format!(
                "kernel.yama.ptrace_scope is {scope}, which forbids it to all until the next start of the machine"
            )
        }
        (Some(1..), _) => "it keeps itself from being traced, or has more rights; run as root".to_owned(),
        _ => "in a container, add the capability SYS_PTRACE and permit ptrace".to_owned(),
    }
}

#[cfg(test)]
mod tests;
