//! From looks to conversations: whose sockets they are, which end is whose, and what was moved in between.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use ipcost_lab::Between;
use ipcost_lab::attached::Traced;
use ipcost_model::HeldBack;
use ipcost_sys::call_counts::{CalledOn, CountedCalls};
use ipcost_sys::observed::{
    CallDirection, Connected, Held, MovedCall, Program, TcpCounts, TcpSocket, TcpState as SocketState,
    UdpSocket, UnixKind,
};

use super::Medium;
use super::findings::Evidence;
use super::gather::Look;
use super::sampled::Samples;
use super::sampling::Window;
use super::sums::{Amount, EndCounts, Past, Sum, counted_of};
use super::ways::{Leads, Owners, Way, pipes, shared};

/// What has closed is known for so many looks more: the messages on both its ends may come in two of them.
const REMEMBERED: u32 = 3;
/// So many conversations are kept apart although their programs have ended.
const MOST_WAYS: usize = 300;
/// So many looks are kept, so that what goes on now is told from what was.
const PAST: usize = 8;

/// An end of a TCP connection: its network namespace, its own and the other's address.
type EndId = (u64, SocketAddr, SocketAddr);

/// What is known of an end of a TCP connection.
#[derive(Debug, Clone, Default)]
struct End {
    /// Tells it from another one between the same addresses.
    cookie: Option<u64>,
    last: TcpCounts,
    /// The process that has it.
    owner: Option<u32>,
    closed_for: u32,
    inode: u32,
    waiting: u32,
    congestion: Option<String>,
}

/// A conversation at the last look.
#[derive(Debug, Clone, Default)]
pub(super) struct Now {
    pub connections: u32,
    /// Bytes that wait at the server and at the client.
    pub waiting: (u64, u64),
    /// Of each connection, at the client.
    pub rtts: Vec<u32>,
    pub congestion: Option<String>,
    /// The addresses of ends that are open, the server's first.
    pub ends: Vec<(SocketAddr, SocketAddr)>,
}

