//! Watches the connections of a cell while something runs: whether less than a segment waits for an acknowledgement, and at which side.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ipcost_model::HeldBack;
use ipcost_sys::tcp_ends::{TcpEnds, nodelay_of, owner_of, sockets_of};
use ipcost_sys::{TcpEnd, perf};

/// How often to look; more rarely if a look takes long, since many connections are open.
const EVERY: Duration = Duration::from_millis(1);
/// The part of the time that looking may take.
const MOST_LOOKING: u32 = 5;
/// What is acknowledged earlier was not delayed: by half of the least time that Linux delays an acknowledgement (`TCP_DELACK_MIN`).
const DELAYED: Duration = Duration::from_millis(20);

/// What was seen at the ends of both sides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub client: HeldBack,
    pub server: HeldBack,
}

/// Runs something and watches meanwhile; `client` is the group of the client's processes. `None` where nothing could be seen of its
/// connections.
pub(super) fn watch<T>(client: u32, run: impl FnOnce() -> T) -> (T, Option<Seen>) {
    let Ok(ends) = TcpEnds::open() else { return (run(), None) };
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut stretches = Stretches::new(client);
            look(ends, &ended, &mut stretches);
            stretches.seen()
        });
        let done = run();
        ended.store(true, Ordering::Relaxed);
        (done, watching.join().ok().flatten())
    })
}

fn look(mut ends: TcpEnds, ended: &AtomicBool, stretches: &mut Stretches) {
    while !ended.load(Ordering::Relaxed) {
        let began = Instant::now();
        let Ok(all) = ends.all() else { return };
        let now = Instant::now();
        stretches.add(&all, now);
        std::thread::sleep(EVERY.max((now - began) * MOST_LOOKING));
    }
}

/// The two addresses of an end.
type Between = (SocketAddr, SocketAddr);

/// An end that holds something back: since when, and what was acknowledged by then.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    began: Instant,
    last: Instant,
    acknowledged_bytes: u64,
    is_client: bool,
}

/// Stretches of time in which ends held something back.
struct Stretches {
    client: u32,
    /// The client's sockets.
    inodes: BTreeSet<u32>,
    open: BTreeMap<Between, Stretch>,
    seen: Seen,
    /// Ends that have held something back, by side: those whose option tells.
    held: [Option<u32>; 2],
    /// Whether any end of the client's was seen.
    any: bool,
}

impl Stretches {
    fn new(client: u32) -> Self {
        let (open, held) = (BTreeMap::new(), [None; 2]);
        Self { client, inodes: BTreeSet::new(), open, seen: Seen::default(), held, any: false }
    }

    /// What all ends of this network were at a moment.
    fn add(&mut self, all: &[TcpEnd], now: Instant) {
        if !all.iter().any(|end| self.inodes.contains(&end.inode)) {
            let processes = perf::processes(self.client);
            self.inodes = processes.into_iter().flat_map(sockets_of).map(|(inode, _)| inode).collect();
        }
        let is_clients = |end: &&TcpEnd| self.inodes.contains(&end.inode);
        let clients: BTreeSet<Between> =
            all.iter().filter(is_clients).map(|end| (end.local, end.remote)).collect();
        self.any |= !clients.is_empty();
        let mut held = BTreeSet::new();
        for end in all.iter().filter(|end| end.is_held_back()) {
            let between = (end.local, end.remote);
            let is_client = clients.contains(&between);
            if !is_client && !clients.contains(&(end.remote, end.local)) {
                continue;
            }
            held.insert(between);
            let begun =
                Stretch { began: now, last: now, acknowledged_bytes: end.acknowledged_bytes, is_client };
            let known = self.open.entry(between).or_insert(begun);
            if known.acknowledged_bytes == end.acknowledged_bytes {
                known.last = now;
                if known.last - known.began >= DELAYED {
                    self.held[usize::from(!is_client)] = Some(end.inode);
                }
            } else {
                let ended = std::mem::replace(known, begun);
                self.seen.count(&ended);
            }
        }
        let (still, ended): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.open).into_iter().partition(|(between, _)| held.contains(between));
        self.open = still;
        ended.values().for_each(|ended| self.seen.count(ended));
    }

    /// What was seen, with the options of the ends that held something back.
    fn seen(mut self) -> Option<Seen> {
        self.open.values().for_each(|open| self.seen.count(open));
        let [client, server] = self.held.map(|inode| {
            let (process, descriptor) = owner_of(inode?)?;
            nodelay_of(process, descriptor)
        });
        self.seen.client.nodelay = client;
        self.seen.server.nodelay = server;
        self.any.then_some(self.seen)
    }
}

impl Seen {
    /// Counts a stretch, if it was as long as only a delayed acknowledgement makes it.
    fn count(&mut self, stretch: &Stretch) {
        let took = stretch.last - stretch.began;
        if took >= DELAYED {
            let side = if stretch.is_client { &mut self.client } else { &mut self.server };
            side.waits += 1;
            side.ns += took.as_nanos() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn end(inode: u32, local: u16, remote: u16, unsent_bytes: u32, acknowledged_bytes: u64) -> TcpEnd {
        let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        TcpEnd {
            local: at(local),
            remote: at(remote),
            inode,
            unacknowledged: u32::from(unsent_bytes > 0),
            unsent_bytes,
            segment_bytes: 65_483,
            window: 10,
            segments_sent: 1,
            acknowledged_bytes,
        }
    }

    /// The client is socket 1 at port 1000, the server socket 2 at port 80; strangers hold back, too.
    fn watched(looks: impl IntoIterator<Item = (u64, TcpEnd, TcpEnd)>) -> Seen {
        let mut stretches = Stretches::new(0);
        stretches.inodes = BTreeSet::from([1]);
        let began = Instant::now();
        for (ms, client, server) in looks {
            let stranger = end(3, 4000, 4001, 9, 1);
            stretches.add(&[client, server, stranger], began + Duration::from_millis(ms));
        }
        stretches.seen().unwrap()
    }

    #[test]
    fn a_wait_is_of_the_side_that_holds_back() {
        let seen = watched((0..100).map(|ms| {
            let holds = if ms % 50 < 41 { 11 } else { 0 };
            (ms, end(1, 1000, 80, 0, 7), end(2, 80, 1000, holds, ms / 50))
        }));
        assert_eq!((seen.client.waits, seen.server.waits), (0, 2));
        assert_eq!(seen.server.ns, 80_000_000);
    }

    #[test]
    fn what_is_acknowledged_meanwhile_is_no_wait() {
        // A stream holds something back at every moment, and each time it is something else.
        let seen = watched((0..100).map(|ms| (ms, end(1, 1000, 80, 64, ms), end(2, 80, 1000, 0, 0))));
        assert_eq!(seen, Seen::default());
    }

    #[test]
    fn a_side_that_waits_for_the_other_holds_nothing_back() {
        let seen = watched((0..100).map(|ms| (ms, end(1, 1000, 80, 0, 7), end(2, 80, 1000, 0, 7))));
        assert_eq!(seen, Seen::default());
    }
}
