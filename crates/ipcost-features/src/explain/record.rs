//! An explanation: where the time of cells goes, and what makes the difference between them.

use std::collections::BTreeMap;

use derive_more::Deref;
use ipcost_lab::system_calls::{CallRecord, TracingCost};
use ipcost_model::protocol::PeerRole;
use ipcost_model::{Estimate, FloorRecord, HeldBackRecord, Object, Point, Verdict, Warning, named};
use serde::{Deserialize, Serialize};

/// The version of the record.
pub const EXPLANATION_SCHEMA: &str = "ipcost-explanation/1";

named! {
    /// How the time of a cell can be divided.
    #[derive(Default)]
    Division, "division" {
        /// The sides take turns: their processor time and the waiting add up to the elapsed time.
        #[default]
        Turns = "turns",
        /// Both sides work at once: elapsed time follows the side that is busy longest.
        Overlap = "overlap",
        /// Several workers at once: only processor time can be divided.
        Processor = "processor",
    }
}

named! {
    /// Where time goes.
    Part, "part" {
        /// User time of the client.
        ClientUser = "client-user",
        /// System time of the client.
        ClientSystem = "client-system",
        /// User time of the server.
        ServerUser = "server-user",
        /// System time of the server.
        ServerSystem = "server-system",
        /// Elapsed time beyond the processor time of both sides: wake-ups, idling. Negative where both sides ran at once
        /// for longer than neither did.
        Waiting = "waiting",
    }
}

named! {
    /// Why a cell is in an explanation.
    Purpose, "purpose" {
        /// It was asked about.
        Asked = "asked",
        /// Programs that ran already: it was watched, not measured.
        Watched = "watched",
        /// It is an asked one's twin with the native peer, to tell the runtime's own work.
        Twin = "twin",
    }
}

/// Where the time of cells goes. Figures are for one operation; intervals hold all together at 1 − `alpha`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    pub schema: String,
    /// How many intervals share alpha.
    pub intervals: u32,
    /// The cells: first those asked about, in the order of the job, then twins.
    pub cells: Vec<ExplainedCell>,
    /// What was compared: pairs of asked cells.
    pub differences: Vec<ExplainedDifference>,
    /// Asked cells against their twins.
    pub twins: Vec<ExplainedDifference>,
    /// What is known to do such things, recognised from the evidence; what weighs most first.
    pub causes: Vec<NamedCause>,
    /// How many remedies were tried; null where that was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<u32>,
    /// What could not be looked at, and how to get it.
    pub missing: Vec<MissingEvidence>,
    /// What weakens or bends the figures.
    pub warnings: Vec<Warning>,
    /// What failed, where something did; the rest is what was known by then.
    pub failure: Option<String>,
}

/// A cell, where its time goes, and what was seen of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Deref)]
pub struct ExplainedCell {
    pub id: String,
    /// What it is called in sentences.
    pub label: String,
    /// Why it is here.
    pub purpose: Purpose,
    /// The point of the matrix.
    #[deref]
    #[serde(flatten)]
    pub point: Point,
    /// How its time can be divided.
    pub division: Division,
    /// Elapsed time, nanoseconds; null where it was not measured.
    pub wall_ns: Option<Estimate>,
    /// Processor time of both sides, nanoseconds.
    pub cpu_ns: Option<Estimate>,
    /// What a burst takes beside its operations, nanoseconds, however many they are; null where there is no such part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<f64>,
    /// Where it goes, in the order of [`Part`]; medians over epochs.
    pub parts: Vec<PartCost>,
    /// The least that its parts cost here, and its cost as a multiple of that; null where none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<ExplainedFloor>,
    /// Processor time over elapsed time, by side; where several threads work, above 1.
    pub busy: Option<Sides<f64>>,
    /// Where the sides work at once: the one that limits, since it is busy for longer.
    pub limited_by: Option<PeerRole>,
    /// How long its cores take to wake; null where they are not known, or it runs on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake: Option<ExplainedWake>,
    /// What each side did.
    pub sides: Sides<SideEvidence>,
    /// What the network did, by counter; empty where the transport does not use it.
    pub network: BTreeMap<String, f64>,
    /// What waits for a delayed acknowledgement at the ends of its connections, by side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<HeldBackRecord>,
    /// What the machine did meanwhile, by counter: `huge_page_faults`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub machine: BTreeMap<String, f64>,
    /// Whether the network was counted in a namespace that no one else used.
    pub alone: bool,
    /// Operations of the pass in which system calls were traced; 0 where they were not.
    pub traced_ops: u64,
    /// Operations of the pass in which events were counted; 0 where they were not.
    pub counted_ops: u64,
}

