//! What queues and waits show beyond what is counted: evidence for findings.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use ipcost_sys::observed::TcpState::{Listening, TimeWait};
use ipcost_sys::observed::{Held, Program, TcpSocket, UnixKind};
use ipcost_sys::sockets::LocalPorts;

use super::WatchedTransport;
use super::conversation_state::{ConversationKey, place};
use super::observation::Observation;
use super::proc_table::{ProcId, ProcTable};
use super::state::Conversations;

/// So many places of each kind are kept: those where most waited.
const MOST_PLACES: usize = 200;
/// Functions of the kernel in which a writer waits for room.
const PLACES: [&str; 6] = [
    "pipe_write", "anon_pipe_write", "fifo_pipe_write", "sock_alloc_send_pskb", "sock_wait_for_wmem",
    "unix_wait_for_peer",
];

/// A listener whose queue was full.
#[derive(Debug, Clone, Copy)]
pub(super) struct FullQueue {
    pub owner: Option<ProcId>,
    /// The most that waited, and how many may.
    pub waiting: u32,
    pub limit: u32,
}

/// Connections in TIME_WAIT: their network namespace, the client's address and the server's.
pub(super) type TimeWaits = (u64, IpAddr, SocketAddr);

/// What is not of one conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedEvidence {
    /// By medium and address.
    pub full: BTreeMap<(WatchedTransport, String), FullQueue>,
    /// Datagrams for a process that were dropped since the first observation.
    pub dropped: HashMap<ProcId, u64>,
    /// Those that had been dropped at the last observation, by socket.
    dropped_before: HashMap<u32, u32>,
    /// The most connections that were in TIME_WAIT at once.
    pub time_wait: BTreeMap<TimeWaits, u64>,
    pub overflows: (Option<u64>, u64),
    /// The local ports of network namespaces with connections in TIME_WAIT.
    pub ports: BTreeMap<u64, LocalPorts>,
    /// How many pages in pipes a user may have before new pipes hold less.
    pub pipe_pages_limit: Option<u64>,
    /// By user: the pages in pipes at the last observation, and the process with most of them, with how many.
    pub pipe_pages: HashMap<u32, (u64, ProcId, u64)>,
    /// Unix datagram sockets in whose queue something waited at the last observation: where, and whose.
    pub queues: Vec<(String, ProcId)>,
}

impl SharedEvidence {
    /// Takes in what an observation shows of queues.
    pub fn observe(&mut self, seen: &Observation, procs: &ProcTable) {
        let mut full = |medium, address: String, inode, waiting: u32, limit: u32| {
            let owner = procs.owner_of(inode);
            let known = self.full.entry((medium, address)).or_insert(FullQueue { owner, waiting, limit });
            known.waiting = known.waiting.max(waiting);
        };
        // The kernel takes one more than the program asked for.
        for socket in seen.tcp.iter().filter(|it| it.state == Listening && it.waiting > it.outstanding) {
            full(
                WatchedTransport::Tcp,
                socket.local.to_string(),
                socket.inode,
                socket.waiting,
                socket.outstanding,
            );
        }
        for socket in seen.unix.iter().filter(|it| it.is_listening && it.waiting > it.outstanding) {
            let name = socket.name.clone().unwrap_or_default();
            full(WatchedTransport::Unix, name, socket.inode, socket.waiting, socket.outstanding);
        }
        keep_most(&mut self.full, |queue| u64::from(queue.waiting));
        let before = std::mem::take(&mut self.dropped_before);
        for socket in &seen.udp {
            self.dropped_before.insert(socket.inode, socket.dropped);
            let new = if seen.is_baseline { socket.dropped } else { 0 };
            let more = socket.dropped.saturating_sub(before.get(&socket.inode).copied().unwrap_or(new));
            if let Some(owner) = procs.owner_of(socket.inode).filter(|_| more > 0 && !seen.is_baseline) {
                *self.dropped.entry(owner).or_default() += u64::from(more);
            }
        }
        self.dropped.retain(|owner, _| procs.get(*owner).is_some());
        let mut waiting: HashMap<TimeWaits, u64> = HashMap::new();
        // At the end of who was connected to, it takes no port from a client.
        let at_client =
            |socket: &&TcpSocket| socket.state == TimeWait && socket.local.port() > socket.remote.port();
        for socket in seen.tcp.iter().filter(at_client) {
            *waiting.entry((socket.network, socket.local.ip(), socket.remote)).or_default() += 1;
        }
        for (between, count) in waiting {
            let most = self.time_wait.entry(between).or_default();
            *most = count.max(*most);
        }
        keep_most(&mut self.time_wait, |count| *count);
        self.pipe_pages_limit = seen.pipe_pages_limit;
        self.pipe_pages = pipe_pages(seen, procs);
        self.ports.extend(&seen.ports);
        keep_most(&mut self.ports, |ports| ports.count.into());
        let queued = seen.unix.iter().filter(|it| it.kind == UnixKind::Datagram && it.waiting > 0);
        let named = queued.filter_map(|it| Some((it.name.clone()?, procs.owner_of(it.inode)?)));
        self.queues = named.take(MOST_PLACES).collect();
        if let Some(now) = seen.overflows {
            let (first, last) = &mut self.overflows;
            first.get_or_insert(now);
            *last = now;
        }
    }

