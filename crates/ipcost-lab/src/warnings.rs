//! Problems that weaken or bias a result, and what to do about them: the words of every warning of a run.

use std::net::SocketAddr;
use std::time::Duration;

use ipcost_model::units::{self, duration_text, size_text};
use ipcost_model::{
    CellRecord, ContrastRecord, HeldBackRecord, LayoutEffect, LongerRun, Mode, Placement, Point,
};

use crate::layout_effect;
use crate::machine_observer::HeldPorts;
use crate::rules::{self, AppliedRule, nanoseconds};

/// The run was asked to stop.
pub fn interrupted(epochs: u32) -> AppliedRule {
    let found = format!("the run was interrupted; the results use its {epochs} complete epochs");
    AppliedRule::new(rules::INTERRUPTED, found, "")
}

/// The machine was suspended, or the program stopped, in batches.
pub fn suspended(cell: &str, epoch: u32, batches: usize) -> AppliedRule {
    let found = format!(
        "the machine was suspended, or the program stopped, during {batches} {}, first for {cell} in epoch {epoch}; discarded and measured again",
        if batches == 1 { "batch" } else { "batches" }
    );
    AppliedRule::new(rules::SUSPENDED, found, "keep the machine awake")
}

/// The budget ended before some questions were answered; `mixed` if cells ran in two modes that `--placement` separates.
pub fn unresolved(
    open: u32,
    of: u32,
    budget: Duration,
    mixed: bool,
    longer: Option<&LongerRun>,
) -> AppliedRule {
    let found = format!("{open} of {of} questions are still open after {}", duration_text(budget));
    let likely = longer.and_then(|longer| Some((longer, longer.budget_s?)));
    let remedy = match likely {
        _ if mixed => "--placement one-core,two-cores separates the two modes and narrows the intervals most; a larger --budget helps, too".to_owned(),
        Some((LongerRun { open, answers, .. }, budget)) => {
            format!("--budget {budget:.0}s would likely answer {answers} of the {open} contrasts that are open")
        }
        None => "a larger --budget narrows the intervals".to_owned(),
    };
    let in_the_way = longer.and_then(|longer| longer.in_the_way.as_ref());
    let remedy = in_the_way.map_or_else(|| remedy.clone(), |what| format!("{remedy}; in the way: {what}"));
    AppliedRule::new(rules::UNRESOLVED, found, remedy)
}

/// Contrasts that count from an epoch, since the cost of one of their cells changed there.
pub fn regime(contrasts: &[ContrastRecord]) -> Option<AppliedRule> {
    let counted: Vec<(&ContrastRecord, u32)> = contrasts
        .iter()
        .filter(|contrast| contrast.headline)
        .filter_map(|contrast| Some((contrast, contrast.since?)))
        .collect();
    let (first, since) = counted.first()?;
    let others = match counted.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more ratios changed"),
    };
    let opposite = match counted.iter().filter(|(contrast, _)| contrast.changed).count() {
        0 => "",
        _ => "; a ratio that said the opposite before has no verdict",
    };
    let found = format!(
        "a cost changed during the run: for {} over {} only the epochs since epoch {since} count{others}{opposite}",
        first.a, first.b
    );
    Some(AppliedRule::new(rules::REGIME, found, "measure again to see which state lasts"))
}

/// Not even one finite interval.
pub fn no_intervals(epochs: u32, needed: u32) -> AppliedRule {
    let found = format!("{epochs} epochs are too few for an interval, which takes {needed}");
    AppliedRule::new(rules::NO_INTERVALS, found, "give a larger --budget")
}

/// A cell that could not be measured here.
pub fn unavailable(cell: &str, reason: &str) -> AppliedRule {
    AppliedRule::new(rules::UNAVAILABLE, format!("{cell} cannot be measured here: {reason}"), "")
}

