//! Observes the machine during a run.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use ipcost_model::{MachineRecord, ProcessorTimes, Throttling};
use ipcost_sys::clock::{self, Quality};
use ipcost_sys::observed::{LocalPorts, TcpSocket, TcpState};
use ipcost_sys::others::{self, Busy, Processes};
use ipcost_sys::sockets::Sockets;
use ipcost_sys::{counters, host, quota, usage};

use crate::rules::{self, AppliedRule, BLAME, NEIGHBOUR_SHARE, STEAL_SHARE};

/// Clock ticks per second of the kernel's processor time (`sysconf(_SC_CLK_TCK)`, 100 on Linux).
const TICKS_PER_S: f64 = 100.0;
/// A quota that acts may account for nearly all of the time.
const THROTTLED_WEIGHT: f64 = 0.9;

/// Other processes of this program that measure, unless the user has said that they do not matter.
pub mod neighbours {
    use ipcost_sys::{Neighbour, measuring};

    /// The variable that says so: for runs that share no processor.
    const IGNORE: &str = "IPCOST_IGNORE_OTHERS";

    /// Those that measure now.
    pub fn others() -> Vec<Neighbour> {
        if ignored() { Vec::new() } else { measuring::others() }
    }

    /// Those to wait for.
    pub fn ahead() -> Vec<Neighbour> {
        if ignored() { Vec::new() } else { measuring::ahead() }
    }

    fn ignored() -> bool {
        std::env::var_os(IGNORE).is_some_and(|value| value == "1")
    }
}

/// The state of the whole machine at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Snapshot {
    /// The processors' time so far; `None` if the system does not tell.
    pub processors: Option<ProcessorTimes>,
    /// Processor time of this program and its ended children so far.
    pub own_cpu: Duration,
    /// CPU quota throttling so far; `None` without a quota.
    pub throttling: Option<Throttling>,
}

impl Snapshot {
    /// The changes since an earlier snapshot.
    pub fn since(&self, before: &Self) -> MachineRecord {
        let processors = before.processors.zip(self.processors).map(|(before, now)| now.since(&before));
        let throttling = self.throttling.map(|now| now.since(&before.throttling.unwrap_or_default()));
        let own_cpu_ns = self.own_cpu.saturating_sub(before.own_cpu).as_nanos() as u64;
        MachineRecord { processors, own_cpu_ns, throttling }
    }
}

/// Observes the whole machine. Never asked while a batch runs.
pub trait MachineObserver {
    fn snapshot(&mut self) -> Snapshot;

    /// The clock's cost and resolution.
    fn clock(&mut self) -> Quality;

    /// The name of the machine's clock source, if it has one.
    fn clock_source(&mut self) -> Option<String>;

    /// Starts watching other processes.
    fn watch_others(&mut self);

    /// The other process that has been busiest since [`MachineObserver::watch_others`].
    fn busiest_other(&mut self) -> Option<Busy>;

    /// The other processes of this program that measure now.
    fn neighbours(&mut self) -> Vec<u32> {
        Vec::new()
    }

    /// How many local ports are held by connections to an address that have ended (TIME_WAIT), and how many there are; `None` if the
    /// system does not tell.
    fn ports_held(&mut self, _to: SocketAddr) -> Option<HeldPorts> {
        None
    }

    /// The processor time of the kernel's threads since then, in clock ticks: they work for anyone who asked for it.
    fn kernel_ticks(&mut self) -> u64 {
        0
    }
}

/// Local ports towards an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldPorts {
    /// Those of connections that have ended, and which the kernel keeps for a minute.
    pub held: u64,
    /// All that clients may be given.
    pub of: u64,
}

#[derive(Debug, Default)]
pub struct System {
    others: Processes,
}

impl MachineObserver for System {
    fn snapshot(&mut self) -> Snapshot {
        let own = usage::own().cpu_ns() + usage::children().cpu_ns();
        Snapshot {
            processors: counters::of_processors(),
            own_cpu: Duration::from_nanos(own),
            throttling: quota::throttling(),
        }
    }

    fn clock(&mut self) -> Quality {
        clock::quality()
    }

