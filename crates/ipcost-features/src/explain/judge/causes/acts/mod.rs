//! What a side does for each operation besides moving the message: waits, writes elsewhere, hands over, allocates.
//!
//! With a cell to compare with, it is what this one does more; without, all that it does. What no rule knows is told, too.

mod bytes;
mod memory;
mod names;
mod waits;

use std::collections::BTreeMap;

use ipcost_lab::rules::{self, Rule, nanoseconds};
use ipcost_model::protocol::PeerRole;
use ipcost_model::units::size_text;

use super::{Facts, count, wall_ns};
use crate::explain::kinds::{Kind, Sum, by_kind};
use crate::explain::{Account, AccountItem, Act, ExplainedCell, ExplainedDifference, NamedCause};

/// What happens less often for an operation is not its habit.
const OFTEN: f64 = 0.2;
/// Calls that make data reach storage.
const SYNCING: [&str; 6] = ["fsync", "fdatasync", "sync_file_range", "msync", "syncfs", "sync"];
/// Calls of which it depends on the machine or the moment how many there are.
const OF_THE_MOMENT: [&str; 3] = ["sched_yield", "restart_syscall", "futex"];
/// Fewer bytes of storage for an operation are not its own.
const STORAGE_BYTES: f64 = 512.0;
/// What to do about storage.
const IN_MEMORY: &str = "keep in memory what is needed for every operation";
/// A weight for what is seen but takes too little to be told.
const SLIGHT: f64 = 0.01;

/// One side of a cell, with what it does more than its like elsewhere.
struct Doing<'a> {
    cell: &'a ExplainedCell,
    side: PeerRole,
    kinds: BTreeMap<Kind, Sum>,
    /// What it does more than the cell it is compared with, the other way round where that is `b`; `None` without one.
    account: Option<(&'a Account, f64)>,
    reference: Option<&'a ExplainedCell>,
}

impl Doing<'_> {
    /// How many more of a kind there are; all of them where there is nothing to compare with.
    fn more(&self, kind: &Kind) -> f64 {
        let here = self.kinds.get(kind).map_or(0.0, |sum| sum.count);
        let there = |other: &ExplainedCell| by_kind(other, self.side)?.get(kind).map(|sum| sum.count);
        here - self.reference.and_then(there).unwrap_or(0.0)
    }

    /// What calls by these names account for, nanoseconds.
    fn ns_of(&self, names: &[&str]) -> Option<f64> {
        let known = self.items(|item| item.call.as_deref().is_some_and(|call| names.contains(&call)));
        match known.as_slice() {
            [] => {
                let took: Vec<f64> = self
                    .kinds
                    .iter()
                    .filter(|(kind, sum)| !kind.waits_for_other() && names.contains(&sum.name.as_str()))
                    .filter_map(|(_, sum)| sum.took_ns)
                    .collect();
                (!took.is_empty()).then(|| took.iter().sum())
            }
            known => known.iter().copied().reduce(|sum, ns| sum + ns),
        }
    }

    /// What items account for here, nanoseconds; those that take nothing are left out.
    fn items(&self, wanted: impl Fn(&AccountItem) -> bool) -> Vec<f64> {
        let Some((account, sign)) = self.account else { return Vec::new() };
        let of_side = account.items.iter().filter(|item| item.side == self.side && wanted(item));
        of_side.filter_map(|item| Some(sign * item.ns?)).filter(|ns| *ns > 0.0).collect()
    }

    /// How much more was counted by the name of an event, for an operation.
    fn more_events(&self, name: &str) -> Option<f64> {
        let of = |cell: &ExplainedCell| cell.sides.of(self.side).events.get(name).copied();
        let there = self.reference.map_or(Some(0.0), of)?;
        Some(of(self.cell)? - there)
    }

    fn cause(
        &self,
        rule: Rule,
        subject: &str,
        more: f64,
        ns: Option<f64>,
        said: String,
        remedy: &str,
    ) -> NamedCause {
        let weight = ns.zip(wall_ns(self.cell)).map_or(SLIGHT, |(ns, wall)| (ns / wall).max(SLIGHT));
        let takes = match ns {
            Some(ns) => format!(", which takes {}", nanoseconds(ns)),
            None => String::new(),
        };
        let sentence = format!("the {} {said}{takes}", self.side);
        NamedCause {
            side: Some(self.side),
            subject: Some(subject.to_owned()),
            more: Some(more),
            ns,
            ..super::cause(rule, self.cell, weight, sentence, remedy)
        }
    }

    /// Sums of kinds of which there are often more, with how many.
    fn often(&self) -> impl Iterator<Item = (&Kind, &Sum, f64)> {
        self.kinds.iter().filter_map(|(kind, sum)| {
            let more = self.more(kind);
            (more >= OFTEN && more >= 0.05 * sum.count).then_some((kind, sum, more))
        })
    }

    fn threads(&self) -> usize {
        self.cell.sides.of(self.side).threads.len()
    }
}

