//! From looks to conversations: whose sockets they are, which end is whose, and what was moved in between.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use ipcost_lab::Between;
use ipcost_lab::attached::Traced;
use ipcost_model::HeldBack;
use ipcost_sys::call_counts::{CalledOn, CountedCalls};
use ipcost_sys::observed::{
    CallDirection, Held, MovedCall, Program, TcpCounts, TcpSocket, TcpState as SocketState, UdpSocket,
    UnixKind,
};

use super::findings::Evidence;
use super::gather::{Look, WatchError};
use super::sampled::{Estimate, Kept, SampledEnd, SampledSums, Samples};
use super::sampling::Window;
use super::{
    Conversation, Flow, Known, Manner, Medium, Party, SampleRecord, Spread, TcpState, TraceRecord, Unseen,
    WatchRequest,
};

/// Where one direction has so much more of the segments than the other, it is a stream.
const ONE_WAY: f64 = 8.0;
/// A connection that carries no more messages than this is for one request: some of them may be who the client is.
const FEW_MESSAGES: u64 = 8;
/// Processor time is counted in ticks of so many a second (`USER_HZ`).
const TICKS_PER_S: f64 = 100.0;
/// What has closed is known for so many looks more: the messages on both its ends may come in two of them.
const REMEMBERED: u32 = 3;
/// The most processes that are asked where they wait.
const MOST_WRITERS: usize = 64;
/// So many looks are kept, so that what goes on now is told from what was.
const PAST: usize = 8;

/// An end of a TCP connection: its network namespace, its own and the other's address.
type EndId = (u64, SocketAddr, SocketAddr);

/// What is known of an end of a TCP connection.
#[derive(Debug, Clone, Default)]
struct End {
    last: TcpCounts,
    /// The process that has it.
    owner: Option<u32>,
    is_open: bool,
    closed_for: u32,
    inode: u32,
    waiting: u32,
    congestion: Option<String>,
}

impl Conversation {
    pub(super) fn way(&self) -> Way {
        let (client, server) = (self.client.pid, self.server.pid);
        Way { client, server, medium: self.medium, address: self.address.clone() }
    }
}

/// What two programs talk over, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Way {
    pub client: Option<u32>,
    pub server: Option<u32>,
    pub medium: Medium,
    pub address: String,
}

/// What went one way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Amount {
    bytes: u64,
    segments: u64,
    /// How long senders waited for room at the receiver, over all connections, microseconds.
    held_up_us: u64,
    retransmitted: u64,
}

impl Amount {
    fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes - before.bytes,
            segments: self.segments - before.segments,
            held_up_us: self.held_up_us - before.held_up_us,
            retransmitted: self.retransmitted - before.retransmitted,
        }
    }

    fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.segments += other.segments;
        self.held_up_us += other.held_up_us;
        self.retransmitted += other.retransmitted;
    }
}

/// What a conversation has moved since the first look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    there: Amount,
    back: Amount,
    opened: u64,
}

impl Sum {
    fn since(self, before: Self) -> Self {
        let (there, back) = (self.there.since(before.there), self.back.since(before.back));
        Self { there, back, opened: self.opened - before.opened }
    }
}

/// A conversation at the last look.
#[derive(Debug, Clone, Default)]
pub(super) struct Now {
    connections: u32,
    /// Bytes that wait at the server and at the client.
    waiting: (u64, u64),
    /// Of each connection, at the client.
    rtts: Vec<u32>,
    congestion: Option<String>,
    /// The addresses of ends that are open, the server's first.
    pub ends: Vec<(SocketAddr, SocketAddr)>,
}

/// All that had been counted at an earlier look.
#[derive(Debug, Clone, Default)]
struct Past {
    at: Duration,
    sums: HashMap<Way, Sum>,
    sampled: SampledSums,
    /// What each end had taken in and given out, where calls are counted.
    counted: HashMap<(Way, bool), EndCounts>,
    /// By process: its ticks, and what its calls have read and written.
    programs: HashMap<u32, (u64, Option<(u64, u64)>)>,
}

/// What has been seen since the first look.
#[derive(Debug, Clone, Default)]
pub struct Watching {
    looks: u32,
    pub(super) elapsed: Duration,
    pub(super) programs: BTreeMap<u32, Program>,
    ends: HashMap<EndId, End>,
    networks: BTreeSet<u64>,
    /// Who opened a connection, by its own and the server's address, and at which look that was told.
    openers: HashMap<(SocketAddr, SocketAddr), (u32, u32)>,
    listening: HashMap<(u64, SocketAddr), Option<u32>>,
    sums: HashMap<Way, Sum>,
    pub(super) now: BTreeMap<Way, Now>,
    /// Unix sockets by number, so that new ones are counted.
    unix_seen: HashMap<u32, Way>,
    past: VecDeque<Past>,
    /// What had been counted at the first look, and of programs that came later, when they came.
    first: Past,
    lost: bool,
    pub(super) evidence: Evidence,
    pub(super) samples: Samples,
    /// What calls have moved since the first look at each end, where they are counted.
    counted: HashMap<(Way, bool), EndCounts>,
    /// What they had moved at the last look, by process, what it was on, and whether it came in.
    counts: HashMap<(u32, i32, CalledOn, bool), (u64, u64)>,
    counts_calls: bool,
    /// For how long strace was attached, and to which processes.
    pub(super) traced_for: Duration,
    traced: BTreeSet<u32>,
    /// Where descriptors led at the last look, and at the one before.
    leads: Leads,
    before: Leads,
}

/// What calls have moved at an end: bytes and calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct EndCounts {
    taken: (u64, u64),
    given: (u64, u64),
}

/// Where descriptors lead at a look.
#[derive(Debug, Clone, Default)]
struct Leads {
    /// What each process holds.
    held: HashMap<u32, HashMap<i32, Held>>,
    /// By a socket's number: its conversation, and whether it is the client's end.
    sockets: HashMap<u32, (Way, bool)>,
    /// By a pipe's number: the conversations over it.
    pipes: HashMap<u64, Vec<Way>>,
}

