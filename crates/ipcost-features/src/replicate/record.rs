//! A published experiment: what was run and claimed, and the cells and tests that decide it here.

use std::collections::BTreeMap;
use std::time::Duration;

use super::figure::FigureSpec;
use super::{Compared, Condition, Peers, SourceFile};
use crate::claims::Selector;
use ipcost_model::ClaimVerdict;
use ipcost_model::job::duration;
use ipcost_model::protocol::PeerRole;
use ipcost_model::{Matrix, PublishedFigure, Quantity, named};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the ledger.
pub const REPLICATION_SCHEMA: &str = "ipcost-replication/1";

named! {
    /// With which software a run measures.
    #[derive(Default)]
    Software, "software" {
        /// The kind that was used in the publication.
        #[default]
        Original = "original",
        /// The native peer.
        Native = "native",
    }
}

named! {
    /// A system, as Rust's `std::env::consts::OS` names it.
    System, "system" {
        /// Linux.
        Linux = "linux",
        /// macOS.
        Macos = "macos",
        /// Windows.
        Windows = "windows",
    }
}

/// A published experiment, as facts, figures and claims, with what tests them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replication {
    /// Its name on the command line.
    pub id: String,
    pub question: String,
    /// On which machine it was made.
    pub machine: String,
    /// Where it was published.
    #[serde(default)]
    pub source: Option<SourceFile>,
    /// How it was made, as published; free form.
    pub method: BTreeMap<String, Value>,
    /// The figures that were published; free form.
    #[serde(default)]
    pub results: Value,
    /// How they are shown next to what is measured here.
    #[serde(default)]
    pub figure: Option<FigureSpec>,
    /// What cannot be as it was, in a sentence.
    #[serde(default)]
    pub differs: Option<String>,
    /// The same where a system has other words for it.
    #[serde(default)]
    pub differs_on: BTreeMap<System, String>,
    /// Conditions that the article left open or fixed, set otherwise.
    #[serde(rename = "strata", default)]
    pub conditions: Vec<Condition>,
    /// What is measured here.
    pub runs: Vec<ReplicationRun>,
    /// What this tool prefers to the article's own settings, and what each preference changes; none of them decides.
    #[serde(default)]
    pub effects: Vec<ClaimTest>,
    /// What was claimed, and what tests it.
    pub claims: Vec<ArticleClaim>,
    /// How to run it with the article's own counts.
    #[serde(default)]
    pub as_published: Option<AsPublished>,
}

/// Cells that are measured together.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplicationRun {
    pub software: Software,
    /// What it is, in short.
    pub about: String,
    /// How long it may take unless the user says otherwise.
    #[serde(with = "duration")]
    pub budget: Option<Duration>,
    /// How long a batch is meant to last.
    #[serde(default, with = "duration")]
    pub batch: Option<Duration>,
    /// The systems on which it is measured; all where none is named.
    #[serde(default)]
    pub os: Vec<System>,
    /// Real servers, and the load tools that ask them, by the names that cells call them.
    #[serde(default)]
    pub peers: Peers,
    pub cells: Vec<Matrix>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArticleClaim {
    pub text: String,
    /// The figure that was published for it, in words.
    #[serde(default)]
    pub published: Option<String>,
    /// What tests it; figures that only stand beside it have `decides = false`.
    #[serde(default)]
    pub tests: Vec<ClaimTest>,
    /// What lies behind it, in a sentence with no figures of its own.
    #[serde(default)]
    pub behind: Option<String>,
    /// The same where a system has other words for it.
    #[serde(default)]
    pub behind_on: BTreeMap<System, String>,
    /// Where a system has something else than what the claim is about: what its word is limited to, such as `on Linux,
    /// with FIFOs`.
    #[serde(default)]
    pub limit_on: BTreeMap<System, String>,
    /// What it would take to decide it, where nothing that is measured does.
    #[serde(default)]
    pub takes: Option<String>,
}

impl Replication {
    /// Whether it is about real servers.
    pub fn is_of_apps(&self) -> bool {
        self.runs.iter().any(|run| !run.peers.is_empty())
    }

