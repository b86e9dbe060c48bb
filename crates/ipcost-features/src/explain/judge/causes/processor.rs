//! What processors do: a runtime's own work, sharing a core, handing over, waking up.

use ipcost_model::Placement;
use ipcost_model::protocol::PeerRole;
use ipcost_model::units::percent;
use ipcost_sys::idle::IdleState;

use ipcost_lab::rules;

use super::{CauseInputs, LEAST_SHARE, cause, count, nanoseconds, wall_ns};
use crate::explain::{AccountItem, Act, Division, ExplainedCell, ExplainedDifference, NamedCause, Part};

/// Two processes that take so much of what others leave of a core fill it.
const FILLED: f64 = 0.7;
/// What a call costs in user time beside its work in the kernel, nanoseconds: the instructions around it, and what the
/// clock that tells user from system time mistakes for it at the border.
const USER_NS_PER_CALL: f64 = 100.0;
/// The same of a page fault.
const USER_NS_PER_FAULT: f64 = 150.0;
/// Leaving an idle state that takes longer than this is a wake-up from deep idle, microseconds.
const DEEP_US: u64 = 10;
/// A wake from rest that takes this many times as long as another is one from idle.
const SLOWER: f64 = 2.0;
/// What happens less often for an operation is not its habit.
const OFTEN: f64 = 0.2;

/// Two cells differ only in whether a side's descriptors are shared among threads, and its calls cost more for it.
pub(super) fn descriptor_table(
    facts: &CauseInputs<'_>,
    difference: &ExplainedDifference,
) -> Option<NamedCause> {
    const NAME: &str = "descriptor_table";
    let cell = |id: &str| facts.cells.iter().find(|cell| cell.id == *id);
    let (a, b) = (cell(&difference.a)?, cell(&difference.b)?);
    let shared = |cell: &ExplainedCell| {
        let of = |side: PeerRole| cell.sides.of(side).table_sharers.is_some_and(|sharers| sharers > 1);
        of(PeerRole::Client) || of(PeerRole::Server)
    };
    let others = |cell: &ExplainedCell| {
        let options = cell.options.iter().filter(|(name, _)| name.spec().name != NAME);
        let options: Vec<_> = options.map(|(name, value)| (name, value.clone())).collect();
        let work = (cell.pattern, cell.transport.clone(), cell.size, cell.reply, cell.concurrency);
        (work, cell.placement, cell.client.clone(), cell.server.clone(), options)
    };
    if shared(a) == shared(b) || others(a) != others(b) {
        return None;
    }
    let (cell, sign) = if shared(a) { (a, 1.0) } else { (b, -1.0) };
    let more: f64 = difference
        .parts
        .iter()
        .filter(|part| matches!(part.part, Part::ClientSystem | Part::ServerSystem))
        .map(|part| sign * part.ns.median)
        .sum();
    let elapsed = sign * difference.wall_ns.filter(|_| difference.differs)?.median;
    if elapsed <= 0.0 || more <= 0.0 {
        return None;
    }
    let sharers = |side: PeerRole| cell.sides.of(side).table_sharers.unwrap_or(1);
    let sentence = format!(
        "threads share a table of descriptors (client {}, server {}), so the kernel counts references at every call on \
         one: {} more of the system's time and {} more elapsed than with a table for each",
        sharers(PeerRole::Client),
        sharers(PeerRole::Server),
        nanoseconds(more),
        nanoseconds(elapsed),
    );
    let remedy = "give each thread that does the calls a table of its own (unshare(CLONE_FILES) once its descriptors \
                  are open), use processes, or descriptors registered with io_uring";
    Some(cause(rules::DESCRIPTOR_TABLE, cell, elapsed / wall_ns(cell)?, sentence, remedy))
}

/// The peer does more of its own than the native one does in the same cell.
pub(super) fn runtime(facts: &CauseInputs<'_>, twin: &ExplainedDifference) -> Option<NamedCause> {
    let cell = facts.cells.iter().find(|cell| cell.id == twin.a)?;
    let wall = wall_ns(cell)?;
    let own: Vec<_> = twin
        .parts
        .iter()
        .filter(|part| part.differs && part.ns.median > 0.0)
        .filter(|part| matches!(part.part, Part::ClientUser | Part::ServerUser))
        .collect();
    let more: f64 = own.iter().map(|part| part.ns.median - entering_ns(twin, part.part)).sum();
    let wall_more = twin.wall_ns.filter(|_| twin.differs).map(|wall| wall.median)?;
    let share = more / wall;
    (share >= LEAST_SHARE && wall_more > 0.0 && !own.is_empty()).then(|| {
        let name = |part: Part| if part == Part::ClientUser { &cell.client } else { &cell.server };
        let mut names: Vec<&str> = own.iter().map(|part| name(part.part).as_str()).collect();
        names.dedup();
        let sentence = format!(
            "{} takes {} more user time an operation than the native peer in the same cell, which is {} of what elapses",
            names.join(" and "),
            nanoseconds(more),
            percent(share)
        );
        cause(rules::RUNTIME, cell, share, sentence, "the transport is not to blame: profile the program, or do less of its own work for each message")
    })
}

/// User time, nanoseconds, that goes with entering the kernel more often on the side of a part: that is no work of its own.
fn entering_ns(twin: &ExplainedDifference, part: Part) -> f64 {
    let side = if part == Part::ClientUser { PeerRole::Client } else { PeerRole::Server };
    let each = |item: &AccountItem| match item.act {
        Act::Calls => USER_NS_PER_CALL * item.more.max(0.0),
        Act::PageFaults => USER_NS_PER_FAULT * item.more.max(0.0),
        _ => 0.0,
    };
    twin.account.items.iter().filter(|item| item.side == side).map(each).sum()
}

