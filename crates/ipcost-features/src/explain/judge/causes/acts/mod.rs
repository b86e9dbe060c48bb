//! What a side does for each operation besides moving the message: waits, writes elsewhere, hands over, allocates.
//!
//! With a cell to compare with, it is what this one does more; without, all that it does. What no rule knows is told, too.

mod bytes;
mod memory;
mod names;
mod waits;

use std::collections::BTreeMap;

use ipcost_lab::rules::{self, Rule, nanoseconds};
use ipcost_model::HeldBackRecord;
use ipcost_model::protocol::PeerRole;
use ipcost_model::units::size_text;

use super::{CauseInputs, SLIGHT, count, wall_ns};
use crate::explain::kinds::{CallKind, CallSum, by_kind};
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

/// One side of a cell, with what it does more than its like elsewhere.
struct ActiveSide<'a> {
    cell: &'a ExplainedCell,
    side: PeerRole,
    /// Whether a buffer cuts its messages: they then take more calls.
    cut: bool,
    kinds: BTreeMap<CallKind, CallSum>,
    /// What it does more than the cell it is compared with, the other way round where that is `b`; `None` without one.
    account: Option<(&'a Account, f64)>,
    reference: Option<&'a ExplainedCell>,
    /// What that one calls; nothing where there is none, or it could not be traced.
    there: BTreeMap<CallKind, CallSum>,
    /// What has been recognised so far; the general rules come after those that know more.
    found: Vec<NamedCause>,
    /// The calls that this tells of.
    covered: Vec<String>,
}

impl ActiveSide<'_> {
    /// Whether a rule has recognised something.
    fn has(&self, rule: Rule) -> bool {
        self.found.iter().any(|cause| cause.code == rule.code)
    }

    /// How many more of a kind there are; all of them where there is nothing to compare with.
    fn more(&self, kind: &CallKind) -> f64 {
        let count = |kinds: &BTreeMap<CallKind, CallSum>| kinds.get(kind).map_or(0.0, |sum| sum.count);
        count(&self.kinds) - count(&self.there)
    }

    /// What calls by these names account for, nanoseconds.
    fn ns_of(&self, names: &[&str]) -> Option<f64> {
        let took = || {
            let own = self.kinds.iter().filter(|(kind, _)| !kind.waits_for_other());
            let named = own.filter(|(_, sum)| names.contains(&sum.name.as_str()));
            total(named.map(|(_, sum)| sum.took_ns))
        };
        self.ns_where(|item| item.call.as_deref().is_some_and(|call| names.contains(&call))).or_else(took)
    }

    /// What items account for here, nanoseconds; `None` where that is nothing.
    fn ns_where(&self, wanted: impl Fn(&AccountItem) -> bool) -> Option<f64> {
        let (account, sign) = self.account?;
        let of_side = account.items.iter().filter(|item| item.side == self.side && wanted(item));
        total(of_side.map(|item| Some(sign * item.ns?)).map(|ns| ns.filter(|ns| *ns > 0.0)))
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
    fn often(&self) -> impl Iterator<Item = (&CallKind, &CallSum, f64)> {
        self.kinds.iter().filter_map(|(kind, sum)| {
            let more = self.more(kind) - self.for_pieces(kind);
            let certain = self.reference.is_none_or(|there| {
                kind.is_certain(self.cell, Some(sum)) && kind.is_certain(there, self.there.get(kind))
            });
            (certain && more >= OFTEN && more >= 0.05 * sum.count).then_some((kind, sum, more))
        })
    }

    /// How many of a kind a message in pieces takes, where it is told already why: a buffer cuts it, or one side holds the last of them
    /// back.
    fn for_pieces(&self, kind: &CallKind) -> f64 {
        if self.cut && matches!(kind, CallKind::Send | CallKind::Receive | CallKind::Poll) {
            return f64::INFINITY;
        }
        let sides = self.cell.sides.of(self.side);
        let (from, pieces) = match kind {
            CallKind::Send => (self.side, &sides.sends),
            CallKind::Receive | CallKind::Poll => (self.side.other(), &sides.receives),
            _ => return 0.0,
        };
        let weighs = |held: &HeldBackRecord| held.side == from && rules::weighs(held);
        if self.cell.held_back.iter().any(weighs) { pieces.len().saturating_sub(1) as f64 } else { 0.0 }
    }

    fn threads(&self) -> usize {
        self.cell.sides.of(self.side).threads.len()
    }
}

