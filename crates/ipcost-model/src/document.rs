//! The document: the versioned record of one run, from which all output is drawn.

use std::collections::BTreeMap;

use ipcost_stats::Looks;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::arms::ArmsRecord;
use crate::cell_record::CellRecord;
use crate::contrast_record::{ContrastRecord, PausePart, WorkloadRecord};
use crate::job::{Job, LatencyMode};
use crate::lookup::Lookup;
use crate::named;
use crate::sample::Sample;

/// The code of warnings that tell of waits for delayed acknowledgements: they belong to the answer.
pub const HELD_BACK: &str = "held-back";

/// The version of the document.
pub const SCHEMA: &str = "ipcost/1";

named! {
    /// Why a run ended.
    #[derive(Default)]
    Stopped, "reason" {
        /// Every headline contrast was resolved.
        Resolved = "resolved",
        /// The budget, or the number of epochs asked for, was spent.
        Budget = "budget",
        /// The user or the system asked it to stop.
        Interrupted = "interrupted",
        /// The run failed.
        #[default]
        Failed = "failed",
    }
}

named! {
    /// What a contrast compares.
    #[derive(Default)]
    Metric, "metric" {
        /// Elapsed time per operation.
        #[default]
        Wall = "wall",
        /// User and system time of both processes per operation.
        Cpu = "cpu",
    }
}

named! {
    /// The error rate that `alpha` limits.
    #[derive(Default)]
    Multiplicity, "multiplicity" {
        /// The chance that any interval of the headline ever misses.
        #[default]
        Headline = "headline",
        /// The expected share of misses among the intervals of contrasts with a verdict.
        Explored = "explored",
    }
}

/// One run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// The version of the document.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The program that made it.
    pub tool: Tool,
    /// The machine.
    pub host: Host,
    /// The job.
    pub job: Job,
    /// The user's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The seed of every random order.
    pub seed: u64,
    /// When it started, RFC 3339.
    pub started: String,
    /// When it was resumed after being killed; empty if it never was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumed>,
    /// Duration, seconds.
    pub elapsed_s: f64,
    /// Why it ended.
    pub stopped: Stopped,
    /// Its layout in time.
    pub schedule: Schedule,
    /// The levels of the intervals.
    pub analysis: Analysis,
    /// Every cell, measured or not.
    pub cells: Vec<CellRecord>,
    /// Cells that do the same work, compared with each other.
    pub workloads: Vec<WorkloadRecord>,
    /// Results for pairs of cells.
    pub contrasts: Vec<ContrastRecord>,
    /// Cells with a pause against the same work at the shortest pause: what a pace costs. They share alpha with the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_pace: Vec<ContrastRecord>,
    /// What the cost of a pause is made of, as far as cells of the run tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pause_parts: Vec<PausePart>,
    /// Every timed batch of every complete epoch.
    pub samples: Vec<Sample>,
    /// Problems that weaken or bias the result.
    pub warnings: Vec<Warning>,
    /// Facts about the result that call for no action.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Warning>,
    /// What the commands of the two arms changed, if the run compares two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arms: Option<ArmsRecord>,
    /// As which user its processes ran, by what they are: `ipcost`, `peers`, `the server of NAME`, `commands of the arms`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ran_as: BTreeMap<String, String>,
    /// The answer of a command that asked more than the document's own contrasts: the record that it writes, with its
    /// schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Further runs of the same command, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Document>,
    /// Where its parts are.
    #[serde(skip)]
    pub lookup: Lookup,
}

/// The start of every record: its kind, the program, the machine and the time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Envelope {
    /// The kind of record and its version.
    pub schema: String,
    /// The program that made it.
    pub tool: Tool,
    /// The machine.
    pub host: Host,
    /// When it started, RFC 3339.
    pub started: String,
}

/// The program that made a document. What is not known of its build is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// Always `ipcost`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit that it was built from, abbreviated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The day of that commit, such as 2026-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_date: Option<String>,
    /// The target triple that it was built for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The directory of Cargo's profile: `debug`, `release`, or the name of another profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

impl Tool {
    /// A build of which only the version is known.
    pub fn of_version(version: impl Into<String>) -> Self {
        let version = version.into();
        Self {
            name: "ipcost".to_owned(),
            version,
            commit: None,
            commit_date: None,
            target: None,
            profile: None,
        }
    }

    /// The version, and in parentheses what is known of the build: commit, target, profile.
    pub fn build(&self) -> String {
        let commit = [&self.commit, &self.commit_date].into_iter().flatten();
        let commit = commit.map(String::as_str).collect::<Vec<_>>().join(" ");
        let commit = Some(commit).filter(|commit| !commit.is_empty());
        let known: Vec<String> =
            [commit, self.target.clone(), self.profile.clone()].into_iter().flatten().collect();
        match known.is_empty() {
            true => self.version.clone(),
            false => format!("{} ({})", self.version, known.join(", ")),
        }
    }
}

/// A run was resumed after being killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resumed {
    /// When, RFC 3339.
    pub at: String,
    /// Complete epochs at that time.
    pub after_epoch: u32,
}

