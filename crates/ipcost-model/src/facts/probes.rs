//! What takes a while to find out, or has to be tried; and all facts together.

use serde::{Deserialize, Serialize};

use super::machine::{LimitFacts, NetworkFacts, ProcessorFacts, SchedulerFacts};

/// All that is known of a machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// The processors.
    pub processor: ProcessorFacts,
    /// How this program shares the machine.
    pub scheduler: SchedulerFacts,
    /// What the kernel grants.
    pub limits: LimitFacts,
    /// TCP and loopback.
    pub network: NetworkFacts,
    /// What the machine did for a moment; `None` where it was not watched.
    pub sample: Option<Sample>,
    /// What reading the clock is like; `None` where it was not tried.
    pub clock: Option<Reading>,
    /// What this user may do.
    pub permissions: PermissionFacts,
    /// What there is to measure with.
    pub tools: ToolFacts,
}

/// What the machine did while it was watched: first left alone, then with every processor of this program busy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// How long it was left alone, seconds.
    pub quiet_s: f64,
    /// The share of the processors' time that others took meanwhile, 0 to 1.
    pub others: Option<f64>,
    /// The busiest other process: its name, its number, and the share of the processors' time that it took.
    pub busiest: Option<(String, u32, f64)>,
    /// How long the processors were kept busy, seconds.
    pub busy_s: f64,
    /// The share of their time that the hypervisor took meanwhile, 0 to 1.
    pub stolen: Option<f64>,
    /// The same since the machine was started.
    pub stolen_since_boot: Option<f64>,
    /// How often a CPU quota held this program back in both together, and for how long, seconds.
    pub throttled: Option<(u64, f64)>,
}

/// What reading the clock is like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// What one reading costs, nanoseconds.
    pub read_ns: u64,
    /// The least step that was seen, nanoseconds.
    pub step_ns: u64,
}

/// How far the processor's counters can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Counting {
    /// The kernel's work, too.
    Kernel,
    /// This user's programs alone.
    User,
    /// Not permitted.
    Forbidden,
    /// There are none.
    Absent,
}

/// What this user may do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PermissionFacts {
    /// Whether this user is root.
    pub root: bool,
    /// What ordinary users may count: 2 their own programs, 1 the kernel's work for them too, 3 and more nothing.
    pub perf_event_paranoid: Option<i64>,
    /// Whether instructions and cycles can be counted.
    pub counting: Option<Counting>,
    /// Whom ordinary users may trace: 0 their own processes, 1 their children, 2 nobody, 3 nor may root.
    pub ptrace_scope: Option<u64>,
    /// Whether strace can follow a program; `None` where there is no strace.
    pub tracing: Option<bool>,
    /// Why a network namespace of one's own cannot be had, `Ok` where it can.
    pub network_namespace: Option<Result<(), String>>,
    /// Who may use io_uring: 0 everybody, 1 a group, 2 nobody.
    pub io_uring_disabled: Option<u64>,
    /// How many rules packets pass, or why that cannot be told.
    pub packet_rules: Option<Result<u64, String>>,
    /// Whether connections over loopback are tracked; `None` where that cannot be told.
    pub loopback_tracked: Option<bool>,
}

/// What there is to measure with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFacts {
    /// How many transports there are.
    pub transports: u32,
    /// Those that cannot be used here.
    pub unavailable_transports: Vec<UnavailableTransport>,
    /// The peers in other languages.
    pub peers: Vec<BuiltInPeer>,
    /// Why peers cannot be kept for this user; `None` where they can.
    pub peer_cache: Option<String>,
    /// Whether strace is installed.
    pub strace: Option<bool>,
    /// Whether this program was built without optimisation.
    pub debug_build: bool,
}

/// A transport that cannot be used here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableTransport {
    /// Its name in cells.
    pub name: String,
    /// Why not.
    pub reason: String,
}

/// A peer that travels with the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltInPeer {
    /// Its name in cells.
    pub name: String,
    /// What it lacks here; `None` where nothing.
    pub lacks: Option<String>,
    /// The Debian packages with all that it needs.
    pub packages: Vec<String>,
}
