//! The record of a fleet: what many hosts say together.

use derive_more::Deref;
use ipcost_model::{ContrastRecord, Metric, Placement, Tool, Verdict, named};
use serde::Serialize;

use super::host_key::HostKey;
use crate::claims::ClaimCounts;
use ipcost_model::ClaimVerdict;

/// The version of the record.
pub const FLEET_SCHEMA: &str = "ipcost-fleet/1";

named! {
    /// Where a contrast stands on a host.
    Standing, "standing" {
        /// Cell `a` is known to cost less than cell `b`, by however much.
        Cheaper = "cheaper",
        /// Both are known to cost the same within the margin.
        Same = "same",
        /// Cell `a` is known to cost more.
        CostsMore = "costs more",
        /// None of these is known.
        Open = "open",
    }
}

impl Standing {
    /// Of a contrast of a run: two cells are the same if their means are, too.
    pub fn of_contrast(contrast: &ContrastRecord) -> Self {
        match Self::of(contrast.verdict, contrast.ratio) {
            Self::Same if !contrast.is_same() => Self::Open,
            known => known,
        }
    }

    pub fn of(verdict: Verdict, ratio: f64) -> Self {
        match verdict {
            Verdict::Different | Verdict::Direction if ratio < 1.0 => Self::Cheaper,
            Verdict::Different | Verdict::Direction => Self::CostsMore,
            Verdict::Equivalent => Self::Same,
            Verdict::Undecided => Self::Open,
        }
    }
}

/// What many hosts measured, each contrast and claim over all of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fleet {
    /// [`FLEET_SCHEMA`].
    pub schema: String,
    /// What made it.
    pub tool: Tool,
    /// How many files were read.
    pub files: u64,
    /// Files that are not counted; at most the first thousand.
    pub skipped: Vec<Skipped>,
    /// How many are not counted.
    pub skipped_files: u64,
    /// What is compared.
    pub metric: Metric,
    /// The relative change that matters, of the runs.
    pub margin: f64,
    /// The share of intervals over all hosts, among those with a verdict, that miss on average, at most.
    pub alpha: f64,
    /// The level of each: 1 − `alpha_each`.
    pub alpha_each: f64,
    /// The hosts, by name.
    pub hosts: Vec<FleetHost>,
    /// Hosts of the same kernel, processor and virtualisation; the largest group first.
    pub groups: Vec<HostGroup>,
    /// The contrasts of the runs, in their order.
    pub contrasts: Vec<FleetContrast>,
    /// The cheapest cell of each table of the runs.
    pub cheapest: Vec<FleetCheapest>,
    /// The claims of replications and checks.
    pub claims: Vec<FleetClaim>,
    /// What else a reader must know.
    pub notes: Vec<String>,
}

/// A file that is not counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Skipped {
    /// Its path.
    pub file: String,
    /// Why.
    pub reason: String,
}

/// A host: a name and a machine id.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetHost {
    /// Which host it is, in the fleet of any job.
    #[serde(skip)]
    pub key: HostKey,
    /// What outputs call it: its name, with a part of its machine's pseudonym if another host has the same name.
    pub name: String,
    /// What stands for its machine id; null if the documents do not hold it.
    pub machine: Option<String>,
    /// Its group, by index.
    pub group: u64,
    /// Logical processors.
    pub cores: u32,
    /// When the run that counts started, RFC 3339.
    pub started: String,
    /// The version of ipcost that measured.
    pub version: String,
    /// Complete epochs.
    pub epochs: u32,
    /// The files that count: of a run, and of replications.
    pub files: Vec<String>,
}

/// Hosts of the same kernel, processor and virtualisation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostGroup {
    /// The operating system.
    pub os: String,
    /// The kernel's release.
    pub kernel: String,
    /// The processor's model.
    pub cpu: String,
    /// The hypervisor and the container, as far as known; empty on a physical machine without containers.
    pub virtualisation: String,
    /// How many hosts.
    pub hosts: u64,
}