/// The machine, as far as it affects the result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// The operating system.
    pub os: String,
    /// The kernel's release.
    pub kernel: String,
    /// The processor's architecture.
    pub arch: String,
    /// The processor's model name.
    pub cpu: String,
    /// Logical processors this program may use.
    pub cores: u32,
    /// Physical cores among them.
    pub physical_cores: u32,
    /// Further facts by name.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Host {
    /// The machine's name; empty if the document does not hold it.
    pub fn name(&self) -> &str {
        self.more.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// What stands for its machine id, so that hosts of one name can be told apart; `None` if the document does not hold it.
    pub fn machine(&self) -> Option<&str> {
        self.more.get("machine").and_then(Value::as_str)
    }

    /// The congestion control that TCP uses unless a socket sets another; `None` where that is not recorded.
    pub fn tcp_congestion(&self) -> Option<&str> {
        self.more.get("tcp_congestion_control")?.as_str()
    }
}

/// The layout of a run in time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Schedule {
    /// Rounds in each epoch.
    pub rounds: u32,
    /// Complete epochs.
    pub epochs: u32,
    /// The target length of a batch, milliseconds.
    pub batch_ms: f64,
    /// The target length of a lead-in, milliseconds.
    pub lead_in_ms: f64,
    /// The budget, seconds.
    pub budget_s: f64,
    /// How latency was sampled; unless `inline`, no clock was read within a timed batch.
    pub latency: LatencyMode,
    /// Where the time went.
    pub timing: Timing,
}

/// Where a run's time went, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timing {
    /// Before the first epoch: probing peers, calibrating operation counts.
    pub calibration_s: f64,
    /// Starting, preparing and verifying processes, and ending them.
    pub processes_s: f64,
    /// Timed batches.
    pub batches_s: f64,
    /// Lead-ins of batches.
    pub lead_ins_s: f64,
    /// Batches after them that sample latencies.
    #[serde(default)]
    pub tails_s: f64,
    /// The rest: messages to peers, analysis, progress.
    pub other_s: f64,
}

/// The levels of the intervals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Analysis {
    /// The chance that any headline interval ever misses.
    pub alpha: f64,
    /// The number of contrasts that share it.
    pub family: u32,
    /// The level of each contrast's interval: `alpha / family`, times the discoveries of an explored grid.
    pub alpha_each: f64,
    /// The error rate that `alpha` limits.
    #[serde(default)]
    pub multiplicity: Multiplicity,
    /// Discoveries among the contrasts of an explored grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discoveries: Option<u32>,
    /// The relative difference that matters.
    pub margin: f64,
    /// Epochs needed for the first finite interval at `alpha_each`.
    pub epochs_needed: u32,
    /// The looks at contrasts that were planned before the first epoch; absent where there were none, and in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Looks::is_none")]
    pub looks: Looks,
    /// What a longer run would answer, if the budget ended before all contrasts were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longer: Option<LongerRun>,
}

/// What a longer run would likely answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongerRun {
    /// Contrasts that are open.
    pub open: u32,
    /// How many of them it would answer; 0 if no budget of up to ten times this one would, or that cannot be told.
    pub answers: u32,
    /// Its budget; null if `answers` is 0.
    pub budget_s: Option<f64>,
    /// What on this machine is in the way of an answer, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_the_way: Option<String>,
}

/// A median with its interval; the bounds are null while unbounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The median over epochs.
    pub median: f64,
    /// The lower end.
    pub lo: Option<f64>,
    /// The upper end.
    pub hi: Option<f64>,
}

impl Document {
    /// What waits for delayed acknowledgements, in sentences: it is told with the answer, before any advice.
    pub fn held_back(&self) -> impl Iterator<Item = &str> {
        let held_back = self.warnings.iter().filter(|warning| warning.code == HELD_BACK);
        held_back.map(|warning| warning.message.as_str())
    }
}

/// A problem that weakens or biases the result, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Stable; for programs.
    pub code: String,
    /// One line; for people.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::Tool;

    #[test]
    fn a_build_is_what_is_known_of_it() {
        let of = |commit: &str, date: &str, target: &str, profile: &str| {
            let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            Tool {
                commit: known(commit),
                commit_date: known(date),
                target: known(target),
                profile: known(profile),
                ..Tool::of_version("0.1.0")
            }
        };
        let musl = "x86_64-unknown-linux-musl";
        for (tool, build) in [
            (
                of("1a2b3c4d5e", "2026-11-25", musl, "dist"),
                "0.1.0 (1a2b3c4d5e 2026-11-25, x86_64-unknown-linux-musl, dist)",
            ),
            (of("1a2b3c4d5e", "", musl, "release"), "0.1.0 (1a2b3c4d5e, x86_64-unknown-linux-musl, release)"),
            (of("", "", musl, "release"), "0.1.0 (x86_64-unknown-linux-musl, release)"),
            (of("", "", "", ""), "0.1.0"),
        ] {
            assert_eq!(tool.build(), build);
            let text = serde_json::to_string(&tool).unwrap();
            assert_eq!(serde_json::from_str::<Tool>(&text).unwrap(), tool, "{text}");
        }
        let plain = serde_json::to_string(&of("", "", "", "")).unwrap();
        assert_eq!(plain, r#"{"name":"ipcost","version":"0.1.0"}"#, "as earlier versions wrote it");
    }
}
