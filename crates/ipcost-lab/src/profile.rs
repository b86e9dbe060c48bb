//! Samples the stacks of process groups while a batch runs, through the installed `perf`.
//!
//! User stacks are followed by frame pointers, not by DWARF: for DWARF the kernel copies 8 KiB of stack with each sample,
//! which costs more than most operations that are measured here and displaces them from the caches. Kernel stacks, where
//! most of the time of inter-process communication goes, are complete either way. User stacks of code without frame
//! pointers show the function that calls the kernel, and few or none of its callers.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use std::{fs, io};

use ipcost_model::escaped;
use ipcost_sys::file_writer::open_in_place;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::perf::{Counters, Refusal, processes};
use ipcost_sys::private_dir::PrivateDir;
use ipcost_sys::process::{Heard, PeerProcess, Spawn, Wake, wait_any};
use ipcost_sys::{Context, SysError, programs};

use crate::stacks::{Collapse, FIELDS, Stacks};

/// Samples per second of processor time. `perf` lowers it to `kernel.perf_event_max_sample_rate` by itself. Not a round
/// number, so that samples do not keep pace with timers.
const FREQUENCY_HZ: u32 = 2999;
/// The event for processors without counters.
const CLOCK: &str = "cpu-clock";
/// The buffer of each processor, pages. Two such buffers fit what a user may lock (`kernel.perf_event_mlock_kb`).
const BUFFER_PAGES: u32 = 32;
/// How long `perf` may take to attach, or to write its file.
const ANSWER: Duration = Duration::from_secs(30);
/// How long it may take to resolve the names of all samples.
const SCRIPT: Duration = Duration::from_secs(60);
/// The most characters of what `perf` says in an error.
const MOST_SAID: usize = 200;
/// What every `perf` is started with: the user's settings would change what it prints, and it would ask servers for symbols.
const ENVIRONMENT: [&str; 4] = ["env", "PERF_CONFIG=/dev/null", "DEBUGINFOD_URLS=", "LC_ALL=C"];

