//! What is wrong with conversations, or could be better: each finding with its evidence, and the process that can mend it.

use std::net::SocketAddr;

use ipcost_lab::rules::{self, Rule};
use ipcost_model::facts::USUAL_PIPE_BYTES;
use ipcost_model::units::{counted, percent};
use ipcost_report::numbers::{rate, throughput};

use super::conversation_figures::ConversationFigures;
use super::conversation_state::{ConversationKey, ConversationState, Side, place};
use super::evidence::FullQueue;
use super::sampled::Moved;
use super::state::WatchState;
use super::{Conversation, ConversationPattern, Flow, Party, WatchFinding, WatchedTransport};

/// The share of the time that a sender has to wait for its reader.
const WAITS: f64 = 0.5;
/// The same for datagrams, where every wait is a queue that is full.
const WAITS_FOR_QUEUE: f64 = 0.1;
/// Fewer samples of where processes wait say nothing about shares.
const LEAST_WAIT_SAMPLES: u32 = 5;
/// Connections a second from which on it matters that each carries one request.
const CONNECTIONS_PER_S: f64 = 1.0;
/// Bytes a second from which on it matters how a stream is sent.
const STREAM_BYTES_PER_S: f64 = 1e6;
/// The share of the local ports that may be in TIME_WAIT.
const PORTS_SHARE: f64 = 0.5;
/// Fewer calls or messages tell nothing about how they are made.
const LEAST_CALLS: u64 = 50;
/// A reader that asks for so much less at a time than is written.
const SMALL_READ: f64 = 0.25;
/// Messages longer than this are written in pieces for good reasons, bytes.
const SHORT_MESSAGE: u64 = 16 * 1024;
/// The share of calls that have to find nothing, and how many there have to be a second.
const EMPTY_SHARE: f64 = 0.5;
const EMPTY_PER_S: f64 = 100.0;
/// The share of reads that have to ask for the header of a TLS record.
const HEADERS_SHARE: f64 = 0.3;
/// Calls a second from which on names are resolved in a loop: one look-up makes some ten.
const LOOKUPS_PER_S: f64 = 10.0;
/// A stream that is written in smaller pieces, and so often a second, would be the same in fewer calls; bytes.
const SMALL_WRITE: f64 = 1024.0;
const SMALL_WRITES_PER_S: f64 = 5_000.0;
/// What a writer's buffer would collect, bytes.
const BUFFER: f64 = 65_536.0;
/// What a call, a connection and a look-up take about, seconds: findings come in the order of what they cost, and no figure is made of it.
const CALL_S: f64 = 0.3e-6;
const CONNECTION_S: f64 = 30e-6;
const LOOKUP_S: f64 = 100e-6;
/// How near a user's pages in pipes have to be to their limit: some may be gone since.
const NEAR_LIMIT: f64 = 0.9;
/// The share of connections that are waited for in vain.
const VAIN_SHARE: f64 = 0.2;
/// The port of name servers.
const DOMAIN: &str = ":53";

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
        let mut found: Vec<Found> = Vec::new();
        for figures in all {
            let Some(state) = self.conversations.get(&figures.key) else { continue };
            found.extend(self.of_one(&figures.key, state, &figures.conversation));
        }
        found.extend(self.of_processes());
        let mut found = one_of_each(found);
        let evidence = &self.evidence;
        let fits = |medium, address: &str, owner: Option<u32>| {
            let server = owner.and_then(|pid| self.procs.named(pid));
            let (client, server) = (Side::of(None), Side::of(server));
            let key = ConversationKey { network: 0, client, server, medium, address: address.into() };
            let figures = self.describe(&key, &ConversationState::default(), self.oldest());
            super::conversation_figures::fits(&figures, &self.request)
        };
        for ((medium, address), queue) in &evidence.full {
            if fits(*medium, address, queue.owner.map(|owner| owner.pid)) {
                found.push(self.backlog(*medium, address, *queue));
            }
        }
        let overflows = evidence.overflows.1 - evidence.overflows.0.unwrap_or(evidence.overflows.1);
        if overflows > 0
            && self.request.is_any()
            && !evidence.full.keys().any(|(medium, _)| *medium == WatchedTransport::Tcp)
        {
            let figures = format!(
                "{} could not wait to be accepted (ListenOverflows)",
                counted(overflows, "connection")
            );
            let remedy =
                "accept faster, or give listen() a longer queue; the table shows who opens many connections";
            found.push(finding(&rules::BACKLOG, None, None, figures, remedy));
        }
        for ((network, ip, server), count) in &evidence.time_wait {
            let Some(ports) = evidence.ports.get(network).filter(|ports| !ports.are_reused(server.ip()))
            else {
                continue;
            };
            let is_much = *count as f64 >= f64::from(ports.count) * PORTS_SHARE;
            if is_much && fits(WatchedTransport::Tcp, &server.to_string(), None) {
                let said = format!(
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
                    figures.key.network == *network && figures.conversation.address == server.to_string()
                };
                let client = all.iter().find(its).and_then(|figures| figures.conversation.client.pid);
                found.push(finding(&rules::TIME_WAIT, client, Some(server.to_string()), said, remedy));
            }
        }
        found
    }

    /// What processes do that belongs to no one conversation: sockets that are closed by the time anything looks.
    fn of_processes(&self) -> Vec<Found> {
        let mut found = Vec::new();
        let seconds = self.elapsed().as_secs_f64().max(1e-9);
        for (id, program) in self.procs.live() {
            let figures = Party { pid: Some(id.pid), name: program.name.clone(), ..Party::default() };
            let has = |text: &String| {
                let words = std::iter::once(&program.name).chain(&program.command);
                words.into_iter().any(|word| word.contains(text.as_str()))
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

    fn of_one(&self, key: &ConversationKey, state: &ConversationState, figures: &Conversation) -> Vec<Found> {
        let (client, server) = (name(&figures.client), name(&figures.server));
        let address = Some(figures.address.clone());
        let mut found = Vec::new();
        let mut add = |rule: &Rule, is_client: bool, lost: f64, text: String, remedy: &str| {
            let side = if is_client { &figures.client } else { &figures.server };
            let finding = finding(rule, side.pid, address.clone(), text, remedy);
            found.push(Found { side: key.side(is_client).clone(), lost, finding });
        };
        if figures.manner == Some(ConversationPattern::Connections)
            && figures.opened_per_s >= CONNECTIONS_PER_S
        {
            let text = format!(
                "{client} opens connections to {server}, {}, and asks little over each",
                rate(figures.opened_per_s)
            );
            add(
                &rules::CONNECTION_EACH,
                true,
                figures.opened_per_s * CONNECTION_S,
                text,
                "keep connections open and use them again (a pool, keep-alive)",
            );
        }
        if let Some(tcp) = &figures.tcp {
            let sides =
                [(tcp.there_held_up, &client, &server, false), (tcp.back_held_up, &server, &client, true)];
            for (share, writer, reader, is_client) in sides {
                if share >= WAITS {
                    add(&rules::SLOW_READER, is_client, share, waits_for(writer, reader, share), READ_FASTER);
                }
            }
            let moved = |flow: Option<Flow>| flow.map_or(0.0, |flow| flow.bytes_per_s);
            let bytes_per_s = moved(figures.there).max(moved(figures.back));
            // Where the reader is slow, it is not the pacing that holds a stream up.
            let is_held_up = tcp.there_held_up.max(tcp.back_held_up) >= WAITS;
            let is_stream =
                figures.manner == Some(ConversationPattern::Stream) && bytes_per_s >= STREAM_BYTES_PER_S;
            if tcp.congestion == "bbr" && is_stream && !is_held_up {
                let is_client = moved(figures.there) > moved(figures.back);
                let text = format!(
                    "bbr paces what {} sends over loopback, {}",
                    if is_client { &client } else { &server },
                    throughput(bytes_per_s)
                );
                let remedy = "set cubic for it (TCP_CONGESTION, or congctl lock cubic on a route to 127.0.0.0/8), or for all: sysctl -w net.ipv4.tcp_congestion_control=cubic";
                // How much it paces is not known; it is most of the time of such a stream.
                add(&rules::CONGESTION_CONTROL, is_client, WAITS, text, remedy);
            }
        }
        let small_pipe = self.small_pipe(key, state, figures);
        let is_small_pipe = small_pipe.is_some();
        if let Some(text) = small_pipe {
            let remedy =
                "end what holds them, or raise fs.pipe-user-pages-soft; pipes that are there keep their size";
            // What it costs is not known: several times as many calls and switches as there would be.
            add(&rules::PIPE_PAGES, true, WAITS, text, remedy);
        }
        let share = |is_client| match state.wait_samples {
            few if few < LEAST_WAIT_SAMPLES => 0.0,
            all => f64::from(state.blocked[place(is_client)]) / f64::from(all),
        };
        for (is_client, writer, reader) in [(true, &client, &server), (false, &server, &client)] {
            let waited = share(is_client);
            if figures.medium == WatchedTransport::UnixDgram && waited >= WAITS_FOR_QUEUE {
                let text = format!(
                    "{writer} waits {} of the time for room in the queue of {reader}",
                    percent(waited)
                );
                let remedy = "read faster, or lengthen the queue (net.unix.max_dgram_qlen)";
                add(&rules::DATAGRAM_QUEUE, !is_client, waited, text, remedy);
            } else if waited >= WAITS {
                add(&rules::SLOW_READER, !is_client, waited, waits_for(writer, reader, waited), READ_FASTER);
            }
        }
        found.extend(nagle(key, state, figures));
        found.extend(self.dropped(key, figures));
        let by_samples = self.by_samples(key, state, figures).into_iter();
        // A pipe gives no more than it holds.
        found.extend(
            by_samples.filter(|found| !is_small_pipe || found.finding.code != rules::SMALL_READS.code),
        );
        found
    }

    /// What is wrong with a pipe that holds less than pipes do, since its user has too many pages in others.
    fn small_pipe(
        &self,
        key: &ConversationKey,
        state: &ConversationState,
        figures: &Conversation,
    ) -> Option<String> {
        let bytes = state.open.as_ref()?.pipe_bytes.filter(|bytes| *bytes < USUAL_PIPE_BYTES)?;
        let limit = self.evidence.pipe_pages_limit?;
        let moves = figures.there.is_some_and(|there| there.bytes > 0);
        let user = self.procs.get(key.client.process()?)?.program.user;
        let (pages, most, of_most) = *self.evidence.pipe_pages.get(&user)?;
        (moves && pages as f64 >= NEAR_LIMIT * limit as f64).then(|| {
            format!(
                "the pipe from {} to {} holds {bytes} B at a time in place of 64 KiB: their user has {pages} pages in pipes, {of_most} of them {}, and fs.pipe-user-pages-soft allows {limit}",
                name(&figures.client),
                name(&figures.server),
                self.name(most.pid)
            )
        })
    }

    /// What the calls on it show.
    fn by_samples(
        &self,
        key: &ConversationKey,
        state: &ConversationState,
        figures: &Conversation,
    ) -> Vec<Found> {
        let mut found = Vec::new();
        let of = |rule: &Rule, is_client: bool, lost: f64, text: String, remedy: &str| {
            let side = if is_client { &figures.client } else { &figures.server };
            let finding = finding(rule, side.pid, Some(figures.address.clone()), text, remedy);
            Found { side: key.side(is_client).clone(), lost, finding }
        };
        let seconds = self.elapsed().as_secs_f64().max(1e-9);
        for (is_client, side, other) in
            [(true, &figures.client, &figures.server), (false, &figures.server, &figures.client)]
        {
            let mut add = |rule: &Rule, calls_per_s: f64, text: String, remedy: &str| {
                found.push(of(rule, is_client, calls_per_s * CALL_S, text, remedy));
            };
            let (end, other_end) = (&state.sampled[place(is_client)], &state.sampled[place(!is_client)]);
            let (taken, given) = (&end.taken, &end.given);
            let mean = |moved: &Moved| moved.sum.bytes / moved.sum.calls.max(1e-9);
            if taken.call_sizes.count() >= LEAST_CALLS {
                let (read, written) = (mean(taken), mean(&other_end.given));
                if read > 0.0 && read <= SMALL_READ * written {
                    let text = format!(
                        "{} reads {read:.0} B at a time of what {} writes {written:.0} B at a time",
                        name(side),
                        name(other)
                    );
                    add(&rules::SMALL_READS, taken.sum.calls / seconds, text, "read into a larger buffer");
                }
            }
            let is_short = given.sizes.quantile(0.5).is_some_and(|bytes| bytes <= SHORT_MESSAGE);
            if given.messages >= LEAST_CALLS && given.in_pieces * 2 >= given.messages && is_short {
                let pieces = given.calls_of_messages as f64 / given.messages as f64;
                let what = if is_client { "request" } else { "reply" };
                let text =
                    format!("{} writes a {what} to {} with {pieces:.1} calls", name(side), name(other));
                add(
                    &rules::PIECES,
                    given.sum.calls / seconds,
                    text,
                    "collect it in a buffer, or hand all parts to one writev() or sendmsg()",
                );
            }
            // A sample of very many calls misses some; where all are counted, it is not asked.
            let counted = state.counted[place(is_client)].given;
            let is_counted =
                self.counts_calls && figures.medium != WatchedTransport::Tcp && counted.calls > 0;
            let (written, calls_per_s) = match is_counted {
                true => (counted.bytes as f64 / counted.calls as f64, counted.calls as f64 / seconds),
                false => (mean(given), given.sum.calls / seconds),
            };
            let is_many = given.call_sizes.count() >= LEAST_CALLS && calls_per_s >= SMALL_WRITES_PER_S;
            if figures.manner == Some(ConversationPattern::Stream) && is_many && written <= SMALL_WRITE {
                let text = format!(
                    "{} writes {written:.0} B at a time to {}, {}; a buffer of 64 KiB would make that {}",
                    name(side),
                    name(other),
                    rate(calls_per_s),
                    rate(calls_per_s * written / BUFFER)
                );
                add(
                    &rules::SMALL_WRITES,
                    calls_per_s,
                    text,
                    "write through a buffer (setvbuf, BufWriter, bufio)",
                );
            }
            let reads = taken.call_sizes.count();
            if figures.medium == WatchedTransport::Tcp
                && reads >= LEAST_CALLS
                && taken.headers as f64 >= HEADERS_SHARE * reads as f64
                && is_loopback(&figures.address)
            {
                let text = format!(
                    "{} speaks TLS with {} over loopback: {} of its reads ask for the 5 B of a record's header",
                    name(side),
                    name(other),
                    percent(taken.headers as f64 / reads as f64)
                );
                add(
                    &rules::TLS,
                    taken.sum.calls / seconds,
                    text,
                    "a Unix socket needs no encryption: the kernel keeps others out by the permissions of its path",
                );
            }
        }
        let asks = figures.requests_per_s.unwrap_or_default();
        if figures.medium == WatchedTransport::Udp && figures.address.ends_with(DOMAIN) && asks >= 1.0 {
            let text =
                format!("{} looks names up, {} at {}", name(&figures.client), rate(asks), figures.address);
            found.push(of(&rules::NAME_RESOLUTION, true, asks * LOOKUP_S, text, ONE_LOOKUP));
        }
        let anywhere =
            |found: Found| Found { finding: WatchFinding { address: None, ..found.finding }, ..found };
        for (is_client, side) in [(true, &figures.client), (false, &figures.server)] {
            let Some(known) = key.side(is_client).process().and_then(|id| self.procs.get(id)) else {
                continue;
            };
            let per_s = known.lookups as f64 / self.traced_for.as_secs_f64().max(1e-9);
            if per_s >= LOOKUPS_PER_S {
                let calls = rate(per_s);
                let text =
                    format!("{} resolves names: {calls} calls for that while it was traced", name(side));
                found.push(anywhere(of(
                    &rules::NAME_RESOLUTION,
                    is_client,
                    per_s * LOOKUP_S,
                    text,
                    ONE_LOOKUP,
                )));
            }
            let process = &known.sampled;
            let per_s = process.empty / seconds;
            if process.empty >= EMPTY_SHARE * process.calls && per_s >= EMPTY_PER_S {
                let text = format!(
                    "{} asks in vain: {} of its calls find nothing, {}",
                    name(side),
                    percent(process.empty / process.calls),
                    rate(per_s)
                );
                let remedy = "wait in poll() or epoll_wait() with a time-out, and read until less comes than was asked for";
                found.push(anywhere(of(&rules::EMPTY_POLLS, is_client, per_s * CALL_S, text, remedy)));
            }
        }
        found
    }

    fn dropped(&self, key: &ConversationKey, figures: &Conversation) -> Option<Found> {
        if figures.medium != WatchedTransport::Udp {
            return None;
        }
        let dropped = *self.evidence.dropped.get(&key.server.process()?)?;
        let text = format!(
            "{} for {} were dropped, since it reads more slowly than they come",
            counted(dropped, "datagram"),
            name(&figures.server)
        );
        let remedy = "read faster, or give the socket a larger buffer (SO_RCVBUF, net.core.rmem_max)";
        let address = Some(figures.address.clone());
        let finding = finding(&rules::DATAGRAM_QUEUE, figures.server.pid, address, text, remedy);
        // What is lost has to be sent again, or is missed.
        Some(Found { side: key.server.clone(), lost: WAITS, finding })
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

/// Less than a segment that waits for a delayed acknowledgement, as `explain` recognises it.
fn nagle(key: &ConversationKey, state: &ConversationState, figures: &Conversation) -> Option<Found> {
    let seconds = state.watched_for.as_secs_f64();
    let [by_client, by_server] = &state.held_back;
    let is_client = by_client.ns >= by_server.ns;
    let (held, side, what) = match is_client {
        true => (by_client, &figures.client, "request"),
        false => (by_server, &figures.server, "reply"),
    };
    let share = held.ns as f64 / 1e9 / seconds.max(1e-9);
    if held.waits == 0 || share < rules::LEAST_HELD_BACK {
        return None;
    }
    let ms = held.ns as f64 / held.waits as f64 / 1e6;
    // Where few wait, that is what the others do not show.
    let all = figures.requests_per_s.unwrap_or_default() * seconds;
    let each = all / held.waits as f64;
    let of = if each >= 2.0 { format!(", one {what} of {each:.0}") } else { String::new() };
    let moved = if is_client { figures.there } else { figures.back };
    let sizes = moved.and_then(|flow| flow.message_bytes);
    let sizes = sizes.map_or_else(String::new, |sizes| {
        format!(
            "; half of them have at most {:.0} B, one in a hundred more than {:.0} B",
            sizes.median, sizes.p99
        )
    });
    let text = format!(
        "{} {}: {} in {seconds:.1} s less than a segment waited {ms:.0} ms for an acknowledgement{of}{sizes}",
        name(side),
        rules::holds_back(held.nodelay),
        counted(held.waits, "time"),
    );
    let remedy = format!("set TCP_NODELAY in {}, or write each {what} with one call", name(side));
    let address = Some(figures.address.clone());
    let finding = finding(&rules::NAGLE, side.pid, address, text, &remedy);
    Some(Found { side: key.side(is_client).clone(), lost: share, finding })
}

/// The same rule and the same program in many conversations is said once.
fn one_of_each(all: Vec<Found>) -> Vec<WatchFinding> {
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

fn is_loopback(address: &str) -> bool {
    address.parse().is_ok_and(|at: SocketAddr| at.ip().is_loopback())
}

const ONE_LOOKUP: &str = "look a name up once and keep its address, or the connection";

const READ_FASTER: &str =
    "look into the reader (what it does between its reads); a larger buffer helps only against bursts";

fn waits_for(writer: &str, reader: &str, share: f64) -> String {
    format!(
        "{writer} waits {} of the time for {reader} to read: the reader is the slower side",
        percent(share.min(1.0))
    )
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