    /// What of it belongs to a system, by the name that Rust gives it.
    pub fn on(mut self, os: &str) -> Self {
        let system: Option<System> = os.parse().ok();
        let belongs =
            |systems: &[System]| systems.is_empty() || system.is_some_and(|here| systems.contains(&here));
        self.runs.retain(|run| belongs(&run.os));
        if let Some(published) = &mut self.as_published {
            published.cells.retain(|cell| belongs(&cell.os));
        }
        let own = |words: &mut BTreeMap<System, String>| system.and_then(|here| words.remove(&here));
        self.differs = own(&mut self.differs_on).or(self.differs);
        for claim in &mut self.claims {
            claim.tests.retain(|test| belongs(&test.os));
            claim.behind = own(&mut claim.behind_on).or(claim.behind.take());
            claim.limit_on.retain(|on, _| system == Some(*on));
        }
        self.effects.retain(|effect| belongs(&effect.os));
        self.conditions.retain(|condition| belongs(&condition.os));
        if let Some(figure) = &mut self.figure {
            figure.retain(&belongs);
        }
        self
    }
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimTest {
    /// What it compares, in short.
    pub about: String,
    /// The systems on which it is made; all where none is named.
    #[serde(default)]
    pub os: Vec<System>,
    /// In which runs; both where it is not said.
    #[serde(default)]
    pub software: Option<Software>,
    /// What is compared, unless a side says otherwise; `wall` by default.
    #[serde(default)]
    pub measure: Option<Quantity>,
    pub a: Selector,
    /// The denominator; without one, `a` itself is judged.
    #[serde(default)]
    pub b: Option<Selector>,
    /// Another ratio, by which that of `a` and `b` is divided: how an effect grows or shrinks.
    #[serde(default)]
    pub than: Option<Than>,
    /// The ratio is below this.
    #[serde(default)]
    pub below: Option<f64>,
    /// The ratio is above this.
    #[serde(default)]
    pub above: Option<f64>,
    /// The system calls for one operation are the same in both cells, by name and number.
    #[serde(default)]
    pub same_system_calls: bool,
    /// Of which process; the client's where it is not said.
    #[serde(default)]
    pub calls_of: Option<PeerRole>,
    /// Whether it decides the claim, or only stands beside it.
    #[serde(default = "yes")]
    pub decides: bool,
    /// Whether it is also decided under conditions; not one that sets what a condition sets.
    #[serde(default = "yes")]
    pub under_conditions: bool,
    /// What the article's own method, run plainly beside it, says otherwise. Such a test is shown, and neither confirms nor refutes.
    #[serde(default)]
    pub contradicted: Option<String>,
}

/// The ratio that another is compared with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Than {
    pub a: Selector,
    pub b: Selector,
}

impl ClaimTest {
    /// The cells that it names.
    pub fn sides(&self) -> impl Iterator<Item = &Selector> {
        let than = self.than.iter().flat_map(|than| [&than.a, &than.b]);
        std::iter::once(&self.a).chain(&self.b).chain(than)
    }

    /// Whether it decides, and by the interval of what is measured.
    pub fn decides_by_interval(&self) -> bool {
        self.decides && !self.same_system_calls && self.contradicted.is_none()
    }

    /// Whether it is made with this software.
    pub fn is_for(&self, software: Software) -> bool {
        self.software.is_none_or(|only| only == software)
    }
}

/// The article's own counts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AsPublished {
    /// How often each cell is measured.
    pub repetitions: u32,
    /// What cannot be as it was even so, in a sentence, where that is less than `differs` of the whole says.
    #[serde(default)]
    pub differs: Option<String>,
    /// The output that the article printed.
    pub output: Output,
    /// The cells, with their operations.
    pub cells: Vec<PublishedCell>,
}

named! {
    /// The output of a published experiment.
    Output, "output" {
        /// Ruby's Benchmark: user, system, total, real.
        RubyBenchmark = "ruby-benchmark",
        /// Go's benchmark lines, which benchstat reads.
        GoBenchmark = "go-benchmark",
        /// A file a method with N, BS and BITS/S, and the averages.
        BitsCsv = "bits-csv",
        /// Mean seconds.
        MeanSeconds = "mean-seconds",
        /// The client's times, the counter, and INCR's accounts.
        RedisTimes = "redis-times",
        /// What a round trip took, and how many there were in a second.
        Rates = "rates",
    }
}

/// Cells of a published experiment with the operations that each did.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedCell {
    /// Operations of each worker; or
    #[serde(default)]
    pub ops_per_worker: Option<u64>,
    /// bytes in all.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// The systems on which they are measured; all where none is named.
    #[serde(default)]
    pub os: Vec<System>,
    pub cell: Matrix,
}

/// What was decided of every claim of an experiment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplicationRecord {
    /// [`REPLICATION_SCHEMA`].
    pub schema: String,
    /// The experiment.
    pub id: String,
    /// What it asked.
    pub question: String,
    /// On which machine it was made.
    pub machine: String,
    /// Where it was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceFile>,
    /// What could not be as it was.
    pub differs: Option<String>,
    /// What was measured.
    pub runs: Vec<ReplicatedRun>,
    /// What this tool prefers to the article's own settings, and what that changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<ReplicatedTest>,
    /// What was claimed, and what holds.
    pub claims: Vec<ReplicatedClaim>,
    /// How many fields of its tables are decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Fields>,
    /// The published figures next to those measured with the original software.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<PublishedFigure>,
}

