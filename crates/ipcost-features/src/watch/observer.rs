//! Reading: all sockets and processes at a moment, at no cost to them, and what is attached to count and sample calls meanwhile.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

use ipcost_model::escaped;
use ipcost_model::units::counted;
use ipcost_sys::call_counts::{self, CallCounter, CalledOn, CountedCalls};
use ipcost_sys::connecting::Connecting;
use ipcost_sys::observed::{CallDirection, Connected, Held, Program, TcpState};
use ipcost_sys::running::{Depth, RunningPrograms, held_at, own_network, pipe_bytes, program_of, waits_in};
use ipcost_sys::sockets::{Closing, LocalPorts, Sockets};
use ipcost_sys::{counters, facts, usage};

use super::Unseen;
use super::observation::{Observation, WatchError};
use super::sampling::Sampling;

/// So many network namespaces are looked into, the oldest programs' first.
const MOST_NETWORKS: usize = 1_000;
/// In so many of them messages on what closes are listened to: each takes a descriptor.
const MOST_CLOSING: usize = 128;
/// So many sockets of each kind are taken in, this program's own namespace first.
const MOST_SOCKETS: usize = 200_000;
/// So many pipes are asked how much they hold.
const MOST_PIPES: usize = 20_000;
/// Of fewer connections in TIME_WAIT nothing is asked.
const MANY_IN_TIME_WAIT: usize = 20;

/// Observes again and again.
#[derive(Debug)]
pub struct WatchObserver {
    sockets: Sockets,
    /// Messages on what closes, by network namespace, this program's own as 0.
    closing: BTreeMap<u64, Closing>,
    /// Namespaces that this user may not enter.
    closed_networks: BTreeSet<u64>,
    own_network: u64,
    /// Whether connections are seen that open and close between two observations.
    sees_closing: bool,
    attached: Option<AttachedTrace>,
    /// Whether calls are counted and sampled, where this user may.
    sees_calls: bool,
    /// Whether the next observation is the first one, or the first since a pause.
    is_baseline: bool,
    /// The time that it did not pause, and the processor time of this program in it.
    observed: Duration,
    own_ns: u64,
    /// Since when it has not paused, and what the processor time was then.
    since: (Instant, u64),
    /// When it observed last.
    last: Instant,
    /// What does not change of a process, by its number and its start.
    known: BTreeMap<(u32, u64), Program>,
    /// What pipes hold, by number.
    pipe_bytes: HashMap<u64, u64>,
    pipe_pages_limit: Option<u64>,
}

/// A descriptor of a process, and what it was when calls on it were counted.
type CountedDescriptor = (u32, i32, CalledOn);

/// What is attached to the kernel, and makes the calls of all programs somewhat longer.
#[derive(Debug)]
struct AttachedTrace {
    /// Names the programs whose connections open and close between two observations.
    connecting: Option<Connecting>,
    /// Counts what goes over what the kernel itself does not count.
    counter: Option<CallCounter>,
    /// What samples calls, or why nothing does.
    sampling: Result<Sampling, WatchError>,
}

impl AttachedTrace {
    fn attach(sees_calls: bool) -> Self {
        let counter = sees_calls.then(|| CallCounter::open().ok()).flatten();
        let sampling = match sees_calls {
            true => Sampling::start(counter.is_some()).map_err(WatchError::from),
            false => Err(WatchError::FollowedInstead),
        };
        Self { connecting: Connecting::open().ok(), counter, sampling }
    }
}

impl WatchObserver {
    /// Opens what is looked through, and attaches what counts and samples calls if that is wanted.
    pub fn open(sees_calls: bool) -> Result<Self, WatchError> {
        let sockets = Sockets::open().map_err(WatchError::NoSockets)?;
        let closing: BTreeMap<u64, Closing> =
            Closing::listen().ok().map(|closing| (0, closing)).into_iter().collect();
        Ok(Self {
            sockets,
            sees_closing: !closing.is_empty(),
            closing,
            closed_networks: BTreeSet::new(),
            own_network: own_network(),
            attached: Some(AttachedTrace::attach(sees_calls)),
            sees_calls,
            is_baseline: true,
            observed: Duration::ZERO,
            own_ns: 0,
            since: (Instant::now(), own_ns()),
            last: Instant::now(),
            known: BTreeMap::new(),
            pipe_bytes: HashMap::new(),
            pipe_pages_limit: facts::limits().pipe_user_pages_soft.filter(|pages| *pages > 0),
        })
    }

    /// Detaches what makes calls longer, since something else is to be measured.
    pub fn pause(&mut self) {
        (self.observed, self.own_ns) = self.so_far();
        self.attached = None;
        self.closing.clear();
    }