/// Why stacks could not be sampled, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// `perf` is not installed, or not for this kernel.
    #[error("perf is not installed, or not for this kernel (Debian's package linux-perf)")]
    NotInstalled,
    /// This user may not sample the kernel; with the value of `kernel.perf_event_paranoid`.
    #[error("this user may not sample the kernel: {}", permission(*.0))]
    Forbidden(Option<i32>),
    /// The groups have no processes.
    #[error("process group {0} has no processes to sample; measure this cell alone to see whether it runs")]
    NoProcess(u32),
    /// Neither side was sampled.
    #[error("perf took no samples: the batch used too little processor time; make it longer with --budget")]
    NoSamples,
    /// `perf` failed.
    #[error("perf {step} failed ({ended}): {said}; see whether perf {step} works here by itself")]
    Failed {
        step: &'static str,
        /// Its exit status, or that it had to be ended.
        ended: String,
        /// The last line that it wrote.
        said: String,
    },
    /// `perf` did not end, and was killed.
    #[error("perf {step} did not finish in time and was ended; try again on a less busy machine")]
    Stuck { step: &'static str },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// Its files cannot be kept, or it cannot be started or read.
    #[error(transparent)]
    System(#[from] SysError),
}

/// How to get the permission.
fn permission(paranoid: Option<i32>) -> String {
    match paranoid {
        Some(value @ 2..) => {
            format!("run as root, or set kernel.perf_event_paranoid to 1 or less (it is {value})")
        }
        _ => "run as root; in a container, add the capability PERFMON and permit perf_event_open".to_owned(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The processors: the kernel sets its timer up once, not at every switch between tasks, of which there are two in a
    /// round trip. Takes more permission.
    Processors,
    /// The tasks of each group.
    Tasks,
}

/// Samples process groups until it is finished or dropped.
#[derive(Debug)]
pub struct Profiler {
    /// One recorder for the processors, or one for each group, so that children that start meanwhile belong to their side.
    ///
    /// Before the directory: what is dropped first still writes to it.
    recorders: Vec<Recorder>,
    scope: Scope,
    /// The groups, each with the processes that it had at the begin.
    groups: Vec<(u32, Vec<u32>)>,
    _scratch: PrivateDir,
}

impl Profiler {
    /// Starts to sample all threads of these process groups, and the children that they start from now on. Sampling has
    /// begun when this returns. `interrupt` ends every wait for `perf`.
    pub fn start(groups: &[u32], interrupt: &Interrupt) -> Result<Self, ProfileError> {
        if !is_there() {
            return Err(ProfileError::NotInstalled);
        }
        let event = usable_event(groups)?;
        let mut first = None;
        // Some counters count, but cannot interrupt.
        for (scope, event) in [
            (Scope::Processors, event),
            (Scope::Processors, CLOCK),
            (Scope::Tasks, event),
            (Scope::Tasks, CLOCK),
        ] {
            match Self::start_with(scope, event, groups, interrupt) {
                Err(error @ ProfileError::Failed { .. }) => first = Some(error),
                started => return started,
            }
        }
        Err(first.unwrap_or(ProfileError::NoSamples))
    }

    fn start_with(
        scope: Scope,
        event: &'static str,
        groups: &[u32],
        interrupt: &Interrupt,
    ) -> Result<Self, ProfileError> {
        let scratch = PrivateDir::create()?;
        let data = |index: usize| scratch.path().join(format!("{index}.data"));
        let mut members = Vec::new();
        for group in groups {
            let found = processes(*group);
            if found.is_empty() {
                return Err(ProfileError::NoProcess(*group));
            }
            members.push((*group, found));
        }
        let recorders = match scope {
            Scope::Processors => vec![Recorder::start("--all-cpus", event, data(0), interrupt)?],
            Scope::Tasks => {
                let record = |(index, (_, members)): (usize, &(u32, Vec<u32>))| {
                    Recorder::start(&format!("--pid={}", list(members)), event, data(index), interrupt)
                };
                members.iter().enumerate().map(record).collect::<Result<_, _>>()?
            }
        };
        let mut profiler = Self { recorders, scope, groups: members, _scratch: scratch };
        // Attaching takes longer than switching on: both sides are sampled from nearly the same moment.
        profiler.recorders.iter_mut().try_for_each(Recorder::enable)?;
        Ok(profiler)
    }

    /// Stops sampling and returns the stacks of each group, in the order of [`Profiler::start`]. A group that used next to
    /// no processor time has none.
    pub fn finish(mut self) -> Result<Vec<Stacks>, ProfileError> {
        self.recorders.iter_mut().for_each(Recorder::request_stop);
        let recorded = self.recorders.drain(..).map(Recorder::end).collect::<Result<Vec<_>, _>>()?;
        let stacks: Vec<Stacks> = match (self.scope, recorded.first()) {
            (Scope::Processors, Some(all)) => {
                let of_group = |(group, members): &(u32, Vec<u32>)| {
                    let mut members = members.clone();
                    members.extend(processes(*group));
                    // perf takes no process twice.
                    members.sort_unstable();
                    members.dedup();
                    all.stacks(Some(&members))
                };
                self.groups.iter().map(of_group).collect::<Result<_, _>>()?
            }
            _ => recorded.iter().map(|recording| recording.stacks(None)).collect::<Result<_, _>>()?,
        };
        if stacks.iter().all(|side| side.samples == 0) {
            return Err(ProfileError::NoSamples);
        }
        Ok(stacks)
    }
}

/// Whether `perf` can be started. Ubuntu's is a script that fails if the package for this kernel is missing.
fn is_there() -> bool {
    let asked = programs::output("perf", &["--version"], &[], None);
    asked.is_ok_and(|output| output.status.success())
}

/// The event that samples of these groups can be taken by: cycles, or the clock if the processor offers no counters.
fn usable_event(groups: &[u32]) -> Result<&'static str, ProfileError> {
    let mut event = "cycles";
    for group in groups {
        match Counters::of_group(*group).refused().get("cycles_kernel") {
            Some(Refusal::Forbidden) => return Err(ProfileError::Forbidden(paranoid())),
            Some(Refusal::Absent) => event = CLOCK,
            None => {}
        }
    }
    Ok(event)
}

fn paranoid() -> Option<i32> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

/// One `perf record`.
#[derive(Debug)]
struct Recorder {
    perf: Perf,
    data: PathBuf,
}

impl Recorder {
    /// Attaches to what an option names, without sampling it yet.
    fn start(target: &str, event: &str, data: PathBuf, interrupt: &Interrupt) -> Result<Self, ProfileError> {
        let (rate, pages) = (format!("--freq={FREQUENCY_HZ}"), format!("--mmap-pages={BUFFER_PAGES}"));
        let file = data.to_string_lossy();
        let sampling = ["--event", event, &rate, "--call-graph=fp", &pages, target, "--delay=-1"];
        // Commands arrive at standard input, answers leave by standard output. No cache of files in the home directory.
        let plumbing = ["--control=fd:0,1", "--no-buildid", "--output", &file];
        let perf = Perf::start("record", &[&sampling[..], &plumbing].concat(), interrupt)?;
        Ok(Self { perf, data })
    }

    fn enable(&mut self) -> Result<(), ProfileError> {
        let deadline = Instant::now() + ANSWER;
        // If it has ended, there is no answer, and the error is told then.
        let _ = self.perf.process.send(b"enable\n", deadline);
        match self.perf.line(deadline)? {
            Some(answer) if answer.contains("ack") => Ok(()),
            _ => Err(self.perf.failure()),
        }
    }

    fn request_stop(&mut self) {
        // It may have ended already, with the last process of its group.
        let _ = self.perf.process.send(b"stop\n", Instant::now() + ANSWER);
    }

    /// Waits for the end of the recording.
    fn end(self) -> Result<Recording, ProfileError> {
        let Self { perf, data } = self;
        let interrupt = perf.interrupt.clone();
        perf.for_each_line(ANSWER, |_| {})?;
        without_programs(&data).context(|| "cannot read what perf has recorded".to_owned())?;
        Ok(Recording { data, interrupt })
    }
}

/// What one `perf record` wrote.
struct Recording {
    data: PathBuf,
    interrupt: Interrupt,
}

impl Recording {
    /// The stacks of these processes, or of all.
    fn stacks(&self, members: Option<&[u32]>) -> Result<Stacks, ProfileError> {
        let file = self.data.to_string_lossy();
        // Resolving inlined functions takes minutes.
        let mut options = vec!["--no-inline", "--fields", FIELDS, "--input", &file];
        let only = members.map(|members| format!("--pid={}", list(members)));
        options.extend(only.as_deref());
        let mut collapse = Collapse::default();
        Perf::start("script", &options, &self.interrupt)?
            .for_each_line(SCRIPT, |line| collapse.line(line))?;
        Ok(collapse.finish())
    }
}

/// Takes the names of eBPF programs out of what was recorded, which no stack here shows.
///
/// Where two recorders are at work, Linux adds a trailer to such a record for each that it goes to, and never takes one off again
/// (`perf_event_ksymbol_output` in kernel/events/core.c): `perf script` gives up at the first of which it cannot read the end.
fn without_programs(data: &Path) -> io::Result<()> {
    /// `PERF_RECORD_KSYMBOL` and `PERF_RECORD_BPF_EVENT`.
    const PROGRAMS: [u32; 2] = [17, 18];
    /// `PERF_RECORD_TIME_CONV`, which perf passes over where nothing traces instructions.
    const PASSED_OVER: u32 = 79;
    /// The length of the header of a record, bytes: its type, its mode, its length.
    const HEADER: usize = 8;
    let mut file = open_in_place(data)?;
    let mut head = [0; 56];
    file.read_exact(&mut head)?;
    let number = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| head[at + byte]));
    let (begin, length) = (number(40), number(48));
    let mut records = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.seek(SeekFrom::Start(begin))?;
    file.read_exact(&mut records)?;
    let (mut at, mut found) = (0, false);
    while let Some(header) = records.get_mut(at..at + HEADER) {
        let kind = u32::from_ne_bytes(std::array::from_fn(|byte| header[byte]));
        if PROGRAMS.contains(&kind) {
            header[..4].copy_from_slice(&PASSED_OVER.to_ne_bytes());
            found = true;
        }
        match u16::from_ne_bytes([header[6], header[7]]) {
            0 => break,
            length => at += usize::from(length),
        }
    }
    if found {
        file.seek(SeekFrom::Start(begin))?;
        file.write_all(&records)?;
    }
    Ok(())
}

