//! Causes that have a name, recognised from evidence: facts in, causes out.
//!
//! A cause is told only where the figures show both that it is there and that it matters. Each has a test with facts
//! that plant it; those that can be planted in a real run have one there, too (`crates/ipcost/tests/explain.rs`).

use std::collections::BTreeMap;

use ipcost_model::doctor::NetworkFacts;
use ipcost_model::protocol::PeerRole;
use ipcost_model::units::size_text;
use ipcost_model::{
    CallRecord, Division, ExplainedCell, ExplainedDifference, Incidents, NamedCause, Part, Pattern,
    Placement, Purpose,
};
use ipcost_sys::firewall::Firewall;
use ipcost_sys::idle::IdleState;

use crate::causes as shared;
use crate::strace::Direction;
use crate::surroundings::Observed;

/// A delayed acknowledgement waits for so long, nanoseconds (`TCP_DELACK_MIN` of Linux: 40 ms).
const DELAY_NS: f64 = 40e6;
/// What takes up less than this share of the elapsed time is not worth a name.
const LEAST_SHARE: f64 = 0.1;
/// A side that sleeps once in so many moves sleeps often.
const MOVES_PER_SLEEP: f64 = 8.0;
/// A buffer that holds no more messages than this is small.
const FEW_MESSAGES: f64 = 16.0;
/// Buffers of pipes are this large unless they are set, bytes, and those of sockets larger.
const USUAL_BYTES: f64 = 65_536.0;
/// Two processes that take so much of what others leave of a core fill it.
const FILLED: f64 = 0.7;
/// Reads as full as this were too small.
const FULL: f64 = 0.9;
/// Reads this much smaller than a message are small.
const SMALL_READS: f64 = 4.0;
/// The share of ports in TIME_WAIT at which they begin to run out.
const PORTS_TAKEN: f64 = 0.8;
/// The share of the processors' time that others may take.
const NEIGHBOUR_SHARE: f64 = 0.1;
/// Leaving an idle state that takes longer than this is a wake-up from deep idle, microseconds.
const DEEP_US: u64 = 10;
/// Clock ticks a second in which the kernel counts processor time (`sysconf(_SC_CLK_TCK)`, 100 on Linux).
const TICKS_PER_S: f64 = 100.0;
/// Words in which runtimes tell that no port was left (`EADDRNOTAVAIL`).
const NO_PORT: [&str; 3] = ["no local port is left", "EADDRNOTAVAIL", "annot assign requested address"];

/// Everything that causes are recognised from.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// The cells, as in the explanation.
    pub cells: &'a [ExplainedCell],
    /// What happened beside their batches, by cell.
    pub incidents: &'a [Incidents],
    /// What options became, by cell.
    pub buffers: &'a [Option<u64>],
    /// The differences that were asked about.
    pub differences: &'a [ExplainedDifference],
    /// Asked cells against their native twins.
    pub twins: &'a [ExplainedDifference],
    /// Operations of all timed batches and lead-ins together.
    pub ops: u64,
    /// What the machine did during the timed pass.
    pub observed: &'a Observed,
    /// Processors that the program may use, physical cores.
    pub cores: usize,
    /// How often idle states were entered during the timed pass.
    pub idle: &'a [IdleState],
    /// What packets of loopback go through.
    pub firewall: &'a Firewall,
    /// Ports, TIME_WAIT and tables of the network, right after the timed pass.
    pub network: &'a NetworkFacts,
    /// What ended the timed pass early.
    pub failure: Option<&'a str>,
}

/// What is recognised, what weighs most first.
pub fn causes(facts: &Facts<'_>) -> Vec<NamedCause> {
    let mut found: Vec<NamedCause> = Vec::new();
    for (index, cell) in facts.cells.iter().enumerate() {
        if cell.purpose != Purpose::Asked {
            continue;
        }
        found.extend(nagle(cell));
        found.extend(small_buffer(cell, facts.buffers.get(index).copied().flatten()));
        found.extend(small_reads(cell));
        found.extend(facts.incidents.get(index).and_then(|incidents| backlog(cell, incidents)));
        found.extend(ports(cell, facts.network, facts.failure));
        found.extend(name_resolution(cell));
        found.extend(one_core(cell, facts.cores, others(facts.observed).unwrap_or(0.0)));
        found.extend(idle_wakeups(cell, facts.idle, facts.ops));
        found.extend(firewall(cell, facts.firewall, facts.network));
    }
    found.extend(facts.twins.iter().filter_map(|twin| runtime(facts, twin)));
    found.extend(facts.differences.iter().filter_map(|difference| hand_over(facts, difference)));
    found.extend(of_the_machine(facts.observed));
    found.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    found
}

