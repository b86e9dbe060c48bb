//! From looks to conversations: whose sockets they are, which end is whose, and what was moved in between.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::time::Duration;

use ipcost_sys::observed::{Held, Program, TcpCounts, TcpState as SocketState, UnixKind};

use ipcost_model::units::counted;

use super::gather::{Look, WatchError};
use super::{Conversation, Flow, Known, Manner, Medium, Party, TcpState, Unseen, WatchRequest};

/// Where one direction has so much more of the segments than the other, it is a stream.
const ONE_WAY: f64 = 8.0;
/// A request and its answer are not more segments than so many times each other.
const ALIKE: f64 = 2.5;
/// From this share of requests on that come on a new connection, each has one.
const EACH_ITS_OWN: f64 = 0.5;
/// Processor time is counted in ticks of so many a second (`USER_HZ`).
const TICKS_PER_S: f64 = 100.0;

/// An end of a TCP connection, by its own and the other's address.
type EndId = (SocketAddr, SocketAddr);

/// What is known of an end of a TCP connection.
#[derive(Debug, Clone, Default)]
struct End {
    /// What it had counted when it was seen first; nothing if it was opened since.
    base: TcpCounts,
    last: TcpCounts,
    /// Of earlier connections between the same addresses.
    received_before: u64,
    segments_before: u64,
    retransmitted_before: u64,
    /// The process that has it.
    owner: Option<u32>,
    /// Times a connection was opened since the first look.
    opened: u32,
    is_open: bool,
    waiting: u32,
    congestion: Option<String>,
}

impl End {
    fn received(&self) -> u64 {
        self.received_before + self.last.received_bytes.saturating_sub(self.base.received_bytes)
    }

    fn segments_in(&self) -> u64 {
        self.segments_before + u64::from(self.last.data_segments_in.saturating_sub(self.base.data_segments_in))
    }

    fn retransmitted(&self) -> u64 {
        self.retransmitted_before + u64::from(self.last.retransmitted.saturating_sub(self.base.retransmitted))
    }

    /// Takes in what is seen of it now.
    fn see(&mut self, counts: TcpCounts) {
        let is_another = counts.received_bytes < self.last.received_bytes
            || counts.acknowledged_bytes < self.last.acknowledged_bytes
            || !self.is_open;
        if is_another {
            self.received_before = self.received();
            self.segments_before = self.segments_in();
            self.retransmitted_before = self.retransmitted();
            self.base = TcpCounts::default();
            self.opened += 1;
        }
        self.last = counts;
        self.is_open = true;
    }
}

/// What two programs talk over, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Way {
    client: Option<u32>,
    server: Option<u32>,
    medium: Medium,
    address: String,
}

/// What has been seen since the first look.
#[derive(Debug, Clone, Default)]
pub struct Watching {
    looks: u32,
    first: BTreeMap<u32, Program>,
    programs: BTreeMap<u32, Program>,
    ends: HashMap<EndId, End>,
    listening: HashMap<SocketAddr, Option<u32>>,
    /// Unix connections, pipes and shared memory at the last look, with what waits at the server and at the client.
    others: BTreeMap<Way, (u32, u64, u64)>,
    /// Unix sockets by number, so that new ones are counted.
    unix_seen: HashMap<u32, Way>,
    unix_opened: HashMap<Way, u32>,
    pub(super) lost: bool,
    elapsed: Duration,
}

impl Watching {
    /// Takes a look in.
    pub fn see(&mut self, look: &Look) {
        self.looks += 1;
        self.elapsed = look.at;
        self.lost |= look.lost;
        let owners = Owners::of(&look.programs);
        for (id, program) in &look.programs {
            self.first.entry(*id).or_insert_with(|| Program { held: None, ..program.clone() });
        }
        self.programs.extend(look.programs.iter().map(|(id, program)| (*id, program.clone())));
        self.see_tcp(look, &owners);
        self.see_unix(look, &owners);
        self.others.retain(|way, _| matches!(way.medium, Medium::Unix | Medium::UnixDgram | Medium::UnixSeqpacket | Medium::Socketpair));
        for (way, count) in pipes(&look.programs).into_iter().chain(shared(&look.programs)) {
            self.others.insert(way, (count, 0, 0));
        }
    }