/// Both processes are on one core where two are free.
pub(super) fn one_core(cell: &ExplainedCell, cores: usize, others: f64) -> Option<NamedCause> {
    let busy = cell.busy?;
    let together = cell.placement == Placement::Together;
    let overlapping = cell.division != Division::Turns;
    // Each could run while the other does; together they fill what others leave of the core.
    let both = busy.client + busy.server;
    let fills = both >= FILLED * (1.0 - others) && busy.client.min(busy.server) >= LEAST_SHARE * both;
    (together && overlapping && fills && cores > 1).then(|| {
        let sentence = format!(
            "both processes share one core, which they fill ({} and {} of the time), while {} more are free; they cannot work at once",
            percent(busy.client),
            percent(busy.server),
            cores - 1
        );
        let remedy = "let them run apart: placement=two-cores, or no pinning at all";
        cause(rules::ONE_CORE, cell, busy.client.min(busy.server), sentence, remedy)
    })
}

/// The same exchange waits longer across cores than on one.
pub(super) fn hand_over(facts: &CauseInputs<'_>, difference: &ExplainedDifference) -> Option<NamedCause> {
    let find = |id: &str| facts.cells.iter().find(|cell| cell.id == id);
    let (a, b) = (find(&difference.a)?, find(&difference.b)?);
    let placed = |cell: &ExplainedCell| cell.placement == Placement::Together;
    if placed(a) == placed(b) || a.transport != b.transport || difference.division != Division::Turns {
        return None;
    }
    let (across, sign) = if placed(b) { (a, 1.0) } else { (b, -1.0) };
    let waiting = difference.parts.iter().find(|part| part.part == Part::Waiting && part.differs)?;
    let more = waiting.ns.median * sign;
    let share = more / wall_ns(across)?;
    (difference.differs && share >= LEAST_SHARE).then(|| {
        let sentence = format!(
            "handing over from one core to another costs {} of waiting an operation: the other core has to be woken",
            nanoseconds(more)
        );
        cause(rules::HAND_OVER, across, share, sentence, "keep both on one core where they take turns (placement=one-core), or let the receiver spin")
    })
}

/// Cores sleep between operations and take long to wake: measured where the cell has two, otherwise by the states that the
/// kernel tells of.
pub(super) fn idle_wakeups(cell: &ExplainedCell, idle: &[IdleState], ops: u64) -> Option<NamedCause> {
    let waiting = cell.parts.iter().find(|part| part.part == Part::Waiting)?;
    let wall = wall_ns(cell)?;
    let (sentence, ns) = measured_wakes(cell).or_else(|| wakes_in_words(idle, ops))?;
    let share = (ns / wall).min(waiting.share);
    (share >= LEAST_SHARE).then(|| {
        let sentence = format!("{sentence}; {} of the time is waiting", percent(waiting.share));
        let remedy = "keep both on one core where they take turns (placement=one-core), let the receiver spin, or forbid deep idle states while it matters (/dev/cpu_dma_latency, or cpupower idle-set)";
        let found = cause(rules::IDLE_WAKEUPS, cell, share, sentence, remedy);
        NamedCause { ns: Some(share * wall), ..found }
    })
}

/// What a core that rested as long as this cell's takes more to wake than one that is awake.
fn measured_wakes(cell: &ExplainedCell) -> Option<(String, f64)> {
    let wake = cell.wake.as_ref()?;
    let slower = wake.rested_ns >= SLOWER * wake.awake_ns && wake.rested_ns >= DEEP_US as f64 * 1e3;
    let switches = |side: PeerRole| cell.sides.of(side).voluntary_switches.unwrap_or(0.0);
    // Who waits in a call of its own wakes, too, but not by the other side.
    let wakes = (switches(PeerRole::Client) + switches(PeerRole::Server)).min(2.0);
    let by = wake.driver.as_ref().map_or_else(String::new, |driver| format!(" (idle driver {driver})"));
    (slower && wakes >= OFTEN).then(|| {
        let sentence = format!(
            "a core that has rested for {} takes {} to wake, and {} while it is awake{by}; {} wakes an operation",
            nanoseconds(wake.rest_ns),
            nanoseconds(wake.rested_ns),
            nanoseconds(wake.awake_ns),
            count(wakes)
        );
        (sentence, wakes * (wake.rested_ns - wake.awake_ns))
    })
}

fn wakes_in_words(idle: &[IdleState], ops: u64) -> Option<(String, f64)> {
    let deep: Vec<&IdleState> =
        idle.iter().filter(|state| state.exit_us >= DEEP_US && state.entered > 0).collect();
    let per_op = |state: &&IdleState| state.entered as f64 / ops.max(1) as f64;
    let entered: f64 = deep.iter().map(per_op).sum();
    let exit_ns: f64 = deep.iter().map(|state| per_op(state) * state.exit_us as f64 * 1e3).sum();
    (entered >= OFTEN).then(|| {
        let names: Vec<String> = deep
            .iter()
            .map(|state| format!("{} ({} µs to leave) {}", state.name, state.exit_us, count(per_op(state))))
            .collect();
        let sentence = format!(
            "the processors sleep deeply while they wait: {} an operation over all cells of this run",
            names.join(", ")
        );
        (sentence, exit_ns)
    })
}
