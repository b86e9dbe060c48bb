//! From observations to conversations: whose sockets they are, which end is whose, and what was moved in between.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ipcost_lab::SocketEnds;
use ipcost_lab::attached::Traced;
use ipcost_model::HeldBack;
use ipcost_sys::observed::{
    CallDirection, CalledOn, CountedCalls, Held, MovedCall, UdpSocket, UnixKind, UnixSocket,
};

use super::conversation_state::{
    CallSum, ConversationKey, ConversationState, Open, Side, add_held_back, place,
};
use super::evidence::SharedEvidence;
use super::history::OBSERVATIONS;
use super::leads::{Leads, pipes, shared};
use super::observation::{Beyond, Observation};
use super::proc_table::{ProcId, ProcTable};
use super::sampled::{CallSamples, Resolver};
use super::sampling::Window;
use super::slow::{Connection, connections};
use super::tcp_table::{TcpContext, TcpTable};
use super::{WatchRequest, WatchedTransport};

/// So many conversations are kept apart although their programs have ended.
const MOST_ENDED: usize = 300;
/// So many conversations are kept: what moved least is left out of more.
const MOST_CONVERSATIONS: usize = 2_000;

/// The most ends that are watched at once for what they hold back.
const MOST_SUSPECTS: usize = 16;

/// Ends of connections of a network namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suspects {
    network: u64,
    /// A process that is in it; `None` of this program's own.
    pub process: Option<u32>,
    pub ends: Vec<SocketEnds>,
}

pub(super) type Conversations = BTreeMap<ConversationKey, ConversationState>;

/// A moment of an observation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Moment {
    /// The number of the observation, from 1 on.
    pub observation: u32,
    pub at: Duration,
}

/// What has been seen since the first observation.
#[derive(Debug, Clone, Default)]
pub struct WatchState {
    pub(super) request: WatchRequest,
    pub(super) observations: u32,
    pub(super) elapsed: Duration,
    first: Duration,
    recent: VecDeque<Moment>,
    pub(super) procs: ProcTable,
    pub(super) conversations: Conversations,
    /// How many conversations were left out at the last observation.
    pub(super) left_out: u64,
    tcp: TcpTable,
    /// Unix sockets by their cookies, so that new ones are counted.
    unix: HashSet<u64>,
    pub(super) lost: bool,
    pub(super) beyond: Beyond,
    pub(super) evidence: SharedEvidence,
    pub(super) samples: CallSamples,
    /// What calls had moved at the last observation, by process, what it was on, and whether it came in.
    calls: HashMap<(u32, i32, CalledOn, bool), CallSum>,
    pub(super) counts_calls: bool,
    /// Calls that were in no count, for want of room: at the first observation, and now.
    uncounted: (Option<u64>, u64),
    /// For how long strace was attached, and to which processes.
    pub(super) traced_for: Duration,
    pub(super) traced: BTreeSet<u32>,
    /// The connections between two processes at the last observation.
    connections: Vec<Connection>,
    /// Where descriptors led at the last observation, and at the one before.
    leads: Leads,
    before: Leads,
}

impl WatchState {
    /// Nothing seen yet, of what fits a request above all: that is kept whatever else there is.
    pub fn new(request: WatchRequest) -> Self {
        Self { request, ..Self::default() }
    }

    /// Takes an observation in.
    pub fn observe(&mut self, mut seen: Observation) {
        self.observations += 1;
        self.elapsed = seen.at;
        if self.observations == 1 {
            self.first = seen.at;
        }
        self.lost |= seen.lost;
        self.beyond = seen.beyond;
        self.procs.observe(std::mem::take(&mut seen.programs), seen.is_baseline);
        self.conversations.values_mut().for_each(|state| state.open = None);
        self.before = std::mem::take(&mut self.leads);
        self.evidence.observe(&seen, &self.procs);
        let mut context = TcpContext {
            observation: self.observations,
            is_baseline: seen.is_baseline,
            procs: &self.procs,
            conversations: &mut self.conversations,
            leads: &mut self.leads,
        };
        self.tcp.observe(&seen, &mut context);
        self.see_udp(&seen.udp);
        self.see_unix(&seen);
        for pipe in pipes(&self.procs) {
            self.leads.pipes.entry(pipe.inode).or_default().push(pipe.key.clone());
            // Without a complaint there is no conversation.
            if !pipe.is_for_errors {
                let open = self.open(pipe.key);
                (open.holders, open.pipe_bytes) = (pipe.holders, seen.pipe_bytes.get(&pipe.inode).copied());
            }
        }
        for (key, holders) in shared(&self.procs) {
            self.open(key).holders = holders;
        }
        self.connections = connections(&seen, &self.leads, &self.procs);
        self.take_in(&seen.windows, &seen.late, &|_| None);
        if let Some(counted) = &seen.counted {
            self.see_counted(counted, &seen);
            self.uncounted.0.get_or_insert(seen.uncounted);
            self.uncounted.1 = seen.uncounted;
        }
        self.forget();
        self.remember();
    }

