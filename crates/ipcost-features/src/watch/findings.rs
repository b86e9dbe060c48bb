//! What is wrong with conversations, or could be better: each finding with its evidence, and the process that can mend it.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ipcost_lab::Between;
use ipcost_lab::rules::{self, Rule};
use ipcost_model::HeldBack;
use ipcost_model::units::{counted, percent};
use ipcost_report::numbers::{rate, throughput};

use super::gather::Look;
use super::watching::Watching;
use super::ways::Way;
use super::{Conversation, Manner, Medium, Party, WatchFinding, WatchRequest};

/// The share of the time that a sender has to wait for its reader.
const WAITS: f64 = 0.5;
/// The same for datagrams, where every wait is a queue that is full.
const WAITS_FOR_QUEUE: f64 = 0.1;
/// Fewer glances say nothing about shares.
const LEAST_GLANCES: u32 = 5;
/// Connections a second from which on it matters that each carries one request.
const CONNECTIONS_PER_S: f64 = 1.0;
/// Bytes a second from which on it matters how a stream is sent.
const STREAM_BYTES_PER_S: f64 = 1e6;
/// The share of the local ports that may be in TIME_WAIT.
const PORTS_SHARE: f64 = 0.5;
/// Requests a second over a connection above which it waits for no acknowledgement.
const SLOW_PER_S: f64 = 100.0;
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
/// The port of name servers.
const DOMAIN: &str = ":53";
/// The most ends that are watched for what they hold back.
const MOST_SUSPECTS: usize = 16;

/// What glances and counters beyond the looks have seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    /// How often was glanced at a conversation.
    glances: HashMap<Way, u32>,
    /// How often a side waited in the kernel to write: the client, or the server.
    blocked: HashMap<(Way, bool), u32>,
    held_back: HashMap<Between, HeldBack>,
    watched_for: Duration,
    /// Listeners whose queue was full: their medium and address, with who has them, the most that waited, and the limit.
    full: BTreeMap<(Medium, String), (Option<u32>, u32, u32)>,
    /// Datagrams that were dropped before the first look, and until now, by socket.
    dropped: HashMap<u32, (u32, u32)>,
    /// The most connections in TIME_WAIT between an address and a server.
    time_wait: HashMap<(IpAddr, SocketAddr), u64>,
    overflows: (Option<u64>, u64),
    /// Calls for name resolution while a process was traced.
    pub lookups: HashMap<u32, u64>,
}

impl Evidence {
    /// Takes in what a look shows of queues.
    pub fn see(&mut self, look: &Look, owner: impl Fn(u32) -> Option<u32>) {
        use ipcost_sys::observed::TcpState::{Listening, TimeWait};
        let mut full = |medium, address: String, inode, waiting: u32, limit: u32| {
            let known = self.full.entry((medium, address)).or_insert((owner(inode), waiting, limit));
            known.1 = known.1.max(waiting);
        };
        // The kernel takes one more than the program asked for.
        for socket in look.tcp.iter().filter(|it| it.state == Listening && it.waiting > it.outstanding) {
            full(Medium::Tcp, socket.local.to_string(), socket.inode, socket.waiting, socket.outstanding);
        }
        for socket in look.unix.iter().filter(|it| it.is_listening && it.waiting > it.outstanding) {
            let name = socket.name.clone().unwrap_or_default();
            full(Medium::Unix, name, socket.inode, socket.waiting, socket.outstanding);
        }
        for socket in &look.udp {
            let known = self.dropped.entry(socket.inode).or_insert((socket.dropped, socket.dropped));
            known.1 = socket.dropped;
        }
        let mut waiting: HashMap<(IpAddr, SocketAddr), u64> = HashMap::new();
        for socket in look.tcp.iter().filter(|socket| socket.state == TimeWait) {
            let (server, client) = match socket.local.port() < socket.remote.port() {
                true => (socket.local, socket.remote),
                false => (socket.remote, socket.local),
            };
            *waiting.entry((client.ip(), server)).or_default() += 1;
        }
        for (between, count) in waiting {
            let most = self.time_wait.entry(between).or_default();
            *most = count.max(*most);
        }
        if let Some(now) = look.overflows {
            let (first, last) = &mut self.overflows;
            first.get_or_insert(now);
            *last = now;
        }
    }