/// A rule: what it recognises, and the names of calls that it tells of.
type Told = (NamedCause, Vec<String>);

/// What the sides of a cell do, by the rules that know it; then what no rule knows.
pub(super) fn of_cell(facts: &Facts<'_>, cell: &ExplainedCell) -> Vec<NamedCause> {
    let (account, reference) = reference(facts, cell);
    let mut found = Vec::new();
    for side in [PeerRole::Client, PeerRole::Server] {
        let Some(kinds) = by_kind(cell, side) else { continue };
        let doing = Doing { cell, side, kinds, account, reference };
        let rules = [
            waits::sync_writes,
            waits::storage,
            waits::sleep,
            waits::connect_poll,
            waits::thread_hand_over,
            waits::lock_contention,
            bytes::logging,
            bytes::small_reads,
            bytes::tls,
            names::dns,
            names::name_resolution,
            memory::huge_pages,
            memory::allocation,
            memory::page_faults,
            waits::event_loop,
        ];
        let mut told: Vec<String> = Vec::new();
        for (cause, calls) in rules.iter().filter_map(|rule| rule(&doing)) {
            found.push(cause);
            told.extend(calls);
        }
        if reference.is_some() {
            found.extend(more_calls(&doing, &told));
            found.extend(counted(&doing, &found));
        }
    }
    found
}

/// What a cell is compared with: its twin, or the other cell asked about, one that is cheaper first; with the sign that turns
/// the account of the two to what this one does more. What both do is no difference between them.
fn reference<'a>(
    facts: &Facts<'a>,
    cell: &ExplainedCell,
) -> (Option<(&'a Account, f64)>, Option<&'a ExplainedCell>) {
    let find = |id: &str| facts.cells.iter().find(|known| known.id == id);
    let of_it = || {
        let of = |difference: &&ExplainedDifference| [&difference.a, &difference.b].contains(&&cell.id);
        facts.differences.iter().filter(of)
    };
    let dearer = |difference: &&ExplainedDifference| {
        let sign = if difference.a == cell.id { 1.0 } else { -1.0 };
        difference.wall_ns.is_some_and(|wall| sign * wall.median >= 0.0)
    };
    let twin = facts.twins.iter().find(|twin| twin.a == cell.id);
    let found = twin.or_else(|| of_it().find(dearer)).or_else(|| of_it().next());
    let Some(difference) = found else { return (None, None) };
    if difference.a == cell.id {
        (Some((&difference.account, 1.0)), find(&difference.b))
    } else {
        (Some((&difference.account, -1.0)), find(&difference.a))
    }
}

/// Calls of which there are more, and which no rule tells of.
fn more_calls(doing: &Doing<'_>, told: &[String]) -> Vec<NamedCause> {
    let untold = doing
        .often()
        .filter(|(_, sum, _)| !told.contains(&sum.name) && !OF_THE_MOMENT.contains(&sum.name.as_str()));
    untold
        .map(|(_, sum, more)| {
            let bytes = sum
                .bytes_each()
                .map_or_else(String::new, |each| format!(" of {}", size_text(each.round() as u64)));
            let said = format!("makes {} more `{}`{bytes} an operation", count(more), sum.name);
            let ns = doing.ns_of(&[&sum.name]);
            doing.cause(rules::MORE_CALLS, &sum.name, more, ns, said, "see whether the operation needs them")
        })
        .collect()
}

/// Storage and migrations, where no cause tells of them.
fn counted(doing: &Doing<'_>, found: &[NamedCause]) -> Vec<NamedCause> {
    let has =
        |rule: Rule| found.iter().any(|cause| cause.code == rule.code && cause.side == Some(doing.side));
    let mut more = Vec::new();
    let told = has(rules::SYNC_WRITES) || has(rules::LOGGING) || has(rules::STORAGE);
    for (event, verb) in [("disk_bytes_written", "writes"), ("disk_bytes_read", "reads")] {
        let bytes = doing.more_events(event).filter(|bytes| *bytes >= STORAGE_BYTES && !told);
        let Some(bytes) = bytes else { continue };
        let said = format!("{verb} {} of storage an operation", size_text(bytes.round() as u64));
        more.push(doing.cause(rules::STORAGE, event, bytes, None, said, IN_MEMORY));
    }
    if let Some(moves) = doing.more_events("migrations").filter(|moves| *moves >= OFTEN) {
        let said = format!("moves to another core {} times an operation", count(moves));
        let remedy = "keep the thread on one core (taskset, sched_setaffinity once)";
        let ns: f64 = doing.items(|item| item.act == Act::Migrations).iter().sum();
        more.push(doing.cause(
            rules::MIGRATIONS,
            "migrations",
            moves,
            (ns > 0.0).then_some(ns),
            said,
            remedy,
        ));
    }
    more
}