fn cause(code: &str, cell: &ExplainedCell, weight: f64, sentence: String, remedy: &str) -> NamedCause {
    NamedCause {
        code: code.to_owned(),
        cell: Some(cell.id.clone()),
        sentence: format!("{}: {sentence}", cell.label),
        remedy: remedy.to_owned(),
        weight: weight.clamp(0.0, 1.0),
    }
}

fn wall_ns(cell: &ExplainedCell) -> Option<f64> {
    cell.wall_ns.map(|estimate| estimate.median)
}

/// The share of the elapsed time in which not even the busier side runs.
fn idle_share(cell: &ExplainedCell) -> Option<f64> {
    let busy = cell.busy?;
    Some(match cell.division {
        Division::Turns => 1.0 - busy.client - busy.server,
        _ => 1.0 - busy.client.max(busy.server),
    })
}

/// Nagle's algorithm holds a small segment back until the last one is acknowledged, and the receiver delays that.
fn nagle(cell: &ExplainedCell) -> Option<NamedCause> {
    let delayed = *cell.network.get("delayed_acknowledgements")?;
    let share = delayed * DELAY_NS / wall_ns(cell)?;
    let held = cell.options.bool("tcp_nodelay") == Some(false);
    let waits = idle_share(cell)? >= LEAST_SHARE && share >= LEAST_SHARE;
    (held && waits).then(|| {
        let sentence = format!(
            "Nagle's algorithm waits for acknowledgements that the other side delays by about 40 ms: {} of them an \
             operation, while neither side runs for {} of the time",
            count(delayed),
            percent(idle_share(cell).unwrap_or_default())
        );
        cause("nagle", cell, share, sentence, "set TCP_NODELAY (tcp_nodelay=true), or send each message with one call")
    })
}

/// A side that fills the buffer sleeps until the other has made room.
fn small_buffer(cell: &ExplainedCell, buffer_bytes: Option<u64>) -> Option<NamedCause> {
    let sending = |side: PeerRole| {
        let evidence = cell.sides.of(side);
        let calls = evidence.system_calls.as_deref()?;
        let sleeps = evidence.voluntary_switches? + failures(calls, Direction::Write, "EAGAIN");
        Some((side, moves(calls, Direction::Write), sleeps))
    };
    let (side, writes, sleeps) = match cell.pattern {
        // What a stream's server writes goes somewhere else.
        Pattern::Stream => sending(PeerRole::Client)?,
        _ => [sending(PeerRole::Client)?, sending(PeerRole::Server)?]
            .into_iter()
            .max_by(|a, b| a.2.total_cmp(&b.2))?,
    };
    let message = cell.size.max(cell.reply) as f64;
    let set = ["pipe_size", "so_sndbuf", "so_rcvbuf"].iter().any(|name| cell.options.int(name).is_some());
    let few = match buffer_bytes.map(|bytes| bytes as f64) {
        // Not even one message fits.
        Some(bytes) if bytes < message => true,
        // A few fit, and yet nearly every write waits; or somebody made it smaller than it usually is.
        Some(bytes) => {
            (bytes <= FEW_MESSAGES * message && sleeps >= FULL * writes.count) || (set && bytes < USUAL_BYTES)
        }
        None => writes.partial > LEAST_SHARE,
    };
    // In a round trip a side sleeps once since it waits for the answer.
    let expected = if cell.pattern == Pattern::Stream { 0.0 } else { 1.5 };
    let often = sleeps > expected && sleeps - expected >= writes.count / MOVES_PER_SLEEP;
    (often && few && writes.count > 0.0).then(|| {
        let size = buffer_bytes.map_or_else(String::new, |bytes| format!(" of {}", size_text(bytes)));
        let sentence = format!(
            "the buffer{size} is full so often that the {side} sleeps {} times an operation of {}, with {} writes",
            count(sleeps),
            size_text(message as u64),
            count(writes.count)
        );
        let remedy = "enlarge it: pipe_size for pipes and FIFOs (more than fs.pipe-max-size takes root), so_sndbuf and so_rcvbuf for sockets";
        let waiting = 1.0 - cell.busy.map_or(0.0, |busy| *busy.of(side));
        cause("small-buffer", cell, waiting.max(LEAST_SHARE), sentence, remedy)
    })
}