    /// Takes in where processes wait in the kernel, by process.
    pub fn glance<'a>(&mut self, waits: &BTreeMap<u32, Vec<String>>, ways: impl Iterator<Item = &'a Way>) {
        let mut writers: HashMap<(u32, &str), Vec<(&Way, bool)>> = HashMap::new();
        for way in ways {
            let sides = [(way.client, true), (way.server, way.medium.is_unix())];
            if !places_of(way.medium).is_empty() {
                *self.glances.entry(way.clone()).or_default() += 1;
            }
            for (index, (process, writes)) in sides.into_iter().enumerate() {
                let (Some(process), true) = (process, writes) else { continue };
                for place in places_of(way.medium) {
                    writers.entry((process, place)).or_default().push((way, index == 0));
                }
            }
        }
        for (process, names) in waits {
            for name in names {
                let place = PLACES.iter().find(|place| name.starts_with(**place));
                let Some(ways) = place.and_then(|place| writers.get(&(*process, *place))) else { continue };
                // Of several, it cannot be told which.
                if let [(way, is_client)] = ways.as_slice() {
                    *self.blocked.entry(((*way).clone(), *is_client)).or_default() += 1;
                }
            }
        }
    }

    /// Forgets what is of other conversations than these.
    pub fn forget(&mut self, is_kept: &dyn Fn(&Way) -> bool) {
        self.glances.retain(|way, _| is_kept(way));
        self.blocked.retain(|(way, _), _| is_kept(way));
    }

    /// Takes in what ends held back while they were watched for so long.
    pub fn held_back(&mut self, seen: Vec<(Between, HeldBack)>, lasts: Duration) {
        self.watched_for += lasts;
        for (between, held) in seen {
            let known = self.held_back.entry(between).or_default();
            known.waits += held.waits;
            known.ns += held.ns;
            known.nodelay = held.nodelay.or(known.nodelay);
        }
    }
}

/// Functions of the kernel in which a writer waits for room.
const PLACES: [&str; 6] = [
    "pipe_write",
    "anon_pipe_write",
    "fifo_pipe_write",
    "sock_alloc_send_pskb",
    "sock_wait_for_wmem",
    "unix_wait_for_peer",
];

fn places_of(medium: Medium) -> &'static [&'static str] {
    match medium {
        Medium::Pipe | Medium::Fifo => &PLACES[..3],
        Medium::Unix | Medium::Socketpair | Medium::UnixSeqpacket => &PLACES[3..5],
        Medium::UnixDgram => &PLACES[3..],
        _ => &[],
    }
}

impl Watching {
    /// Ends of connections whose pace may be that of delayed acknowledgements.
    pub fn suspects(&self) -> Vec<Between> {
        let slow = |(way, now): &(&Way, &super::watching::Now)| {
            let told = self.lately(way);
            let each = told.requests_per_s.unwrap_or_default() / f64::from(told.connections.max(1));
            way.medium == Medium::Tcp && !now.ends.is_empty() && each > 0.0 && each < SLOW_PER_S
        };
        let ends = self.now.iter().filter(slow).flat_map(|(_, now)| &now.ends);
        ends.flat_map(|(local, remote)| [(*local, *remote), (*remote, *local)]).take(MOST_SUSPECTS).collect()
    }