    /// Attaches it again; what went on meanwhile is not told.
    pub fn resume(&mut self) {
        self.attached = Some(AttachedTrace::attach(self.sees_calls));
        self.closing.extend(Closing::listen().ok().map(|closing| (0, closing)));
        self.is_baseline = true;
        (self.since, self.last) = ((Instant::now(), own_ns()), Instant::now());
    }

    /// For how long it has observed, and the processor time of this program in that.
    fn so_far(&self) -> (Duration, u64) {
        match self.attached {
            Some(_) => (self.observed + self.since.0.elapsed(), self.own_ns + own_ns() - self.since.1),
            None => (self.observed, self.own_ns),
        }
    }

    /// Stops sampling calls, since strace is attached instead.
    pub fn stop_sampling(&mut self) {
        if let Some(attached) = &mut self.attached {
            attached.sampling = Err(WatchError::TracedInstead);
        }
    }

    /// Why no calls are sampled, if none are.
    pub fn why_no_samples(&self) -> Option<&WatchError> {
        // Where requests are followed, no one has asked for them.
        self.attached.as_ref().filter(|_| self.sees_calls)?.sampling.as_ref().err()
    }

    /// The processor time that observing took so far, as a share of one processor.
    pub fn own_cpu(&self) -> f64 {
        let (observed, own_ns) = self.so_far();
        own_ns as f64 / observed.as_nanos().max(1) as f64
    }

    /// The processor time of this program.
    pub fn own_time(&self) -> Duration {
        Duration::from_nanos(own_ns())
    }

    pub fn observe(&mut self) -> Result<Observation, WatchError> {
        // After a long stop of this program, nothing was counted any more.
        let gap = self.last.elapsed();
        if gap > call_counts::LASTS {
            self.since.0 += gap;
            self.is_baseline = true;
        }
        self.last = Instant::now();
        let mut seen = Observation {
            is_baseline: std::mem::take(&mut self.is_baseline),
            own_network: self.own_network,
            ..Observation::default()
        };
        if let Some(AttachedTrace { sampling: Ok(sampling), .. }) = &self.attached {
            seen.windows = sampling.take();
        }
        // All counters are of this moment, however long it takes to read the rest.
        seen.at = self.so_far().0;
        let counted = self.attached.as_mut().and_then(AttachedTrace::counted);
        self.observe_network(0, None, &mut seen)?;
        let programs = self.observe_programs(&mut seen)?;
        self.observe_networks(&programs, &mut seen);
        seen.overflows = counters::network(std::process::id()).get("listen_overflows").copied();
        seen.programs = programs.into_iter().map(|program| (program.id, program)).collect();
        // Others choose the names of their sockets: none is to speak to this terminal.
        for socket in &mut seen.unix {
            socket.name = socket.name.take().map(|name| escaped(&name));
        }
        // What is gone is told by what programs hold.
        if let Some(attached) = &mut self.attached {
            attached.observe(counted, &mut seen);
        }
        seen.late = late(&seen);
        self.observe_pipes(&mut seen);
        Ok(seen)
    }

    /// Asks each pipe once how much it holds.
    fn observe_pipes(&mut self, seen: &mut Observation) {
        let mut there = HashMap::new();
        for program in seen.programs.values() {
            for (descriptor, held) in program.held.iter().flatten() {
                let Held::Pipe { inode, path: None, .. } = held else { continue };
                if there.len() >= MOST_PIPES || there.contains_key(inode) {
                    continue;
                }
                let known = self.pipe_bytes.get(inode).copied();
                if let Some(bytes) = known.or_else(|| pipe_bytes(program.id, *descriptor)) {
                    there.insert(*inode, bytes);
                }
            }
        }
        self.pipe_bytes.clone_from(&there);
        seen.pipe_bytes = there;
        seen.pipe_pages_limit = self.pipe_pages_limit;
    }

    fn observe_programs(&mut self, seen: &mut Observation) -> Result<Vec<Program>, WatchError> {
        let known = &self.known;
        let is_new = |id: u32| !known.range((id, 0)..=(id, u64::MAX)).any(|_| true);
        let depth = |id: u32| if is_new(id) { Depth::All } else { Depth::Counts };
        let RunningPrograms { all: mut found, left_out, left_out_descriptors } =
            RunningPrograms::read(depth).map_err(WatchError::NoProcesses)?;
        (seen.beyond.processes, seen.beyond.descriptors) = (left_out, left_out_descriptors);
        for program in &mut found {
            plain(program);
            let key = (program.id, program.started);
            match self.known.get(&key) {
                // One that has started another program since is another one.
                Some(known) if known.name != program.name => {
                    if let Some(new) = program_of(program.id, Depth::All) {
                        *program = new;
                        plain(program);
                    }
                    self.known.insert(key, Program { held: None, ..program.clone() });
                }
                Some(known) => {
                    program.command.clone_from(&known.command);
                    program.shared.clone_from(&known.shared);
                    program.group.clone_from(&known.group);
                    program.network = known.network;
                }
                None => {
                    self.known.insert(key, Program { held: None, ..program.clone() });
                }
            }
        }
        let living: HashSet<(u32, u64)> = found.iter().map(|program| (program.id, program.started)).collect();
        self.known.retain(|key, _| living.contains(key));
        Ok(found)
    }