impl Leads {
    fn of(&self, process: u32, held: &Held) -> Vec<(Way, bool)> {
        match held {
            Held::Socket(inode) => self.sockets.get(inode).cloned().into_iter().collect(),
            Held::Pipe { inode, .. } => {
                let ways = self.pipes.get(inode).into_iter().flatten();
                let of_process =
                    ways.filter(|way| way.client == Some(process) || way.server == Some(process));
                of_process.map(|way| (way.clone(), way.client == Some(process))).collect()
            }
        }
    }
}

impl Watching {
    /// Takes a look in.
    pub fn see(&mut self, look: &Look) {
        self.looks += 1;
        self.elapsed = look.at;
        self.lost |= look.lost;
        let owners = Owners::of(&look.programs);
        for (id, program) in &look.programs {
            // One that came since has counted nothing before.
            let come =
                || if self.looks == 1 { counted_of(program) } else { (0, program.moved.map(|_| (0, 0))) };
            self.first.programs.entry(*id).or_insert_with(come);
        }
        self.programs.extend(look.programs.iter().map(|(id, program)| (*id, program.clone())));
        self.now.clear();
        self.before = std::mem::take(&mut self.leads);
        let held_by = |(id, program): (&u32, &Program)| {
            Some((*id, program.held.as_ref()?.iter().cloned().collect::<HashMap<i32, Held>>()))
        };
        self.leads.held = look.programs.iter().filter_map(held_by).collect();
        self.evidence.see(look, |inode| owners.of_socket(inode));
        self.see_tcp(look, &owners);
        self.see_udp(&look.udp, &owners);
        self.see_unix(look, &owners);
        for (inode, way) in pipes(&look.programs) {
            self.leads.pipes.entry(inode).or_default().push(way.clone());
            self.now.entry(way).or_default().connections += 1;
        }
        for way in shared(&look.programs) {
            self.now.entry(way).or_default().connections += 1;
        }
        let programs = look.programs.iter().map(|(id, program)| (*id, counted_of(program))).collect();
        let past = Past { at: look.at, sums: self.sums.clone(), programs, ..Past::default() };
        if self.looks == 1 {
            self.first = past.clone();
        }
        self.past.push_back(past);
        if self.past.len() > PAST {
            self.past.pop_front();
        }
    }

    fn see_tcp(&mut self, look: &Look, owners: &Owners) {
        let of_state = |state| look.tcp.iter().filter(move |socket| socket.state == state);
        for socket in of_state(SocketState::Listening) {
            self.networks.insert(socket.network);
            self.listening.insert((socket.network, socket.local), owners.of_socket(socket.inode));
        }
        self.networks.extend(of_state(SocketState::Connected).map(|socket| socket.network));
        let open: HashSet<EndId> = of_state(SocketState::Connected).map(id_of).collect();
        let all: HashSet<EndId> = look.closed.iter().map(id_of).chain(open.iter().copied()).collect();
        let told = look.connected.iter().map(|it| ((it.local, it.remote), (it.process, self.looks)));
        self.openers.extend(told);
        let oldest = self.looks.saturating_sub(REMEMBERED);
        self.openers.retain(|_, (_, look)| *look >= oldest);
        let owned = |socket: &TcpSocket| owners.of_socket(socket.inode);
        // An end that is new here may be the other one's of an end that was counted already.
        for socket in of_state(SocketState::Connected) {
            if let Some(owner) = owned(socket) {
                self.ends.entry(id_of(socket)).or_default().owner = Some(owner);
            }
        }
        // What has closed came before what is open now between the same addresses.
        for socket in look.closed.iter().chain(of_state(SocketState::Connected)) {
            self.count(socket, &all);
        }
        for (id, end) in &mut self.ends {
            end.is_open = open.contains(id);
            end.closed_for = if end.is_open { 0 } else { end.closed_for + 1 };
        }
        self.ends.retain(|_, end| end.closed_for <= REMEMBERED);
        for id in &open {
            let between = || self.other_end(*id, &all).and_then(|other| Some((other, self.way(*id, other)?)));
            let Some((other, way)) = self.is_server(*id).then(between).flatten() else { continue };
            let (server, client) = (self.ends.get(id), self.ends.get(&other));
            let (Some(server), Some(client)) = (server, client) else { continue };
            let waiting = (u64::from(server.waiting), u64::from(client.waiting));
            let inodes = [(server.inode, false), (client.inode, true)];
            let (rtt, congestion) =
                (client.last.rtt_us, client.congestion.clone().or_else(|| server.congestion.clone()));
            self.leads.sockets.extend(inodes.map(|(inode, is_client)| (inode, (way.clone(), is_client))));
            let now = self.now.entry(way).or_default();
            now.connections += 1;
            now.waiting = (now.waiting.0 + waiting.0, now.waiting.1 + waiting.1);
            now.rtts.push(rtt);
            now.congestion = congestion.or(now.congestion.take());
            now.ends.push((id.1, id.2));
        }
    }

    /// Adds what an end has counted since the last look to its conversation.
    fn count(&mut self, socket: &TcpSocket, all: &HashSet<EndId>) {
        let Some(counts) = socket.counts else { return };
        let id = id_of(socket);
        let is_known = self.ends.get(&id).is_some_and(|end| end.is_open);
        let end = self.ends.entry(id).or_default();
        let is_another = counts.received_bytes < end.last.received_bytes
            || counts.acknowledged_bytes < end.last.acknowledged_bytes
            || counts.sent_bytes < end.last.sent_bytes;
        let is_new = !is_known || is_another;
        let before = match is_new {
            // What was there at the first look has counted what no one saw.
            true if self.looks == 1 => counts,
            true => TcpCounts::default(),
            false => end.last,
        };
        (end.last, end.is_open, end.waiting, end.inode) = (counts, true, socket.waiting, socket.inode);
        end.congestion = socket.congestion.clone().or(end.congestion.take());
        let Some(way) = self.other_end(id, all).and_then(|other| self.way(id, other)) else { return };
        let since = |now: u32, before: u32| u64::from(now.saturating_sub(before));
        let retransmitted = since(counts.retransmitted, before.retransmitted);
        let mut went = Amount {
            held_up_us: counts.receiver_limited_us.saturating_sub(before.receiver_limited_us),
            segments: since(counts.data_segments_out, before.data_segments_out).saturating_sub(retransmitted),
            retransmitted,
            bytes: 0,
        };
        let mut came = Amount::default();
        match counts.sent_bytes.zip(before.sent_bytes.or(Some(0))) {
            // What an end has sent does not count the end of the connection, as what the other one has received does.
            Some((now, before)) => went.bytes = now.saturating_sub(before),
            None => came.bytes = counts.received_bytes.saturating_sub(before.received_bytes),
        }
        let is_server = self.is_server(id);
        let sum = self.sums.entry(way).or_default();
        let (into, out_of) = match is_server {
            true => (&mut sum.there, &mut sum.back),
            false => (&mut sum.back, &mut sum.there),
        };
        into.add(came);
        out_of.add(went);
        sum.opened += u64::from(is_server && is_new && self.looks > 1);
    }