/// The receiver asks for much less at a time than is sent.
fn small_reads(cell: &ExplainedCell) -> Option<NamedCause> {
    let server = moves(cell.sides.server.system_calls.as_deref()?, Direction::Read);
    let client = moves(cell.sides.client.system_calls.as_deref()?, Direction::Write);
    let (read, written) = (server.bytes / server.count, client.bytes / client.count);
    let asked = server.asked / server.count;
    let small =
        server.count > 0.0 && client.count > 0.0 && written / read >= SMALL_READS && read >= FULL * asked;
    let share = cell.busy.map_or(LEAST_SHARE, |busy| busy.server);
    small.then(|| {
        let sentence = format!(
            "the server reads {} at a time and gets as much nearly every time, while the client writes {}: {} reads for \
             each write",
            size_text(asked.round() as u64),
            size_text(written.round() as u64),
            count(server.count / client.count)
        );
        cause("small-reads", cell, share, sentence, "read into a larger buffer (recv_buffer)")
    })
}

/// The listener's queue is full.
fn backlog(cell: &ExplainedCell, incidents: &Incidents) -> Option<NamedCause> {
    let mut seen: Vec<String> =
        incidents.troubles.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if incidents.retries > 0 {
        seen.push(format!("{} connections were tried again", incidents.retries));
    }
    (!seen.is_empty()).then(|| {
        let sentence = format!(
            "the listener's queue was full ({}); a dropped SYN costs its client a second",
            seen.join(", ")
        );
        let remedy = "raise the backlog that the server listens with (option backlog) and net.core.somaxconn";
        cause("backlog", cell, idle_share(cell).unwrap_or(LEAST_SHARE).max(LEAST_SHARE), sentence, remedy)
    })
}

/// Local ports run out.
fn ports(cell: &ExplainedCell, network: &NetworkFacts, failure: Option<&str>) -> Option<NamedCause> {
    let range = network.ip_local_port_range.map(|[first, last]| (last + 1).saturating_sub(first));
    let ports = range.zip(network.time_wait);
    if cell.pattern != Pattern::Connect || !super::uses_tcp(&cell.transport) {
        return None;
    }
    let refused: f64 = ["client", "server"]
        .iter()
        .zip([&cell.sides.client, &cell.sides.server])
        .filter_map(|(_, side)| side.system_calls.as_ref())
        .flatten()
        .filter_map(|call| call.failures.get("EADDRNOTAVAIL"))
        .sum();
    let failed = failure.is_some_and(|text| NO_PORT.iter().any(|words| text.contains(words)));
    let taken = ports.filter(|(range, waiting)| *waiting as f64 > PORTS_TAKEN * *range as f64);
    let mut seen = Vec::new();
    if refused > 0.0 {
        seen.push(format!("{} attempts an operation found no free port (EADDRNOTAVAIL)", count(refused)));
    }
    if failed {
        seen.push("the run ended because no local port was left".to_owned());
    }
    if let Some((range, waiting)) = ports.filter(|_| taken.is_some() || failed || refused > 0.0) {
        seen.push(format!("{waiting} connections are in TIME_WAIT, and a source address has {range} ports"));
    }
    // With sources all over loopback, many in TIME_WAIT are no harm as long as none is refused.
    let spread = cell.options.bool("spread_sources") != Some(false) && !failed && refused == 0.0;
    (!seen.is_empty() && !spread).then(|| {
        let remedy = "let the server close first (closes_first=server), keep connections open, widen net.ipv4.ip_local_port_range, or set net.ipv4.tcp_tw_reuse=1";
        cause("ports", cell, if failed { 1.0 } else { LEAST_SHARE + refused }, seen.join("; "), remedy)
    })
}

