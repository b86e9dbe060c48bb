//! What one cell does more than another, and what of the time between them it takes.
//!
//! Times of calls come from tracing, less what tracing costs; they are long where a call waits. What calls take that only
//! work is too little for that: it is the system time that timed batches show, told of the calls that come with it.

use std::collections::BTreeSet;

use ipcost_lab::system_calls::close;
use ipcost_model::protocol::PeerRole;
use ipcost_model::{CallMode, Estimate};

use super::kinds::{CallKind, CallSum, by_kind};
use crate::explain::{
    Account, AccountItem, Act, Division, ExplainedCell, ExplainedDifference, Known, NamedCause, Part,
    PartDifference,
};

/// Fewer more for an operation are no difference.
const LEAST_MORE: f64 = 0.1;
/// Fewer bytes of storage for an operation are none of its own.
const LEAST_BYTES: f64 = 64.0;
/// Calls as these come with the time of others, and are not told on their own.
const NEVER_SHOWN: [&str; 4] = ["restart_syscall", "rt_sigreturn", "clock_gettime", "getrusage"];
/// A page fault costs about this many times what a short call costs.
const CALLS_PER_FAULT: f64 = 2.0;
/// A move to another core wakes a thread there and lets it run.
const CALLS_PER_MIGRATION: f64 = 20.0;
/// Less of the difference is not told of something, or left unexplained without a word.
const LEAST_SHARE: f64 = 0.1;

/// The account of `a` minus `b`.
pub(super) fn account(
    a: &ExplainedCell,
    b: &ExplainedCell,
    wall_ns: Option<&Estimate>,
    division: Division,
    parts: &[PartDifference],
) -> Account {
    let part = |part: Part| parts.iter().find(|known| known.part == part);
    let of = |wanted: Part| part(wanted).map_or(0.0, |known| known.ns.median);
    let differs = |wanted: Part| part(wanted).is_some_and(|known| known.differs);
    let sides = [
        (PeerRole::Client, Part::ClientUser, Part::ClientSystem),
        (PeerRole::Server, Part::ServerUser, Part::ServerSystem),
    ];
    let mut items = Vec::new();
    for (side, _, _) in &sides {
        items.extend(calls(a, b, *side));
        items.extend(events(a, b, *side));
        items.extend(held_back(a, b, *side));
    }
    let waiting = of(Part::Waiting);
    if division == Division::Turns {
        limit(&mut items, waiting + of(Part::ClientSystem) + of(Part::ServerSystem));
    }
    // Whether it is waiting or work that traced calls took longer for is told by timed batches.
    let waits = division != Division::Turns || waiting.abs() >= 0.5 * sum_ns(&items, |_| true).abs();
    for item in items.iter_mut().filter(|item| item.ns.is_some()) {
        item.known = Some(if waits { Known::Waits } else { Known::Works });
    }
    for (side, user, system) in sides {
        if differs(user) {
            items.push(part_item(side, Act::UserTime, of(user)));
        }
        if differs(system) {
            add_system_time(&mut items, side, of(system));
        }
    }
    let left = waiting - sum_ns(&items, |item| item.known == Some(Known::Waits));
    if differs(Part::Waiting) && left * waiting > 0.0 {
        divide(&mut items, left, Known::Shared, |item| match item.act {
            Act::Switches => item.more,
            _ => 0.0,
        });
    }
    let whole = wall_ns.filter(|_| division == Division::Turns).map(|wall| wall.median);
    // What is nearly nothing of the difference says nothing, unless there are more of it.
    items.retain(|item| {
        item.act != Act::Calls
            || item.more != 0.0
            || whole.zip(item.ns).is_some_and(|(whole, ns)| ns.abs() >= LEAST_SHARE * whole.abs())
    });
    let rest = |items: &[AccountItem]| whole.map(|whole| whole - sum_ns(items, |_| true));
    if let Some((whole, left)) = whole.zip(rest(&items))
        && left * whole > 0.0
        && left.abs() >= LEAST_SHARE * whole.abs()
    {
        give_the_rest(&mut items, left);
    }
    items.sort_by(|a, b| {
        let ns = |item: &AccountItem| item.ns.map_or(0.0, f64::abs);
        ns(b).total_cmp(&ns(a)).then(b.more.abs().total_cmp(&a.more.abs()))
    });
    let unexplained_ns = rest(&items);
    Account { items, unexplained_ns }
}