/// How many hosts stand where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostCounts {
    /// [`Standing::Cheaper`].
    pub cheaper: u64,
    /// [`Standing::Same`].
    pub same: u64,
    /// [`Standing::CostsMore`].
    pub costs_more: u64,
    /// [`Standing::Open`].
    pub open: u64,
}

impl HostCounts {
    pub fn add(&mut self, standing: Standing) {
        *match standing {
            Standing::Cheaper => &mut self.cheaper,
            Standing::Same => &mut self.same,
            Standing::CostsMore => &mut self.costs_more,
            Standing::Open => &mut self.open,
        } += 1;
    }

    pub fn of(&self, standing: Standing) -> u64 {
        match standing {
            Standing::Cheaper => self.cheaper,
            Standing::Same => self.same,
            Standing::CostsMore => self.costs_more,
            Standing::Open => self.open,
        }
    }

    pub fn all(&self) -> u64 {
        self.cheaper + self.same + self.costs_more + self.open
    }

    /// Where more than half of the hosts are known to stand.
    pub fn majority(&self) -> Option<Standing> {
        let known = [Standing::Cheaper, Standing::Same, Standing::CostsMore];
        known.into_iter().find(|standing| self.of(*standing) * 2 > self.all())
    }
}

/// Two cells that are compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedCells {
    /// What both cells do, in words.
    pub work: String,
    /// Where their processes run.
    pub placement: Placement,
    /// The cell in the numerator, by id.
    pub a: String,
    /// What tables call it.
    pub a_label: String,
    /// The cell in the denominator, by id.
    pub b: String,
    /// What tables call it.
    pub b_label: String,
}

/// The ratio of the costs of two cells over all hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deref)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetContrast {
    #[deref]
    #[serde(flatten)]
    pub cells: ComparedCells,
    /// How many hosts stand where.
    pub counts: HostCounts,
    /// What all hosts say together; null for fewer than two with an error of their own.
    pub together: Option<Together>,
    /// The same without the hosts that disagree and that a recorded fact sets apart; null if there are none.
    pub usual: Option<Together>,
    /// Each host's, by index of the host.
    pub hosts: Vec<HostRatio>,
    /// Each group's.
    pub groups: Vec<GroupRatio>,
    /// Hosts that do not stand where most do, and what is different about them.
    pub disagreements: Vec<Disagreement>,
}

/// A ratio over hosts. Hosts are the unit, and the error of each enters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Together {
    /// How many hosts it rests on.
    pub hosts: u64,
    /// How many hosts are left out.
    pub apart: u64,
    /// The ratio of a typical host (geometric mean over hosts).
    pub ratio: f64,
    /// The lower end of its interval.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
    /// What is known of a typical host.
    pub verdict: Verdict,
    /// The relative standard deviation between hosts, apart from the errors of their own measurements.
    pub spread: f64,
    /// The lower end of its interval.
    pub spread_lo: f64,
    /// The upper end.
    pub spread_hi: f64,
    /// The ratio of another such host lies above this; null for two hosts.
    pub another_lo: Option<f64>,
    /// And below this.
    pub another_hi: Option<f64>,
}

/// A ratio on a host.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostRatio {
    /// The host, by index.
    pub host: u64,
    /// The ratio.
    pub ratio: f64,
    /// The lower end of its interval; null while unbounded.
    pub lo: Option<f64>,
    /// The upper end; null while unbounded.
    pub hi: Option<f64>,
    /// The standard error of the ratio's logarithm according to the epochs; null if they are too few or wander too much.
    pub error: Option<f64>,
    /// Where it stands.
    pub standing: Standing,
}

/// The ratios of a group's hosts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupRatio {
    /// The group, by index.
    pub group: u64,
    /// How many of its hosts stand where.
    pub counts: HostCounts,
    /// The median of its hosts.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

/// Hosts that differ from most.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disagreement {
    /// In what: another standing, or the same standing with another size.
    pub how: Otherwise,
    /// The hosts, by index.
    pub hosts: Vec<u64>,
    /// What tells them from the rest, the most telling first.
    pub differences: Vec<HostDifference>,
    /// How many more facts tell them apart as well as the last of these.
    pub more_differences: u64,
    /// Whether so few may differ by chance alone: each host's verdict may be wrong.
    pub may_be_chance: bool,
}

