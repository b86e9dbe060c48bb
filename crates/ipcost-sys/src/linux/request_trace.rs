//! Requests between programs that already run, followed in the kernel (`bpf(2)`): how long each took, and where a slow one was.
//!
//! A request is what a client sends before it reads a reply, and it ends where the client has read the last of that before it sends again.
//! So it is counted with the next one; if it is slow, it is handed over as soon as it is. Moments and calls are read, never what is moved. Missed are `io_uring`, shared memory and programs of 32 bits.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use super::bpf::{self, Map, Plain};
use super::call_counts::{LASTS, refusal};
pub use super::call_names::call_name;
use super::call_program::{TracepointOffsets, called_on, kind_and_number};
use super::call_samples::FIRST_NAMESPACE;
use super::count_program::LICENSE;
use super::kernel_types::KernelTypes;
use super::moving_calls;
use super::processor_rings::ProcessorRings;
use super::request_program::{
    AWAY, BUCKETS, CALL, HEAD_BYTES, LOG_BYTES, MOST_SPANS, Maps, REQUEST_BYTES, SPAN_BYTES, TALLY_BYTES,
    TaskOffsets, at_enter, at_exit, at_switch, at_waking, stage,
};
use super::running::threads_of;
use super::sample_records::{RecordKind, bytes};
use crate::clock::now_ns;
use crate::observed::{
    AwayReason, CalledOn, Followed, RequestTally, SampleError, SlowRequest, Taken, ThreadLog, ThreadSpan,
    ThreadState,
};

/// So many connections are followed at once.
pub const MOST_CONNECTIONS: usize = 4096;
/// So many conversations have a tally.
pub const MOST_CONVERSATIONS: usize = 256;
const MOST_PROCESSES: u32 = 8192;
/// Threads that have a log.
const MOST_THREADS: u32 = 1024;
/// A ring's size, bytes: room for as many slow requests as leave the kernel at once, if all do on one processor.
const RING_BYTES: usize = 512 << 10;
/// So many slow requests leave the kernel between two times that they are taken; the others are only counted.
const MOST_AT_ONCE: u64 = 16;
/// What was written while a log was copied may be torn: so many of its oldest spans are left out.
const TORN: usize = 4;

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct EndKey {
    number: u64,
    is_out: u32,
    kind: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct EndValue {
    connection: u32,
    stage: u32,
}

/// A connection's request: its moments, by whom, and what else programs note of it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Connection {
    moments: [u64; 4],
    threads: [u32; 2],
    overlaps: u32,
    conversation: u32,
    noted: [u32; 2],
}