    fn see_tcp(&mut self, look: &Look, owners: &Owners) {
        for socket in look.tcp.iter().filter(|socket| socket.state == SocketState::Listening) {
            self.listening.insert(socket.local, owners.of_socket(socket.inode));
        }
        let is_first = self.looks == 1;
        let open: BTreeSet<EndId> = look
            .tcp
            .iter()
            .filter(|socket| socket.state == SocketState::Connected)
            .map(|socket| (socket.local, socket.remote))
            .collect();
        // What has closed came before what is open now between the same addresses.
        for socket in look.closed.iter().chain(look.tcp.iter().filter(|it| it.state == SocketState::Connected)) {
            let Some(counts) = socket.counts else { continue };
            let id = (socket.local, socket.remote);
            let end = self.ends.entry(id).or_default();
            if is_first && !end.is_open {
                (end.base, end.last, end.is_open) = (counts, counts, true);
            }
            end.see(counts);
            end.owner = owners.of_socket(socket.inode).or(end.owner);
            end.waiting = socket.waiting;
            end.congestion = socket.congestion.clone().or(end.congestion.take());
        }
        for (id, end) in &mut self.ends {
            end.is_open = open.contains(id);
        }
    }

    fn see_unix(&mut self, look: &Look, owners: &Owners) {
        self.others.clear();
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
            if !is_client {
                continue;
            }
            let (client, server) = (owners.of_socket(socket.inode), owners.of_socket(peer.inode));
            if client == server && client.is_some() {
                continue;
            }
            let medium = match (socket.kind, &peer.name) {
                (_, None) => Medium::Socketpair,
                (UnixKind::Stream, _) => Medium::Unix,
                (UnixKind::Datagram, _) => Medium::UnixDgram,
                (UnixKind::Packet, _) => Medium::UnixSeqpacket,
            };
            let address = peer.name.clone().unwrap_or_default();
            let way = Way { client, server, medium, address };
            let known = self.others.entry(way.clone()).or_default();
            known.0 += 1;
            known.1 += u64::from(peer.waiting);
            known.2 += u64::from(socket.waiting);
            if self.unix_seen.insert(socket.inode, way.clone()).is_none() && !is_first {
                *self.unix_opened.entry(way).or_default() += 1;
            }
        }
        let gone: Vec<u32> = self.unix_seen.keys().copied().filter(|inode| !by_inode.contains_key(inode)).collect();
        gone.iter().for_each(|inode| drop(self.unix_seen.remove(inode)));
    }

    /// The conversations that fit a request, those that move most first.
    pub fn conversations(&self, request: &WatchRequest) -> Vec<Conversation> {
        let mut found = self.over_tcp();
        let mut ways: BTreeSet<&Way> = self.others.keys().collect();
        ways.extend(self.unix_opened.keys());
        found.extend(ways.into_iter().map(|way| self.over_other(way)));
        found.retain(|conversation| fits(conversation, request));
        let moved = |one: &Conversation| {
            let bytes = |flow: &Option<Flow>| flow.map_or(0.0, |flow| flow.bytes_per_s);
            bytes(&one.there) + bytes(&one.back)
        };
        found.sort_by(|a, b| {
            moved(b).total_cmp(&moved(a)).then(b.connections.cmp(&a.connections)).then(a.address.cmp(&b.address))
        });
        found
    }

    fn seconds(&self) -> f64 {
        self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Whether an end is the one that was connected to: someone listened at its address.
    fn is_server(&self, (local, remote): EndId) -> bool {
        let listens = |at: SocketAddr| {
            let any = SocketAddr::new(if at.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() }, at.port());
            let any_6 = SocketAddr::new([0_u16; 8].into(), at.port());
            [at, any, any_6].iter().any(|at| self.listening.contains_key(at))
        };
        match (listens(local), listens(remote)) {
            (true, false) => true,
            (false, true) => false,
            _ => local.port() < remote.port(),
        }
    }

    fn over_tcp(&self) -> Vec<Conversation> {
        let mut ways: BTreeMap<Way, Vec<(&End, &End)>> = BTreeMap::new();
        let mut ownerless: BTreeMap<(Option<u32>, String), Vec<(&End, &End)>> = BTreeMap::new();
        for (id, server) in &self.ends {
            let (local, remote) = *id;
            let Some(client) = self.ends.get(&(remote, local)) else { continue };
            if !self.is_server(*id) || (server.owner == client.owner && server.owner.is_some()) {
                continue;
            }
            let address = local.to_string();
            let listener = || self.listening.get(&local).copied().flatten();
            let server_owner = server.owner.or_else(listener);
            match client.owner {
                Some(_) => {
                    let way = Way { client: client.owner, server: server_owner, medium: Medium::Tcp, address };
                    ways.entry(way).or_default().push((client, server));
                }
                None => ownerless.entry((server_owner, address)).or_default().push((client, server)),
            }
        }
        // A connection that closed between two looks has no owner any more: it is that of the only program that talks to the server.
        for ((server, address), ends) in ownerless {
            let same = |way: &&Way| way.address == address && (server.is_none() || way.server == server || way.server.is_none());
            let known: Vec<Way> = ways.keys().filter(same).cloned().collect();
            let way = match known.as_slice() {
                [only] => only.clone(),
                several => {
                    let server = server.or_else(|| several.first().and_then(|way| way.server));
                    Way { client: None, server, medium: Medium::Tcp, address }
                }
            };
            ways.entry(way).or_default().extend(ends);
        }
        ways.into_iter().map(|(way, ends)| self.of_ends(&way, &ends)).collect()
    }

    fn of_ends(&self, way: &Way, ends: &[(&End, &End)]) -> Conversation {
        let seconds = self.seconds();
        let flow = |of: fn(&(&End, &End)) -> (u64, u64)| {
            let (bytes, segments) =
                ends.iter().map(of).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            Flow { bytes, bytes_per_s: bytes as f64 / seconds, segments: Some(segments), known: Known::Counted }
        };
        let there = flow(|(_, server)| (server.received(), server.segments_in()));
        let back = flow(|(client, _)| (client.received(), client.segments_in()));
        let opened: u32 = ends.iter().map(|(client, server)| client.opened.max(server.opened)).sum();
        let opened_per_s = f64::from(opened) / seconds;
        let (manner, requests) = manner(&there, &back, opened);
        let mut rtts: Vec<u32> = ends.iter().map(|(client, _)| client.last.rtt_us).collect();
        rtts.sort_unstable();
        let both = || ends.iter().flat_map(|(client, server)| [client, server]);
        let share = |of: fn(&TcpCounts) -> u64| {
            let since = |end: &&End| of(&end.last).saturating_sub(of(&end.base));
            let busy: u64 = both().map(|end| end.last.busy_us.saturating_sub(end.base.busy_us)).sum();
            both().map(|end| since(&end)).sum::<u64>() as f64 / busy.max(1) as f64
        };
        Conversation {
            client: self.party(way.client),
            server: self.party(way.server),
            medium: way.medium,
            address: way.address.clone(),
            connections: ends.iter().filter(|(client, server)| client.is_open && server.is_open).count() as u32,
            opened_per_s,
            there: Some(there),
            back: Some(back),
            manner: Some(manner),
            requests_per_s: requests.map(|requests| requests as f64 / seconds),
            tcp: Some(TcpState {
                congestion: both().find_map(|end| end.congestion.clone()).unwrap_or_default(),
                rtt_us: rtts.get(rtts.len() / 2).copied().unwrap_or_default(),
                retransmitted: both().map(|end| end.retransmitted()).sum(),
                receiver_limited: share(|counts| counts.receiver_limited_us),
                buffer_limited: share(|counts| counts.buffer_limited_us),
            }),
            waiting: ends.iter().fold((0, 0), |sum, (client, server)| {
                (sum.0 + u64::from(server.waiting), sum.1 + u64::from(client.waiting))
            }),
        }
    }

    fn over_other(&self, way: &Way) -> Conversation {
        let (connections, at_server, at_client) = self.others.get(way).copied().unwrap_or_default();
        let opened = self.unix_opened.get(way).copied().unwrap_or_default();
        let is_pipe = matches!(way.medium, Medium::Pipe | Medium::Fifo);
        let there = is_pipe.then(|| self.through_pipe(way)).flatten();
        Conversation {
            client: self.party(way.client),
            server: self.party(way.server),
            medium: way.medium,
            address: way.address.clone(),
            connections,
            opened_per_s: f64::from(opened) / self.seconds(),
            manner: there.map(|there| if there.bytes > 0 { Manner::Stream } else { Manner::Idle }),
            there,
            back: None,
            requests_per_s: None,
            tcp: None,
            waiting: (at_server, at_client),
        }
    }

    /// What went through a pipe: of a side that has no other socket or pipe in that direction, what its calls have moved.
    fn through_pipe(&self, way: &Way) -> Option<Flow> {
        let moved = |id: Option<u32>, writes: bool| {
            let (before, now) = (self.first.get(&id?)?, self.programs.get(&id?)?);
            let ends = now.held.as_ref()?.iter().map(|(_, held)| held);
            let ends: BTreeSet<&Held> = ends
                .filter(|held| match held {
                    Held::Socket(_) => true,
                    Held::Pipe { writes: into, reads: from, .. } => if writes { *into } else { *from },
                })
                .collect();
            let (read_before, written_before) = before.moved?;
            let (read, written) = now.moved?;
            let bytes = if writes { written.checked_sub(written_before) } else { read.checked_sub(read_before) };
            bytes.filter(|_| ends.len() == 1)
        };
        let bytes = match (moved(way.client, true), moved(way.server, false)) {
            // Each may read or write files, too.
            (Some(written), Some(read)) => written.min(read),
            (Some(bytes), None) | (None, Some(bytes)) => bytes,
            (None, None) => return None,
        };
        Some(Flow { bytes, bytes_per_s: bytes as f64 / self.seconds(), segments: None, known: Known::Estimated })
    }

    fn party(&self, id: Option<u32>) -> Party {
        let Some((id, program)) = id.and_then(|id| Some((id, self.programs.get(&id)?))) else {
            return Party::default();
        };
        let before = self.first.get(&id).map_or(program.ticks, |first| first.ticks);
        let cpu = program.ticks.saturating_sub(before) as f64 / TICKS_PER_S / self.seconds();
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

    /// What could not be seen, and what would allow it.
    pub fn unseen(&self) -> Vec<Unseen> {
        let hidden = self.programs.values().filter(|program| program.held.is_none()).count() as u64;
        let mut found = Vec::new();
        if hidden > 0 {
            found.push(Unseen {
                what: format!("{} of other users", counted(hidden, "process").replace("processs", "processes")),
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
        if self.others.keys().any(|way| matches!(way.medium, Medium::Unix | Medium::UnixDgram | Medium::UnixSeqpacket | Medium::Socketpair)) {
            found.push(Unseen {
                what: "Bytes and messages over Unix sockets".to_owned(),
                why: "the kernel does not count them".to_owned(),
                remedy: "Their connections and queues are shown".to_owned(),
            });
        }
        found
    }

    /// How often was looked.
    pub fn looks(&self) -> u32 {
        self.looks
    }

    /// Since the first look.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
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

/// How a conversation over TCP goes, and how many requests it had.
fn manner(there: &Flow, back: &Flow, opened: u32) -> (Manner, Option<u64>) {
    let segments = |flow: &Flow| flow.segments.unwrap_or_default();
    let (sent, answered) = (segments(there), segments(back));
    let (less, more) = (sent.min(answered), sent.max(answered));
    if more == 0 {
        return (Manner::Idle, None);
    }
    if opened > 0 && f64::from(opened) >= EACH_ITS_OWN * sent.max(1) as f64 {
        return (Manner::Connections, Some(u64::from(opened)));
    }
    let is_alike = more as f64 <= ALIKE * less as f64;
    match less == 0 || more as f64 >= ONE_WAY * less as f64 {
        true => (Manner::Stream, None),
        // A request is a segment or more, and so is its answer.
        false if is_alike => (Manner::Requests, Some(less)),
        false => (Manner::Requests, Some(less)),
    }
}

/// Pipes between two processes, with how many there are.
fn pipes(programs: &BTreeMap<u32, Program>) -> Vec<(Way, u32)> {
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
                let way = Way { client: Some(writer), server: Some(reader), medium, address: address.clone() };
                found.push((way, 1));
            }
        }
    }
    found
}

/// Memory that two processes share.
fn shared(programs: &BTreeMap<u32, Program>) -> Vec<(Way, u32)> {
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
                (Way { client, server, medium: Medium::Shm, address: path.to_owned() }, 1)
            };
            found.extend(others.iter().map(of));
        }
    }
    found
}