    fn clock_source(&mut self) -> Option<String> {
        host::clock_source()
    }

    fn watch_others(&mut self) {
        self.others = others::processes();
    }

    fn busiest_other(&mut self) -> Option<Busy> {
        others::busiest(&self.others, &others::processes())
    }

    fn neighbours(&mut self) -> Vec<u32> {
        neighbours::others().into_iter().map(|other| other.process).collect()
    }

    fn ports_held(&mut self, to: SocketAddr) -> Option<HeldPorts> {
        let sockets = Sockets::open().and_then(|mut sockets| sockets.tcp()).ok()?;
        let is_held = |socket: &&TcpSocket| socket.state == TcpState::TimeWait && socket.remote == to;
        let held = sockets.iter().filter(is_held).count() as u64;
        Some(HeldPorts { held, of: LocalPorts::of(None).ok()?.count.into() })
    }

    fn kernel_ticks(&mut self) -> u64 {
        others::of_the_kernel(&self.others, &others::processes())
    }
}

/// The machine's activity over all complete epochs, and its clock.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    pub processors: Option<ProcessorTimes>,
    /// Processor time of this program and its peers.
    pub own_cpu: Duration,
    pub throttling: Option<Throttling>,
    /// The busiest other process.
    pub busiest: Option<Busy>,
    /// Processor time of the kernel's threads, in clock ticks.
    pub kernel_ticks: u64,
    /// Other processes of this program that measured meanwhile.
    pub neighbours: BTreeSet<u32>,
    /// The clock's cost and resolution.
    pub clock: Quality,
    pub clock_source: Option<String>,
}

impl Observed {
    /// Adds the activity of an epoch.
    pub fn add(&mut self, epoch: &MachineRecord) {
        self.own_cpu = self.own_cpu.saturating_add(Duration::from_nanos(epoch.own_cpu_ns));
        if let Some(passed) = &epoch.processors {
            self.processors.get_or_insert_default().add(passed);
        }
        if let Some(passed) = &epoch.throttling {
            self.throttling.get_or_insert_default().add(passed);
        }
    }

    /// The share of the processors' time that other processes took, without the kernel's threads; `None` if the system does
    /// not tell.
    pub fn others(&self) -> Option<f64> {
        let times = self.processors.filter(|times| times.total > 0)?;
        let own = self.own_cpu.as_secs_f64() * TICKS_PER_S;
        let own = own + self.kernel_ticks as f64;
        Some(((times.busy as f64 - own) / times.total as f64).clamp(0.0, 1.0))
    }

    /// The share of the processors' time that the hypervisor gave to others.
    pub fn stolen(&self) -> Option<f64> {
        let times = self.processors.filter(|times| times.total > 0)?;
        Some(times.stolen as f64 / times.total as f64)
    }

    /// What held the run back: quotas, the hypervisor, other processes, with the share of the time that each may account
    /// for.
    pub fn pressures(&self) -> Vec<(AppliedRule, f64)> {
        let mut found = Vec::new();
        if !self.neighbours.is_empty() {
            found.push((rules::another_ipcost(&self.neighbours), self.others().unwrap_or_default()));
        }
        if let Some(share) = self.stolen().filter(|share| *share > STEAL_SHARE) {
            found.push((rules::steal(share), share));
        }
        if let Some(share) = self.others().filter(|share| *share > NEIGHBOUR_SHARE) {
            let all = self.processors.map_or(0.0, |times| times.total as f64);
            let guilty = self.busiest.as_ref().filter(|busy| busy.ticks as f64 > BLAME * share * all);
            let whom = guilty.map_or_else(
                || "no single process most of it".to_owned(),
                |busy| rules::culprit(&busy.name, busy.id),
            );
            let neighbour = rules::neighbour(share);
            found.push((AppliedRule { found: format!("{}, {whom}", neighbour.found), ..neighbour }, share));
        }
        if let Some(throttling) = self.throttling.filter(|throttling| throttling.times > 0) {
            let cores = throttling.cores.unwrap_or_default();
            found.push((rules::quota(cores, throttling.times, throttling.time()), THROTTLED_WEIGHT));
        }
        found
    }
}
