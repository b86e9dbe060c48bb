//! Watches the connections of a cell while something runs: whether less than a segment waits for an acknowledgement, and at which side.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ipcost_model::HeldBack;
use ipcost_sys::tcp_ends::{TcpEnds, nodelay_of, owner_of, sockets_of};
use ipcost_sys::{TcpEnd, perf, process_tree};

/// How often to look; more rarely if a look takes long, since many connections are open.
const EVERY: Duration = Duration::from_millis(1);
/// How often to look for new connections, at least.
const ANEW: Duration = Duration::from_millis(50);
/// The same of programs of others, where a look is to cost little: often enough for what lasts [`DELAYED`].
const SELDOM: Duration = Duration::from_millis(4);
/// But more rarely where a look takes long, so that looking takes a fortieth of the time, down to a look in half of [`DELAYED`].
const RARELY: u32 = 40;
/// The part of the time that looking may take.
const MOST_LOOKING: u32 = 5;
/// The most connections that are watched: what one waits for, others do.
const MOST_WATCHED: usize = 64;
/// What is acknowledged earlier was not delayed: by half of the least time that Linux delays an acknowledgement (`TCP_DELACK_MIN`).
const DELAYED: Duration = Duration::from_millis(20);

/// What was seen at the ends of both sides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WatchedEnds {
    pub client: HeldBack,
    pub server: HeldBack,
}

/// Runs something and watches meanwhile; `client` is the group of the client's processes. `None` where nothing could be seen of its
/// connections.
pub(super) fn watch<T>(client: u32, run: impl FnOnce() -> T) -> (T, Option<WatchedEnds>) {
    let Ok(ends) = TcpEnds::open() else { return (run(), None) };
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            // Where others keep the processors busy, looks would come later than what they look for ends.
            let _ = process_tree::run_before_others();
            let mut sides = ClientEnds::new(client);
            look(ends, &ended, &mut sides);
            sides.seen()
        });
        let done = run();
        ended.store(true, Ordering::Relaxed);
        (done, watching.join().ok().flatten())
    })
}

fn look(mut ends: TcpEnds, ended: &AtomicBool, sides: &mut ClientEnds) {
    let mut next = Instant::now();
    while !ended.load(Ordering::Relaxed) {
        let began = Instant::now();
        // To look for new connections takes long where the kernel's table is large.
        if began >= next || sides.known.is_empty() {
            let Ok(all) = ends.all() else { return };
            sides.find(&all);
            next = Instant::now() + ANEW.max(began.elapsed() * MOST_LOOKING);
        }
        let now = Instant::now();
        let known: Vec<SocketEnds> = sides.known.iter().flat_map(|at| [*at, (at.1, at.0)]).collect();
        let Ok(seen) = ends.of(known) else { return };
        sides.stretches.add(&seen, now);
        std::thread::sleep(EVERY.max((Instant::now() - now) * MOST_LOOKING));
    }
}

/// Watches ends of connections in this program's network, or in that of a process, for a while, each by its own and the other's address: which held less than a segment back until the other
/// side acknowledged. At most 64 of them are.
pub fn watch_ends(
    process: Option<u32>,
    ends: &[SocketEnds],
    lasts: Duration,
) -> io::Result<Vec<(SocketEnds, HeldBack)>> {
    let mut source = process.map_or_else(TcpEnds::open, TcpEnds::open_at)?;
    let mut stretches = Stretches::default();
    let until = Instant::now() + lasts;
    while Instant::now() < until {
        let now = Instant::now();
        let seen = source.of(ends.iter().copied().take(MOST_WATCHED))?;
        stretches.add(&seen, now);
        let rests = ((Instant::now() - now) * RARELY).clamp(SELDOM, DELAYED / 2);
        std::thread::sleep(rests.min(until - now));
    }
    Ok(stretches.finish().into_iter().collect())
}

/// The two addresses of an end, its own first.
pub type SocketEnds = (SocketAddr, SocketAddr);

/// An end that holds something back: since when, and what was acknowledged by then.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    began: Instant,
    last: Instant,
    /// How long before the first look it began, probably.
    before: Duration,
    acknowledged_bytes: u64,
}

/// Stretches of time in which ends held something back.
#[derive(Debug, Default)]
struct Stretches {
    /// When it was looked last.
    looked: Option<Instant>,
    open: HashMap<SocketEnds, Stretch>,
    seen: HashMap<SocketEnds, HeldBack>,
    /// The sockets of ends that have held something back, whose option tells.
    held: HashMap<SocketEnds, u32>,
}