    /// The sockets of a namespace: this program's own, or that of a process.
    fn observe_network(
        &mut self,
        network: u64,
        process: Option<u32>,
        seen: &mut Observation,
    ) -> Result<(), WatchError> {
        let opened = process.map(|process| Sockets::open_at(process, network)).transpose();
        let mut entered = opened.map_err(WatchError::NoSockets)?;
        if let Some(process) = process
            && self.closing.len() < MOST_CLOSING
            && !self.closing.contains_key(&network)
            && let Ok(closing) = Closing::listen_at(process, network)
        {
            self.closing.insert(network, closing);
        }
        let sockets = entered.as_mut().unwrap_or(&mut self.sockets);
        // What closed before is no longer in the tables, and what closes after it is told at the next observation.
        let tcp = sockets.tcp().map_err(WatchError::NoSockets)?;
        if tcp.iter().filter(|socket| socket.state == TcpState::TimeWait).count() >= MANY_IN_TIME_WAIT {
            seen.ports.extend(LocalPorts::of(process).ok().map(|ports| (network, ports)));
        }
        seen.tcp.extend(tcp);
        match self.closing.get_mut(&network) {
            Some(closing) => {
                let (closed, lost) = closing.take().unwrap_or_default();
                seen.closed.extend(closed);
                seen.lost |= lost;
            }
            None => seen.beyond.closing += u64::from(process.is_some()),
        }
        // Some kernels tell of TCP alone.
        seen.udp.extend(sockets.udp().unwrap_or_default());
        seen.unix.extend(sockets.unix().unwrap_or_default());
        let over = |count: usize| count.saturating_sub(MOST_SOCKETS) as u64;
        seen.beyond.sockets += over(seen.tcp.len()) + over(seen.udp.len()) + over(seen.unix.len());
        seen.tcp.truncate(MOST_SOCKETS);
        seen.udp.truncate(MOST_SOCKETS);
        seen.unix.truncate(MOST_SOCKETS);
        Ok(())
    }

    /// The sockets of the other namespaces that programs are in, each opened, read and closed in turn: a namespace stays as long as a socket
    /// in it does, and a user may make thousands.
    fn observe_networks(&mut self, programs: &[Program], seen: &mut Observation) {
        let mut oldest: BTreeMap<u64, (u64, u32)> = BTreeMap::new();
        for program in programs {
            if program.network != 0 && program.network != self.own_network {
                let known = oldest.entry(program.network).or_insert((u64::MAX, 0));
                *known = (*known).min((program.started, program.id));
            }
        }
        self.closing.retain(|network, _| *network == 0 || oldest.contains_key(network));
        self.closed_networks.retain(|network| oldest.contains_key(network));
        let mut networks: Vec<((u64, u32), u64)> =
            oldest.into_iter().map(|(network, process)| (process, network)).collect();
        networks.sort_unstable();
        seen.beyond.networks += networks.len().saturating_sub(MOST_NETWORKS) as u64;
        networks.truncate(MOST_NETWORKS);
        for ((_, process), network) in networks {
            if self.closed_networks.contains(&network) {
                continue;
            }
            if let Err(WatchError::NoSockets(error)) = self.observe_network(network, Some(process), seen)
                && error.kind() == io::ErrorKind::PermissionDenied
            {
                self.closed_networks.insert(network);
            }
        }
    }

    /// Whether what goes over Unix sockets and pipes is counted.
    pub fn counts_calls(&self) -> bool {
        self.attached.as_ref().is_some_and(|attached| attached.counter.is_some())
    }

    /// What this user may not see, and what would allow it.
    pub fn unseen(&self) -> Vec<Unseen> {
        let networks = self.closed_networks.len() as u64;
        let closing = Unseen::new(
            "Connections that close between two looks",
            "the kernel tells only root of them",
            "Run as root to count them",
        );
        let others = Unseen::new(
            counted(networks, "other network namespace"),
            "this user may not enter them",
            "Run as root to see the containers' connections",
        );
        [(!self.sees_closing, closing), (networks > 0, others)]
            .into_iter()
            .filter_map(|(is_so, unseen)| is_so.then_some(unseen))
            .collect()
    }
}

impl AttachedTrace {
    /// What was counted so far.
    fn counted(&mut self) -> Option<Vec<CountedCalls>> {
        self.counter.as_mut()?.read().ok()
    }