fn sum_ns(items: &[AccountItem], of: impl Fn(&AccountItem) -> bool) -> f64 {
    items.iter().filter(|item| of(item)).filter_map(|item| item.ns).sum()
}

/// Divides what a side takes longer in the kernel among its calls that only work; an item of its own where there are none.
fn add_system_time(items: &mut Vec<AccountItem>, side: PeerRole, system_ns: f64) {
    let works = |item: &AccountItem| item.side == side && item.known == Some(Known::Works);
    let left = system_ns - sum_ns(items, works);
    let own = |item: &AccountItem| if item.side == side { entries(item) } else { 0.0 };
    if left * system_ns > 0.0 && !divide(items, left, Known::Shared, own) {
        items.push(part_item(side, Act::SystemTime, left));
    }
}

/// Takes from what is unexplained what causes may account for that were named and have no item: less remains, never more.
pub(super) fn settle(
    differences: &mut [ExplainedDifference],
    cells: &[ExplainedCell],
    causes: &[NamedCause],
) {
    let elapsed = |id: &str| {
        let cell = cells.iter().find(|cell| cell.id == id)?;
        cell.wall_ns.map(|wall| wall.median)
    };
    let named = |id: &str, code: &str| -> f64 {
        let of_cell = causes.iter().filter(|cause| cause.cell.as_deref() == Some(id));
        let alike = of_cell.filter(|cause| cause.code == code && cause.ns.is_none());
        alike.map(|cause| cause.weight).sum::<f64>() * elapsed(id).unwrap_or(0.0)
    };
    let codes: BTreeSet<&str> = causes
        .iter()
        .filter(|cause| cause.ns.is_none() && cause.weight >= LEAST_SHARE)
        .map(|cause| cause.code.as_str())
        .collect();
    for difference in differences {
        let Some((rest, wall)) = difference.account.unexplained_ns.zip(difference.wall_ns) else { continue };
        let sign = if wall.median < 0.0 { -1.0 } else { 1.0 };
        let (dear, cheap) = match sign > 0.0 {
            true => (&difference.a, &difference.b),
            false => (&difference.b, &difference.a),
        };
        let more = |code: &&str| (named(dear, code) - named(cheap, code)).max(0.0);
        let accounted: f64 = codes.iter().map(more).sum();
        if rest * sign > 0.0 {
            difference.account.unexplained_ns = Some(sign * (rest * sign - accounted).max(0.0));
        }
    }
}

/// Traced calls may take longer than others do; together they take no more than timed batches show, nanoseconds.
fn limit(items: &mut [AccountItem], most_ns: f64) {
    let measured = sum_ns(items, |_| true);
    if measured * most_ns > 0.0 && measured.abs() > most_ns.abs() {
        let scale = most_ns / measured;
        items.iter_mut().filter_map(|item| item.ns.as_mut()).for_each(|ns| *ns *= scale);
    }
}

fn part_item(side: PeerRole, act: Act, ns: f64) -> AccountItem {
    AccountItem { ns: Some(ns), known: Some(Known::Part), ..AccountItem::new(side, act) }
}

/// The kinds of calls of which one makes more than the other, or takes longer for as many.
fn calls(a: &ExplainedCell, b: &ExplainedCell, side: PeerRole) -> Vec<AccountItem> {
    let (Some(of_a), Some(of_b)) = (by_kind(a, side), by_kind(b, side)) else { return Vec::new() };
    let kinds: BTreeSet<&CallKind> = of_a.keys().chain(of_b.keys()).collect();
    let none = CallSum::default();
    let item = |kind: &CallKind| {
        let (in_a, in_b) = (of_a.get(kind).unwrap_or(&none), of_b.get(kind).unwrap_or(&none));
        let more = in_a.count - in_b.count;
        let dear = if more >= 0.0 { in_a } else { in_b };
        // What a call waits for the other side is that side's time, and told there.
        let own = !kind.waits_for_other() || waits_for_own(dear);
        let took = |sum: &CallSum| sum.took_ns.filter(|_| own).unwrap_or(0.0);
        let is_more = !close(in_a.count, in_b.count) && more.abs() >= LEAST_MORE;
        // More calls do not take less: then it is the tracing that took long.
        let longer = took(in_a) - took(in_b);
        let ns = if is_more && longer * more < 0.0 { 0.0 } else { longer };
        let untold = NEVER_SHOWN.contains(&dear.name.as_str());
        ((is_more || ns != 0.0) && !untold).then(|| AccountItem {
            call: Some(dear.name.clone()),
            on: dear.on,
            more: if is_more { more } else { 0.0 },
            bytes: dear.bytes_each(),
            ns: (ns != 0.0).then_some(ns),
            ..AccountItem::new(side, Act::Calls)
        })
    };
    let certain = |kind: &&CallKind| kind.is_certain(a, of_a.get(kind)) && kind.is_certain(b, of_b.get(kind));
    kinds.into_iter().filter(certain).filter_map(item).collect()
}