    /// The other end of a connection, if it is on this machine, too: in the same network, or in another one.
    fn other_end(&self, (network, local, remote): EndId, all: &HashSet<EndId>) -> Option<EndId> {
        let is_there = |network: u64| {
            let id = (network, remote, local);
            (all.contains(&id) || self.ends.contains_key(&id)).then_some(id)
        };
        let elsewhere = || {
            let others = self.networks.iter().copied().filter(|other| *other != network);
            if remote.ip().is_loopback() { None } else { others.into_iter().find_map(is_there) }
        };
        is_there(network).or_else(elsewhere)
    }

    /// The conversation of a connection; `None` if a program talks to itself.
    fn way(&self, id: EndId, other: EndId) -> Option<Way> {
        let (server, client) = if self.is_server(id) { (id, other) } else { (other, id) };
        let owner = |id: &EndId| self.ends.get(id).and_then(|end| end.owner);
        let listener = || self.listener_at(server.0, server.1).flatten();
        // Those that have ended before any look met them are told together.
        let is_met = |process: &u32| self.programs.contains_key(process);
        let opener = || self.openers.get(&(client.1, client.2)).map(|(process, _)| *process).filter(is_met);
        let (client, of_server) = (owner(&client).or_else(opener), owner(&server).or_else(listener));
        let address = server.1.to_string();
        (client.is_none() || client != of_server).then_some(Way {
            client,
            server: of_server,
            medium: Medium::Tcp,
            address,
        })
    }

