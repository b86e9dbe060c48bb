//! Settings of a machine that bear on results. All are cheap to read, and stand in the host part of every
//! document by the names of these fields; what a machine does not tell is absent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorFacts {
    /// Logical processors this program may use.
    #[serde(skip)]
    pub processors: u32,
    /// Physical cores among them.
    #[serde(skip)]
    pub physical_cores: u32,
    /// Who decides on the clock frequency; several, with commas, where processors differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The driver that sets the clock frequency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_driver: Option<String>,
    /// Whether the processor may exceed its nominal frequency for a while.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boost: Option<bool>,
    /// Simultaneous multithreading as the kernel puts it: `on`, `off`, `notsupported`, ….
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smt: Option<String>,
    /// The driver for idle states; `none` where an idle processor only halts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_driver: Option<String>,
    /// The idle states of the first processor, the shallowest first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub idle_states: Vec<IdleState>,
    /// What the kernel's clock is driven by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<String>,
    /// Vulnerabilities that are mitigated, and how, in the kernel's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mitigations: Option<BTreeMap<String, String>>,
    /// Who makes the virtual machine that this is; absent on a real one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// Memory nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_nodes: Option<u64>,
    /// Where cores differ in kind: the processors of each, as the kernel lists them, by the kind's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub core_kinds: BTreeMap<String, String>,
}

/// A state in which a processor waits for work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleState {
    /// Its name.
    pub name: String,
    /// How long it takes to leave, microseconds.
    pub latency_us: u64,
    /// Whether it is switched off.
    pub disabled: bool,
}

/// How this program shares the machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SchedulerFacts {
    /// When the kernel lets a task be interrupted by another: `none`, `voluntary`, `full`, `lazy`, `rt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    /// The kind of container that this program runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// How many seccomp filters look at every system call of this program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seccomp_filters: Option<u64>,
    /// Processors that are online, whether this program may use them or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors_online: Option<u64>,
    /// The tightest CPU quota of this program's control groups, in processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
    /// Tasks that ran or wanted to, averages over 1, 5 and 15 minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_average: Option<[f64; 3]>,
    /// Swap in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_used_bytes: Option<u64>,
    /// The share of the last ten seconds in which some task waited for memory, per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_pressure_percent: Option<f64>,
}

/// What the kernel grants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitFacts {
    /// How many descriptors a process may open, as far as it may raise that itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files_limit: Option<u64>,
    /// The largest buffer of a pipe that an ordinary user may ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipe_max_size: Option<u64>,
    /// Pages of pipe buffers beyond which an ordinary user's new pipes get the smallest buffer; 0 is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipe_user_pages_soft: Option<u64>,
    /// The largest receive buffer that a socket may be given, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rmem_max: Option<u64>,
    /// The largest send buffer that a socket may be given, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wmem_max: Option<u64>,
    /// TCP's receive buffer: least, first and most, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_rmem: Option<[u64; 3]>,
    /// TCP's send buffer: least, first and most, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_wmem: Option<[u64; 3]>,
    /// The longest queue of connections that wait to be accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub somaxconn: Option<u64>,
    /// The longest queue of connections that are half open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_max_syn_backlog: Option<u64>,
}

/// TCP, and the loopback interface of this program's network namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkFacts {
    /// The local ports that a client may be given, first and last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_local_port_range: Option<[u64; 2]>,
    /// Whether a port in TIME_WAIT may be used again: 0 no, 1 yes, 2 over loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_tw_reuse: Option<u64>,
    /// The congestion control that TCP uses by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_congestion_control: Option<String>,
    /// Connections in TIME_WAIT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_wait: Option<u64>,
    /// Whether the loopback interface is up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback_up: Option<bool>,
    /// The largest packet over loopback, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback_mtu: Option<u64>,
    /// What queues packets on the loopback interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback_queue: Option<String>,
    /// Whether IPv6 is switched off on the loopback interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback_ipv6_disabled: Option<bool>,
    /// Tables of the older packet filter that are loaded; absent where this user may not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_tables: Option<Vec<String>>,
    /// Connections that the kernel keeps track of; absent where it keeps track of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracked_connections: Option<u64>,
}
