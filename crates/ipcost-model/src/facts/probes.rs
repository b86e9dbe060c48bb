//! Facts that take time or a trial to find out; and all facts together.

use serde::{Deserialize, Serialize};

use super::machine::{LimitFacts, NetworkFacts, ProcessorFacts, SchedulerFacts};

/// Everything known about a machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MachineFacts {
    pub processor: ProcessorFacts,
    /// How this program shares the machine.
    pub scheduler: SchedulerFacts,
    /// Limits set by the kernel.
    pub limits: LimitFacts,
    pub network: NetworkFacts,
    /// What the machine did for a moment; `None` if it was not watched.
    pub sample: Option<ActivitySample>,
    /// The clock's cost and resolution; `None` if it was not tried.
    pub clock: Option<Reading>,
    /// What a run that was killed has left changed; `None` if nothing.
    pub left_changed: Option<String>,
    pub permissions: PermissionFacts,
    /// The transports, peers and tools to measure with.
    pub tools: ToolFacts,
}

/// What the machine did while it was watched: first left alone, then with every processor of this program busy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ActivitySample {
    /// How long it was left alone, seconds.
    pub quiet_s: f64,
    /// The share of the processors' time that other processes took meanwhile, 0 to 1.
    pub others: Option<f64>,
    /// The busiest other process: its name, its ID, and its share of the processors' time.
    pub busiest: Option<(String, u32, f64)>,
    /// How long the processors were kept busy, seconds.
    pub busy_s: f64,
    /// The share of their time that the hypervisor took meanwhile, 0 to 1.
    pub stolen: Option<f64>,
    /// The hypervisor's share since boot.
    pub stolen_since_boot: Option<f64>,
    /// How often a CPU quota throttled this program in both together, and for how long, seconds.
    pub throttled: Option<(u64, f64)>,
}

/// The clock's cost and resolution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The cost of one reading, nanoseconds.
    pub read_ns: u64,
    /// The least step seen, nanoseconds.
    pub step_ns: u64,
}

/// How far the processor's counters can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Counting {
    /// Including the kernel's work.
    Kernel,
    /// For this user's programs alone.
    User,
    Forbidden,
    Absent,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PermissionFacts {
    /// Whether this user is root.
    pub root: bool,
    /// What ordinary users may count: 2 their own programs, 1 the kernel's work for them too, 3 and more nothing.
    pub perf_event_paranoid: Option<i64>,
    /// Whether instructions and cycles can be counted.
    pub counting: Option<Counting>,
    /// Whom ordinary users may trace: 0 their own processes, 1 their children, 2 no one, 3 not even root.
    pub ptrace_scope: Option<u64>,
    /// Whether strace can follow a program; `None` without strace.
    pub tracing: Option<bool>,
    /// Why a private network namespace is unavailable; `Ok` if it is available.
    pub network_namespace: Option<Result<(), String>>,
    /// Who may use io_uring: 0 everyone, 1 a group, 2 no one.
    pub io_uring_disabled: Option<u64>,
    /// The number of packet-filter rules, or why it is unknown.
    pub packet_rules: Option<Result<u64, String>>,
    /// Whether connections over loopback are tracked; `None` if unknown.
    pub loopback_tracked: Option<bool>,
}

/// The transports, peers and tools to measure with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFacts {
    /// The number of transports.
    pub transports: u32,
    /// Transports that cannot be used here.
    pub unavailable_transports: Vec<UnavailableTransport>,
    /// The peers in other languages.
    pub peers: Vec<BuiltInPeer>,
    /// Why peers cannot be cached for this user; `None` if they can.
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
    /// Why it cannot be used.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltInPeer {
    /// Its name in cells.
    pub name: String,
    /// What it lacks here; `None` if nothing.
    pub lacks: Option<String>,
    /// The Debian packages that provide what it lacks, separated by blanks; empty if none does.
    pub packages: String,
}