/// Epochs of a cell fall into two groups, which `differs` tells apart; `free` if the scheduler places its processes.
pub fn two_modes(cell: &str, [low, high]: &[Mode; 2], differs: &[String], free: bool) -> AppliedRule {
    let found = format!(
        "{cell} has two modes: {} in {} of its {} epochs, {} in {}{}",
        nanoseconds(low.wall_ns_per_op),
        low.epochs,
        low.epochs + high.epochs,
        nanoseconds(high.wall_ns_per_op),
        high.epochs,
        if differs.is_empty() { String::new() } else { format!("; the first has {}", differs.join(" and ")) },
    );
    let remedy = if free {
        "the scheduler may run the pair on one core or on two: compare with --placement one-core,two-cores"
    } else {
        ""
    };
    AppliedRule { is_note: !free, ..AppliedRule::new(rules::TWO_MODES, found, remedy) }
}

/// A cell costs more at some places of its buffers.
pub fn buffer_layout(cell: &str, effect: &LayoutEffect) -> AppliedRule {
    let found = layout_effect::words(effect);
    AppliedRule { found: format!("{cell} {}", found.found), ..found }
}

/// The kernel changed an option's value.
pub fn clamped(cell: &str, option: &str, asked: u64, became: u64) -> AppliedRule {
    let found =
        format!("{cell}: the kernel set {option} to {} instead of {}", size_text(became), size_text(asked));
    AppliedRule::new(rules::CLAMPED_OPTION, found, "")
}

/// The listener's queue was full at times.
pub fn backlog_full(cell: &str, retries: u64) -> AppliedRule {
    let found = format!("{cell}: the listener's queue was full {retries} times and the client retried");
    AppliedRule::new(rules::BACKLOG_FULL, found, "raise option backlog or net.core.somaxconn")
}

/// The kernel dropped or repeated parts of connections.
pub fn connection_trouble(cell: &str, counters: &str) -> AppliedRule {
    let found = format!(
        "{cell}: the kernel dropped or retransmitted segments ({counters}), and a dropped SYN costs a second"
    );
    AppliedRule::new(rules::CONNECTION_TROUBLE, found, "raise option backlog or net.core.somaxconn")
}

/// Batches have a part that does not grow with their operations; `held_back` where Nagle's algorithm makes it.
pub fn fixed_wait(cell: &str, wait_ns: f64, held_back: bool) -> AppliedRule {
    let found = format!(
        "{cell}: every burst takes {} on top of its operations, whatever their number; the cost does not include it{}",
        nanoseconds(wait_ns),
        if held_back {
            ": Nagle's algorithm holds the last segment until the other side sends its delayed acknowledgement"
        } else {
            ""
        }
    );
    let remedy = if held_back { "for short bursts, set tcp_nodelay=true" } else { "" };
    AppliedRule { is_note: !held_back, ..AppliedRule::new(rules::FIXED_WAIT, found, remedy) }
}

/// Sides that hold something back until the other acknowledges, which that one delays, where it is a good part of the time: each once,
/// whatever the placement.
pub fn held_back(cells: &[CellRecord]) -> Vec<AppliedRule> {
    let mut warned: Vec<(&CellRecord, &HeldBackRecord)> = Vec::new();
    let anywhere = |cell: &CellRecord| Point { placement: Placement::Free, ..cell.point.clone() };
    for cell in cells {
        for held in cell.held_back.iter().filter(|held| rules::weighs(held)) {
            let known = warned
                .iter_mut()
                .find(|(known, other)| other.side == held.side && anywhere(known) == anywhere(cell));
            match known {
                Some(known) if known.1.share < held.share => *known = (cell, held),
                Some(_) => {}
                None => warned.push((cell, held)),
            }
        }
    }
    warned.into_iter().map(|(cell, held)| one_held_back(cell, held)).collect()
}