/// An address is looked up for every operation.
fn name_resolution(cell: &ExplainedCell) -> Option<NamedCause> {
    let lookups: BTreeMap<&String, f64> = [&cell.sides.client, &cell.sides.server]
        .into_iter()
        .flat_map(|side| side.lookups.iter())
        .filter(|(_, rate)| **rate > 0.2)
        .fold(BTreeMap::new(), |mut all, (what, rate)| {
            *all.entry(what).or_default() += rate;
            all
        });
    let seen: Vec<String> = lookups.iter().map(|(what, rate)| format!("{what} {}", count(*rate))).collect();
    (!seen.is_empty()).then(|| {
        let calls = |side: &ipcost_model::SideEvidence| {
            side.system_calls.as_ref().map_or(0.0, |calls| calls.iter().map(|call| call.count).sum())
        };
        let all: f64 = calls(&cell.sides.client) + calls(&cell.sides.server);
        let sentence = format!(
            "a name is looked up for every operation ({}; {} system calls an operation in all)",
            seen.join(", "),
            count(all)
        );
        let part = |wanted| cell.parts.iter().find(|part| part.part == wanted).map_or(0.0, |part| part.share);
        let weight = (part(Part::ClientUser) + part(Part::ClientSystem)).max(LEAST_SHARE);
        cause("name-resolution", cell, weight, sentence, "resolve the name once, or connect to an address")
    })
}

/// The peer does more of its own than the native one does in the same cell.
fn runtime(facts: &Facts<'_>, twin: &ExplainedDifference) -> Option<NamedCause> {
    let cell = facts.cells.iter().find(|cell| cell.id == twin.a)?;
    let wall = wall_ns(cell)?;
    let own: Vec<_> = twin
        .parts
        .iter()
        .filter(|part| part.differs && part.ns.median > 0.0)
        .filter(|part| matches!(part.part, Part::ClientUser | Part::ServerUser))
        .collect();
    let more: f64 = own.iter().map(|part| part.ns.median).sum();
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
        cause("runtime", cell, share, sentence, "the transport is not to blame: profile the program, or do less of its own work for each message")
    })
}

/// Both processes are on one core where two are free.
fn one_core(cell: &ExplainedCell, cores: usize, others: f64) -> Option<NamedCause> {
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
        let remedy = "let them run apart: placement=apart, or no pinning at all";
        cause("one-core", cell, busy.client.min(busy.server), sentence, remedy)
    })
}

/// The same exchange waits longer across cores than on one.
fn hand_over(facts: &Facts<'_>, difference: &ExplainedDifference) -> Option<NamedCause> {
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
        cause("hand-over", across, share, sentence, "keep both on one core where they take turns (placement=together), or let the receiver spin")
    })
}

/// Cores sleep deeply between operations and take long to wake.
fn idle_wakeups(cell: &ExplainedCell, idle: &[IdleState], ops: u64) -> Option<NamedCause> {
    let waiting = cell.parts.iter().find(|part| part.part == Part::Waiting)?;
    let deep: Vec<&IdleState> =
        idle.iter().filter(|state| state.exit_us >= DEEP_US && state.entered > 0).collect();
    let per_op = |state: &&IdleState| state.entered as f64 / ops.max(1) as f64;
    let entered: f64 = deep.iter().map(per_op).sum();
    let exit_ns: f64 = deep.iter().map(|state| per_op(state) * state.exit_us as f64 * 1e3).sum();
    let share = (exit_ns / wall_ns(cell)?).min(waiting.share);
    (entered >= 0.2 && share >= LEAST_SHARE).then(|| {
        let names: Vec<String> = deep
            .iter()
            .map(|state| format!("{} ({} µs to leave) {}", state.name, state.exit_us, count(per_op(state))))
            .collect();
        let sentence = format!(
            "the processors sleep deeply while they wait: {} an operation over all cells of this run; {} of the time is waiting",
            names.join(", "),
            percent(waiting.share)
        );
        let remedy = "forbid deep idle states while it matters (/dev/cpu_dma_latency, or cpupower idle-set)";
        cause("idle-wakeups", cell, share, sentence, remedy)
    })
}

