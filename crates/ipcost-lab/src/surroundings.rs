//! Observes the machine during a run.

use std::time::Duration;

use ipcost_model::{MachineRecord, ProcessorRecord, ThrottlingRecord};
use ipcost_sys::clock::{self, Quality};
use ipcost_sys::counters::ProcessorTimes;
use ipcost_sys::others::{self, Busy, Processes};
use ipcost_sys::quota::Throttling;
use ipcost_sys::{host, usage};

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
        let processors = before.processors.zip(self.processors).map(|(before, now)| {
            let ProcessorTimes { busy, stolen, total } = now.since(&before);
            ProcessorRecord { busy, stolen, total }
        });
        let throttling = self.throttling.map(|now| {
            let passed = now.since(&before.throttling.unwrap_or_default());
            let time_ns = passed.time.as_nanos() as u64;
            ThrottlingRecord { times: passed.times, time_ns, cores: passed.cores }
        });
        let own_cpu_ns = self.own_cpu.saturating_sub(before.own_cpu).as_nanos() as u64;
        MachineRecord { processors, own_cpu_ns, throttling }
    }
}

/// Observes the whole machine. Never asked while a batch runs.
pub trait Surroundings {
    /// The current state.
    fn snapshot(&mut self) -> Snapshot;

    /// The clock's cost and resolution.
    fn clock(&mut self) -> Quality;

    /// The name of the machine's clock source, if it has one.
    fn clock_source(&mut self) -> Option<String>;

    /// Starts watching other processes.
    fn watch_others(&mut self);

    /// The other process that has been busiest since [`Surroundings::watch_others`].
    fn busiest_other(&mut self) -> Option<Busy>;
}

/// The real machine.
#[derive(Debug, Default)]
pub struct System {
    others: Processes,
}

impl Surroundings for System {
    fn snapshot(&mut self) -> Snapshot {
        let own = usage::own().cpu_ns() + usage::children().cpu_ns();
        Snapshot {
            processors: ProcessorTimes::read(),
            own_cpu: Duration::from_nanos(own),
            throttling: Throttling::read(),
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
}

/// The machine's activity over all complete epochs, and its clock.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// Processor times.
    pub processors: Option<ProcessorTimes>,
    /// Processor time of this program and its peers.
    pub own_cpu: Duration,
    /// CPU quota throttling.
    pub throttling: Option<Throttling>,
    /// The busiest other process.
    pub busiest: Option<Busy>,
    /// The clock's cost and resolution.
    pub clock: Quality,
    /// The clock source.
    pub clock_source: Option<String>,
}

impl Observed {
    /// Adds the activity of an epoch.
    pub fn add(&mut self, epoch: &MachineRecord) {
        // A tampered samples file may hold any numbers.
        self.own_cpu = self.own_cpu.saturating_add(Duration::from_nanos(epoch.own_cpu_ns));
        if let Some(passed) = epoch.processors {
            let sum = self.processors.get_or_insert_default();
            sum.busy = sum.busy.saturating_add(passed.busy);
            sum.stolen = sum.stolen.saturating_add(passed.stolen);
            sum.total = sum.total.saturating_add(passed.total);
        }
        if let Some(passed) = epoch.throttling {
            let sum = self.throttling.get_or_insert_default();
            sum.times = sum.times.saturating_add(passed.times);
            sum.time = sum.time.saturating_add(Duration::from_nanos(passed.time_ns));
            sum.cores = passed.cores;
        }
    }
}