    /// What is wrong with these conversations, all that fit a request since the first look, and with what they go over.
    pub fn findings(
        &self,
        all: &[Conversation],
        request: &WatchRequest,
        ports: Option<u64>,
    ) -> Vec<WatchFinding> {
        let mut found: Vec<WatchFinding> = Vec::new();
        for told in all {
            found.extend(self.of_one(told));
        }
        let mut found = one_of_each(found);
        let evidence = &self.evidence;
        let fits = |medium, address: &str, owner: Option<u32>| {
            let way = Way { client: None, ended: None, server: owner, medium, address: address.to_owned() };
            super::tell::fits(&self.lately(&way), request)
        };
        for ((medium, address), (owner, waiting, limit)) in &evidence.full {
            if fits(*medium, address, *owner) {
                found.push(self.backlog(*medium, address, *owner, *waiting, *limit));
            }
        }
        let overflows = evidence.overflows.1 - evidence.overflows.0.unwrap_or(evidence.overflows.1);
        if overflows > 0
            && request.is_any()
            && !evidence.full.keys().any(|(medium, _)| *medium == Medium::Tcp)
        {
            let told = format!(
                "{} could not wait to be accepted (ListenOverflows)",
                counted(overflows, "connection")
            );
            let remedy =
                "accept faster, or give listen() a longer queue; the table shows who opens many connections";
            found.push(finding(&rules::BACKLOG, None, None, told, remedy));
        }
        for ((ip, server), count) in &evidence.time_wait {
            let limit = ports.map_or(f64::INFINITY, |ports| ports as f64 * PORTS_SHARE);
            if *count as f64 >= limit && fits(Medium::Tcp, &server.to_string(), None) {
                let told = format!(
                    "{} from {ip} to {server} are in TIME_WAIT, of {} local ports",
                    counted(*count, "connection"),
                    ports.unwrap_or(0)
                );
                let remedy =
                    "keep connections open; or let the client connect from several addresses of 127.0.0.0/8";
                let client = all
                    .iter()
                    .find(|told| told.address == server.to_string())
                    .and_then(|told| told.client.pid);
                found.push(finding(&rules::TIME_WAIT, client, Some(server.to_string()), told, remedy));
            }
        }
        found
    }

    fn of_one(&self, told: &Conversation) -> Vec<WatchFinding> {
        let (client, server) = (name(&told.client), name(&told.server));
        let place = Some(told.address.clone());
        let mut found = Vec::new();
        let mut add = |rule: &Rule, side: &Party, text: String, remedy: &str| {
            found.push(finding(rule, side.pid, place.clone(), text, remedy));
        };
        if told.manner == Some(Manner::Connections) && told.opened_per_s >= CONNECTIONS_PER_S {
            let text = format!(
                "{client} opens connections to {server}, {}, and asks little over each",
                rate(told.opened_per_s)
            );
            add(
                &rules::CONNECTION_EACH,
                &told.client,
                text,
                "keep connections open and use them again (a pool, keep-alive)",
            );
        }
        if let Some(tcp) = &told.tcp {
            let sides =
                [(tcp.there_held_up, &client, &told.server), (tcp.back_held_up, &server, &told.client)];
            for (share, writer, reader) in sides {
                if share >= WAITS {
                    add(&rules::SLOW_READER, reader, waits_for(writer, &name(reader), share), READ_FASTER);
                }
            }
            let moved = |flow: Option<super::Flow>| flow.map_or(0.0, |flow| flow.bytes_per_s);
            let bytes_per_s = moved(told.there).max(moved(told.back));
            // Where the reader is slow, it is not the pacing that holds a stream up.
            let is_held_up = tcp.there_held_up.max(tcp.back_held_up) >= WAITS;
            let is_stream = told.manner == Some(Manner::Stream) && bytes_per_s >= STREAM_BYTES_PER_S;
            if tcp.congestion == "bbr" && is_stream && !is_held_up {
                let sender = if moved(told.there) > moved(told.back) { &told.client } else { &told.server };
                let text = format!(
                    "bbr paces what {} sends over loopback, {}",
                    name(sender),
                    throughput(bytes_per_s)
                );
                let remedy = "set cubic for it (TCP_CONGESTION, or congctl lock cubic on a route to 127.0.0.0/8), or for all: sysctl -w net.ipv4.tcp_congestion_control=cubic";
                add(&rules::CONGESTION_CONTROL, sender, text, remedy);
            }
        }
        let way = told.way();
        let share = |is_client| {
            let count = self.evidence.blocked.get(&(way.clone(), is_client)).copied().unwrap_or(0);
            let glances = self.evidence.glances.get(&way).copied().unwrap_or(0);
            if glances < LEAST_GLANCES { 0.0 } else { f64::from(count) / f64::from(glances) }
        };
        for (is_client, writer, reader) in [(true, &client, &told.server), (false, &server, &told.client)] {
            let waited = share(is_client);
            if told.medium == Medium::UnixDgram && waited >= WAITS_FOR_QUEUE {
                let text = format!(
                    "{writer} waits {} of the time for room in the queue of {}",
                    percent(waited),
                    name(reader)
                );
                add(
                    &rules::DATAGRAM_QUEUE,
                    reader,
                    text,
                    "read faster, or lengthen the queue (net.unix.max_dgram_qlen)",
                );
            } else if waited >= WAITS {
                add(&rules::SLOW_READER, reader, waits_for(writer, &name(reader), waited), READ_FASTER);
            }
        }
        found.extend(self.nagle(told));
        found.extend(self.dropped(told));
        found.extend(self.by_samples(told));
        found
    }