fn one_held_back(cell: &CellRecord, held: &HeldBackRecord) -> AppliedRule {
    let (what, shows) = match &cell.request {
        Some(request) => (format!("{request} over {}", cell.label), "--explain".to_owned()),
        None => (cell.id.clone(), format!("ipcost explain '{}'", cell.id)),
    };
    let found = format!(
        "{what}: {} of {} ({}) are a wait for a delayed acknowledgement, {}. The {} {}",
        nanoseconds(held.ns_per_op),
        nanoseconds(held.ns_per_op / held.share),
        units::percent(held.share),
        rules::one_in(held.waits_per_op),
        held.side,
        rules::holds_back(held.nodelay)
    );
    AppliedRule::new(
        rules::HELD_BACK,
        found,
        format!("{}. Its calls: {shows}", rules::nodelay_remedy(cell.pattern, held.side)),
    )
}

/// A cell costs less than its floor; `free` if the scheduler places its processes.
pub fn below_floor(cell: &str, multiple: f64, free: bool) -> AppliedRule {
    let found = format!(
        "{cell} costs {multiple:.2} × its floor: its processes hand over faster than two that wait on a futex{}",
        if free {
            ", most likely because the scheduler places them differently"
        } else {
            ", so read the multiple as a comparison with a futex, not as the distance from a minimum"
        }
    );
    let remedy = if free { "compare with --placement one-core,two-cores" } else { "" };
    AppliedRule { is_note: !free, ..AppliedRule::new(rules::BELOW_FLOOR, found, remedy) }
}

/// Neighbouring epochs of contrasts resemble each other.
pub fn correlated(a: &str, b: &str, correlation: f64, others: usize) -> AppliedRule {
    let found = format!(
        "the ratio of {a} to {b}{} changed during the run (neighbouring epochs correlate, {correlation:.2}); its interval is wider as a result and describes this run more than the machine",
        and_others(others)
    );
    AppliedRule::new(rules::CORRELATED_EPOCHS, found, "find out what changes, or measure longer")
}

/// Costs rose or fell through the run.
pub fn drift(cell: &str, ratio: f64, others: usize) -> AppliedRule {
    let found = format!(
        "the cost of {cell}{} {} by {:.0} % from the first third of the run to the last; ratios are taken within rounds and hold, but single costs do not: let the machine settle, and measure again",
        and_others(others),
        if ratio >= 1.0 { "rose" } else { "fell" },
        percent(ratio)
    );
    AppliedRule::new(rules::DRIFT, found, "")
}

/// Others cost more or less right after this cell.
pub fn carry_over(cell: &str, ratio: f64) -> AppliedRule {
    let found = format!(
        "cells measured right after {cell} {}: it leaves something behind; the random order spreads that over all cells, but measure {cell} in a run of its own",
        by_how_much(ratio, ["cost", "are"])
    );
    AppliedRule::new(rules::CARRY_OVER, found, "")
}

/// Batches cost more where the scheduler took the core away more often.
pub fn preempted(cell: &str, placement: Placement, ratio: f64) -> AppliedRule {
    let or_pin = if placement == Placement::Free { ", or pin with --placement two-cores" } else { "" };
    let found = format!(
        "{cell} {} in batches with more involuntary switches: stop other work on these cores{or_pin}",
        by_how_much(ratio, ["costs", "is"])
    );
    AppliedRule::new(rules::INVOLUNTARY_SWITCHES, found, "")
}

/// A pipe holds so many bytes, less than pipes do.
pub fn small_pipe(cell: &str, held: u64) -> AppliedRule {
    let found = format!(
        "the pipes of {cell} hold {}: this user has more pages in pipes than fs.pipe-user-pages-soft allows",
        units::size_text(held)
    );
    AppliedRule::new(rules::PIPE_PAGES, found, "ipcost doctor names who holds them")
}

/// The clock was read within timed batches.
pub fn inline_latency() -> AppliedRule {
    let found = "latency was sampled inside the timed batches, so every cost includes reading the clock";
    AppliedRule::new(rules::INLINE_LATENCY, found, "")
}

