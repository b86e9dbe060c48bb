//! The ends of TCP connections: which two belong together, which of them is the server's, and what they count from one observation to the next.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use ipcost_sys::observed::{Connected, TcpCounts, TcpSocket, TcpState as SocketState};

use super::WatchedTransport;
use super::conversation_state::{ConversationKey, FlowAmount, Side};
use super::leads::Leads;
use super::observation::Observation;
use super::proc_table::{ProcId, ProcTable};
use super::state::Conversations;

/// What has closed is known for so many observations more: the messages on both its ends may come in two of them.
const REMEMBERED: u32 = 3;

/// An end of a TCP connection: its network namespace, its own and the other's address.
type EndId = (u64, SocketAddr, SocketAddr);

/// What is known of an end of a TCP connection.
#[derive(Debug, Clone, Default)]
struct TcpEnd {
    /// Tells it from another one between the same addresses.
    cookie: Option<u64>,
    last: TcpCounts,
    owner: Option<ProcId>,
    /// Whether it is the one that was connected to: told when it is met, since its listener may close.
    is_server: Option<bool>,
    closed_for: u32,
    inode: u32,
    waiting: u32,
    congestion: Option<String>,
}

/// Who opened a connection, and at which observation that was told.
#[derive(Debug, Clone)]
struct Opener {
    connected: Connected,
    /// Its network namespace, where that is known.
    network: Option<u64>,
    at: u32,
}

#[derive(Debug, Clone, Default)]
pub(super) struct TcpTable {
    ends: HashMap<EndId, TcpEnd>,
    networks: BTreeSet<u64>,
    /// By the client's own and its server's address: containers may use the same ones.
    openers: HashMap<(SocketAddr, SocketAddr), Vec<Opener>>,
    /// Who listens, and at which observation it was last seen to.
    listening: HashMap<(u64, SocketAddr), (Option<ProcId>, u32)>,
}

/// What the sockets of an observation are taken in with.
pub(super) struct TcpContext<'a> {
    pub observation: u32,
    /// Whether what sockets have counted so far was not seen.
    pub is_baseline: bool,
    pub procs: &'a ProcTable,
    pub conversations: &'a mut Conversations,
    pub leads: &'a mut Leads,
}

impl TcpTable {
    /// Takes the sockets of an observation in.
    pub fn observe(&mut self, seen: &Observation, context: &mut TcpContext<'_>) {
        let (now, procs) = (context.observation, context.procs);
        let of_state = |state| seen.tcp.iter().filter(move |socket| socket.state == state);
        for socket in of_state(SocketState::Listening) {
            self.listening.insert((socket.network, socket.local), (procs.owner_of(socket.inode), now));
        }
        let oldest = now.saturating_sub(REMEMBERED);
        self.listening.retain(|_, (_, last)| *last >= oldest);
        self.networks = seen.tcp.iter().map(|socket| socket.network).collect();
        let open: HashSet<EndId> = of_state(SocketState::Connected).map(id_of).collect();
        let all: HashSet<EndId> = seen.closed.iter().map(id_of).chain(open.iter().copied()).collect();
        for connected in &seen.connected {
            let process = procs.named(connected.process).and_then(|id| procs.get(id));
            let network = process.and_then(|known| seen.network_of(&known.program));
            let opener = Opener { connected: connected.clone(), network, at: now };
            self.openers.entry((connected.local, connected.remote)).or_default().push(opener);
        }
        self.openers.retain(|_, openers| {
            openers.retain(|opener| opener.at >= oldest);
            !openers.is_empty()
        });
        // An end that is new here may be the other one's of an end that was counted already.
        for socket in of_state(SocketState::Connected) {
            if let Some(owner) = procs.owner_of(socket.inode) {
                self.ends.entry(id_of(socket)).or_default().owner = Some(owner);
            }
        }
        // Of two connections between the same addresses, the one that has closed was there first.
        for socket in seen.closed.iter().chain(of_state(SocketState::Connected)) {
            self.count(socket, &all, context);
        }
        for (id, end) in &mut self.ends {
            end.closed_for = if open.contains(id) { 0 } else { end.closed_for + 1 };
        }
        self.ends.retain(|_, end| end.closed_for <= REMEMBERED);
        for id in &open {
            self.show(*id, &all, context);
        }
    }

    /// Adds a connection that is open to its conversation, if this is the server's end.
    fn show(&self, id: EndId, all: &HashSet<EndId>, context: &mut TcpContext<'_>) {
        let Some(other) = self.is_server(id).then(|| self.other_end(id, all)).flatten() else { return };
        let Some(key) = self.key(id, other, context.procs) else { return };
        let (Some(server), Some(client)) = (self.ends.get(&id), self.ends.get(&other)) else { return };
        for (inode, is_client) in [(server.inode, false), (client.inode, true)] {
            context.leads.sockets.insert(inode, (key.clone(), is_client));
        }
        let open = context.conversations.entry(key).or_default().open.get_or_insert_default();
        open.connections += 1;
        open.waiting.0 += u64::from(server.waiting);
        open.waiting.1 += u64::from(client.waiting);
        open.rtts.push(client.last.rtt_us);
        open.congestion =
            client.congestion.clone().or_else(|| server.congestion.clone()).or(open.congestion.take());
        open.ends.push(id);
    }