named! {
    /// How hosts differ from most.
    Otherwise, "disagreement" {
        /// Cell `a` is known to cost less there.
        Cheaper = "cheaper",
        /// Both are known to cost the same there.
        Same = "same",
        /// Cell `a` is known to cost more there.
        CostsMore = "costs more",
        /// They agree on which costs less, but their interval lies where another host's value is not expected.
        Size = "size",
        /// A claim is known to hold there.
        Holds = "holds",
        /// A claim is known to fail there.
        Fails = "fails",
        /// A claim is known to depend on a condition there.
        Depends = "depends",
        /// What a claim is about is known to differ by less than matters there.
        NoDifference = "no difference that matters",
    }
}

/// Something recorded that is different on hosts that disagree.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostDifference {
    /// What: a fact of the host, the version of ipcost, or where the scheduler ran the processes.
    pub what: String,
    /// The value that these hosts have.
    pub value: String,
    /// On how many of them.
    pub here: u64,
    /// On how many of the rest.
    pub elsewhere: u64,
    /// How many of the rest there are.
    pub rest: u64,
    /// Values of the rest, at most three.
    pub others: Vec<String>,
    /// Whether it is more than chance would explain, given all facts, values, contrasts and claims that were compared.
    pub is_known: bool,
}

/// The cheapest cell of a table over all hosts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetCheapest {
    /// What its cells do, in words.
    pub work: String,
    /// Where their processes run.
    pub placement: Placement,
    /// Which are known to be cheapest, on how many hosts; the most frequent first. Cells that cost the same within the margin are
    /// one entry.
    pub cheapest: Vec<CheapestOn>,
    /// On how many hosts it is open.
    pub open: u64,
    /// What tables call those that may be the cheapest there.
    pub open_among: Vec<String>,
    /// The same by group.
    pub groups: Vec<GroupCheapest>,
}

/// Cells that are known to be cheapest on some hosts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheapestOn {
    /// What tables call them.
    pub labels: Vec<String>,
    /// The transport of each.
    pub transports: Vec<String>,
    /// How many hosts.
    pub hosts: u64,
    /// Its cost relative to the next, the median of these hosts; null if several cost the same.
    pub relative: Option<f64>,
    /// What tables call the next; null if it is not the same everywhere.
    pub next: Option<String>,
}

/// The cheapest on the hosts of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupCheapest {
    /// The group, by index.
    pub group: u64,
    /// As for all hosts.
    pub cheapest: Vec<CheapestOn>,
    /// On how many hosts it is open.
    pub open: u64,
    /// What tables call those that may be the cheapest there.
    pub open_among: Vec<String>,
}

/// A claim over all hosts that looked into it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetClaim {
    /// Whose: the id of a replication, or `check`.
    pub of: String,
    /// What was claimed, in words.
    pub text: String,
    /// The figure that was published for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// How many hosts say what.
    pub counts: ClaimCounts,
    /// The same for the factor that it names; null if it names none.
    pub size: Option<ClaimCounts>,
    /// The same under each condition, with the software that was published.
    pub conditions: Vec<FleetCondition>,
    /// Each host's.
    pub hosts: Vec<HostClaim>,
    /// The same by group.
    pub groups: Vec<GroupClaim>,
    /// Hosts that say otherwise than most, and what is different about them.
    pub disagreements: Vec<Disagreement>,
}

/// A claim under one condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetCondition {
    /// The condition in words; null as published.
    pub condition: Option<String>,
    /// How many hosts say what.
    pub counts: ClaimCounts,
}

/// What a host says of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostClaim {
    /// The host, by index.
    pub host: u64,
    /// What it says.
    pub word: ClaimVerdict,
    /// With which figures and under which conditions, in words; empty for claims of checks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sentence: String,
}

/// What the hosts of a group say of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupClaim {
    /// The group, by index.
    pub group: u64,
    /// How many say what.
    pub counts: ClaimCounts,
}