    fn listener_at(&self, network: u64, at: SocketAddr) -> Option<Option<u32>> {
        let any_4 = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), at.port());
        let any_6 = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), at.port());
        [at, any_4, any_6].iter().find_map(|at| self.listening.get(&(network, *at)).copied())
    }

    /// Whether an end is the one that was connected to: someone listened at its address.
    fn is_server(&self, (network, local, remote): EndId) -> bool {
        let listens = |at| {
            self.networks.iter().any(|other| {
                (*other == network || !local.ip().is_loopback()) && self.listener_at(*other, at).is_some()
            })
        };
        match (listens(local), listens(remote)) {
            (true, false) => true,
            (false, true) => false,
            _ => local.port() < remote.port(),
        }
    }

    fn see_udp(&mut self, sockets: &[UdpSocket], owners: &Owners) {
        let bound: HashMap<(u64, SocketAddr), &UdpSocket> =
            sockets.iter().map(|socket| ((socket.network, socket.local), socket)).collect();
        let any = |at: SocketAddr| SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), at.port());
        for socket in sockets {
            let Some(remote) = socket.remote else { continue };
            let at = |at| bound.get(&(socket.network, at));
            let Some(other) = at(remote).or_else(|| at(any(remote))) else { continue };
            // Of two that are connected to each other, the one at the lower port was there first.
            if other.remote == Some(socket.local) && socket.local.port() < remote.port() {
                continue;
            }
            let (client, server) = (owners.of_socket(socket.inode), owners.of_socket(other.inode));
            if client == server {
                continue;
            }
            let way = Way { client, server, medium: Medium::Udp, address: remote.to_string() };
            self.leads.sockets.insert(socket.inode, (way.clone(), true));
            self.leads.sockets.insert(other.inode, (way.clone(), false));
            let now = self.now.entry(way).or_default();
            now.connections += 1;
            now.waiting =
                (now.waiting.0 + u64::from(other.waiting), now.waiting.1 + u64::from(socket.waiting));
        }
    }

    fn see_unix(&mut self, look: &Look, owners: &Owners) {
        for socket in look.unix.iter().filter(|socket| socket.is_listening) {
            let (Some(server), Some(address)) = (owners.of_socket(socket.inode), socket.name.clone()) else {
                continue;
            };
            let medium = if socket.kind == UnixKind::Packet { Medium::UnixSeqpacket } else { Medium::Unix };
            // Who connects is seen where a look meets the connection.
            let way = Way { client: None, server: Some(server), medium, address };
            self.leads.sockets.insert(socket.inode, (way, false));
        }
        let by_inode: HashMap<u32, _> = look.unix.iter().map(|socket| (socket.inode, socket)).collect();
        let is_first = self.looks == 1;
        for socket in look.unix.iter().filter(|socket| !socket.is_listening) {
            let Some(peer) = socket.peer.and_then(|peer| by_inode.get(&peer)) else { continue };
            // The end that was connected to has the name; of a pair without names, the later one is the client.
            let is_client = match (&socket.name, &peer.name) {
                (None, Some(_)) => true,
                (Some(_), None) => socket.kind == UnixKind::Datagram && peer.peer != Some(socket.inode),
                _ => peer.peer != Some(socket.inode) || socket.inode > peer.inode,
            };
            let (client, server) = (owners.of_socket(socket.inode), owners.of_socket(peer.inode));
            if !is_client || client == server {
                continue;
            }
            let medium = match (socket.kind, &peer.name) {
                (UnixKind::Datagram, _) => Medium::UnixDgram,
                (_, None) => Medium::Socketpair,
                (UnixKind::Stream, _) => Medium::Unix,
                (UnixKind::Packet, _) => Medium::UnixSeqpacket,
            };
            let address = peer.name.clone().unwrap_or_default();
            let way = Way { client, server, medium, address };
            self.leads.sockets.insert(socket.inode, (way.clone(), true));
            self.leads.sockets.insert(peer.inode, (way.clone(), false));
            let now = self.now.entry(way.clone()).or_default();
            now.connections += 1;
            now.waiting =
                (now.waiting.0 + u64::from(peer.waiting), now.waiting.1 + u64::from(socket.waiting));
            if self.unix_seen.insert(socket.inode, way.clone()).is_none() && !is_first {
                self.sums.entry(way).or_default().opened += 1;
            }
        }
        self.unix_seen.retain(|inode, _| by_inode.contains_key(inode));
    }

    /// Adds what calls have moved since the last look to the ends of conversations.
    fn see_counted(&mut self, counted: &[CountedCalls]) {
        self.counts_calls = true;
        let mut now = HashMap::with_capacity(counted.len());
        for one in counted {
            let is_in = one.direction == CallDirection::In;
            let key = (one.process, one.descriptor, one.on, is_in);
            let before = self.counts.get(&key).copied().unwrap_or_default();
            let (bytes, calls) = (one.bytes.saturating_sub(before.0), one.calls.saturating_sub(before.1));
            now.insert(key, (one.bytes, one.calls));
            if bytes == 0 || self.looks == 1 {
                continue;
            }
            let held = match one.on {
                CalledOn::Socket(inode) => Held::Socket(inode),
                CalledOn::Pipe(inode) => Held::Pipe { inode, writes: false, reads: false, path: None },
            };
            let mut ways = self.leads.of(one.process, &held);
            if ways.is_empty() {
                ways = self.before.of(one.process, &held);
            }
            if ways.is_empty() {
                // A connection shorter than the time between two looks: its listener tells what it is.
                let listener = self.samples.listener(one.process, one.descriptor);
                let held = listener.and_then(|listener| self.leads.held.get(&one.process)?.get(&listener));
                ways = held.map(|held| self.leads.of(one.process, held)).unwrap_or_default();
            }
            for way in ways {
                let end = self.counted.entry(way).or_default();
                let sum = if is_in { &mut end.taken } else { &mut end.given };
                *sum = (sum.0 + bytes, sum.1 + calls);
            }
        }
        self.counts = now;
    }

    /// What went one way over a conversation, by the counted calls of its ends.
    fn counted(&self, way: &Way, there: bool, since: &Past) -> Option<Estimate> {
        if !self.counts_calls {
            return None;
        }
        let end = |is_client: bool| {
            let key = (way.clone(), is_client);
            let now = self.counted.get(&key).copied().unwrap_or_default();
            let before = since.counted.get(&key).copied().unwrap_or_default();
            let less = |now: (u64, u64), before: (u64, u64)| (now.0 - before.0, now.1 - before.1);
            (less(now.taken, before.taken), less(now.given, before.given))
        };
        let (given, taken) = (end(there).1, end(!there).0);
        let is_pipe = matches!(way.medium, Medium::Pipe | Medium::Fifo);
        // Of several that hold a pipe, those talk that move something.
        let is_given = if is_pipe { given.0 <= taken.0 } else { given.0 >= taken.0 };
        let (bytes, calls) = if is_given { given } else { taken };
        let messages = calls as f64 * self.samples.messages_per_call(way, there, is_given);
        Some(Estimate { bytes: bytes as f64, messages })
    }

    /// The conversations that fit a request, those that move most first: since the first look, or in the last few seconds.
    pub fn conversations(&self, request: &WatchRequest, lately: Option<Duration>) -> Vec<Conversation> {
        let since = self.since(lately);
        let mut ways: BTreeSet<&Way> = self.now.keys().collect();
        ways.extend(self.sums.keys());
        ways.extend(self.samples.ends.keys().map(|(way, _)| way));
        let told = ways.into_iter().map(|way| self.tell(way, since));
        let mut found: Vec<Conversation> = told.filter(|conversation| fits(conversation, request)).collect();
        if lately.is_some() {
            found.retain(|it| it.connections > 0 || it.opened > 0);
        }
        let moved = |one: &Conversation| {
            let bytes = |flow: &Option<Flow>| flow.map_or(0.0, |flow| flow.bytes_per_s);
            bytes(&one.there) + bytes(&one.back)
        };
        found.sort_by(|a, b| {
            moved(b)
                .total_cmp(&moved(a))
                .then(b.connections.cmp(&a.connections))
                .then(a.address.cmp(&b.address))
        });
        found
    }

    /// A conversation in the last few seconds.
    pub(super) fn lately(&self, way: &Way) -> Conversation {
        self.tell(way, self.past.front().unwrap_or(&self.first))
    }

    /// Takes in the calls that were sampled between the last look and the one before, then what that look has counted of all of them.
    pub fn sampled(&mut self, windows: &[Window], counted: Option<&[CountedCalls]>) {
        self.take_in(windows, |_| None);
        if let Some(counted) = counted {
            self.see_counted(counted);
        }
        for past in self.past.back_mut().into_iter().chain((self.looks == 1).then_some(&mut self.first)) {
            past.sampled = self.samples.sums();
            past.counted.clone_from(&self.counted);
        }
    }

    /// Takes in what an attached strace has seen of processes.
    pub fn traced(&mut self, traced: &Traced) {
        let seen_ns = traced.lasted.as_nanos() as u64;
        let window = Window {
            lasted_ns: seen_ns,
            stands_for_ns: seen_ns,
            calls: traced.calls.clone(),
            ..Window::default()
        };
        for (process, tally) in &traced.by_process {
            *self.evidence.lookups.entry(*process).or_default() += tally.lookups.values().sum::<u64>();
        }
        self.traced_for += traced.lasted;
        self.traced.extend(&traced.attached);
        self.take_in(&[window], |call| traced.target(call).cloned());
    }

    fn take_in(&mut self, windows: &[Window], target: impl Fn(&MovedCall) -> Option<Held>) {
        let Self { leads, before, samples, .. } = self;
        let held = |call: &MovedCall| {
            let at = |leads: &Leads| leads.held.get(&call.process)?.get(&call.descriptor).cloned();
            target(call).or_else(|| at(before)).or_else(|| at(leads))
        };
        let lead = |process: u32, held: &Held| match before.of(process, held) {
            none if none.is_empty() => leads.of(process, held),
            found => found,
        };
        samples.looked();
        windows.iter().for_each(|window| samples.add(window, &held, &lead));
    }

    /// To which processes strace was attached, and for how long.
    pub fn trace(&self) -> Option<TraceRecord> {
        let processes = self.traced.iter().copied().collect();
        (!self.traced.is_empty()).then_some(TraceRecord { processes, seconds: self.traced_for.as_secs_f64() })
    }

    /// Processes of conversations that nothing counts.
    pub fn traceable(&self, request: &WatchRequest) -> Vec<u32> {
        const MOST: usize = 32;
        let is_own = |id: &u32| self.programs.get(id).is_some_and(|program| program.held.is_some());
        let uncounted = self
            .conversations(request, None)
            .into_iter()
            .filter(|told| told.medium != Medium::Shm && (told.medium != Medium::Tcp || !request.is_any()));
        let both = uncounted.flat_map(|told| [told.client.pid, told.server.pid]).flatten();
        let mut found: Vec<u32> = both.filter(is_own).collect();
        found.sort_unstable();
        found.dedup();
        found.truncate(MOST);
        found
    }

    /// How much of the calls was sampled.
    pub fn sample(&self) -> Option<SampleRecord> {
        if !self.traced_for.is_zero() {
            return None;
        }
        let Samples { open_ns, windows, lost, .. } = self.samples;
        let share = (open_ns as f64 / self.elapsed().as_nanos().max(1) as f64).min(1.0);
        (windows > 0).then_some(SampleRecord { share, windows, lost })
    }

    /// Processes that write into pipes and Unix sockets.
    pub fn writers(&self) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        for way in self.now.keys() {
            let writers = match way.medium {
                Medium::Pipe | Medium::Fifo => [way.client, None],
                medium if medium.is_unix() => [way.client, way.server],
                _ => continue,
            };
            found.extend(writers.into_iter().flatten());
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(MOST_WRITERS);
        found
    }

    /// Takes in where these processes wait in the kernel.
    pub fn glance(&mut self, waits: &BTreeMap<u32, Vec<String>>) {
        self.evidence.glance(waits, self.now.keys());
    }

    /// Takes in what ends of connections held back while they were watched for so long.
    pub fn held_back(&mut self, seen: Vec<(Between, HeldBack)>, lasts: Duration) {
        self.evidence.held_back(seen, lasts);
    }

    /// What had been counted so long ago, or at the first look.
    fn since(&self, lately: Option<Duration>) -> &Past {
        let from = lately.map(|lately| self.elapsed.saturating_sub(lately));
        let old =
            from.and_then(|from| self.past.iter().rev().find(|past| past.at <= from).or(self.past.front()));
        old.unwrap_or(&self.first)
    }

    fn tell(&self, way: &Way, since: &Past) -> Conversation {
        let seconds = (self.elapsed - since.at).as_secs_f64().max(1e-9);
        let before = since.sums.get(way).copied().unwrap_or_default();
        let sum = self.sums.get(way).copied().unwrap_or_default().since(before);
        let now = self.now.get(way).cloned().unwrap_or_default();
        let flow = |amount: Amount| Flow {
            bytes: amount.bytes,
            bytes_per_s: amount.bytes as f64 / seconds,
            segments: Some(amount.segments),
            messages_per_s: None,
            message_bytes: None,
            known: Known::Counted,
        };
        let mut told = Conversation {
            client: self.party(way.client, since, seconds),
            server: self.party(way.server, since, seconds),
            medium: way.medium,
            address: way.address.clone(),
            connections: now.connections,
            opened: sum.opened,
            opened_per_s: sum.opened as f64 / seconds,
            there: None,
            back: None,
            manner: None,
            requests_per_s: None,
            round_trip_us: None,
            think_us: None,
            service_us: None,
            tcp: None,
            waiting: now.waiting,
        };
        match way.medium {
            Medium::Tcp => {
                let (manner, requests) = manner(sum);
                let mut rtts = now.rtts.clone();
                rtts.sort_unstable();
                let held_up = |amount: Amount| {
                    amount.held_up_us as f64 / 1e6 / seconds / f64::from(now.connections.max(1))
                };
                told.there = Some(flow(sum.there));
                told.back = Some(flow(sum.back));
                told.manner = Some(manner);
                told.requests_per_s = requests.map(|requests| requests as f64 / seconds);
                told.tcp = Some(TcpState {
                    congestion: now.congestion.unwrap_or_default(),
                    rtt_us: rtts.get(rtts.len() / 2).copied().unwrap_or_default(),
                    retransmitted: sum.there.retransmitted + sum.back.retransmitted,
                    there_held_up: held_up(sum.there),
                    back_held_up: held_up(sum.back),
                });
            }
            Medium::Pipe | Medium::Fifo => {
                told.there = self.through_pipe(way, since).map(|bytes| Flow {
                    bytes,
                    bytes_per_s: bytes as f64 / seconds,
                    segments: None,
                    messages_per_s: None,
                    message_bytes: None,
                    known: Known::Estimated,
                });
                let idle = |there: Flow| if there.bytes > 0 { Manner::Stream } else { Manner::Idle };
                told.manner = told.there.map(idle);
            }
            _ => {}
        }
        self.tell_samples(way, since, seconds, &mut told);
        told
    }

    /// Adds what samples show to what is counted, or puts it in its place where nothing is.
    fn tell_samples(&self, way: &Way, since: &Past, seconds: f64, told: &mut Conversation) {
        // What one that has ended did after the last look is in no counter.
        let moved = |process: u32| {
            self.leads.held.get(&process)?;
            let (read, written) = self.programs.get(&process)?.moved?;
            let before = since.programs.get(&process).or_else(|| self.first.programs.get(&process))?.1?;
            Some((read.checked_sub(before.0)?, written.checked_sub(before.1)?))
        };
        let is_counted = self.counts_calls;
        let estimate = |there| {
            self.counted(way, there, since)
                .or_else(|| self.samples.estimate(way, there, &since.sampled, &moved))
        };
        let (Some(there), Some(back)) = (estimate(true), estimate(false)) else { return };
        let end = |client| self.samples.ends.get(&(way.clone(), client));
        let (client, server) = (end(true), end(false));
        let sizes = |giver: Option<&SampledEnd>, taker: Option<&SampledEnd>| {
            let given = giver.and_then(|end| spread(&end.given.sizes));
            given.or_else(|| taker.and_then(|end| spread(&end.taken.sizes)))
        };
        let is_pipe = matches!(way.medium, Medium::Pipe | Medium::Fifo);
        // Strace makes programs slower: what went meanwhile says nothing of the rest of the time.
        let is_traced = !self.traced_for.is_zero();
        let seconds = if is_traced && !is_counted { self.traced_for.as_secs_f64() } else { seconds };
        let fill = |flow: &mut Option<Flow>, estimate: Estimate, sizes: Option<Spread>| {
            // What calls have moved is more exact than the counters of whole processes.
            if flow.is_some_and(|flow| flow.known == Known::Estimated) {
                *flow = None;
            }
            let known = flow.get_or_insert(Flow {
                bytes: estimate.bytes.round() as u64,
                bytes_per_s: estimate.bytes / seconds,
                segments: None,
                messages_per_s: None,
                message_bytes: None,
                known: match (is_counted, is_traced) {
                    (true, _) => Known::Counted,
                    (_, true) => Known::Traced,
                    _ => Known::Sampled,
                },
            });
            known.messages_per_s = (estimate.messages > 0.0).then_some(estimate.messages / seconds);
            known.message_bytes = sizes;
        };
        if way.medium != Medium::Shm {
            fill(&mut told.there, there, sizes(client, server));
        }
        if !is_pipe && way.medium != Medium::Shm {
            fill(&mut told.back, back, sizes(server, client));
        }
        told.round_trip_us = client.and_then(|end| spread_us(&end.answers_ns));
        told.think_us = client.and_then(|end| spread_us(&end.pauses_ns));
        told.service_us = server.and_then(|end| spread_us(&end.pauses_ns));
        if way.medium != Medium::Tcp && way.medium != Medium::Shm {
            let asks = there.messages.min(back.messages);
            let accepted = self.samples.accepted(way, &since.sampled);
            if accepted > told.opened as f64 {
                (told.opened, told.opened_per_s) = (accepted.round() as u64, accepted / seconds);
            }
            let (manner, requests) = match there.bytes.max(back.bytes) > 0.0 {
                _ if accepted > 1.5 && asks <= FEW_MESSAGES as f64 * accepted => {
                    (Manner::Connections, accepted)
                }
                false => (Manner::Idle, 0.0),
                true if asks > 0.0 => (Manner::Requests, asks),
                true => (Manner::Stream, 0.0),
            };
            told.manner = Some(manner);
            told.requests_per_s = (requests > 0.0).then_some(requests / seconds);
        }
    }

    /// What went through a pipe between two programs that have no other socket or pipe in that direction: what their calls have moved.
    fn through_pipe(&self, way: &Way, since: &Past) -> Option<u64> {
        let moved = |id: Option<u32>, writes: bool| {
            let program = self.programs.get(&id?)?;
            let ends: BTreeSet<&Held> = program
                .held
                .as_ref()?
                .iter()
                .map(|(_, held)| held)
                .filter(|held| match held {
                    Held::Socket(_) => true,
                    Held::Pipe { writes: into, reads: from, .. } => {
                        if writes {
                            *into
                        } else {
                            *from
                        }
                    }
                })
                .collect();
            let (read, written) = program.moved?;
            let of_first = || self.first.programs.get(&id?);
            let (read_before, written_before) = since.programs.get(&id?).or_else(of_first)?.1?;
            let bytes =
                if writes { written.checked_sub(written_before) } else { read.checked_sub(read_before) };
            bytes.filter(|_| ends.len() == 1)
        };
        // Each may read or write files, too, which makes it the most that may have gone through.
        Some(moved(way.client, true)?.min(moved(way.server, false)?))
    }

    fn party(&self, id: Option<u32>, since: &Past, seconds: f64) -> Party {
        let Some(id) = id else { return Party::default() };
        let Some(program) = self.programs.get(&id) else { return Party::default() };
        let before = since.programs.get(&id).or_else(|| self.first.programs.get(&id));
        let before = before.map_or(program.ticks, |(ticks, _)| *ticks);
        let cpu = program.ticks.saturating_sub(before) as f64 / TICKS_PER_S / seconds;
        Party {
            pid: Some(id),
            name: program.name.clone(),
            command: program.command.join(" "),
            unit: program.unit().map(str::to_owned),
            container: program.container().map(str::to_owned),
            cpu: (self.looks > 1).then_some(cpu),
        }
    }

    /// Whether what is asked for is there to be seen.
    ///
    /// # Errors
    /// That there is no such process, or that it is another user's.
    pub fn check(&self, request: &WatchRequest) -> Result<(), WatchError> {
        let Some(pid) = request.pid else { return Ok(()) };
        let program = self.programs.get(&pid).ok_or(WatchError::NoProcess(pid))?;
        program.held.as_ref().map(drop).ok_or(WatchError::NotYours(pid))
    }

    /// What could not be seen, and what would allow it; with the reason why no calls are sampled, if none are.
    pub fn unseen(&self, request: &WatchRequest, why_no_samples: Option<&String>) -> Vec<Unseen> {
        let hidden = self.programs.values().filter(|program| program.held.is_none()).count() as u64;
        let mut found = Vec::new();
        if hidden > 0 {
            found.push(Unseen {
                what: format!("{hidden} processes of other users"),
                why: "this user may not look at what they hold".to_owned(),
                remedy: "Run as root to see all".to_owned(),
            });
        }
        if self.lost {
            found.push(Unseen {
                what: "Some connections that closed between two looks".to_owned(),
                why: "more of them closed than the kernel keeps messages".to_owned(),
                remedy: "Their bytes are missing".to_owned(),
            });
        }
        let needs_samples = |told: &Conversation| told.there.is_none() && told.medium != Medium::Shm;
        if let Some(why) =
            why_no_samples.filter(|_| self.conversations(request, None).iter().any(needs_samples))
        {
            found.push(Unseen {
                what: "Bytes and messages over Unix sockets, pipes and UDP".to_owned(),
                why: format!("nothing counts them, and calls cannot be sampled: {why}"),
                remedy: "Run as root to sample them".to_owned(),
            });
        }
        found
    }

    /// A process by its name and its number.
    pub fn name(&self, id: u32) -> String {
        self.programs
            .get(&id)
            .map_or_else(|| format!("process {id}"), |program| format!("{} ({id})", program.name))
    }

    /// How often was looked.
    pub fn looks(&self) -> u32 {
        self.looks
    }

    /// Since the first look.
    pub fn elapsed(&self) -> Duration {
        self.elapsed - self.first.at
    }
}