    /// Less than a segment that waits for a delayed acknowledgement, as `explain` recognises it.
    fn nagle(&self, told: &Conversation) -> Option<WatchFinding> {
        let now = self.now.get(&told.way())?;
        let seconds = self.evidence.watched_for.as_secs_f64();
        let of_side = |server: bool| {
            let held = now.ends.iter().filter_map(|(local, remote)| {
                let between = if server { (*local, *remote) } else { (*remote, *local) };
                self.evidence.held_back.get(&between)
            });
            held.fold(HeldBack::default(), |sum, held| HeldBack {
                waits: sum.waits + held.waits,
                ns: sum.ns + held.ns,
                nodelay: held.nodelay.or(sum.nodelay),
            })
        };
        let (by_client, by_server) = (of_side(false), of_side(true));
        let is_server = by_server.ns > by_client.ns;
        let (held, side, what) = match is_server {
            true => (by_server, &told.server, "reply"),
            false => (by_client, &told.client, "request"),
        };
        let share = held.ns as f64 / 1e9 / seconds.max(1e-9);
        if held.waits == 0 || share < rules::LEAST_HELD_BACK {
            return None;
        }
        let ms = held.ns as f64 / held.waits as f64 / 1e6;
        let text = format!(
            "{} {}: {} in {:.1} s less than a segment waited {ms:.0} ms for an acknowledgement",
            name(side),
            rules::holds_back(held.nodelay),
            counted(held.waits, "time"),
            seconds
        );
        let remedy = format!("set TCP_NODELAY in {}, or write each {what} with one call", name(side));
        Some(finding(&rules::NAGLE, side.pid, Some(told.address.clone()), text, &remedy))
    }