fn list(processes: &[u32]) -> String {
    processes.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// A running `perf`, in a group of its own, so that only this program ends it. Dropping it kills it, and the kernel does if
/// this program is killed.
#[derive(Debug)]
struct Perf {
    step: &'static str,
    process: PeerProcess,
    interrupt: Interrupt,
}

impl Perf {
    fn start(step: &'static str, options: &[&str], interrupt: &Interrupt) -> Result<Self, ProfileError> {
        let words = [&ENVIRONMENT[..], &["perf", step], options].concat();
        let command: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let spawn = Spawn { command: &command, ..Spawn::default() };
        let process = PeerProcess::spawn(spawn).context(|| format!("cannot start perf {step}"))?;
        Ok(Self { step, process, interrupt: interrupt.clone() })
    }

    /// Its next line; `None` after the last.
    fn line(&mut self, deadline: Instant) -> Result<Option<String>, ProfileError> {
        let cannot_read = || format!("cannot read from perf {}", self.step);
        loop {
            match self.process.hear().context(cannot_read)? {
                // The names in it may hold any bytes.
                Heard::Line(line) => return Ok(Some(String::from_utf8_lossy(&line).into_owned())),
                Heard::End => return Ok(None),
                Heard::TooLong | Heard::TooMuchComplaint => return Err(self.failure()),
                Heard::Nothing => {}
            }
            let peers = std::iter::once(&self.process);
            match wait_any(peers, &self.interrupt, deadline).context(cannot_read)? {
                Wake::Heard => {}
                Wake::Deadline => return Err(ProfileError::Stuck { step: self.step }),
                Wake::Interrupted => return Err(ProfileError::Interrupted),
            }
        }
    }

    /// Takes all its lines until it has ended.
    fn for_each_line(mut self, limit: Duration, mut take: impl FnMut(&str)) -> Result<(), ProfileError> {
        let deadline = Instant::now() + limit;
        while let Some(line) = self.line(deadline)? {
            take(&line);
        }
        match self.process.finish(deadline) {
            Some(status) if status.success() => Ok(()),
            ended => Err(self.failed(ended)),
        }
    }

    /// The error of a `perf` that did not do its work.
    fn failure(&mut self) -> ProfileError {
        // All that it says is there once it has ended.
        let ended = self.process.finish(Instant::now() + ANSWER);
        self.failed(ended)
    }

    fn failed(&mut self, ended: Option<ExitStatus>) -> ProfileError {
        let ended = ended.map_or_else(|| "it had to be ended".to_owned(), |status| status.to_string());
        let said = self.process.complaint();
        let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it says nothing");
        let said = escaped(&last.chars().take(MOST_SAID).collect::<String>());
        ProfileError::Failed { step: self.step, ended, said: said.trim_end_matches('.').to_owned() }
    }
}

#[cfg(test)]
mod tests;
