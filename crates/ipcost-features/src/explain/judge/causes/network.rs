//! What the network does to connections and segments, and names that have to be found first.

use ipcost_lab::bench::DELAYED_ACK_NS;
use ipcost_model::facts::NetworkFacts;
use ipcost_model::units::{percent, size_text};
use ipcost_model::{HeldBackRecord, Incidents, NATIVE, Pattern, Warning, and_joined};
use ipcost_sys::firewall::Firewall;
use ipcost_sys::transport::uses_tcp;

use ipcost_lab::rules;

use super::{LEAST_SHARE, SLIGHT, cause, count, idle_share, nanoseconds};
use crate::explain::{ExplainedCell, NamedCause};

const DELAY_NS: f64 = DELAYED_ACK_NS as f64;
/// The share of ports in TIME_WAIT at which they begin to run out.
const PORTS_TAKEN: f64 = 0.8;
/// How long a connection stays in TIME_WAIT, seconds (`TCP_TIMEWAIT_LEN` of Linux).
const TIME_WAIT_S: f64 = 60.0;
/// Fewer are not worth a word.
pub(super) const MANY_IN_TIME_WAIT: u64 = 10_000;
/// Words in which runtimes tell that no port was left (`EADDRNOTAVAIL`).
const NO_PORT: [&str; 3] = ["no local port is left", "EADDRNOTAVAIL", "annot assign requested address"];

/// Less than a segment that waits until the other side acknowledges, which it delays.
pub(super) fn nagle(cell: &ExplainedCell) -> Vec<NamedCause> {
    let weighing = cell.held_back.iter().filter(|held| rules::weighs(held));
    let mut found: Vec<NamedCause> = weighing.map(|held| held_back(cell, held)).collect();
    if found.is_empty() {
        found.extend(end_of_burst(cell));
    }
    found
}

/// What one side holds back, with the calls that it sends a message by.
fn held_back(cell: &ExplainedCell, held: &HeldBackRecord) -> NamedCause {
    let (side, other) = (held.side, held.side.other());
    let message = rules::message_of(cell.pattern, side);
    let listed = |calls: &[u64]| {
        let bytes: Vec<String> = calls.iter().map(|bytes| size_text(*bytes)).collect();
        and_joined(&bytes)
    };
    // Where its own calls are not seen, those of the other side show in which pieces its messages come.
    let calls = match (cell.sides.of(side).sends.as_slice(), cell.sides.of(other).receives.as_slice()) {
        (calls @ [_, _, ..], _) => format!("sends a {message} in {} calls ({})", calls.len(), listed(calls)),
        (_, calls @ [_, _, ..]) => format!("sends a {message} in pieces ({})", listed(calls)),
        _ => format!("sends a {message} in pieces"),
    };
    let option = match held.nodelay {
        Some(false) => "with TCP_NODELAY off",
        None => "probably with TCP_NODELAY off",
        Some(true) => "and corks them, although TCP_NODELAY is on",
    };
    let sentence = format!(
        "the {side} {calls} {option}. The last waits {} ({}) until the {other} acknowledges the others, which its kernel delays: {}",
        nanoseconds(held.ns_per_op),
        percent(held.share),
        rules::one_in(held.waits_per_op)
    );
    NamedCause {
        side: Some(side),
        subject: Some("TCP_NODELAY".to_owned()),
        more: Some(held.waits_per_op),
        ns: Some(held.ns_per_op),
        ..cause(rules::NAGLE, cell, held.share, sentence, &rules::nodelay_remedy(cell.pattern, side))
    }
}

/// The end of a burst, which is no part of what a message costs.
fn end_of_burst(cell: &ExplainedCell) -> Option<NamedCause> {
    let held = uses_tcp(&cell.transport) && !cell.options.sets_nodelay(cell.pattern);
    let wait_ns = cell.wait_ns.filter(|wait_ns| held && *wait_ns >= DELAY_NS / 4.0)?;
    let sentence = format!(
        "the end of every burst waits {} for a delayed acknowledgement, however many messages it has. The cost of a message has no part of that",
        nanoseconds(wait_ns)
    );
    let remedy = "for bursts of few messages set TCP_NODELAY (tcp_nodelay=true); for long ones leave Nagle's algorithm on, which fills segments";
    Some(cause(rules::NAGLE, cell, SLIGHT, sentence, remedy))
}

/// The listener's queue is full.
pub(super) fn backlog(cell: &ExplainedCell, incidents: &Incidents) -> Option<NamedCause> {
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
        cause(
            rules::BACKLOG,
            cell,
            idle_share(cell).unwrap_or(LEAST_SHARE).max(LEAST_SHARE),
            sentence,
            remedy,
        )
    })
}

/// Local ports run out.
pub(super) fn ports(
    cell: &ExplainedCell,
    network: &NetworkFacts,
    failure: Option<&str>,
) -> Option<NamedCause> {
    let range = network.ip_local_port_range.map(|[first, last]| (last + 1).saturating_sub(first));
    let ports = range.zip(network.time_wait);
    if cell.pattern != Pattern::Connect || !uses_tcp(&cell.transport) {
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
    // From one source, and where none is used again within that minute; elsewhere many in TIME_WAIT are no harm, unless some fail.
    let one_source = cell.options.spread_sources() == Some(false) || cell.client != NATIVE;
    let kept = one_source && network.tcp_tw_reuse == Some(0);
    let taken = ports.filter(|(range, waiting)| kept && *waiting as f64 > PORTS_TAKEN * *range as f64);
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
    (!seen.is_empty()).then(|| {
        let remedy = "let the server close first (closes_first=server), keep connections open, widen net.ipv4.ip_local_port_range, or set net.ipv4.tcp_tw_reuse=2 where it is 0";
        cause(rules::PORTS, cell, if failed { 1.0 } else { LEAST_SHARE + refused }, seen.join("; "), remedy)
    })
}

/// What a run leaves behind that does no harm here: connections in TIME_WAIT.
pub(super) fn left_in_time_wait(cells: &[ExplainedCell], network: &NetworkFacts) -> Option<Warning> {
    let waiting = network.time_wait.filter(|waiting| *waiting >= MANY_IN_TIME_WAIT)?;
    let connects = cells.iter().any(|cell| cell.pattern == Pattern::Connect && uses_tcp(&cell.transport));
    connects.then(|| Warning {
        code: rules::LEFT_IN_TIME_WAIT.code.to_owned(),
        message: format!(
            "{waiting} connections are left in TIME_WAIT, each for {TIME_WAIT_S:.0} s; a program that connects from one address may meet that limit meanwhile"
        ),
    })
}

/// Packets of loopback go through rules, or their connections are tracked.
pub(super) fn firewall(
    cell: &ExplainedCell,
    firewall: &Firewall,
    network: &NetworkFacts,
) -> Option<NamedCause> {
    if !uses_tcp(&cell.transport) {
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
        cause(rules::FIREWALL, cell, LEAST_SHARE, sentence, remedy)
    })
}