impl Connection {
    /// One of a conversation with nothing under way.
    fn of(conversation: u32) -> Self {
        Self { conversation, ..Self::default() }
    }
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Words<const N: usize>([u64; N]);

impl<const N: usize> Default for Words<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

type Log = Words<{ LOG_BYTES / 8 }>;
type Tally = Words<{ TALLY_BYTES / 8 }>;

// SAFETY: numbers alone, which fill it.
unsafe impl Plain for EndKey {}
// SAFETY: numbers alone, which fill it.
unsafe impl Plain for EndValue {}
// SAFETY: numbers alone, which fill it.
unsafe impl Plain for Connection {}
// SAFETY: numbers alone, which fill it.
unsafe impl<const N: usize> Plain for Words<N> {}

/// Follows requests until it is dropped, or this process ends. After [`LASTS`] without [`RequestTrace::take`] it rests.
///
/// As long as it is open, every call of the programs that are followed takes somewhat longer, and every change of a thread on a processor.
#[derive(Debug)]
pub struct RequestTrace {
    processes: Map<u32, u32>,
    ends: Map<EndKey, EndValue>,
    connections: Map<u32, Connection>,
    tallies: Map<u32, Tally>,
    threads: Map<u32, Log>,
    budget: Map<u32, u64>,
    until: Map<u32, u64>,
    rings: ProcessorRings,
    programs: Vec<OwnedFd>,
    /// What only programs use, and what runs them.
    _kept: Vec<OwnedFd>,
    attached: Vec<OwnedFd>,
    followed: HashSet<u32>,
    known: HashMap<EndKey, EndValue>,
    /// The number of each connection and of its conversation, by its client's end; and the numbers that are free.
    numbers: HashMap<EndKey, (u32, u32)>,
    free: Vec<u32>,
    /// Until when requests are followed, nanoseconds.
    until_ns: u64,
}

impl RequestTrace {
    /// Opens it; nothing is followed yet.
    ///
    /// # Errors
    /// If this user lacks permission (root, or `CAP_BPF` and `CAP_PERFMON`), or is in a namespace of processes, or the kernel lacks what
    /// the programs need (Linux 5.11 with `CONFIG_DEBUG_INFO_BTF`), or it refuses them.
    pub fn open() -> Result<Self, SampleError> {
        let unknown = || SampleError::Absent(io::ErrorKind::Unsupported.into());
        let is_first = std::fs::metadata("/proc/self/ns/pid").is_ok_and(|it| it.ino() == FIRST_NAMESPACE);
        if !is_first {
            let text = "threads have their numbers in the first namespace of processes alone, as outside of containers";
            return Err(SampleError::Absent(io::Error::new(io::ErrorKind::Unsupported, text)));
        }
        let types = KernelTypes::read().map_err(refusal)?;
        let task = TaskOffsets::of(&types).ok_or_else(unknown)?;
        let files = TracepointOffsets::of(&types).ok_or_else(unknown)?;
        let rings = ProcessorRings::of_output(RING_BYTES)?;
        let opened = || -> io::Result<_> {
            Ok((
                Map::hash(MOST_PROCESSES)?,
                Map::hash(4 * MOST_CONNECTIONS as u32)?,
                Map::array(MOST_CONNECTIONS as u32)?,
                Map::array(MOST_CONVERSATIONS as u32)?,
                Map::<u32, Log>::hash(MOST_THREADS)?,
                Map::<u32, Log>::array(1)?,
                Map::<u32, u64>::array_of_processor(1)?,
                Map::array(1)?,
                Map::array(1)?,
            ))
        };
        let (processes, ends, connections, tallies, threads, empty, switched, budget, until) =
            opened().map_err(refusal)?;
        let outputs = rings.in_map().map_err(refusal)?;
        let maps = Maps {
            processes: processes.descriptor(),
            ends: ends.descriptor(),
            connections: connections.descriptor(),
            tallies: tallies.descriptor(),
            threads: threads.descriptor(),
            empty_log: empty.descriptor(),
            switched: switched.descriptor(),
            budget: budget.descriptor(),
            until: until.descriptor(),
            rings: outputs.descriptor(),
        };
        let calls = moving_calls::countable();
        let written = [
            // What uses what others write comes first.
            ("sys_exit", at_exit(&maps, &calls, &files)),
            ("sched_switch", at_switch(&maps, &task)),
            ("sched_waking", at_waking(&maps, &task)),
            ("sys_enter", at_enter(&maps, &calls, &files)),
        ];
        let mut programs = Vec::new();
        for (name, program) in written {
            let tracepoint = types.tracepoint(name).ok_or_else(unknown)?;
            let program = bpf::load(&program.ok_or_else(unknown)?, tracepoint, LICENSE).map_err(refusal)?;
            programs.push(program);
        }
        let mut kept = vec![empty.into_descriptor(), switched.into_descriptor(), outputs.into_descriptor()];
        // Without it, its cost is not told; old kernels lack it.
        kept.extend(bpf::enable_statistics());
        let mut trace = Self {
            processes,
            ends,
            connections,
            tallies,
            threads,
            budget,
            until,
            rings,
            programs,
            _kept: kept,
            attached: Vec::new(),
            followed: HashSet::new(),
            known: HashMap::new(),
            numbers: HashMap::new(),
            free: (0..MOST_CONNECTIONS as u32).rev().collect(),
            until_ns: 0,
        };
        trace.resume().map_err(refusal)?;
        trace.rings.enable();
        Ok(trace)
    }

    /// Detaches it, so that nothing takes longer; what was counted stays.
    pub fn pause(&mut self) {
        self.attached.clear();
    }

    /// Attaches it again.
    pub fn resume(&mut self) -> io::Result<()> {
        self.pause();
        self.until_ns = 0;
        self.go_on()?;
        for program in &self.programs {
            self.attached.push(bpf::attach(program)?);
        }
        Ok(())
    }

    /// Lets requests be followed and handed over for a while. Of what was under way when that ended last, no one knows how it went on.
    fn go_on(&mut self) -> io::Result<()> {
        let at_ns = now_ns();
        if at_ns >= self.until_ns {
            for (number, conversation) in self.numbers.values() {
                self.connections.set(number, &Connection::of(*conversation))?;
            }
            self.threads.keys(MOST_THREADS as usize).iter().for_each(|thread| self.threads.remove(thread));
        }
        self.until_ns = at_ns + LASTS.as_nanos() as u64;
        self.until.set(&0, &self.until_ns)?;
        self.budget.set(&0, &MOST_AT_ONCE)
    }