    /// One more connection of a conversation that is open.
    fn open(&mut self, key: ConversationKey) -> &mut Open {
        let open = self.conversations.entry(key).or_default().open.get_or_insert_default();
        open.connections += 1;
        open
    }

    fn remember(&mut self) {
        let number = self.observations;
        self.conversations.values_mut().for_each(|state| state.remember(number));
        self.procs.remember(number);
        self.recent.push_back(Moment { observation: number, at: self.elapsed });
        if self.recent.len() > OBSERVATIONS as usize {
            self.recent.pop_front();
        }
    }

    /// The one place that forgets: a watch may go on for days, past programs that live for a moment, and others choose how many there are.
    ///
    /// Conversations that are not open and have moved nothing are of no use. Where those of ended programs are many, those with the same
    /// place are put together. Of still more, those that moved least are left out. Processes that have ended and are in none are forgotten.
    fn forget(&mut self) {
        self.conversations.retain(|_, state| {
            state.open.is_some()
                || state.moved() > 0
                || state.sum.opened > 0
                || state.sampled[1].accepted > 0.0
        });
        if self.conversations.len() > MOST_ENDED {
            self.put_ended_together();
        }
        self.left_out = self.conversations.len().saturating_sub(MOST_CONVERSATIONS) as u64;
        if self.left_out > 0 {
            let all = self.conversations.iter();
            let mut ranked: Vec<(bool, u64, ConversationKey)> =
                all.map(|(key, state)| (self.is_asked(key), state.moved(), key.clone())).collect();
            ranked.sort_unstable();
            let least = ranked.iter().take(self.left_out as usize);
            least.for_each(|(_, _, key)| drop(self.conversations.remove(key)));
        }
        let sides = self.conversations.keys().flat_map(|key| [&key.client, &key.server]);
        let named: HashSet<ProcId> = sides.filter_map(Side::process).collect();
        self.procs.forget(&named);
    }

    fn put_ended_together(&mut self) {
        let ended = |side: &Side| match side {
            Side::Proc(id) if !self.procs.is_live(*id) => {
                let name = self.procs.get(*id).map(|known| known.program.name.as_str()).unwrap_or_default();
                Side::Ended(Arc::from(name))
            }
            side => side.clone(),
        };
        let keys = self.conversations.keys();
        let changed: Vec<(ConversationKey, ConversationKey)> = keys
            .map(|key| {
                let (client, server) = (ended(&key.client), ended(&key.server));
                (key.clone(), ConversationKey { client, server, ..key.clone() })
            })
            .filter(|(key, into)| key != into)
            .collect();
        for (key, into) in changed {
            if let Some(state) = self.conversations.remove(&key) {
                self.conversations.entry(into).or_default().absorb(state);
            }
        }
    }

    /// Whether a conversation is one that was asked for by what it is between or goes over.
    fn is_asked(&self, key: &ConversationKey) -> bool {
        if self.request.is_any() {
            return false;
        }
        let conversation = self.describe(key, &ConversationState::default(), Moment::default());
        super::conversation_figures::fits(&conversation, &self.request)
    }