/// What has been seen since the first look.
#[derive(Debug, Clone, Default)]
pub struct Watching {
    pub(super) looks: u32,
    pub(super) elapsed: Duration,
    pub(super) programs: BTreeMap<u32, Program>,
    ends: HashMap<EndId, End>,
    networks: BTreeSet<u64>,
    /// Who opened a connection, by its own and the server's address, and at which look that was told.
    openers: HashMap<(SocketAddr, SocketAddr), (Connected, u32)>,
    listening: HashMap<(u64, SocketAddr), Option<u32>>,
    pub(super) sums: HashMap<Way, Sum>,
    pub(super) now: BTreeMap<Way, Now>,
    /// Unix sockets by number, so that new ones are counted.
    unix_seen: HashMap<u32, Way>,
    pub(super) past: VecDeque<Past>,
    /// What had been counted at the first look, and of programs that came later, when they came.
    pub(super) first: Past,
    pub(super) lost: bool,
    pub(super) evidence: Evidence,
    pub(super) samples: Samples,
    /// What calls have moved since the first look at each end, where they are counted.
    pub(super) counted: HashMap<(Way, bool), EndCounts>,
    /// What they had moved at the last look, by process, what it was on, and whether it came in.
    counts: HashMap<(u32, i32, CalledOn, bool), (u64, u64)>,
    pub(super) counts_calls: bool,
    /// For how long strace was attached, and to which processes.
    pub(super) traced_for: Duration,
    pub(super) traced: BTreeSet<u32>,
    /// Where descriptors led at the last look, and at the one before.
    pub(super) leads: Leads,
    before: Leads,
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
        self.forget(&look.programs);
    }

    /// Forgets programs that have ended and were in no conversation. Where conversations of ended ones are many, those with the same place are
    /// put together: a watch may go on for days, past programs that live for a moment.
    fn forget(&mut self, alive: &BTreeMap<u32, Program>) {
        let counted = self.counted.keys().chain(self.samples.ends.keys()).map(|(way, _)| way);
        let mut all: HashSet<Way> = self.sums.keys().chain(self.now.keys()).chain(counted).cloned().collect();
        if all.len() > MOST_WAYS {
            let lives = |id: &u32| alive.contains_key(id);
            for way in std::mem::take(&mut all) {
                let (client, server) = (way.client.filter(lives), way.server.filter(lives));
                let name = |id: u32| Some(self.programs.get(&id)?.name.clone());
                let ended = if client.is_none() { way.client.and_then(name) } else { None };
                let into = Way { client, server, ended: ended.or(way.ended.clone()), ..way.clone() };
                if into != way {
                    self.put_together(&way, &into);
                }
                all.insert(into);
            }
        }
        let named: HashSet<u32> = all.iter().flat_map(|way| [way.client, way.server]).flatten().collect();
        let is_kept = |id: &u32| alive.contains_key(id) || named.contains(id);
        self.programs.retain(|id, _| is_kept(id));
        self.first.programs.retain(|id, _| is_kept(id));
        self.samples.forget(&is_kept);
        self.evidence.forget(&|way| all.contains(way));
    }

    /// What went over one conversation belongs to another from now on, and did at earlier looks.
    fn put_together(&mut self, way: &Way, into: &Way) {
        let sums =
            self.past.iter_mut().map(|past| &mut past.sums).chain([&mut self.first.sums, &mut self.sums]);
        for sums in sums {
            if let Some(sum) = sums.remove(way) {
                sums.entry(into.clone()).or_default().add(sum);
            }
        }
        let counted = self
            .past
            .iter_mut()
            .map(|past| &mut past.counted)
            .chain([&mut self.first.counted, &mut self.counted]);
        for counted in counted {
            for is_client in [true, false] {
                if let Some(end) = counted.remove(&(way.clone(), is_client)) {
                    counted.entry((into.clone(), is_client)).or_default().add(end);
                }
            }
        }
        self.samples.ends.retain(|(known, _), _| known != way);
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
        let told = look.connected.iter().map(|it| ((it.local, it.remote), (it.clone(), self.looks)));
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
        // Of two connections between the same addresses, the one that has closed was there first.
        for socket in look.closed.iter().chain(of_state(SocketState::Connected)) {
            self.count(socket, &all);
        }
        for (id, end) in &mut self.ends {
            end.closed_for = if open.contains(id) { 0 } else { end.closed_for + 1 };
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
        let end = self.ends.entry(id).or_default();
        let is_new = end.cookie != Some(socket.cookie);
        // The tables of a look are read before the messages on what closes: a socket that closes in between is in both.
        let is_stale = !is_new
            && (counts.received_bytes < end.last.received_bytes || counts.sent_bytes < end.last.sent_bytes);
        if is_stale {
            return;
        }
        let before = match is_new {
            // What was there at the first look has counted what no one saw.
            true if self.looks == 1 => counts,
            true => TcpCounts::default(),
            false => end.last,
        };
        (end.cookie, end.last, end.waiting) = (Some(socket.cookie), counts, socket.waiting);
        end.inode = socket.inode;
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
        let opener = self.openers.get(&(client.1, client.2)).map(|(opener, _)| opener);
        let met = || opener.map(|opener| opener.process).filter(is_met);
        let (client, of_server) = (owner(&client).or_else(met), owner(&server).or_else(listener));
        let ended = if client.is_none() { opener.and_then(|opener| opener.name.clone()) } else { None };
        let address = server.1.to_string();
        (client.is_none() || client != of_server).then_some(Way {
            client,
            ended,
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
            let way = Way { client, ended: None, server, medium: Medium::Udp, address: remote.to_string() };
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
            let way = Way { client: None, ended: None, server: Some(server), medium, address };
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
            let way = Way { client, ended: None, server, medium, address };
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

    /// Takes in where these processes wait in the kernel.
    pub fn glance(&mut self, waits: &BTreeMap<u32, Vec<String>>) {
        self.evidence.glance(waits, self.now.keys());
    }

    /// Takes in what ends of connections held back while they were watched for so long.
    pub fn held_back(&mut self, seen: Vec<(Between, HeldBack)>, lasts: Duration) {
        self.evidence.held_back(seen, lasts);
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

fn id_of(socket: &TcpSocket) -> EndId {
    (socket.network, socket.local, socket.remote)
}