    /// Follows these connections from now on, and no others; those that are known go on. How many there was no room for.
    pub fn follow(&mut self, all: &[Followed]) -> io::Result<usize> {
        let key = |on: CalledOn, is_out: bool| {
            let (kind, number) = kind_and_number(on);
            EndKey { number, is_out: is_out.into(), kind }
        };
        let sends = |one: &Followed| key(one.client_out, true);
        let there: HashSet<EndKey> = all.iter().map(sends).collect();
        let gone: Vec<u32> = {
            let numbers = &self.numbers;
            numbers.iter().filter(|(end, _)| !there.contains(end)).map(|(_, (number, _))| *number).collect()
        };
        let is_gone: HashSet<u32> = gone.iter().copied().collect();
        self.numbers.retain(|_, (number, _)| !is_gone.contains(number));
        for (end, _) in self.known.extract_if(|_, value| is_gone.contains(&value.connection)) {
            self.ends.remove(&end);
        }
        self.free.extend(gone);
        let processes: HashSet<u32> = all.iter().flat_map(|one| one.processes.iter().copied()).collect();
        for process in self.followed.difference(&processes) {
            self.processes.remove(process);
        }
        for process in processes.difference(&self.followed) {
            self.processes.set(process, &1)?;
        }
        self.followed = processes;
        self.forget_threads();
        let mut left_out = 0;
        for one in all {
            if self.numbers.contains_key(&sends(one)) {
                continue;
            }
            let Some(number) = self.free.pop() else {
                left_out += 1;
                continue;
            };
            self.connections.set(&number, &Connection::of(one.conversation))?;
            self.numbers.insert(sends(one), (number, one.conversation));
            let ends = [
                (sends(one), stage::SENT),
                (key(one.server_in, false), stage::READ),
                (key(one.server_out, true), stage::REPLIED),
                (key(one.client_in, false), stage::RETURNED),
            ];
            for (end, stage) in ends {
                let value = EndValue { connection: number, stage };
                self.ends.set(&end, &value)?;
                self.known.insert(end, value);
            }
        }
        Ok(left_out)
    }

    /// Makes room for logs of other threads: those that have ended, or whose process is not followed any more, need none.
    fn forget_threads(&self) {
        let living: HashSet<u32> = self.followed.iter().flat_map(|process| threads_of(*process)).collect();
        let logged = self.threads.keys(MOST_THREADS as usize);
        logged
            .iter()
            .filter(|thread| !living.contains(thread))
            .for_each(|thread| self.threads.remove(thread));
    }

    /// From now on, requests of a conversation that take longer than so many nanoseconds are handed over, and all are counted from 0.
    pub fn set_limit(&self, conversation: u32, limit_ns: u64) -> io::Result<()> {
        let mut tally = Tally::default();
        tally.0[0] = limit_ns;
        self.tallies.set(&conversation, &tally)
    }

    /// What was counted of a conversation since its limit was set.
    pub fn tally(&self, conversation: u32) -> io::Result<RequestTally> {
        let Words(words) = self.tallies.value(&conversation)?;
        Ok(RequestTally {
            requests: words[1],
            slow: words[2],
            slowest_ns: words[3],
            overlapping: words[4],
            oldest_unread_ns: words[5],
            times: words[HEAD_BYTES / 8..][..BUCKETS].to_vec(),
        })
    }

    /// Takes the slow requests since the last time.
    pub fn take(&mut self, found: &mut dyn FnMut(SlowRequest)) -> io::Result<Taken> {
        self.go_on()?;
        let mut open: Option<SlowRequest> = None;
        let mut hand = |request: Option<SlowRequest>| request.into_iter().for_each(&mut *found);
        let taken = self.rings.take(&mut |sample| {
            let RecordKind::Fields(data) = sample.kind else { return };
            // The kernel pads what is handed over.
            match data.len() {
                REQUEST_BYTES..LOG_BYTES => {
                    hand(open.take());
                    open = request(data);
                }
                _ => {
                    if let (Some(open), Some(log)) = (&mut open, log(data)) {
                        open.logs.push(log);
                    }
                }
            }
        });
        hand(open.take());
        Ok(taken)
    }

    /// How long the programs have run, if the kernel tells that, and how often.
    pub fn run_time(&self) -> Option<(Duration, u64)> {
        let times = self.programs.iter().map(bpf::run_time).collect::<io::Result<Vec<_>>>().ok()?;
        let sum = |(ns, runs): (u64, u64), (more_ns, more): (u64, u64)| (ns + more_ns, runs + more);
        let (ns, runs) = times.into_iter().fold((0, 0), sum);
        (runs > 0).then_some((Duration::from_nanos(ns), runs))
    }
}

/// Lets every other thread run before this one, or no longer: who watches is not to be what others wait for.
pub fn give_way(gives: bool) {
    let policy = if gives { libc::SCHED_IDLE } else { libc::SCHED_OTHER };
    // `struct sched_param`; some C libraries refuse the call.
    let priority: libc::c_int = 0;
    let priority: *const libc::c_int = &raw const priority;
    // SAFETY: the kernel only reads the number, for the calling thread. Where it refuses, others wait somewhat longer.
    let _ = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, priority) };
}

