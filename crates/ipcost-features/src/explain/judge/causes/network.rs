//! What the network does to connections and segments, and names that have to be found first.

use ipcost_lab::bench::DELAYED_ACK_NS;
use ipcost_model::facts::NetworkFacts;
use ipcost_model::units::percent;
use ipcost_model::{Incidents, Pattern};
use ipcost_sys::firewall::Firewall;
use ipcost_sys::transport::uses_tcp;

use ipcost_lab::rules;

use super::{LEAST_SHARE, cause, count, idle_share, nanoseconds, wall_ns};
use crate::explain::{ExplainedCell, NamedCause};

const DELAY_NS: f64 = DELAYED_ACK_NS as f64;
/// The share of ports in TIME_WAIT at which they begin to run out.
const PORTS_TAKEN: f64 = 0.8;
/// Words in which runtimes tell that no port was left (`EADDRNOTAVAIL`).
const NO_PORT: [&str; 3] = ["no local port is left", "EADDRNOTAVAIL", "annot assign requested address"];

/// What to do about Nagle's algorithm.
const NODELAY: &str = "set TCP_NODELAY (tcp_nodelay=true), or send each message with one call";

/// Nagle's algorithm holds a small segment back until the last one is acknowledged, and the receiver delays that.
pub(super) fn nagle(cell: &ExplainedCell) -> Option<NamedCause> {
    let held = uses_tcp(&cell.transport) && !cell.options.sets_nodelay(cell.pattern);
    if let Some(wait_ns) = cell.wait_ns.filter(|wait_ns| held && *wait_ns >= DELAY_NS / 4.0) {
        let sentence = format!(
            "Nagle's algorithm holds the end of every burst back until the other side acknowledges, which that side delays: {} \
             a burst, however many messages it has",
            nanoseconds(wait_ns)
        );
        return Some(cause(rules::NAGLE, cell, LEAST_SHARE, sentence, NODELAY));
    }
    let delayed = *cell.network.get("delayed_acknowledgements")?;
    let share = delayed * DELAY_NS / wall_ns(cell)?;
    let waits = idle_share(cell)? >= LEAST_SHARE && share >= LEAST_SHARE;
    (held && waits).then(|| {
        let sentence = format!(
            "Nagle's algorithm waits for acknowledgements that the other side delays by about 40 ms: {} of them an \
             operation, while neither side runs for {} of the time",
            count(delayed),
            percent(idle_share(cell).unwrap_or_default())
        );
        cause(rules::NAGLE, cell, share, sentence, NODELAY)
    })
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
        cause(rules::PORTS, cell, if failed { 1.0 } else { LEAST_SHARE + refused }, seen.join("; "), remedy)
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