/// The sum of what is known; `None` where nothing is.
fn total(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    values.into_iter().flatten().reduce(|sum, value| sum + value)
}

/// Bytes in a sentence.
fn of_bytes(sum: &CallSum) -> String {
    sum.bytes_each().map_or_else(String::new, |each| format!(" of {}", size_text(each.round() as u64)))
}

/// What a rule recognises, and the names of calls that it tells of.
type NamedCalls = (NamedCause, Vec<String>);

/// The rules. One that would tell of the same in a more general way comes later.
const RULES: &[fn(&ActiveSide<'_>) -> Option<NamedCalls>] = &[
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

/// What the sides of a cell do, by the rules that know it; then what no rule knows.
///
/// `cut` if a buffer that is told already cuts its messages.
pub(super) fn of_cell(facts: &CauseInputs<'_>, cell: &ExplainedCell, cut: bool) -> Vec<NamedCause> {
    let (account, reference) = reference(facts, cell);
    let mut found = Vec::new();
    for side in [PeerRole::Client, PeerRole::Server] {
        let Some(kinds) = by_kind(cell, side) else { continue };
        let there = reference.and_then(|other| by_kind(other, side)).unwrap_or_default();
        let mut doing = ActiveSide {
            cell,
            side,
            cut,
            kinds,
            account,
            reference,
            there,
            found: Vec::new(),
            covered: Vec::new(),
        };
        for rule in RULES {
            if let Some((cause, calls)) = rule(&doing) {
                doing.found.push(cause);
                doing.covered.extend(calls);
            }
        }
        if reference.is_some() {
            let general = [more_calls(&doing), counted(&doing)];
            doing.found.extend(general.into_iter().flatten());
        }
        found.extend(doing.found);
    }
    found
}

/// What a cell is compared with: the other cell asked about, one that is cheaper first, or its twin where it was asked about
/// alone; with the sign that turns the account of the two to what this one does more. What both do is no difference between
/// them.
fn reference<'a>(
    facts: &CauseInputs<'a>,
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
    let twin = || facts.twins.iter().find(|twin| twin.a == cell.id);
    let Some(difference) = of_it().find(dearer).or_else(|| of_it().next()).or_else(twin) else {
        return (None, None);
    };
    if difference.a == cell.id {
        (Some((&difference.account, 1.0)), find(&difference.b))
    } else {
        (Some((&difference.account, -1.0)), find(&difference.a))
    }
}

/// Calls of which there are more, and which no rule tells of.
fn more_calls(doing: &ActiveSide<'_>) -> Vec<NamedCause> {
    let untold = doing.often().filter(|(_, sum, _)| {
        !doing.covered.contains(&sum.name) && !OF_THE_MOMENT.contains(&sum.name.as_str())
    });
    untold
        .map(|(_, sum, more)| {
            let said = format!("makes {} more `{}`{} an operation", count(more), sum.name, of_bytes(sum));
            let ns = doing.ns_of(&[&sum.name]);
            doing.cause(rules::MORE_CALLS, &sum.name, more, ns, said, "see whether the operation needs them")
        })
        .collect()
}

/// Storage and migrations, where no cause tells of them.
fn counted(doing: &ActiveSide<'_>) -> Vec<NamedCause> {
    let mut more = Vec::new();
    let covered =
        [rules::SYNC_WRITES, rules::LOGGING, rules::STORAGE].into_iter().any(|rule| doing.has(rule));
    for (event, verb) in [("disk_bytes_written", "writes"), ("disk_bytes_read", "reads")] {
        let bytes = doing.more_events(event).filter(|bytes| *bytes >= STORAGE_BYTES && !covered);
        let Some(bytes) = bytes else { continue };
        let said = format!("{verb} {} of storage an operation", size_text(bytes.round() as u64));
        more.push(doing.cause(rules::STORAGE, event, bytes, None, said, IN_MEMORY));
    }
    if let Some(moves) = doing.more_events("migrations").filter(|moves| *moves >= OFTEN) {
        let said = format!("moves to another core {} times an operation", count(moves));
        let remedy = "keep the thread on one core (taskset, sched_setaffinity once)";
        let ns = doing.ns_where(|item| item.act == Act::Migrations);
        more.push(doing.cause(rules::MIGRATIONS, "migrations", moves, ns, said, remedy));
    }
    more
}