/// Which process has a socket: of several that have it, the one that was started last, since servers hand theirs on.
struct Owners(HashMap<u32, u32>);

impl Owners {
    fn of(programs: &BTreeMap<u32, Program>) -> Self {
        let mut found: HashMap<u32, u32> = HashMap::new();
        let mut all: Vec<&Program> = programs.values().collect();
        all.sort_by_key(|program| (program.started, program.id));
        for program in all {
            for (_, held) in program.held.iter().flatten() {
                if let Held::Socket(inode) = held {
                    found.insert(*inode, program.id);
                }
            }
        }
        Self(found)
    }

    fn of_socket(&self, inode: u32) -> Option<u32> {
        self.0.get(&inode).copied().filter(|_| inode != 0)
    }
}

fn spread(kept: &Kept) -> Option<Spread> {
    Some(Spread { median: kept.quantile(0.5)? as f64, p99: kept.quantile(0.99)? as f64 })
}

/// Of nanoseconds, in microseconds.
fn spread_us(kept: &Kept) -> Option<Spread> {
    spread(kept).map(|ns| Spread { median: ns.median / 1e3, p99: ns.p99 / 1e3 })
}

fn id_of(socket: &TcpSocket) -> EndId {
    (socket.network, socket.local, socket.remote)
}

fn counted_of(program: &Program) -> (u64, Option<(u64, u64)>) {
    (program.ticks, program.moved)
}