fn fits(conversation: &Conversation, request: &WatchRequest) -> bool {
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
    use ipcost_sys::observed::TcpSocket;

    use super::*;

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn socket(local: u16, remote: u16, inode: u32, received: u64, segments: u32) -> TcpSocket {
        TcpSocket {
            local: at(local),
            remote: at(remote),
            state: SocketState::Connected,
            inode,
            waiting: 0,
            outstanding: 0,
            congestion: Some("cubic".to_owned()),
            counts: Some(TcpCounts { received_bytes: received, data_segments_in: segments, ..TcpCounts::default() }),
        }
    }

    fn listener(port: u16, inode: u32) -> TcpSocket {
        TcpSocket { state: SocketState::Listening, counts: None, ..socket(port, 0, inode, 0, 0) }
    }

    fn program(id: u32, name: &str, sockets: &[u32]) -> (u32, Program) {
        let held = sockets.iter().map(|inode| (*inode as i32, Held::Socket(*inode))).collect();
        let program =
            Program { id, started: u64::from(id), name: name.to_owned(), held: Some(held), ..Program::default() };
        (id, program)
    }

    fn look(seconds: u64, tcp: Vec<TcpSocket>, closed: Vec<TcpSocket>) -> Look {
        Look {
            at: Duration::from_secs(seconds),
            tcp,
            closed,
            programs: [program(10, "redis-server", &[1, 2, 5]), program(20, "worker", &[3, 6])].into(),
            ..Look::default()
        }
    }

    fn seen(looks: &[Look]) -> Vec<Conversation> {
        let mut watching = Watching::default();
        looks.iter().for_each(|look| watching.see(look));
        watching.conversations(&WatchRequest::default())
    }

    #[test]
    fn bytes_count_from_the_first_look_and_the_listener_is_the_server() {
        let both = |there, back, segments| {
            vec![listener(6379, 1), socket(6379, 40_000, 2, there, segments), socket(40_000, 6379, 3, back, segments)]
        };
        let found = seen(&[look(0, both(500, 5_000, 10), vec![]), look(10, both(1_500, 25_000, 110), vec![])]);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.client.name.as_str(), one.server.name.as_str()), ("worker", "redis-server"));
        assert_eq!(one.address, "127.0.0.1:6379");
        assert_eq!((one.there.unwrap().bytes, one.back.unwrap().bytes), (1_000, 20_000));
        assert_eq!((one.manner, one.requests_per_s), (Some(Manner::Requests), Some(10.0)));
        assert_eq!((one.connections, one.opened_per_s), (1, 0.0));
    }

    #[test]
    fn connections_that_close_between_looks_count_and_belong_to_who_else_talks_to_the_server() {
        let open = || vec![listener(6379, 1), socket(6379, 40_000, 2, 70, 1), socket(40_000, 6379, 3, 30, 1)];
        let closed = || {
            (0..50_u16)
                .flat_map(|port| [socket(6379, 41_000 + port, 0, 70, 1), socket(41_000 + port, 6379, 0, 30, 1)])
                .collect()
        };
        let found = seen(&[look(0, open(), vec![]), look(10, open(), closed())]);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(one.client.name, "worker");
        assert_eq!((one.there.unwrap().bytes, one.back.unwrap().bytes), (3_500, 1_500));
        assert_eq!((one.manner, one.opened_per_s), (Some(Manner::Connections), 5.0));
        assert_eq!(one.requests_per_s, Some(5.0));
    }

    #[test]
    fn the_same_addresses_may_be_another_connection() {
        let both = |there| vec![listener(6379, 1), socket(6379, 40_000, 2, there, 1), socket(40_000, 6379, 3, 0, 0)];
        let found = seen(&[
            look(0, both(100), vec![]),
            look(1, both(40), vec![socket(6379, 40_000, 0, 150, 2), socket(40_000, 6379, 0, 0, 0)]),
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
            let shared = [ipcost_sys::observed::SharedMemory { file: (1, 2), path: "/dev/shm/ring".into(), bytes: 4096 }];
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
        let count = |request: WatchRequest| watching.conversations(&request).len();
        let any = WatchRequest::default;
        assert_eq!(count(WatchRequest { pid: Some(20), ..any() }), 1);
        assert_eq!(count(WatchRequest { pid: Some(21), ..any() }), 0);
        assert_eq!(count(WatchRequest { port: Some(6379), command: Some("redis".to_owned()), ..any() }), 1);
        assert_eq!(count(WatchRequest { port: Some(40_000), ..any() }), 0);
        assert_eq!(count(WatchRequest { path: Some("/run/x".to_owned()), ..any() }), 0);
    }
}