    /// Takes in where processes wait in the kernel, by process.
    pub fn sample_waits(
        waits: &BTreeMap<u32, Vec<String>>,
        procs: &ProcTable,
        conversations: &mut Conversations,
    ) {
        let mut writers: HashMap<(ProcId, &str), Vec<(ConversationKey, bool)>> = HashMap::new();
        for (key, state) in conversations.iter_mut().filter(|(_, state)| state.open.is_some()) {
            if !places_of(key.medium).is_empty() {
                state.wait_samples += 1;
            }
            for (side, is_client) in [(&key.client, true), (&key.server, false)] {
                let Some(process) = side.process().filter(|_| is_client || key.medium.is_unix()) else {
                    continue;
                };
                for place in places_of(key.medium) {
                    writers.entry((process, place)).or_default().push((key.clone(), is_client));
                }
            }
        }
        let mut blocked: HashSet<(ConversationKey, bool)> = HashSet::new();
        for (process, names) in waits {
            let Some(process) = procs.named(*process) else { continue };
            for name in names {
                let place = PLACES.iter().find(|place| name.starts_with(**place));
                let ends = place.and_then(|place| writers.get(&(process, *place)));
                // Of several, it cannot be told which.
                if let Some([end]) = ends.map(Vec::as_slice) {
                    blocked.insert(end.clone());
                }
            }
        }
        for (key, is_client) in blocked {
            if let Some(state) = conversations.get_mut(&key) {
                state.blocked[place(is_client)] += 1;
            }
        }
    }
}

fn keep_most<K: Ord + Clone, V>(all: &mut BTreeMap<K, V>, rank: impl Fn(&V) -> u64) {
    if all.len() <= MOST_PLACES {
        return;
    }
    let mut ranks: Vec<(u64, K)> = all.iter().map(|(key, value)| (rank(value), key.clone())).collect();
    ranks.sort_unstable();
    let over = all.len() - MOST_PLACES;
    ranks.iter().take(over).for_each(|(_, key)| drop(all.remove(key)));
}

/// The pages in pipes of each user: a pipe is its oldest holder's, who was there before those that it was given to.
fn pipe_pages(seen: &Observation, procs: &ProcTable) -> HashMap<u32, (u64, ProcId, u64)> {
    const PAGE: u64 = 4096;
    let mut all: Vec<(ProcId, &Program)> = procs.live().collect();
    all.sort_by_key(|(id, _)| (id.started, id.pid));
    let (mut met, mut found) = (HashSet::new(), HashMap::new());
    for (id, program) in all {
        let held = program.held.iter().flatten();
        let pipes =
            held.filter_map(|(_, held)| if let Held::Pipe { inode, .. } = held { Some(inode) } else { None });
        let pages: u64 = pipes
            .filter(|inode| met.insert(**inode))
            .filter_map(|inode| seen.pipe_bytes.get(inode))
            .sum::<u64>()
            / PAGE;
        let (sum, most, of_most) = found.entry(program.user).or_insert((0, id, 0));
        *sum += pages;
        if pages > *of_most {
            (*most, *of_most) = (id, pages);
        }
    }
    found
}

fn places_of(medium: WatchedTransport) -> &'static [&'static str] {
    match medium {
        WatchedTransport::Pipe | WatchedTransport::Fifo => &PLACES[..3],
        WatchedTransport::Unix | WatchedTransport::Socketpair | WatchedTransport::UnixSeqpacket => {
            &PLACES[3..5]
        }
        WatchedTransport::UnixDgram => &PLACES[3..],
        _ => &[],
    }
}
