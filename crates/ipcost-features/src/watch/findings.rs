//! What is wrong with conversations, or could be better: each finding with its evidence, and the process that can mend it.

mod conversation;

use ipcost_lab::rules::{self, Rule};
use ipcost_model::units::{counted, percent};
use ipcost_report::numbers::rate;

use self::conversation::ConversationFindings;
use super::conversation_figures::{ConversationFigures, fits};
use super::conversation_state::{ConversationKey, ConversationState, Side};
use super::evidence::FullQueue;
use super::state::WatchState;
use super::{Party, WatchFinding, WatchedTransport};

/// The share of the time for which a queue of datagrams has to be full.
const WAITS_FOR_QUEUE: f64 = 0.1;
/// The share of the local ports that may be in TIME_WAIT.
const PORTS_SHARE: f64 = 0.5;
/// Fewer calls or messages tell nothing about how they are made.
const LEAST_CALLS: u64 = 50;
/// The share of connections that are waited for in vain.
const VAIN_SHARE: f64 = 0.2;

/// A finding, with whose it is and what it costs: the share of the time, or of a processor.
struct Found {
    side: Side,
    lost: f64,
    finding: WatchFinding,
}

impl WatchState {
    /// What is wrong with these conversations, all that fit the request since the first observation, and with what they go over: what costs
    /// most comes first, then what will break.
    pub fn findings(&self, all: &[ConversationFigures]) -> Vec<WatchFinding> {
        let of_one = |ConversationFigures { key, conversation: figures }: &ConversationFigures| {
            let state = self.conversations.get(key)?;
            Some(ConversationFindings { watch: self, key, state, figures }.all())
        };
        let found = all.iter().filter_map(of_one).flatten().chain(self.of_processes());
        let mut found = one_of_each(found);
        found.extend(self.full_queues());
        found.extend(self.overflows());
        found.extend(self.time_wait(all));
        found
    }

    /// So long it was looked for, seconds.
    fn seconds(&self) -> f64 {
        self.elapsed().as_secs_f64().max(1e-9)
    }

    /// Whether what is found of an address, and of the process that owns it, is asked for.
    fn concerns(&self, medium: WatchedTransport, address: &str, owner: Option<u32>) -> bool {
        let server = owner.and_then(|pid| self.procs.named(pid));
        let (client, server) = (Side::of(None), Side::of(server));
        let key = ConversationKey { network: 0, client, server, medium, address: address.into() };
        let figures = self.describe(&key, &ConversationState::default(), self.oldest());
        fits(&figures, &self.request)
    }

    fn full_queues(&self) -> impl Iterator<Item = WatchFinding> {
        let asked = self.evidence.full.iter().filter(|((medium, address), queue)| {
            self.concerns(*medium, address, queue.owner.map(|owner| owner.pid))
        });
        asked.map(|((medium, address), queue)| self.backlog(*medium, address, *queue))
    }

    fn overflows(&self) -> Option<WatchFinding> {
        let (before, now) = self.evidence.overflows;
        let overflows = now - before.unwrap_or(now);
        let is_told = self.evidence.full.keys().any(|(medium, _)| *medium == WatchedTransport::Tcp);
        (overflows > 0 && self.request.is_any() && !is_told).then(|| {
            let text = format!(
                "{} could not wait to be accepted (ListenOverflows)",
                counted(overflows, "connection")
            );
            let remedy =
                "accept faster, or give listen() a longer queue; the table shows who opens many connections";
            finding(&rules::BACKLOG, None, None, text, remedy)
        })
    }

    fn time_wait(&self, all: &[ConversationFigures]) -> Vec<WatchFinding> {
        let found = self.evidence.time_wait.iter().filter_map(|((network, ip, server), count)| {
            let ports = self.evidence.ports.get(network).filter(|ports| !ports.are_reused(server.ip()))?;
            let is_much = *count as f64 >= f64::from(ports.count) * PORTS_SHARE;
            let address = server.to_string();
            if !is_much || !self.concerns(WatchedTransport::Tcp, &address, None) {
                return None;
            }
            let text = format!(
                "{} from {ip} to {server} are in TIME_WAIT, of {} local ports",
                counted(*count, "connection"),
                ports.count
            );
            let remedy = match server.ip().is_loopback() {
                true => {
                    "keep connections open; or let the client connect from several addresses of 127.0.0.0/8"
                }
                false => {
                    "keep connections open; or give the client more local ports (net.ipv4.ip_local_port_range) or addresses, or set net.ipv4.tcp_tw_reuse=1"
                }
            };
            let its = |figures: &&ConversationFigures| {
                figures.key.network == *network && figures.conversation.address == address
            };
            let client = all.iter().find(its).and_then(|figures| figures.conversation.client.pid);
            Some(finding(&rules::TIME_WAIT, client, Some(address), text, remedy))
        });
        found.collect()
    }