/// How long a core takes to wake another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExplainedWake {
    /// How long it had rested, nanoseconds: half an operation of the cell, a millisecond at most.
    pub rest_ns: f64,
    /// The median time until it runs, nanoseconds.
    pub rested_ns: f64,
    /// The same where it had hardly rested.
    pub awake_ns: f64,
    /// What decides how deeply it sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

/// A floor that was measured at the begin and at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Deref)]
pub struct ExplainedFloor {
    /// The mean of both, and the cell's cost as a multiple of it: from the least to the most that both allow.
    #[deref]
    #[serde(flatten)]
    pub record: FloorRecord,
    /// At the begin, nanoseconds for one operation.
    pub begin_ns: f64,
    pub end_ns: f64,
    /// Whether the two differ by a fifth at most; otherwise the machine changed, and the multiple says little.
    pub steady: bool,
}

/// Something of either side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sides<T> {
    pub client: T,
    pub server: T,
}

impl<T> Sides<T> {
    pub fn of(&self, side: PeerRole) -> &T {
        match side {
            PeerRole::Client => &self.client,
            PeerRole::Server => &self.server,
        }
    }
}

/// What goes to a part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PartCost {
    pub part: Part,
    /// Nanoseconds.
    pub ns: Estimate,
    /// Its share of the elapsed time.
    pub share: f64,
}

/// What one side did for an operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SideEvidence {
    /// Switches because it waited: median over epochs of the timed pass.
    pub voluntary_switches: Option<f64>,
    /// Switches because the scheduler took the core away.
    pub involuntary_switches: Option<f64>,
    /// Its system calls, the most frequent first; null where they could not be traced.
    pub system_calls: Option<Vec<CallRecord>>,
    /// Threads that share the main thread's table of descriptors, that one included; null where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table_sharers: Option<u32>,
    /// Its threads that take part in an operation: the calls of each, the busiest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<f64>,
    /// The bytes of each call that sends a message, in their order; empty if one call does, or it is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<u64>,
    /// The same of each call that receives one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receives: Vec<u64>,
    /// How long the cheapest traced call took, nanoseconds: what tracing itself costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced_call: Option<TracingCost>,
    /// How often it touched what names are resolved with, by file or address.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lookups: BTreeMap<String, f64>,
    /// Counted events by name, such as `instructions_kernel`; those that could be counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub events: BTreeMap<String, f64>,
}

/// What makes the difference between two cells: `a` minus `b`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExplainedDifference {
    /// The one, by id.
    pub a: String,
    /// The other, by id.
    pub b: String,
    /// The elapsed time of `a` over that of `b`.
    pub ratio: Option<Estimate>,
    /// What is known of that ratio.
    pub verdict: Verdict,
    /// Elapsed time, nanoseconds.
    pub wall_ns: Option<Estimate>,
    /// Whether its interval excludes 0.
    pub differs: bool,
    /// How the parts below relate to it.
    pub division: Division,
    /// Its parts, those that differ first, the largest first.
    pub parts: Vec<PartDifference>,
    /// What else was counted, by side.
    pub counts: Vec<CountDifference>,
    /// What the one does more than the other, and what of the time it takes.
    #[serde(default)]
    pub account: Account,
}

/// What makes up a difference in elapsed time: `a` minus `b`, for one operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// What one of them does more or takes longer for; what takes most first.
    pub items: Vec<AccountItem>,
    /// What of the difference in elapsed time is none of these, nanoseconds; null where time cannot be divided so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unexplained_ns: Option<f64>,
}

