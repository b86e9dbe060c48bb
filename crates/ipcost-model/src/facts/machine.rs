//! Settings of a machine that affect results. All are cheap to read, and the host part of every document holds them
//! under the names of these fields; unknown ones are absent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorFacts {
    /// Logical processors this program may use.
    #[serde(skip)]
    pub processors: u32,
    /// Physical cores among them.
    #[serde(skip)]
    pub physical_cores: u32,
    /// The frequency governor; several, with commas, where processors differ.
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
    /// The driver for idle states; `none` if an idle processor only halts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_driver: Option<String>,
    /// The idle states of the first processor, the shallowest first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub idle_states: Vec<IdleState>,
    /// The kernel's clock source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<String>,
    /// Mitigated vulnerabilities and their mitigations, in the kernel's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mitigations: Option<BTreeMap<String, String>>,
    /// The vendor of the virtual machine; absent on a physical one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_nodes: Option<u64>,
    /// Where cores differ in kind: each kind's processors, as the kernel lists them, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub core_kinds: BTreeMap<String, String>,
}

/// A state in which a processor waits for work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleState {
    pub name: String,
    /// Exit latency, microseconds.
    pub latency_us: u64,
    /// Whether it is switched off.
    pub disabled: bool,
}

/// How this program shares the machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SchedulerFacts {
    /// When the kernel preempts a task: `none`, `voluntary`, `full`, `lazy`, `rt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    /// Whether time in interrupts and softirqs is in no task's account (`CONFIG_IRQ_TIME_ACCOUNTING`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub irq_time_accounting: Option<bool>,
    /// The kind of container this program runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The number of seccomp filters on every system call of this program.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_used_bytes: Option<u64>,
    /// The share of the last ten seconds in which some task waited for memory, per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_pressure_percent: Option<f64>,
}

/// What a pipe holds unless its user has too many pages in pipes (`pipe(7)`): 16 pages, bytes.
pub const USUAL_PIPE_BYTES: u64 = 65_536;

/// Limits set by the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitFacts {
    /// The most descriptors a process may open, after raising its own limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files_limit: Option<u64>,
    /// The largest pipe buffer that an ordinary user may request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipe_max_size: Option<u64>,
    /// Pages of pipe buffers above which an ordinary user's new pipes get the smallest buffer; 0 is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipe_user_pages_soft: Option<u64>,
    /// What a new pipe of this user holds, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_pipe_bytes: Option<u64>,
    /// Where that is less than pipes hold: the programs of this user with the most pages in pipes, and how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pipe_holders: Vec<(String, u64)>,
    /// The largest receive buffer of a socket, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rmem_max: Option<u64>,
    /// The largest send buffer of a socket, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wmem_max: Option<u64>,
    /// TCP's receive buffer: minimum, default and maximum, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_rmem: Option<[u64; 3]>,
    /// TCP's send buffer: minimum, default and maximum, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_wmem: Option<[u64; 3]>,
    /// The longest queue of connections waiting to be accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub somaxconn: Option<u64>,
    /// How many datagrams wait at a Unix socket before their sender does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_dgram_qlen: Option<u64>,
    /// The longest queue of half-open connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_max_syn_backlog: Option<u64>,
}

/// TCP, and the loopback interface of this program's network namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkFacts {
    /// The range of local ports for clients, first and last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_local_port_range: Option<[u64; 2]>,
    /// Whether a port in TIME_WAIT may be reused: 0 no, 1 yes, 2 over loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_tw_reuse: Option<u64>,
    /// TCP's default congestion control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_congestion_control: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_wait: Option<u64>,
    /// Whether the loopback interface is up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback_up: Option<bool>,
    /// The largest packet over loopback, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback_mtu: Option<u64>,
    /// The queueing discipline of the loopback interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback_queue: Option<String>,
    /// Whether IPv6 is switched off on the loopback interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback_ipv6_disabled: Option<bool>,
    /// Loaded tables of the older packet filter; absent if this user may not read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_tables: Option<Vec<String>>,
    /// Connections that the kernel tracks; absent if it tracks none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracked_connections: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_read_as_nothing() {
        let written = serde_json::to_string(&LimitFacts::default()).unwrap();
        assert_eq!(serde_json::from_str::<LimitFacts>(&written).unwrap(), LimitFacts::default());
    }
}