    /// What processes do that belongs to no one conversation: sockets that are closed by the time anything looks.
    fn of_processes(&self) -> Vec<Found> {
        let mut found = Vec::new();
        let seconds = self.seconds();
        for (id, program) in self.procs.live() {
            let figures = Party { pid: Some(id.pid), name: program.name.clone(), ..Party::default() };
            let has = |text: &String| {
                let words = std::iter::once(&program.name).chain(&program.command);
                !self.request.own.contains(&id.pid)
                    && words.into_iter().any(|word| word.contains(text.as_str()))
            };
            let request = &self.request;
            let is_asked = request.pid.is_none_or(|pid| pid == id.pid)
                && request.command.as_ref().is_none_or(has)
                && request.port.is_none()
                && request.path.is_none();
            let Some(known) = self.procs.get(id).filter(|_| is_asked) else { continue };
            let sampled = &known.sampled;
            let mut add = |rule: &Rule, lost: f64, text: String, remedy: &str| {
                let finding = finding(rule, figures.pid, None, text, remedy);
                found.push(Found { side: Side::Proc(id), lost, finding });
            };
            if sampled.no_port >= 1.0 {
                let share = percent(sampled.no_port / sampled.connects.max(1.0));
                let text = format!(
                    "{share} of the connections of {} got no local port (EADDRNOTAVAIL)",
                    name(&figures)
                );
                let remedy = "keep connections open; or give it more local ports (net.ipv4.ip_local_port_range) or addresses";
                add(&rules::PORTS, 1.0, text, remedy);
            }
            if sampled.vain_polls >= 1.0 && sampled.vain_polls >= VAIN_SHARE * sampled.connects {
                let text = format!(
                    "{} waits {:.1} ms in a poll for a connection that is there already, until its time is over",
                    name(&figures),
                    sampled.vain_ns / sampled.vain_polls / 1e6
                );
                let remedy =
                    "poll for writing (POLLOUT), which is what a connection that becomes ready reports";
                add(&rules::CONNECT_POLL, sampled.vain_ns / 1e9 / seconds, text, remedy);
            }
            let refused = sampled.refused_sends / sampled.sends.max(1.0);
            if sampled.refused_sends >= LEAST_CALLS as f64 && refused >= WAITS_FOR_QUEUE {
                let others = self.evidence.queues.iter().filter(|(_, owner)| *owner != id);
                let whose: Vec<String> =
                    others.map(|(at, owner)| format!("{} at {at}", self.name(owner.pid))).take(2).collect();
                let whose = if whose.is_empty() { "another program".to_owned() } else { whose.join(" or ") };
                let text = format!(
                    "{} finds no room for {} of the datagrams that it sends, {}, in the queue of {whose}; what it does not send again is lost",
                    name(&figures),
                    percent(refused),
                    rate(sampled.refused_sends / seconds)
                );
                let remedy = "read faster there, lengthen the queue (net.unix.max_dgram_qlen, 10 unless set), or wait in poll() before sending again";
                add(&rules::DATAGRAM_QUEUE, refused, text, remedy);
            }
        }
        found
    }

    fn backlog(&self, medium: WatchedTransport, address: &str, queue: FullQueue) -> WatchFinding {
        let owner = queue.owner.map(|owner| owner.pid);
        let who = owner.map_or_else(|| "a program".to_owned(), |pid| self.name(pid));
        let text = format!(
            "{} connections wait for {who} to accept them at {address}, more than the {} of its queue",
            queue.waiting, queue.limit
        );
        let what = match medium {
            WatchedTransport::Tcp => {
                "accept faster, or give listen() a longer queue (and net.core.somaxconn); a client whose SYN finds it full waits a second"
            }
            _ => {
                "accept faster, or give listen() a longer queue (and net.core.somaxconn); a client waits in connect() meanwhile"
            }
        };
        finding(&rules::BACKLOG, owner, Some(address.to_owned()), text, what)
    }
}

/// The same rule and the same program in many conversations is said once.
fn one_of_each(all: impl Iterator<Item = Found>) -> Vec<WatchFinding> {
    let mut found: Vec<(Found, u64)> = Vec::new();
    for new in all {
        let is_same = |known: &Found| known.finding.code == new.finding.code && known.side == new.side;
        match found.iter_mut().find(|(known, _)| is_same(known)) {
            Some((known, more)) => (known.lost, *more) = (known.lost + new.lost, *more + 1),
            None => found.push((new, 0)),
        }
    }
    found.sort_by(|(a, _), (b, _)| b.lost.total_cmp(&a.lost));
    let said = |(Found { mut finding, .. }, more): (Found, u64)| {
        if more > 0 {
            finding.found += &format!(" (and in {more} more of its conversations)");
        }
        finding
    };
    found.into_iter().map(said).collect()
}

fn name(party: &Party) -> String {
    match party.pid {
        _ if party.processes.is_some() => format!("{} ×{}", party.name, party.processes.unwrap_or_default()),
        Some(pid) => format!("{} ({pid})", party.name),
        None if party.name.is_empty() => "a program that ended before it was seen".to_owned(),
        None => format!("{} (ended)", party.name),
    }
}

fn finding(
    rule: &Rule,
    pid: Option<u32>,
    address: Option<String>,
    found: String,
    remedy: &str,
) -> WatchFinding {
    WatchFinding {
        code: rule.code.to_owned(),
        pid,
        address,
        found,
        remedy: remedy.to_owned(),
        source: rule.basis.to_owned(),
    }
}