    /// Adds what an end has counted since the last observation to its conversation.
    fn count(&mut self, socket: &TcpSocket, all: &HashSet<EndId>, context: &mut TcpContext<'_>) {
        let Some(counts) = socket.counts else { return };
        let id = id_of(socket);
        let end = self.ends.entry(id).or_default();
        let is_new = end.cookie != Some(socket.cookie);
        // The tables are read before the messages on what closes: a socket that closes in between is in both.
        let is_stale = !is_new
            && (counts.received_bytes < end.last.received_bytes || counts.sent_bytes < end.last.sent_bytes);
        if is_stale {
            return;
        }
        let before = match is_new {
            _ if context.is_baseline => counts,
            true => TcpCounts::default(),
            false => end.last,
        };
        if is_new {
            end.is_server = None;
        }
        (end.cookie, end.last, end.waiting) = (Some(socket.cookie), counts, socket.waiting);
        end.inode = socket.inode;
        end.congestion = socket.congestion.clone().or(end.congestion.take());
        let other = self.other_end(id, all);
        let is_server = self.meet(id, other);
        let Some(key) = other.and_then(|other| self.key(id, other, context.procs)) else { return };
        let since = |now: u32, before: u32| u64::from(now.saturating_sub(before));
        let retransmitted = since(counts.retransmitted, before.retransmitted);
        let mut went = FlowAmount {
            held_up_us: counts.receiver_limited_us.saturating_sub(before.receiver_limited_us),
            segments: since(counts.data_segments_out, before.data_segments_out).saturating_sub(retransmitted),
            retransmitted,
            bytes: 0,
        };
        let mut came = FlowAmount::default();
        match counts.sent_bytes.zip(before.sent_bytes.or(Some(0))) {
            // What an end has sent does not count the end of the connection, as what the other one has received does.
            Some((now, before)) => went.bytes = now.saturating_sub(before),
            None => came.bytes = counts.received_bytes.saturating_sub(before.received_bytes),
        }
        let sum = &mut context.conversations.entry(key).or_default().sum;
        let (into, out_of) = match is_server {
            true => (&mut sum.there, &mut sum.back),
            false => (&mut sum.back, &mut sum.there),
        };
        *into += came;
        *out_of += went;
        sum.opened += u64::from(is_server && is_new && !context.is_baseline);
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
    fn key(&self, id: EndId, other: EndId, procs: &ProcTable) -> Option<ConversationKey> {
        let (server, client) = if self.is_server(id) { (id, other) } else { (other, id) };
        let owner = |id: &EndId| self.ends.get(id).and_then(|end| end.owner);
        let listener = || self.listener_at(server.0, server.1).flatten();
        let of_server = owner(&server).or_else(listener);
        let of_client = match owner(&client) {
            Some(owner) => Side::Proc(owner),
            None => self.opener_of(client).map_or_else(
                || Side::of(None),
                |opener| {
                    // Those that have ended before any observation met them are told together.
                    let name = opener.name.as_deref().unwrap_or_default();
                    let met = procs.named(opener.process);
                    met.map_or_else(|| Side::Ended(Arc::from(name)), Side::Proc)
                },
            ),
        };
        let is_itself = of_client.process().is_some() && of_client.process() == of_server;
        (!is_itself).then(|| ConversationKey {
            network: server.0,
            client: of_client,
            server: Side::of(of_server),
            medium: WatchedTransport::Tcp,
            address: server.1.to_string().into(),
        })
    }

    /// Who opened a connection. One whose network is not known is meant only where no other network has these addresses.
    fn opener_of(&self, (network, local, remote): EndId) -> Option<&Connected> {
        let openers = self.openers.get(&(local, remote))?;
        let its = |known: Option<u64>| openers.iter().rev().find(|opener| opener.network == known);
        let is_alone = || {
            let others = self.networks.iter().filter(|other| **other != network);
            !others.into_iter().any(|other| self.ends.contains_key(&(*other, local, remote)))
        };
        let found = its(Some(network)).or_else(|| its(None).filter(|_| is_alone()));
        found.map(|opener| &opener.connected)
    }

    fn listener_at(&self, network: u64, at: SocketAddr) -> Option<Option<ProcId>> {
        let any_4 = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), at.port());
        let any_6 = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), at.port());
        let owner = |at: &SocketAddr| self.listening.get(&(network, *at)).map(|(owner, _)| *owner);
        [at, any_4, any_6].iter().find_map(owner)
    }

    /// Decides which end of a connection was connected to, once.
    fn meet(&mut self, id: EndId, other: Option<EndId>) -> bool {
        let decided = |id: EndId| self.ends.get(&id).and_then(|end| end.is_server);
        let by_other = || other.and_then(decided).map(|is_server| !is_server);
        let is_server = decided(id).or_else(by_other).unwrap_or_else(|| self.listens(id));
        if let Some(end) = self.ends.get_mut(&id) {
            end.is_server = Some(is_server);
        }
        is_server
    }

    fn is_server(&self, id: EndId) -> bool {
        self.ends.get(&id).and_then(|end| end.is_server).unwrap_or_else(|| self.listens(id))
    }

    /// Whether someone listens at this end's address, and not at the other's; of two alike, the lower port is the server's.
    fn listens(&self, (network, local, remote): EndId) -> bool {
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
}

fn id_of(socket: &TcpSocket) -> EndId {
    (socket.network, socket.local, socket.remote)
}