/// The fields of all tables: deciding tests under each condition.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fields {
    /// Those that are decided, of which at most 5 % are expected to be wrong.
    pub decided: u32,
    /// All that were measured.
    pub of: u32,
    /// The level at which each stands: 5 %, times the part that is decided.
    pub level: f64,
}

impl ReplicationRecord {
    /// Why nothing could be measured, where nothing was: of each run the first reason.
    pub fn unmeasured(&self) -> Option<Vec<String>> {
        let nothing = self.runs.iter().all(|run| run.epochs == 0);
        let reasons = self.runs.iter().filter_map(|run| run.missing.first().cloned());
        nothing.then(|| reasons.collect()).filter(|reasons: &Vec<String>| !reasons.is_empty())
    }
}

/// A run of a replication.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplicatedRun {
    /// With which software.
    pub software: Software,
    /// What it is.
    pub about: String,
    /// The condition; null as published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "stratum")]
    pub condition: Option<String>,
    /// What the condition sets, by name: `placement`, options, `peers`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sets: BTreeMap<String, String>,
    /// How long it took, seconds.
    pub elapsed_s: f64,
    /// Complete epochs.
    pub epochs: u32,
    /// Why it could not be measured, or what of it.
    pub missing: Vec<String>,
    /// Whether peers and servers ran in a network namespace of their own, since the servers would be open to other users.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_network: bool,
}

/// A claim and what holds of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplicatedClaim {
    /// In words.
    pub text: String,
    /// The figure that was published for it.
    pub published: Option<String>,
    /// What is known of it; of its direction, if it also names a factor.
    pub word: ClaimVerdict,
    /// What is known of the factor; null if it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<ClaimVerdict>,
    /// What the word depends on, or the factor's, most telling first: `size`, `concurrency`, `placement`, an option.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
    /// With which figures, for which loads and under which conditions, in words.
    #[serde(default)]
    pub sentence: String,
    /// What differs between the cells that decide, from what was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What to do, if it depends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// As published, then under each condition.
    #[serde(default)]
    pub conditions: Vec<ClaimCondition>,
    /// What lies behind it.
    pub behind: Option<String>,
    /// What the word is limited to, where what is measured here is not what the claim is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// What it would take to decide it, where nothing that is measured does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<String>,
    /// What it rests on.
    pub tests: Vec<ReplicatedTest>,
}

/// What is known of a claim under one condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimCondition {
    /// The condition in words; null as published.
    #[serde(rename = "stratum")]
    pub condition: Option<String>,
    /// With which software.
    pub software: Software,
    /// What is known; of the direction, if the claim also names a factor.
    pub word: ClaimVerdict,
    /// What is known of the factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<ClaimVerdict>,
    /// The figures that say so.
    pub figures: String,
}

/// A test and its figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplicatedTest {
    /// What it compares.
    pub about: String,
    /// With which software.
    pub software: Software,
    /// The condition; null as published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "stratum")]
    pub condition: Option<String>,
    /// The sides and the load; null where system calls are compared, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<Compared>,
    /// What is taken of the cells.
    pub measure: String,
    /// The ratio, or the value where there is no denominator; null where it could not be measured.
    pub value: Option<f64>,
    /// The lower end of its interval.
    pub lo: Option<f64>,
    /// The upper end of its interval.
    pub hi: Option<f64>,
    /// The least and the largest epoch, where many epochs have no interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(f64, f64)>,
    /// What is claimed of it.
    pub claimed: String,
    /// It is claimed to be above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// It is claimed to be below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
    /// Whether it is the ratio of two cells, and not the value of one.
    #[serde(default = "yes")]
    pub is_ratio: bool,
    /// What is known.
    pub word: ClaimVerdict,
    /// What is known of the direction alone; null if the claim names no factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<ClaimVerdict>,
    /// Whether it decides.
    pub decides: bool,
    /// What else is to be said, such as system calls by name.
    pub detail: Option<String>,
    /// How long the batches of its cells took, seconds; cells that several tests share count for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// What the article's own method, run plainly beside it, says otherwise; the word is `undecided` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradicted: Option<String>,
}

impl ReplicatedClaim {
    /// A claim without tests.
    pub(crate) fn of(text: &str) -> Self {
        Self { text: text.to_owned(), word: ClaimVerdict::NotTested, ..Self::default() }
    }
}

#[cfg(test)]
impl ReplicatedTest {
    /// A deciding test of which nothing but its verdict is known.
    pub(crate) fn known_as(word: ClaimVerdict) -> Self {
        Self { measure: "wall".to_owned(), is_ratio: true, word, decides: true, ..Self::default() }
    }
}