/// How a conversation over TCP goes, and how many requests it had.
fn manner(sum: Sum) -> (Manner, Option<u64>) {
    let (sent, answered) = (sum.there.segments, sum.back.segments);
    let (less, more) = (sent.min(answered), sent.max(answered));
    if more == 0 && sum.opened == 0 {
        return (Manner::Idle, None);
    }
    if sum.opened > 1 && sent.min(answered) <= FEW_MESSAGES * sum.opened {
        return (Manner::Connections, Some(sum.opened));
    }
    match less == 0 || more as f64 >= ONE_WAY * less as f64 {
        true => (Manner::Stream, None),
        // A request is a segment or more, and so is its answer.
        false => (Manner::Requests, Some(less)),
    }
}

/// Pipes between two processes, each with its number.
fn pipes(programs: &BTreeMap<u32, Program>) -> Vec<(u64, Way)> {
    #[derive(Default)]
    struct Ends<'a> {
        writers: BTreeSet<u32>,
        readers: BTreeSet<u32>,
        path: Option<&'a str>,
    }
    let mut all: BTreeMap<u64, Ends<'_>> = BTreeMap::new();
    for program in programs.values() {
        for (_, held) in program.held.iter().flatten() {
            let Held::Pipe { inode, writes, reads, path } = held else { continue };
            let ends = all.entry(*inode).or_default();
            ends.path = path.as_deref().or(ends.path);
            if *writes {
                ends.writers.insert(program.id);
            }
            if *reads {
                ends.readers.insert(program.id);
            }
        }
    }
    let mut found = Vec::new();
    for (inode, Ends { writers, readers, path }) in &all {
        // A shell may still have both ends of what it has started.
        let both: Vec<u32> = writers.intersection(readers).copied().collect();
        let only = |ends: &BTreeSet<u32>| {
            let without: Vec<u32> = ends.iter().copied().filter(|id| !both.contains(id)).collect();
            if without.is_empty() { ends.iter().copied().collect() } else { without }
        };
        let address = path.map_or_else(|| format!("pipe {inode}"), str::to_owned);
        let medium = if path.is_some() { Medium::Fifo } else { Medium::Pipe };
        for writer in only(writers) {
            for reader in only(readers).into_iter().filter(|reader| *reader != writer) {
                let way =
                    Way { client: Some(writer), server: Some(reader), medium, address: address.clone() };
                found.push((*inode, way));
            }
        }
    }
    found
}