named! {
    /// What an item of an account is.
    Act, "act" {
        /// System calls of one kind.
        Calls = "calls",
        /// User time.
        UserTime = "user-time",
        /// System time, in as many calls.
        SystemTime = "system-time",
        /// Page faults.
        PageFaults = "page-faults",
        /// Switches because a thread waited.
        Switches = "switches",
        /// Waits of less than a segment for a delayed acknowledgement.
        HeldBack = "held-back",
        /// Moves to another core.
        Migrations = "migrations",
        /// Bytes from storage.
        StorageRead = "storage-read",
        /// Bytes to storage.
        StorageWritten = "storage-written",
    }
}

named! {
    /// How the time of an item is known.
    Known, "known" {
        /// Traced calls took so much longer than tracing does, and no one ran meanwhile.
        Waits = "waits",
        /// Traced calls took so much longer than tracing does, while the processor worked.
        Works = "works",
        /// It is the difference of a part in timed batches.
        Part = "part",
        /// A part differs by so much in timed batches, and this is what the side does more; by their numbers, where
        /// there are several.
        Shared = "shared",
        /// Nothing else takes it, and this is what only one side does more.
        Rest = "rest",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccountItem {
    /// The side that does it.
    pub side: PeerRole,
    pub act: Act,
    /// The call by name, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// What it is made on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Object>,
    /// How many `a` does more than `b`; of parts, 0.
    pub more: f64,
    /// The bytes that each moves where there are more, if they move bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// What it accounts for, nanoseconds; null where that is too little to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Known>,
}

/// What a part contributes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PartDifference {
    pub part: Part,
    /// Nanoseconds.
    pub ns: Estimate,
    /// Whether its interval excludes 0.
    pub differs: bool,
}

/// Something counted for an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountDifference {
    /// On which side; null for both together.
    pub side: Option<PeerRole>,
    /// What: `system calls`, `voluntary switches`, or an event's name.
    pub what: String,
    pub a: f64,
    pub b: f64,
    /// Whether they differ by more than such counts do on their own.
    pub differs: bool,
}

impl AccountItem {
    /// One of which nothing is known yet.
    pub fn new(side: PeerRole, act: Act) -> Self {
        Self { side, act, call: None, on: None, more: 0.0, bytes: None, ns: None, known: None }
    }
}

/// A cause that was recognised.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NamedCause {
    pub code: String,
    /// The cell it concerns, by id; null where it concerns all.
    pub cell: Option<String>,
    /// What was seen, with its figures.
    pub sentence: String,
    /// What to do about it.
    pub remedy: String,
    /// The share of the elapsed time that it may account for, as far as that is known, 0 to 1.
    pub weight: f64,
    /// The side that does it, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<PeerRole>,
    /// The call or counter that it is seen by, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// How many more there are for one operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<f64>,
    /// What it accounts for, nanoseconds for one operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns: Option<f64>,
    /// What trying the remedy brought, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<Tried>,
}

/// A remedy that was measured in the same run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The cell with the remedy, by id.
    pub cell: String,
    /// What is set in it: `tcp_nodelay=true`.
    pub setting: String,
    /// Its elapsed time over that of the cell.
    pub ratio: Estimate,
    /// What is known of that ratio.
    pub verdict: Verdict,
}

/// Something that could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingEvidence {
    pub what: String,
    pub reason: String,
    /// How to get it.
    pub remedy: String,
}

impl MissingEvidence {
    pub(super) fn new(what: impl Into<String>, reason: impl ToString, remedy: &str) -> Self {
        Self { what: what.into(), reason: reason.to_string(), remedy: remedy.to_owned() }
    }
}

/// A point between native peers whose settings are the usual ones.
#[cfg(test)]
pub(crate) fn usual(pattern: ipcost_model::Pattern, transport: &str, size: u64) -> Point {
    Point::free(ipcost_model::Cell::new(pattern, transport, size))
}