/// Whether calls that may wait for the other side wait for something of their own: until their time is over, or for a mutex.
fn waits_for_own(sum: &CallSum) -> bool {
    let mutex = sum.in_manner(CallMode::MutexWait);
    sum.timeouts >= LEAST_MORE || mutex >= LEAST_MORE && mutex >= sum.in_manner(CallMode::WordWait)
}

/// How much longer one of them waits for delayed acknowledgements.
fn held_back(a: &ExplainedCell, b: &ExplainedCell, side: PeerRole) -> Option<AccountItem> {
    let of = |cell: &ExplainedCell| {
        let held = cell.held_back.iter().find(|held| held.side == side);
        held.map_or((0.0, 0.0), |held| (held.waits_per_op, held.ns_per_op))
    };
    let ((in_a, ns_a), (in_b, ns_b)) = (of(a), of(b));
    (ns_a != ns_b).then(|| AccountItem {
        more: in_a - in_b,
        ns: Some(ns_a - ns_b),
        known: Some(Known::Waits),
        ..AccountItem::new(side, Act::HeldBack)
    })
}

/// What was counted of which one has more than the other.
fn events(a: &ExplainedCell, b: &ExplainedCell, side: PeerRole) -> Vec<AccountItem> {
    const EVENTS: [(&str, Act, f64); 4] = [
        ("page_faults", Act::PageFaults, LEAST_MORE),
        ("migrations", Act::Migrations, LEAST_MORE),
        ("disk_bytes_read", Act::StorageRead, LEAST_BYTES),
        ("disk_bytes_written", Act::StorageWritten, LEAST_BYTES),
    ];
    let (of_a, of_b) = (a.sides.of(side), b.sides.of(side));
    let item = |act, a: f64, b: f64, least: f64| {
        let more = a - b;
        (more.abs() >= least && !close(a, b)).then_some(AccountItem { more, ..AccountItem::new(side, act) })
    };
    let event = |(name, act, least): (&str, Act, f64)| {
        item(act, *of_a.events.get(name)?, *of_b.events.get(name)?, least)
    };
    let mut found: Vec<AccountItem> = EVENTS.into_iter().filter_map(event).collect();
    // A thread alone waits more often where the other side is slower, which is no cause.
    let threads = of_a.threads.len().max(of_b.threads.len()) > 1;
    if let Some((a, b)) = of_a.voluntary_switches.zip(of_b.voluntary_switches).filter(|_| threads) {
        found.extend(item(Act::Switches, a, b, LEAST_MORE));
    }
    found
}

/// How much an item weighs where entries to the kernel share their time: in short calls.
fn entries(item: &AccountItem) -> f64 {
    match item.act {
        Act::Calls => item.more,
        Act::PageFaults => CALLS_PER_FAULT * item.more,
        _ => 0.0,
    }
}

/// Divides a time among the items without one that go the same way, by their weights; `false` where there are none.
fn divide(items: &mut [AccountItem], ns: f64, known: Known, weight: impl Fn(&AccountItem) -> f64) -> bool {
    let takes = |item: &AccountItem| item.ns.is_none() && weight(item) * ns.signum() > 0.0;
    let sum: f64 = items.iter().filter(|item| takes(item)).map(&weight).sum();
    for item in items.iter_mut() {
        if takes(item) {
            item.ns = Some(ns * weight(item) / sum);
            item.known = Some(known);
        }
    }
    sum != 0.0
}

/// What is left is told of the only side that does something more without a time of its own.
fn give_the_rest(items: &mut [AccountItem], ns: f64) {
    let weight = |item: &AccountItem| match item.act {
        Act::Migrations => CALLS_PER_MIGRATION * item.more,
        _ => entries(item),
    };
    let takes = |item: &&AccountItem| item.ns.is_none() && weight(item) * ns.signum() > 0.0;
    let mut sides = items.iter().filter(takes).map(|item| item.side);
    let first = sides.next();
    if sides.all(|side| Some(side) == first) {
        divide(items, ns, Known::Rest, weight);
    }
}