    fn see_udp(&mut self, sockets: &[UdpSocket]) {
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
            let (client, server) = (self.procs.owner_of(socket.inode), self.procs.owner_of(other.inode));
            if client == server {
                continue;
            }
            let key = ConversationKey {
                network: socket.network,
                client: Side::of(client),
                server: Side::of(server),
                medium: WatchedTransport::Udp,
                address: remote.to_string().into(),
            };
            self.leads.sockets.insert(socket.inode, (key.clone(), true));
            self.leads.sockets.insert(other.inode, (key.clone(), false));
            let open = self.open(key);
            open.waiting.0 += u64::from(other.waiting);
            open.waiting.1 += u64::from(socket.waiting);
        }
    }

    fn see_unix(&mut self, seen: &Observation) {
        let key = |client, server, medium, address: &str| ConversationKey {
            network: 0,
            client,
            server,
            medium,
            address: address.into(),
        };
        for socket in seen.unix.iter().filter(|socket| socket.is_listening) {
            let (Some(server), Some(address)) = (self.procs.owner_of(socket.inode), &socket.name) else {
                continue;
            };
            let medium = if socket.kind == UnixKind::Packet {
                WatchedTransport::UnixSeqpacket
            } else {
                WatchedTransport::Unix
            };
            // Who connects is seen where an observation meets the connection.
            let key = key(Side::of(None), Side::Proc(server), medium, address);
            self.leads.sockets.insert(socket.inode, (key, false));
        }
        let by_inode: HashMap<u32, &UnixSocket> =
            seen.unix.iter().map(|socket| (socket.inode, socket)).collect();
        for socket in seen.unix.iter().filter(|socket| !socket.is_listening) {
            let Some(peer) = socket.peer.and_then(|peer| by_inode.get(&peer)) else { continue };
            // The end that was connected to has the name; of a pair without names, the later one is the client.
            let is_client = match (&socket.name, &peer.name) {
                (None, Some(_)) => true,
                (Some(_), None) => socket.kind == UnixKind::Datagram && peer.peer != Some(socket.inode),
                _ => peer.peer != Some(socket.inode) || socket.inode > peer.inode,
            };
            let (client, server) = (self.procs.owner_of(socket.inode), self.procs.owner_of(peer.inode));
            if !is_client || client == server {
                continue;
            }
            let medium = match (socket.kind, &peer.name) {
                (UnixKind::Datagram, _) => WatchedTransport::UnixDgram,
                (_, None) => WatchedTransport::Socketpair,
                (UnixKind::Stream, _) => WatchedTransport::Unix,
                (UnixKind::Packet, _) => WatchedTransport::UnixSeqpacket,
            };
            let address = peer.name.as_deref().unwrap_or_default();
            let key = key(Side::of(client), Side::of(server), medium, address);
            self.leads.sockets.insert(socket.inode, (key.clone(), true));
            self.leads.sockets.insert(peer.inode, (key.clone(), false));
            let is_new = !self.unix.contains(&socket.cookie) && !seen.is_baseline;
            let open = self.open(key.clone());
            open.waiting.0 += u64::from(peer.waiting);
            open.waiting.1 += u64::from(socket.waiting);
            if is_new {
                self.conversations.entry(key).or_default().sum.opened += 1;
            }
        }
        self.unix = seen.unix.iter().map(|socket| socket.cookie).collect();
    }

    /// Adds what calls have moved since the last observation to the ends of conversations.
    fn see_counted(&mut self, counted: &[CountedCalls], seen: &Observation) {
        self.counts_calls = true;
        let known = seen.inodes();
        let mut now = HashMap::with_capacity(counted.len());
        for one in counted {
            let is_in = one.direction == CallDirection::In;
            let id = (one.process, one.descriptor, one.on, is_in);
            let sum = CallSum { bytes: one.bytes, calls: one.calls, unsized_calls: one.unsized_calls };
            let moved = sum.since(self.calls.get(&id).copied().unwrap_or_default());
            now.insert(id, sum);
            if moved == CallSum::default() || seen.is_baseline {
                continue;
            }
            let Some(process) = self.procs.named(one.process) else { continue };
            let held = match one.on {
                CalledOn::Socket(inode) => Held::Socket(inode),
                CalledOn::Pipe(inode) => Held::Pipe { inode, writes: false, reads: false, path: None },
            };
            let mut ends = self.leads.of(process, &held, one.direction);
            if ends.is_empty() {
                ends = self.before.of(process, &held, one.direction);
            }
            // A connection shorter than the time between two observations: its listener tells what it is. A descriptor that is another
            // socket by now is not.
            let is_short = match one.on {
                CalledOn::Socket(inode) => !known.contains(&inode) && self.procs.owner_of(inode).is_none(),
                CalledOn::Pipe(_) => false,
            };
            if ends.is_empty() && is_short {
                let listener = self.samples.listener(process, one.descriptor);
                let (now, before) = listener.map(|it| self.procs.held_at(process, it)).unwrap_or_default();
                let held = now.or(before);
                ends = held.map(|held| self.leads.of(process, held, one.direction)).unwrap_or_default();
            }
            for (key, is_client) in ends {
                let end = &mut self.conversations.entry(key).or_default().counted[place(is_client)];
                *(if is_in { &mut end.taken } else { &mut end.given }) += moved;
            }
        }
        self.calls = now;
    }

    /// Takes in what an attached strace has seen of processes since the last observation.
    pub fn traced(&mut self, traced: &Traced) {
        let seen_ns = traced.lasted.as_nanos() as u64;
        let window = Window {
            lasted_ns: seen_ns,
            stands_for_ns: seen_ns,
            calls: traced.calls.clone(),
            ..Window::default()
        };
        for (process, tally) in &traced.by_process {
            let known = self.procs.named(*process).and_then(|id| self.procs.get_mut(id));
            if let Some(known) = known {
                known.lookups += tally.lookups.values().sum::<u64>();
            }
        }
        self.traced_for += traced.lasted;
        self.traced.extend(&traced.attached);
        self.take_in(&[window], &HashMap::new(), &|call| traced.target(call).cloned());
    }

    fn take_in(
        &mut self,
        windows: &[Window],
        late: &HashMap<(u32, i32), Held>,
        target: &dyn Fn(&MovedCall) -> Option<Held>,
    ) {
        let Self { procs, leads, before, samples, conversations, .. } = self;
        let mut resolver = Resolver { procs, leads, before, target, late };
        samples.add(windows, &mut resolver, conversations);
    }

    /// Takes in where these processes wait in the kernel, asked for between two observations.
    pub fn sample_waits(&mut self, waits: &BTreeMap<u32, Vec<String>>) {
        SharedEvidence::sample_waits(waits, &self.procs, &mut self.conversations);
    }

    /// Takes in what ends of connections in a network namespace held back while they were watched for so long.
    pub fn held_back(&mut self, suspects: &Suspects, seen: &[(SocketEnds, HeldBack)], lasts: Duration) {
        let watched: HashSet<&SocketEnds> = suspects.ends.iter().collect();
        let seen: HashMap<&SocketEnds, &HeldBack> = seen.iter().map(|(end, held)| (end, held)).collect();
        for state in self.conversations.values_mut() {
            let Some(open) = &state.open else { continue };
            let ends = open.ends.iter().filter(|(network, ..)| *network == suspects.network);
            let ends: Vec<[SocketEnds; 2]> =
                ends.map(|(_, local, remote)| [(*remote, *local), (*local, *remote)]).collect();
            if ends.iter().flatten().any(|end| watched.contains(end)) {
                state.watched_for += lasts;
            }
            for (index, end) in ends.iter().flat_map(|both| both.iter().enumerate()) {
                if let Some(held) = seen.get(end) {
                    add_held_back(&mut state.held_back[index], held);
                }
            }
        }
    }

    /// Ends of connections that may wait for delayed acknowledgements, of one network namespace: those that were watched least, since each
    /// gets its turn.
    pub fn suspects(&self) -> Suspects {
        let asks = |state: &ConversationState| {
            let sum = state.sum - state.totals_at(self.oldest().observation).sum;
            sum.there.segments.min(sum.back.segments) > 0
        };
        let open = |(_, state): &(&ConversationKey, &ConversationState)| {
            state.open.as_ref().is_some_and(|open| !open.ends.is_empty()) && asks(state)
        };
        let mut found: Vec<_> = self.conversations.iter().filter(open).collect();
        found.sort_by_key(|(_, state)| state.watched_for);
        let Some((first, _)) = found.first() else { return Suspects::default() };
        let network = first.network;
        let ends = found.iter().filter_map(|(_, state)| state.open.as_ref()).flat_map(|open| &open.ends);
        let ends = ends.filter(|(its, ..)| *its == network);
        let ends: Vec<SocketEnds> = ends
            .flat_map(|(_, local, remote)| [(*local, *remote), (*remote, *local)])
            .take(MOST_SUSPECTS)
            .collect();
        let process = match network {
            0 => None,
            _ => self.procs.live().find(|(_, program)| program.network == network).map(|(id, _)| id.pid),
        };
        Suspects { network, process, ends }
    }

    /// Calls that moved something and are in no count, for want of room.
    pub(super) fn uncounted(&self) -> u64 {
        self.uncounted.1 - self.uncounted.0.unwrap_or(self.uncounted.1)
    }

    pub(super) fn connections(&self) -> &[Connection] {
        &self.connections
    }

    /// How often was observed.
    pub fn observations(&self) -> u32 {
        self.observations
    }

    /// Since the first observation, without pauses.
    pub fn elapsed(&self) -> Duration {
        self.elapsed.saturating_sub(self.first)
    }

    /// The observation since which something is told: the last one that is at least so long ago, or the first of all.
    pub(super) fn moment(&self, lately: Option<Duration>) -> Moment {
        let first = Moment { observation: 0, at: self.first };
        let Some(lately) = lately else { return first };
        let from = self.elapsed.saturating_sub(lately);
        let known = self.recent.iter().rev().find(|moment| moment.at <= from);
        known.or(self.recent.front()).copied().unwrap_or(first)
    }

    /// The oldest observation that is known apart from the first.
    pub(super) fn oldest(&self) -> Moment {
        self.recent.front().copied().unwrap_or_default()
    }
}