    /// What the calls on it show.
    fn by_samples(&self, told: &Conversation) -> Vec<WatchFinding> {
        let end = |is_client| self.samples.ends.get(&(told.way(), is_client));
        let mut found = Vec::new();
        let mut add = |rule: &Rule, side: &Party, text: String, remedy: &str| {
            found.push(finding(rule, side.pid, Some(told.address.clone()), text, remedy));
        };
        for (is_client, side, other) in
            [(true, &told.client, &told.server), (false, &told.server, &told.client)]
        {
            let (Some(end), other_end) = (end(is_client), end(!is_client)) else { continue };
            let (taken, given) = (&end.taken, &end.given);
            let mean = |moved: &super::sampled::Moved| moved.sum.bytes / moved.sum.calls.max(1e-9);
            if let Some(other_end) = other_end.filter(|_| taken.call_sizes.count() >= LEAST_CALLS) {
                let (read, written) = (mean(taken), mean(&other_end.given));
                if read > 0.0 && read <= SMALL_READ * written {
                    let text = format!(
                        "{} reads {read:.0} B at a time of what {} writes {written:.0} B at a time",
                        name(side),
                        name(other)
                    );
                    add(&rules::SMALL_READS, side, text, "read into a larger buffer");
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
                    side,
                    text,
                    "collect it in a buffer, or hand all parts to one writev() or sendmsg()",
                );
            }
            let reads = taken.call_sizes.count();
            if told.medium == Medium::Tcp
                && reads >= LEAST_CALLS
                && taken.headers as f64 >= HEADERS_SHARE * reads as f64
                && is_loopback(&told.address)
            {
                let text = format!(
                    "{} speaks TLS with {} over loopback: {} of its reads ask for the 5 B of a record's header",
                    name(side),
                    name(other),
                    percent(taken.headers as f64 / reads as f64)
                );
                add(
                    &rules::TLS,
                    side,
                    text,
                    "a Unix socket needs no encryption: the kernel keeps others out by the permissions of its path",
                );
            }
        }
        let asks = told.requests_per_s.unwrap_or_default();
        if told.medium == Medium::Udp && told.address.ends_with(DOMAIN) && asks >= 1.0 {
            let text = format!("{} looks names up, {} at {}", name(&told.client), rate(asks), told.address);
            add(
                &rules::NAME_RESOLUTION,
                &told.client,
                text,
                "look a name up once and keep its address, or the connection",
            );
        }
        for side in [&told.client, &told.server] {
            let lookups = side.pid.and_then(|pid| self.evidence.lookups.get(&pid)).copied().unwrap_or(0);
            let per_s = lookups as f64 / self.traced_for.as_secs_f64().max(1e-9);
            if per_s >= LOOKUPS_PER_S {
                let text = format!(
                    "{} resolves names: {} calls for that while it was traced",
                    name(side),
                    rate(per_s)
                );
                found.push(finding(
                    &rules::NAME_RESOLUTION,
                    side.pid,
                    None,
                    text,
                    "look a name up once and keep its address, or the connection",
                ));
            }
            let Some(process) = side.pid.and_then(|pid| self.samples.processes.get(&pid)) else { continue };
            let per_s = process.empty / self.elapsed().as_secs_f64().max(1e-9);
            if process.empty >= EMPTY_SHARE * process.calls && per_s >= EMPTY_PER_S {
                let text = format!(
                    "{} asks in vain: {} of its calls find nothing, {}",
                    name(side),
                    percent(process.empty / process.calls),
                    rate(per_s)
                );
                found.push(finding(&rules::EMPTY_POLLS, side.pid, None, text, "wait in poll() or epoll_wait() with a time-out, and read until less comes than was asked for"));
            }
        }
        found
    }

    fn dropped(&self, told: &Conversation) -> Option<WatchFinding> {
        if told.medium != Medium::Udp {
            return None;
        }
        let sockets = &self.programs.get(&told.server.pid?)?.held;
        let of_server = sockets.iter().flatten().filter_map(|(_, held)| match held {
            ipcost_sys::observed::Held::Socket(inode) => self.evidence.dropped.get(inode),
            _ => None,
        });
        let dropped: u64 = of_server.map(|(first, last)| u64::from(last - first)).sum();
        let server = name(&told.server);
        (dropped > 0).then(|| {
            let text = format!(
                "{} for {server} were dropped, since it reads more slowly than they come",
                counted(dropped, "datagram")
            );
            let remedy = "read faster, or give the socket a larger buffer (SO_RCVBUF, net.core.rmem_max)";
            finding(&rules::DATAGRAM_QUEUE, told.server.pid, Some(told.address.clone()), text, remedy)
        })
    }

    fn backlog(
        &self,
        medium: Medium,
        address: &str,
        owner: Option<u32>,
        waiting: u32,
        limit: u32,
    ) -> WatchFinding {
        let who = owner.map_or_else(|| "a program".to_owned(), |id| self.name(id));
        let text = format!(
            "{waiting} connections wait for {who} to accept them at {address}, more than the {limit} of its queue"
        );
        let what = match medium {
            Medium::Tcp => {
                "accept faster, or give listen() a longer queue (and net.core.somaxconn); a client whose SYN finds it full waits a second"
            }
            _ => {
                "accept faster, or give listen() a longer queue (and net.core.somaxconn); a client waits in connect() meanwhile"
            }
        };
        finding(&rules::BACKLOG, owner, Some(address.to_owned()), text, what)
    }
}

/// The same rule and the same process in many conversations is said once.
fn one_of_each(all: Vec<WatchFinding>) -> Vec<WatchFinding> {
    let mut found: Vec<(WatchFinding, u64)> = Vec::new();
    for finding in all {
        match found.iter_mut().find(|(known, _)| known.code == finding.code && known.pid == finding.pid) {
            Some((_, more)) => *more += 1,
            None => found.push((finding, 0)),
        }
    }
    let said = |(mut finding, more): (WatchFinding, u64)| {
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