/// Memory that two processes share.
fn shared(programs: &BTreeMap<u32, Program>) -> Vec<Way> {
    let mut all: BTreeMap<(u64, u64), (Vec<&Program>, &str)> = BTreeMap::new();
    for program in programs.values() {
        for memory in &program.shared {
            all.entry(memory.file).or_insert((Vec::new(), &memory.path)).0.push(program);
        }
    }
    let mut found = Vec::new();
    for (mut sharers, path) in all.into_values() {
        sharers.sort_by_key(|program| (program.started, program.id));
        sharers.dedup_by_key(|program| program.id);
        if let Some((first, others)) = sharers.split_first() {
            let of = |other: &&Program| {
                let (client, server) = (Some(first.id), Some(other.id));
                Way { client, server, medium: Medium::Shm, address: path.to_owned() }
            };
            found.extend(others.iter().map(of));
        }
    }
    found
}

pub(super) fn fits(conversation: &Conversation, request: &WatchRequest) -> bool {
    let sides = || [&conversation.client, &conversation.server].into_iter();
    let has_text = |text: &String| {
        sides().any(|side| side.name.contains(text.as_str()) || side.command.contains(text.as_str()))
    };
    let has_port = |port: &u16| {
        let at: Option<SocketAddr> = conversation.address.parse().ok();
        at.is_some_and(|at| at.port() == *port)
    };
    request.pid.is_none_or(|pid| sides().any(|side| side.pid == Some(pid)))
        && request.command.as_ref().is_none_or(has_text)
        && request.port.as_ref().is_none_or(has_port)
        && request.path.as_ref().is_none_or(|path| conversation.address == *path)
}

#[cfg(test)]
mod tests {
    use ipcost_sys::observed::{Connected, TcpSocket};

    use super::*;

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn socket(local: u16, remote: u16, inode: u32, sent: u64, segments: u32) -> TcpSocket {
        TcpSocket {
            network: 0,
            local: at(local),
            remote: at(remote),
            state: SocketState::Connected,
            inode,
            waiting: 0,
            outstanding: 0,
            congestion: Some("cubic".to_owned()),
            counts: Some(TcpCounts {
                sent_bytes: Some(sent),
                data_segments_out: segments,
                ..TcpCounts::default()
            }),
        }
    }