impl Stretches {
    /// What ends were at a moment.
    fn add(&mut self, ends: &[TcpEnd], now: Instant) {
        // What began or ended between two looks did so in the middle, on average.
        let half = (now - self.looked.replace(now).unwrap_or(now)).min(DELAYED) / 2;
        let mut held = BTreeSet::new();
        for end in ends.iter().filter(|end| end.is_held_back()) {
            let between = (end.local, end.remote);
            held.insert(between);
            let (before, acknowledged_bytes) = (half, end.acknowledged_bytes);
            let begun = Stretch { began: now, last: now, before, acknowledged_bytes };
            let known = self.open.entry(between).or_insert(begun);
            if known.acknowledged_bytes == end.acknowledged_bytes {
                known.last = now;
                if known.last - known.began >= DELAYED {
                    self.held.insert(between, end.inode);
                }
            } else {
                let ended = std::mem::replace(known, begun);
                self.count(between, &ended, half);
            }
        }
        let ended: Vec<SocketEnds> = self.open.keys().copied().filter(|it| !held.contains(it)).collect();
        for between in ended {
            if let Some(stretch) = self.open.remove(&between) {
                self.count(between, &stretch, half);
            }
        }
    }

    /// Counts a stretch that ended `after` the last look at it, if it was as long as only a delayed acknowledgement makes it.
    fn count(&mut self, between: SocketEnds, stretch: &Stretch, after: Duration) {
        let seen = stretch.last - stretch.began;
        if seen >= DELAYED {
            let took = stretch.before + seen + after;
            let end = self.seen.entry(between).or_default();
            end.waits += 1;
            end.ns += took.as_nanos() as u64;
        }
    }

    /// What was seen at each end that has waited, with its option.
    fn finish(mut self) -> HashMap<SocketEnds, HeldBack> {
        let open: Vec<(SocketEnds, Stretch)> = self.open.drain().collect();
        open.iter().for_each(|(between, stretch)| self.count(*between, stretch, Duration::ZERO));
        for (between, inode) in &self.held {
            let option = owner_of(*inode).and_then(|(process, descriptor)| nodelay_of(process, descriptor));
            self.seen.entry(*between).or_default().nodelay = option;
        }
        self.seen
    }
}

/// The client's ends of a cell, and what they and their other ends held back.
struct ClientEnds {
    client: u32,
    /// Those that are open.
    known: BTreeSet<SocketEnds>,
    clients: HashSet<SocketEnds>,
    stretches: Stretches,
}

impl ClientEnds {
    fn new(client: u32) -> Self {
        Self { client, known: BTreeSet::new(), clients: HashSet::new(), stretches: Stretches::default() }
    }

    /// Finds the client's ends among all.
    fn find(&mut self, all: &[TcpEnd]) {
        let inodes: BTreeSet<u32> =
            perf::processes(self.client).into_iter().flat_map(sockets_of).map(|(inode, _)| inode).collect();
        let clients = all.iter().filter(|end| inodes.contains(&end.inode));
        self.known = clients.map(|end| (end.local, end.remote)).take(MOST_WATCHED).collect();
        self.clients.extend(&self.known);
    }

    /// What each side held back.
    fn seen(self) -> Option<WatchedEnds> {
        let mut seen = WatchedEnds::default();
        for (between, held) in self.stretches.finish() {
            let is_client = self.clients.contains(&between);
            let side = if is_client { &mut seen.client } else { &mut seen.server };
            side.waits += held.waits;
            side.ns += held.ns;
            side.nodelay = side.nodelay.or(held.nodelay);
        }
        (!self.clients.is_empty()).then_some(seen)
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
            user: 0,
            unacknowledged: u32::from(unsent_bytes > 0),
            unsent_bytes,
            segment_bytes: 65_483,
            window: 10,
            acknowledged_bytes,
        }
    }

    /// The client is at port 1000, the server at port 80.
    fn watched(looks: impl IntoIterator<Item = (u64, TcpEnd, TcpEnd)>) -> WatchedEnds {
        let mut sides = ClientEnds::new(0);
        let known = end(1, 1000, 80, 0, 0);
        sides.clients.insert((known.local, known.remote));
        let began = Instant::now();
        for (ms, client, server) in looks {
            sides.stretches.add(&[client, server], began + Duration::from_millis(ms));
        }
        sides.seen().unwrap()
    }

    #[test]
    fn a_wait_is_of_the_side_that_holds_back() {
        let seen = watched((0..100).map(|ms| {
            let holds = if ms % 50 < 41 { 11 } else { 0 };
            (ms, end(1, 1000, 80, 0, 7), end(2, 80, 1000, holds, ms / 50))
        }));
        assert_eq!((seen.client.waits, seen.server.waits), (0, 2));
        assert_eq!(seen.server.ns, 81_500_000);
    }

    #[test]
    fn what_is_acknowledged_meanwhile_is_no_wait() {
        // A stream holds something back at every moment, and each time it is something else.
        let seen = watched((0..100).map(|ms| (ms, end(1, 1000, 80, 64, ms), end(2, 80, 1000, 0, 0))));
        assert_eq!(seen, WatchedEnds::default());
    }

    #[test]
    fn a_side_that_waits_for_the_other_holds_nothing_back() {
        let seen = watched((0..100).map(|ms| (ms, end(1, 1000, 80, 0, 7), end(2, 80, 1000, 0, 7))));
        assert_eq!(seen, WatchedEnds::default());
    }
}