/// Operations that are timed one by one take hardly longer than the clock does.
pub fn clock_in_cost(cells: &[CellRecord], read_ns: u64) -> Option<AppliedRule> {
    let share = |cell: &CellRecord| {
        let cost = cell.wall_ns_per_op.filter(|_| cell.pace.is_some())?;
        Some(read_ns as f64 / cost.median).filter(|share| *share >= rules::CLOCK_SHARE)
    };
    let shares: Vec<(f64, &str)> =
        cells.iter().filter_map(|cell| Some((share(cell)?, cell.id.as_str()))).collect();
    let (most, first) = shares.iter().copied().max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let found = format!(
        "a reading of the clock, {read_ns} ns, is {} of what an operation of {first}{} takes, and part of it",
        units::percent(most),
        and_others(shares.len() - 1)
    );
    Some(AppliedRule::new(rules::CLOCK_IN_COST, found, "without think the clock is read twice a batch alone"))
}

/// A cell does not do the operations that it is offered.
pub fn overloaded(cell: &CellRecord) -> Option<AppliedRule> {
    let pace = cell.pace.as_ref()?;
    let (offered, achieved) = pace.offered_per_s.zip(pace.achieved_per_s)?;
    // A batch also takes longer where the last of its random arrivals comes late: then nothing is left unsent.
    let is_behind = pace.unsent.is_none_or(|share| share >= 1.0 - rules::CARRIED_SHARE);
    (achieved < offered * rules::CARRIED_SHARE && is_behind).then(|| {
        let found = format!(
            "{} does {} of the {} that it is offered: its queue only grows, so its times say how long its batches were",
            cell.id,
            units::percent(achieved / offered),
            units::rate_text(offered.round() as u64)
        );
        AppliedRule::new(rules::OVERLOADED, found, "offer less, or give more connections (--concurrency)")
    })
}

/// A cell was measured no more, since the local ports to its server would have been held.
pub fn ports_held(cell: &CellRecord, to: SocketAddr, known: HeldPorts) -> AppliedRule {
    let found = format!(
        "{} stopped after {}: of {} local ports to {to}, {} are held by connections that have ended, for a minute each; with more than a quarter of them every connect on this machine takes longer",
        cell.id,
        units::counted(cell.epochs, "epoch"),
        known.of,
        known.held
    );
    AppliedRule::new(
        rules::PORTS_HELD,
        found,
        "what it has measured stands; measure again after a minute, for less time, or give an address of 127.0.0.0/8, whose sources are spread",
    )
}

/// A cell is offered less than was asked for, in batches of so many operations.
pub fn not_offered(cell: &CellRecord, batch_ops: f64) -> Option<AppliedRule> {
    let pace = cell.pace.as_ref()?;
    let (asked, begun) = pace.offered_per_s.zip(pace.achieved_per_s)?;
    // A batch lasts from its begin to the end of its last operation, which begins when it is due.
    let last_s = cell.wall_ns_per_op?.median / 1e9;
    let expected = batch_ops / (batch_ops / asked + last_s);
    let is_behind = pace.unsent.is_some_and(|share| share > 1.0 - rules::CARRIED_SHARE);
    // What random arrivals give or take in all batches together is no reason.
    let by_chance = 3.0 / (cell.ops.max(1) as f64).sqrt();
    (begun < expected * (rules::OFFERED_SHARE - by_chance) && !is_behind).then(|| {
        let found = format!(
            "{} was offered {} of the {} that was asked for: its times are those of a lower rate",
            cell.id,
            units::percent(begun / asked),
            units::rate_text(asked.round() as u64)
        );
        AppliedRule::new(rules::NOT_OFFERED, found, "give longer batches (--batch), or fewer connections")
    })
}

fn and_others(count: usize) -> String {
    if count == 0 { String::new() } else { format!(" (and of {count} more)") }
}

/// `costs 12 % more`, `is 12 % cheaper`; of several, `cost` and `are`.
fn by_how_much(ratio: f64, [costs, is]: [&str; 2]) -> String {
    let percent = percent(ratio);
    if ratio >= 1.0 { format!("{costs} {percent:.0} % more") } else { format!("{is} {percent:.0} % cheaper") }
}

fn percent(ratio: f64) -> f64 {
    (ratio - 1.0).abs() * 100.0
}