/// Packets of loopback go through rules, or their connections are tracked.
fn firewall(cell: &ExplainedCell, firewall: &Firewall, network: &NetworkFacts) -> Option<NamedCause> {
    if !super::uses_tcp(&cell.transport) {
        return None;
    }
    let rules = firewall.rules.unwrap_or(0);
    let tracked = firewall.tracked.unwrap_or(0);
    let mut seen = Vec::new();
    if rules > 0 {
        seen.push(format!("{rules} rules of nftables stand in chains that packets go through"));
    }
    if let Some(tables) = network.packet_tables.as_ref().filter(|tables| !tables.is_empty()) {
        seen.push(format!("iptables has loaded {}", tables.join(", ")));
    }
    if tracked > 0 {
        seen.push(format!("{tracked} connections of loopback are tracked"));
    }
    (!seen.is_empty()).then(|| {
        let sentence = format!("every packet, even of loopback, meets the firewall: {}", seen.join("; "));
        let remedy = "accept loopback first (iif lo accept), and do not track it (notrack in a raw chain); or use a Unix socket, which packets never meet";
        cause("firewall", cell, LEAST_SHARE, sentence, remedy)
    })
}

/// Quotas, the hypervisor, neighbours.
fn of_the_machine(observed: &Observed) -> Vec<NamedCause> {
    let mut found = Vec::new();
    let mut tell = |code: &str, weight: f64, cause: shared::Cause, more: &str| {
        found.push(NamedCause {
            code: code.to_owned(),
            cell: None,
            sentence: format!("{}{more}", cause.found),
            remedy: cause.advice,
            weight: weight.clamp(0.0, 1.0),
        });
    };
    if let Some(throttling) = observed.throttling.filter(|throttling| throttling.times > 0) {
        let cores = throttling.cores.unwrap_or_default();
        tell("quota", 0.9, shared::quota(cores, throttling.times, throttling.time), "");
    }
    let Some(times) = observed.processors.filter(|times| times.total > 0) else { return found };
    let stolen = times.stolen as f64 / times.total as f64;
    if stolen > shared::STEAL_SHARE {
        tell("steal", stolen, shared::steal(stolen), "");
    }
    let others = others(observed).unwrap_or(0.0);
    if others > NEIGHBOUR_SHARE {
        // A process that took but little of it is not to be blamed.
        let busiest =
            observed.busiest.as_ref().filter(|busy| busy.ticks as f64 > others * times.total as f64 / 4.0);
        let whom = busiest.map_or_else(
            || "none of it by a process that stood out".to_owned(),
            |busy| shared::culprit(&busy.name, busy.id),
        );
        tell("neighbour", others, shared::neighbour(others), &format!(", {whom}"));
    }
    found
}

/// The share of the processors' time that others took.
fn others(observed: &Observed) -> Option<f64> {
    let times = observed.processors.filter(|times| times.total > 0)?;
    let own = observed.own_cpu.as_secs_f64() * TICKS_PER_S;
    Some(((times.busy as f64 - own) / times.total as f64).clamp(0.0, 1.0))
}

/// What calls of one direction move for an operation.
#[derive(Debug, Clone, Copy, Default)]
struct Moves {
    count: f64,
    bytes: f64,
    asked: f64,
    partial: f64,
}

fn moves(calls: &[CallRecord], direction: Direction) -> Moves {
    let matching = calls.iter().filter(|call| Direction::of(&call.name) == Some(direction));
    matching.fold(Moves::default(), |sum, call| Moves {
        count: sum.count + call.count - call.failures.values().sum::<f64>(),
        bytes: sum.bytes + call.moved.unwrap_or(0.0),
        asked: sum.asked + call.asked.unwrap_or(0.0),
        partial: sum.partial + call.partial,
    })
}

fn failures(calls: &[CallRecord], direction: Direction, error: &str) -> f64 {
    let matching = calls.iter().filter(|call| Direction::of(&call.name) == Some(direction));
    matching.filter_map(|call| call.failures.get(error)).sum()
}

/// A number for a sentence.
fn count(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 1.0 => format!("{value:.1}"),
        value if value >= 0.01 => format!("{value:.2}"),
        value => format!("{value:.5}"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn nanoseconds(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
        ns => format!("{:.1} ms", ns / 1e6),
    }
}

#[cfg(test)]
#[path = "causes_tests.rs"]
mod tests;
