//! A plan: everything decided before the first measurement.

use core::net::SocketAddr;
use std::collections::BTreeSet;
use std::time::Duration;

use ipcost_stats::Looks;
use serde::{Deserialize, Serialize};

use crate::arms::{ArmName, Arms};
use crate::document::Multiplicity;
use crate::expand::PlannedCell;
use crate::job::LatencyMode;
use crate::workload::Workload;

/// A contrast for the run to decide: cell `a` against cell `b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedContrast {
    /// The workload, as an index.
    pub workload: usize,
    /// The cell in the numerator, as an index.
    pub a: usize,
    /// The cell in the denominator, as an index.
    pub b: usize,
}

/// What to run; plain data that can be printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The cells, in the order of the job.
    pub cells: Vec<PlannedCell>,
    /// The tables they form.
    pub workloads: Vec<Workload>,
    /// Each cell against the baseline of its table.
    pub contrasts: Vec<PlannedContrast>,
    /// What the user should know before the run.
    pub notes: Vec<String>,
    /// The seed of every random order.
    pub seed: u64,
    /// The relative difference that matters.
    pub margin: f64,
    /// The chance that any headline interval ever misses.
    pub alpha: f64,
    /// The number of contrasts that share `alpha`: those against the baseline, and those needed to call a cell the
    /// cheapest.
    pub family: u32,
    /// The error rate that `alpha` limits.
    pub multiplicity: Multiplicity,
    /// `alpha / family`: the level of each headline interval.
    pub alpha_each: f64,
    /// The level at which most intervals are expected to stand in the end.
    pub level: f64,
    /// Epochs needed for the first finite interval.
    pub epochs_needed: u32,
    /// Exactly this many epochs, if the user said so.
    pub epochs_exact: Option<u32>,
    /// The number of epochs likely to fit.
    pub epochs_expected: u32,
    /// The looks at its contrasts, once calibration has told how many epochs are likely to fit.
    #[serde(default, skip_serializing_if = "Looks::is_none")]
    pub looks: Looks,
    /// How long the run may take.
    pub budget: Duration,
    /// Rounds in each epoch.
    pub rounds: u32,
    /// The target length of a batch.
    pub batch: Duration,
    /// The target length of a batch's unmeasured lead-in.
    pub lead_in: Duration,
    /// The length of a batch, if the user set it.
    pub batch_exact: Option<Duration>,
    /// That batch may get as short as this where otherwise there would be too few epochs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_least: Option<Duration>,
    /// Whether to measure every cell to the end; otherwise cells of answered questions leave.
    #[serde(default)]
    pub keep_all: bool,
    /// Whether the engine counts other events of the machine and the processes around every batch, besides usage.
    pub counted: bool,
    /// Every cell with a pause against the same work at the shortest pause: other tables' cells, which share alpha with the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_pace: Vec<PlannedContrast>,
    /// The cells whose sender time is requested, which takes batches far larger than buffers; indices.
    #[serde(default)]
    pub sender_timed: Vec<usize>,
    /// How latency is sampled.
    pub latency: LatencyMode,
    /// How long a peer may take to answer a message.
    pub timeout: Duration,
    /// The two arms, and how the machine was before, if the run compares two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arms: Option<PlannedArms>,
    /// Whether cells may be offered more than they carry back to back; a run that does not look for that refuses it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_overload: bool,
    /// Operations that take longer than this are counted, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_ns: Option<u64>,
    /// Where connections over TCP go whose clients have one source address, if they do: its ports run out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports_to: Option<SocketAddr>,
    /// So many operations a batch with pauses has at least, over all connections.
    #[serde(default)]
    pub pauses: u32,
    /// So many operations a batch at an offered rate has, unless they take longer than this; absent where a few do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<(u64, Duration)>,
    /// The most cells with processes at the same time; an epoch of more is measured in groups.
    pub cells_at_once: usize,
    /// The most processes and threads of peers at the same time.
    pub tasks_at_once: u64,
}

/// The two arms of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedArms {
    /// As the job has them.
    #[serde(flatten)]
    pub arms: Arms,
    /// What commands may change and what is written back, as it was before the run.
    #[serde(default)]
    pub before: Vec<KeptFile>,
}

/// A file of /proc or /sys that holds a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeptFile {
    /// Its path.
    pub path: String,
    /// What it held.
    pub text: String,
}

impl Plan {
    /// Every contrast that shares alpha: those of tables, then those over the pace.
    pub fn all_contrasts(&self) -> impl Iterator<Item = &PlannedContrast> {
        self.contrasts.iter().chain(&self.over_pace)
    }

    /// The cells that can be measured here, as indices.
    pub fn measurable(&self) -> impl Iterator<Item = usize> + '_ {
        self.cells.iter().enumerate().filter(|(_, cell)| cell.unavailable.is_none()).map(|(index, _)| index)
    }

    /// Some cells by the table that compares them.
    pub fn by_table(&self, cells: &[usize]) -> Vec<Vec<usize>> {
        let wanted: BTreeSet<usize> = cells.iter().copied().collect();
        let of_table = |table: &Workload| -> Vec<usize> {
            table.cells.iter().copied().filter(|cell| wanted.contains(cell)).collect()
        };
        self.workloads.iter().map(of_table).filter(|cells| !cells.is_empty()).collect()
    }

    /// The groups of [`Plan::groups`], in blocks that stay together in the order of an epoch: a block has a group an arm, or one
    /// group. Arms are thus compared within moments.
    pub fn blocks(&self) -> Vec<Vec<Vec<usize>>> {
        let mut blocks: Vec<Vec<Vec<usize>>> = Vec::new();
        for group in self.groups() {
            let of_arm = |arm: Option<ArmName>| {
                group.iter().copied().filter(|cell| self.cells[*cell].arm == arm).collect::<Vec<usize>>()
            };
            let arms = ArmName::ALL.iter().map(|arm| of_arm(Some(*arm)));
            blocks.push([of_arm(None)].into_iter().chain(arms).filter(|group| !group.is_empty()).collect());
        }
        blocks
    }

    /// The cells that can be measured here, in groups that have processes at the same time: one group, unless there
    /// are more cells than [`Plan::cells_at_once`], or more workers than [`Plan::tasks_at_once`] allows. Cells
    /// compared with each other stay together if they fit.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let tasks = |cells: &[usize]| cells.iter().map(|cell| self.cells[*cell].tasks()).sum::<u64>();
        let fits = |cells: &[usize]| cells.len() <= self.cells_at_once && tasks(cells) <= self.tasks_at_once;
        let all: Vec<usize> = self.measurable().collect();
        if fits(&all) {
            return vec![all];
        }
        let available = |cell: &usize| self.cells[*cell].unavailable.is_none();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut room = (0, 0);
        let mut add = |cells: &[usize]| {
            let (count, tasks) = (cells.len(), tasks(cells));
            match groups.last_mut().filter(|_| count <= room.0 && tasks <= room.1) {
                Some(group) => group.extend(cells),
                None => {
                    groups.push(cells.to_vec());
                    room = (self.cells_at_once, self.tasks_at_once);
                }
            }
            room = (room.0.saturating_sub(count), room.1.saturating_sub(tasks));
        };
        for workload in &self.workloads {
            let cells: Vec<usize> = workload.cells.iter().copied().filter(available).collect();
            if cells.is_empty() {
                continue;
            }
            match fits(&cells) {
                true => add(&cells),
                false => cells.iter().for_each(|cell| add(&[*cell])),
            }
        }
        groups
    }
}