    fn observe(&mut self, counted: Option<Vec<CountedCalls>>, seen: &mut Observation) {
        if let (Some(mut calls), Some(counter)) = (counted, &mut self.counter) {
            // What was counted before and is not to be seen by now is gone for certain: its last counts are told, and then it makes room.
            let gone = gone(&calls, seen);
            let key = |one: &CountedCalls| (one.process, one.descriptor, one.on);
            if !gone.is_empty()
                && let Ok(last) = counter.read()
            {
                calls.retain(|one| !gone.contains(&key(one)));
                calls.extend(last.into_iter().filter(|one| gone.contains(&key(one))));
                gone.into_iter()
                    .for_each(|(process, descriptor, on)| counter.forget(process, descriptor, on));
            }
            seen.counted = Some(calls);
            seen.uncounted = counter.lost().unwrap_or_default();
        }
        // Last, since it tells of a connection a millisecond late: the others are to be known when their messages on closing are.
        if let Some(connecting) = &mut self.connecting {
            connecting.take(&mut |connected| {
                let name = connected.name.as_deref().map(escaped);
                seen.connected.push(Connected { name, ..connected });
            });
        }
    }
}

/// What descriptors of sampled calls are that no process was seen to hold: they came since it was looked at.
fn late(seen: &Observation) -> HashMap<(u32, i32), Held> {
    let moving = |direction| matches!(direction, CallDirection::In | CallDirection::Out);
    let calls = seen.windows.iter().flat_map(|window| &window.calls);
    let wanted: BTreeSet<(u32, i32)> = calls
        .filter(|call| moving(call.direction) && call.descriptor >= 0)
        .map(|call| (call.process, call.descriptor))
        .collect();
    let mut held: HashMap<u32, HashSet<i32>> = HashMap::new();
    let mut is_held = |process: u32, descriptor: i32| {
        let of = || {
            let held =
                seen.programs.get(&process).into_iter().flat_map(|program| program.held.iter().flatten());
            held.map(|(descriptor, _)| *descriptor).collect()
        };
        held.entry(process).or_insert_with(of).contains(&descriptor)
    };
    let unknown = wanted.into_iter().filter(|(process, descriptor)| !is_held(*process, *descriptor));
    unknown
        .filter_map(|(process, descriptor)| Some(((process, descriptor), held_at(process, descriptor)?)))
        .collect()
}

/// What was counted of sockets and pipes that an observation does not show any more.
fn gone(counted: &[CountedCalls], seen: &Observation) -> HashSet<CountedDescriptor> {
    let sockets = seen.inodes();
    let held = seen.programs.values().flat_map(|program| program.held.iter().flatten());
    let pipe =
        |(_, held): &(i32, Held)| if let Held::Pipe { inode, .. } = held { Some(*inode) } else { None };
    let pipes: HashSet<u64> = held.filter_map(pipe).collect();
    let is_gone = |one: &&CountedCalls| match one.on {
        CalledOn::Socket(inode) => !sockets.contains(&inode),
        CalledOn::Pipe(inode) => !pipes.contains(&inode),
    };
    counted.iter().filter(is_gone).map(|one| (one.process, one.descriptor, one.on)).collect()
}

/// Takes out of its words what would do something on a terminal.
fn plain(program: &mut Program) {
    program.name = escaped(&program.name);
    program.command.iter_mut().for_each(|word| *word = escaped(word));
}

/// Where threads of these processes wait in the kernel, by process.
pub fn waits(processes: impl IntoIterator<Item = u32>) -> BTreeMap<u32, Vec<String>> {
    processes.into_iter().map(|process| (process, waits_in(process))).collect()
}

fn own_ns() -> u64 {
    let usage = usage::own();
    usage.user_ns + usage.sys_ns
}

#[cfg(test)]
mod tests {
    use ipcost_sys::observed::CallDirection;

    use super::*;

    #[test]
    fn what_a_program_holds_is_not_gone() {
        let counted = |on| CountedCalls {
            process: 1,
            descriptor: 0,
            on,
            direction: CallDirection::In,
            bytes: 1,
            calls: 1,
            empty: 0,
            unsized_calls: 0,
        };
        let all = [7, 8].map(|inode| counted(CalledOn::Pipe(inode)));
        let pipe = Held::Pipe { inode: 7, writes: false, reads: true, path: None };
        let program = Program { id: 1, held: Some(vec![(0, pipe)]), ..Program::default() };
        let seen = Observation { programs: [(1, program)].into(), ..Observation::default() };
        assert_eq!(gone(&all, &seen), [(1, 0, CalledOn::Pipe(8))].into());
        assert_eq!(
            gone(&[counted(CalledOn::Socket(7))], &seen).len(),
            1,
            "a pipe of that number is no socket"
        );
    }
}
