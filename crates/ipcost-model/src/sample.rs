//! Samples: what was measured of one batch.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cell::Ran;
use crate::layout::BufferLayout;

/// A process's resource usage over a batch, all its threads and workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// User time, nanoseconds.
    pub user_ns: u64,
    /// System time, nanoseconds.
    pub sys_ns: u64,
    /// Voluntary context switches: the process waited.
    pub voluntary_switches: u64,
    /// Involuntary context switches: the scheduler took the core away.
    pub involuntary_switches: u64,
}

impl Usage {
    /// User and system time, nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.sys_ns)
    }

    /// The same usage with a processor time from a finer source, nanoseconds, split in the proportions of this one.
    pub fn scaled_to(self, cpu_ns: u64) -> Self {
        let sum_ns = self.cpu_ns();
        let user_share = if sum_ns > 0 { self.user_ns as f64 / sum_ns as f64 } else { 0.0 };
        let user_ns = (cpu_ns as f64 * user_share) as u64;
        Self { user_ns, sys_ns: cpu_ns - user_ns, ..self }
    }
}

impl std::ops::Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_add(other.user_ns),
            sys_ns: self.sys_ns.saturating_add(other.sys_ns),
            voluntary_switches: self.voluntary_switches.saturating_add(other.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_add(other.involuntary_switches),
        }
    }
}

impl std::ops::Sub for Usage {
    type Output = Self;

    /// The usage since `earlier`; never below zero.
    fn sub(self, earlier: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            sys_ns: self.sys_ns.saturating_sub(earlier.sys_ns),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
        }
    }
}

/// Where the processes of a batch ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Whereabouts {
    /// On which cores.
    pub ran: Ran,
    /// How often one of their threads moved to another processor.
    pub migrations: u64,
}

/// One timed batch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// The cell, as an index into the document's cells.
    pub cell: u32,
    /// The epoch, from 1.
    pub epoch: u32,
    /// The round in the epoch, from 1.
    pub round: u32,
    /// The place in the round's random order, from 1.
    pub position: u32,
    /// Operations done.
    pub ops: u64,
    /// Elapsed time at the client, nanoseconds.
    pub wall_ns: u64,
    /// Elapsed time until the last send returned, nanoseconds; `stream` only.
    pub sent_ns: Option<u64>,
    /// Elapsed time with all pauses, nanoseconds, where a pace is kept: `wall_ns` is then the time of the operations alone, each by
    /// itself, from its begin or from when it was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ns: Option<u64>,
    /// The part of a batch that does not grow with its operations, nanoseconds. If present, two batches of different
    /// lengths were timed, and `ops`, `wall_ns`, `sent_ns` and usage are the difference of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<u64>,
    /// The client's use of the machine.
    pub client: Usage,
    /// The server's use of the machine.
    pub server: Usage,
    /// Other measures of the batch, by name: from peers, or from the engine on request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measures: BTreeMap<String, f64>,
    /// Time in softirqs of the cores that its two processes are pinned to, nanoseconds, whatever caused them; the kernel counts it in
    /// steps of 10 ms, so that only sums over many batches mean something. Negative where a difference of two batches is; absent if
    /// they are not pinned or the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softirq_ns: Option<i64>,
    /// Where its processes ran, if the scheduler places them and the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whereabouts: Option<Whereabouts>,
    /// Where the buffers began; absent if the transport has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<BufferLayout>,
    /// Whether the machine was suspended, or the program stopped, meanwhile. It was then measured again, and this one
    /// is not counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
}