/// A request as the kernel hands it over.
fn request(data: &[u8]) -> Option<SlowRequest> {
    let long = |at: usize| bytes(data, at).map(u64::from_ne_bytes);
    let short = |at: usize| bytes(data, at).map(u32::from_ne_bytes);
    Some(SlowRequest {
        sent_ns: long(0)?,
        read_ns: long(8)?,
        replied_ns: long(16)?,
        returned_ns: long(24)?,
        client: short(32)?,
        reader: short(36)?,
        replier: short(40)?,
        conversation: short(44)?,
        client_in: on(short(60)?, long(48)?),
        logs: Vec::new(),
    })
}

/// A thread's log as the kernel hands it over.
fn log(data: &[u8]) -> Option<ThreadLog> {
    let long = |at: usize| bytes(data, at).map(u64::from_ne_bytes);
    let short = |at: usize| bytes(data, at).map(u32::from_ne_bytes);
    let count = usize::try_from(long(0)?).ok()?;
    let slot = |index: usize| data.get(HEAD_BYTES + index % MOST_SPANS * SPAN_BYTES..)?.get(..SPAN_BYTES);
    let oldest = if count > MOST_SPANS { count - MOST_SPANS + TORN } else { 0 };
    let mut spans: Vec<ThreadSpan> = (oldest..count).filter_map(|index| span(slot(index)?)).collect();
    // Where older ones are gone, they may have lasted until the first one that is there ended.
    let since = |span: &ThreadSpan| if oldest == 0 { span.began_ns } else { span.ended_ns };
    let since_ns = spans.first().map_or(u64::MAX, since);
    let open = |began_ns: u64, call: u32, state: ThreadState| ThreadSpan {
        began_ns,
        ended_ns: u64::MAX,
        state,
        call: call.checked_sub(1),
        processor: 0,
    };
    let (call_began_ns, call) = (long(8)?, short(16)?);
    if call_began_ns > 0 {
        spans.push(open(call_began_ns, call, ThreadState::Called { on: None, is_out: false, result: 0 }));
    }
    let left_ns = long(24)?;
    if left_ns > 0 {
        let woken = woken(left_ns, long(32)?, short(40)?);
        spans.push(open(left_ns, call, ThreadState::Away { why: why(short(20)?), woken, before: None }));
    }
    Some(ThreadLog { process: short(48)?, thread: short(44)?, since_ns, spans })
}

fn span(data: &[u8]) -> Option<ThreadSpan> {
    let long = |at: usize| bytes(data, at).map(u64::from_ne_bytes);
    let short = |at: usize| bytes(data, at).map(u32::from_ne_bytes);
    let (ended_ns, began_ns) = (long(0)?, long(8)?);
    let state = match short(32)? {
        CALL => ThreadState::Called {
            on: on(short(40)?, long(16)?),
            is_out: short(48)? != 0,
            result: long(24)?.cast_signed(),
        },
        AWAY => {
            let name = data.get(56..SPAN_BYTES)?.split(|byte| *byte == 0).next()?;
            let name = String::from_utf8_lossy(name).into_owned();
            ThreadState::Away {
                why: why(short(40)?),
                woken: woken(began_ns, long(16)?, short(48)?),
                before: Some((short(52)?, name, long(24)?)),
            }
        }
        _ => return None,
    };
    let call = short(36)?.checked_sub(1);
    (began_ns <= ended_ns).then_some(ThreadSpan { began_ns, ended_ns, state, call, processor: short(44)? })
}

/// What a call was on, if that is a socket or a pipe: those have numbers.
fn on(kind: u32, number: u64) -> Option<CalledOn> {
    (number != 0).then(|| called_on(kind, number))
}

/// When a thread was woken that left at a moment. It may have been woken while it was about to leave.
fn woken(left_ns: u64, woken_ns: u64, waker: u32) -> Option<(u64, u32)> {
    const ABOUT_NS: u64 = 5_000;
    (woken_ns + ABOUT_NS >= left_ns).then_some((woken_ns.max(left_ns), waker))
}

/// Why a thread left, by its state (`linux/sched.h`).
fn why(state: u32) -> AwayReason {
    match state {
        state if state & 0x0c != 0 => AwayReason::Stopped,
        state if state & 0x03 != 0 => AwayReason::Waits,
        _ => AwayReason::Ready,
    }
}

#[cfg(test)]
mod tests;