    fn listener(port: u16, inode: u32) -> TcpSocket {
        TcpSocket { state: SocketState::Listening, counts: None, ..socket(port, 0, inode, 0, 0) }
    }

    fn program(id: u32, name: &str, sockets: &[u32]) -> (u32, Program) {
        let held = sockets.iter().map(|inode| (*inode as i32, Held::Socket(*inode))).collect();
        let program = Program {
            id,
            started: u64::from(id),
            name: name.to_owned(),
            held: Some(held),
            ..Program::default()
        };
        (id, program)
    }

    fn look(seconds: u64, tcp: Vec<TcpSocket>, closed: Vec<TcpSocket>) -> Look {
        Look {
            at: Duration::from_secs(seconds),
            tcp,
            closed,
            programs: [
                program(10, "redis-server", &[1, 2, 5]),
                program(20, "worker", &[3, 6]),
                program(30, "asker", &[]),
            ]
            .into(),
            ..Look::default()
        }
    }

    fn seen(looks: &[Look]) -> Vec<Conversation> {
        let mut watching = Watching::default();
        looks.iter().for_each(|look| watching.see(look));
        watching.conversations(&WatchRequest::default(), None)
    }

    #[test]
    fn bytes_count_from_the_first_look_and_the_listener_is_the_server() {
        let both = |there, back, segments| {
            vec![
                listener(6379, 1),
                socket(6379, 40_000, 2, back, segments),
                socket(40_000, 6379, 3, there, segments),
            ]
        };
        let found =
            seen(&[look(0, both(500, 5_000, 10), vec![]), look(10, both(1_500, 25_000, 110), vec![])]);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.client.name.as_str(), one.server.name.as_str()), ("worker", "redis-server"));
        assert_eq!(one.address, "127.0.0.1:6379");
        assert_eq!((one.there.unwrap().bytes, one.back.unwrap().bytes), (1_000, 20_000));
        assert_eq!((one.manner, one.requests_per_s), (Some(Manner::Requests), Some(10.0)));
        assert_eq!((one.connections, one.opened_per_s), (1, 0.0));
    }

    #[test]
    fn connections_that_close_between_looks_count_and_belong_to_who_opened_them() {
        let open = || vec![listener(6379, 1), socket(6379, 40_000, 2, 30, 1), socket(40_000, 6379, 3, 70, 1)];
        let ports = || 41_000..41_050_u16;
        let closed =
            ports().flat_map(|port| [socket(6379, port, 0, 30, 1), socket(port, 6379, 0, 70, 1)]).collect();
        let connected = |port: u16| Connected { process: 30, thread: 30, local: at(port), remote: at(6379) };
        let mut second = look(10, open(), closed);
        second.connected = ports().filter(|port| port % 2 == 0).map(connected).collect();
        let found = seen(&[look(0, open(), vec![]), second]);
        let of = |pid: Option<u32>| found.iter().find(|one| one.client.pid == pid).unwrap();
        // What another program has open is no reason to take theirs for its own.
        assert_eq!((of(Some(20)).there.unwrap().bytes, of(Some(20)).opened), (0, 0));
        for pid in [Some(30), None] {
            assert_eq!((of(pid).there.unwrap().bytes, of(pid).back.unwrap().bytes), (1_750, 750));
            assert_eq!(
                (of(pid).manner, of(pid).opened, of(pid).requests_per_s),
                (Some(Manner::Connections), 25, Some(2.5))
            );
        }
    }

    #[test]
    fn the_same_addresses_may_be_another_connection() {
        let both =
            |there| vec![listener(6379, 1), socket(6379, 40_000, 2, 0, 0), socket(40_000, 6379, 3, there, 1)];
        let found = seen(&[
            look(0, both(100), vec![]),
            look(1, both(40), vec![socket(6379, 40_000, 0, 0, 0), socket(40_000, 6379, 0, 150, 2)]),
        ]);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(one.there.unwrap().bytes, 50 + 40);
    }

    #[test]
    fn what_has_no_other_end_here_is_no_local_conversation() {
        assert_eq!(seen(&[look(0, vec![listener(6379, 1), socket(6379, 40_000, 2, 0, 0)], vec![])]), []);
    }

    #[test]
    fn pipes_and_shared_memory_have_two_sides() {
        let end = |writes| Held::Pipe { inode: 7, writes, reads: !writes, path: None };
        let piped = |id: u32, writes: bool, moved| {
            let shared = [ipcost_sys::observed::SharedMemory {
                file: (1, 2),
                path: "/dev/shm/ring".into(),
                bytes: 4096,
            }];
            let held = Some(vec![(1, end(writes))]);
            (id, Program { id, held, moved: Some(moved), shared: shared.into(), ..Program::default() })
        };
        let at = |seconds, moved: u64| Look {
            at: Duration::from_secs(seconds),
            programs: [piped(1, true, (0, moved)), piped(2, false, (moved, 0))].into(),
            ..Look::default()
        };
        let found = seen(&[at(0, 100), at(2, 1_100)]);
        let [pipe, memory] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((pipe.medium, pipe.client.pid, pipe.server.pid), (Medium::Pipe, Some(1), Some(2)));
        assert_eq!(pipe.there.unwrap().bytes_per_s, 500.0);
        assert_eq!((memory.medium, memory.address.as_str()), (Medium::Shm, "/dev/shm/ring"));
    }

    #[test]
    fn a_request_picks_what_it_names() {
        let both = || vec![listener(6379, 1), socket(6379, 40_000, 2, 0, 0), socket(40_000, 6379, 3, 0, 0)];
        let mut watching = Watching::default();
        watching.see(&look(0, both(), vec![]));
        let count = |request: WatchRequest| watching.conversations(&request, None).len();
        let any = WatchRequest::default;
        assert_eq!(count(WatchRequest { pid: Some(20), ..any() }), 1);
        assert_eq!(count(WatchRequest { pid: Some(21), ..any() }), 0);
        assert_eq!(count(WatchRequest { port: Some(6379), command: Some("redis".to_owned()), ..any() }), 1);
        assert_eq!(count(WatchRequest { port: Some(40_000), ..any() }), 0);
        assert_eq!(count(WatchRequest { path: Some("/run/x".to_owned()), ..any() }), 0);
    }
}
