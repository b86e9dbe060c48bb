//! Reads strace's output: calls of all threads by name, with their bytes and failures (`strace(1)`).

use std::collections::BTreeMap;
use std::path::Path;

pub use ipcost_model::{CallMode, Object};
pub(crate) use lines::{Parts, TraceLine, each_line};

/// Files and addresses used for name resolution.
const RESOLVING: [&str; 9] = [
    "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf",
    "/nscd/socket", "/systemd/resolve/", "/etc/services", "htons(53)",
];

mod lines;

/// How strace is started: it writes a line for every call of all threads and children, with what its descriptor is and
/// how long it took, without the data that it moves.
const STRACE: [&str; 9] = ["strace", "-f", "-qq", "-T", "-y", "-s", "0", "-e", "signal=none"];

/// The command that runs a program under strace, which writes its calls to a file.
pub fn traced(command: &[String], file: &Path) -> Vec<String> {
    let mut words: Vec<String> = STRACE.map(str::to_owned).to_vec();
    words.extend(["-o".to_owned(), file.to_string_lossy().into_owned()]);
    words.push("--".to_owned());
    words.extend(command.iter().cloned());
    words
}

/// The command that attaches strace to processes that run. It writes their calls to a file, with the time of each by the wall clock.
pub(crate) fn attaching(processes: &[u32], file: &Path) -> Vec<String> {
    let mut words: Vec<String> = STRACE.map(str::to_owned).to_vec();
    words.extend(["-ttt".to_owned(), "-o".to_owned(), file.to_string_lossy().into_owned()]);
    words.extend(processes.iter().flat_map(|process| ["-p".to_owned(), process.to_string()]));
    words
}

/// What distinguishes calls: the name, and what its first descriptor is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TracedCall {
    /// As in `syscalls(2)`.
    pub name: String,
    /// `None` where the first argument is no descriptor, or one of another kind.
    pub on: Option<Object>,
}

impl TracedCall {
    /// Whether such calls move messages: they move bytes, and not to or from a file.
    fn moves(&self) -> bool {
        Direction::of(&self.name).is_some() && !matches!(self.on, Some(Object::File | Object::Device))
    }
}

/// All calls of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TracedCalls {
    /// The number of calls.
    pub count: u64,
    /// Bytes moved, by calls that move bytes.
    pub moved: u64,
    /// Bytes that calls asked to move, if shown.
    pub asked: u64,
    /// Calls that moved less than asked.
    pub partial: u64,
    pub failures: BTreeMap<String, u64>,
    /// How long each took while it was traced, nanoseconds; of those that returned.
    pub took_ns: Vec<u32>,
    /// Calls that waited until the time they were given was over.
    pub timeouts: u64,
    /// How long they asked to sleep, nanoseconds, where that is a length of time.
    pub sleep_ns: u64,
    /// How often with which [`CallMode`].
    pub manners: BTreeMap<CallMode, u64>,
}

/// A whole trace, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceSummary {
    /// Calls by thread, and by kind.
    pub threads: BTreeMap<String, BTreeMap<TracedCall, TracedCalls>>,
    /// Calls for name resolution, by what they touch.
    pub lookups: BTreeMap<String, u64>,
    /// Messages that went into a socket in several calls with no receive between them: how many bytes each call sent, and how often.
    pub sends: BTreeMap<Vec<u64>, u64>,
    /// The same of messages that came out of one in several calls.
    pub receives: BTreeMap<Vec<u64>, u64>,
    /// The calls in one direction so far, by socket; only while a trace is read.
    turns: BTreeMap<String, (Direction, Vec<u64>)>,
}

impl TracedCalls {
    /// Adds other calls of the same kind.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.moved = self.moved.saturating_add(other.moved);
        self.asked = self.asked.saturating_add(other.asked);
        self.partial += other.partial;
        self.took_ns.extend(&other.took_ns);
        self.timeouts += other.timeouts;
        self.sleep_ns = self.sleep_ns.saturating_add(other.sleep_ns);
        for (error, count) in &other.failures {
            *self.failures.entry(error.clone()).or_default() += count;
        }
        for (manner, count) in &other.manners {
            *self.manners.entry(*manner).or_default() += count;
        }
    }
}

/// The most calls of one message; a stream makes as many as it likes.
const MOST_PIECES: usize = 8;
/// A thread that makes less than this share of the calls that move messages does something else.
const MOVING_SHARE: f64 = 0.05;
/// From this share of such calls on, it is sockets that messages go over.
const SOCKETS_SHARE: f64 = 0.1;

impl TraceSummary {
    /// Counts the lines of a trace; skips lines that are not calls.
    pub fn of(trace: &str) -> Self {
        let mut tally = Self::default();
        each_line(trace, &mut |line| tally.add(&line));
        tally.end();
        tally
    }

    /// Forgets what only the next lines would matter for.
    pub(crate) fn end(&mut self) {
        self.turns.clear();
    }

    /// The calls of all threads.
    pub fn calls(&self) -> BTreeMap<TracedCall, TracedCalls> {
        sum(self.threads.values())
    }

    /// The calls of threads that move messages, and those of the others; all where no call moves any, as in shared memory.
    pub fn by_part(&self) -> (BTreeMap<TracedCall, TracedCalls>, BTreeMap<TracedCall, TracedCalls>) {
        let count = |calls: &BTreeMap<TracedCall, TracedCalls>, moves: &dyn Fn(&TracedCall) -> bool| -> u64 {
            calls.iter().filter(|(call, _)| moves(call)).map(|(_, calls)| calls.count).sum()
        };
        let over = |moves: &dyn Fn(&TracedCall) -> bool| -> u64 {
            self.threads.values().map(|calls| count(calls, moves)).sum()
        };
        // Next to sockets, pipes and events are between threads, or lead to a log.
        let by_socket = |call: &TracedCall| call.moves() && call.on == Some(Object::Socket);
        let sockets = over(&by_socket) as f64 >= SOCKETS_SHARE * over(&TracedCall::moves) as f64;
        let moves = |call: &TracedCall| if sockets { by_socket(call) } else { call.moves() };
        let moved = |calls: &BTreeMap<TracedCall, TracedCalls>| count(calls, &moves);
        let all = over(&moves);
        let is_mover =
            |calls: &&BTreeMap<TracedCall, TracedCalls>| moved(calls) as f64 >= MOVING_SHARE * all as f64;
        let (movers, others): (Vec<_>, Vec<_>) = self.threads.values().partition(is_mover);
        (sum(movers.into_iter()), sum(others.into_iter()))
    }

    /// Follows what goes over a socket: calls in one direction are of one message, which a call in the other ends.
    fn follow(&mut self, socket: &str, direction: Direction, moved: u64) {
        let (towards, calls) = self.turns.entry(socket.to_owned()).or_insert_with(|| (direction, Vec::new()));
        if *towards != direction {
            let all = if *towards == Direction::Write { &mut self.sends } else { &mut self.receives };
            let ended = std::mem::take(calls);
            if (2..=MOST_PIECES).contains(&ended.len()) {
                *all.entry(ended).or_default() += 1;
            }
            *towards = direction;
        }
        // One more than counts is enough to know that it is no message.
        if calls.len() <= MOST_PIECES {
            calls.push(moved);
        }
    }

    /// Counts a whole call; skips a line that is none.
    pub(crate) fn add(&mut self, line: &TraceLine<'_>) {
        let Some(parts) = line.parts() else { return };
        let Parts { name, arguments, .. } = parts;
        let descriptor = descriptor(arguments);
        let on = descriptor.and_then(|(_, path)| object(path));
        let value = parts.value();
        if let Some((moved @ 1.., direction)) = value.zip(Direction::of(name))
            && on == Some(Object::Socket)
        {
            self.follow(descriptor.map_or("", |(_, path)| path), direction, moved.unsigned_abs());
        }
        let calls = self.threads.entry(line.thread.to_owned()).or_default();
        let calls = calls.entry(TracedCall { name: name.to_owned(), on }).or_default();
        calls.count += 1;
        calls.took_ns.extend(parts.took_ns());
        let asked = asked(arguments);
        match (value, parts.error()) {
            (Some(..0), Some(error)) => *calls.failures.entry(error.to_owned()).or_default() += 1,
            (Some(0), _) if POLLS.contains(&name) => calls.timeouts += 1,
            (Some(moved @ 0..), _) if Direction::of(name).is_some() => {
                let moved = moved.unsigned_abs();
                // A traced program may print lines that look like strace's.
                calls.moved = calls.moved.saturating_add(moved);
                if let Some(asked) = asked {
                    calls.asked = calls.asked.saturating_add(asked);
                    calls.partial += u64::from(moved < asked);
                }
            }
            _ => {}
        }
        calls.sleep_ns = calls.sleep_ns.saturating_add(sleep_ns(name, arguments));
        let to_standard_error = descriptor.is_some_and(|(number, _)| number == 2);
        if let Some(manner) = manner(name, arguments, asked, to_standard_error) {
            *calls.manners.entry(manner).or_default() += 1;
        }
        // What a descriptor stands for was touched when it was opened.
        let touched = descriptor
            .map_or(arguments, |(_, path)| arguments.split_once(path).map_or(arguments, |(_, rest)| rest));
        if let Some(what) = RESOLVING.iter().find(|what| touched.contains(**what)) {
            *self.lookups.entry((*what).to_owned()).or_default() += 1;
        }
    }
}

fn sum<'a>(
    threads: impl Iterator<Item = &'a BTreeMap<TracedCall, TracedCalls>>,
) -> BTreeMap<TracedCall, TracedCalls> {
    let mut all: BTreeMap<TracedCall, TracedCalls> = BTreeMap::new();
    for (call, calls) in threads.flatten() {
        all.entry(call.clone()).or_default().merge(calls);
    }
    all
}

/// The first argument where it is a descriptor: its number, and what strace says that it is.
fn descriptor(arguments: &str) -> Option<(u32, &str)> {
    let (number, rest) = arguments.split_once('<')?;
    let number = number.parse().ok()?;
    let end = rest.find(">,").or_else(|| rest.find(">)")).or_else(|| rest.rfind('>'))?;
    Some((number, &rest[..end]))
}

/// What is behind a descriptor, by strace's `-y`.
fn object(path: &str) -> Option<Object> {
    const KINDS: [(&str, Object); 7] = [
        ("socket:", Object::Socket),
        ("UNIX", Object::Socket),
        ("TCP", Object::Socket),
        ("UDP", Object::Socket),
        ("pipe:", Object::Pipe),
        ("anon_inode:[eventfd]", Object::Event),
        ("/dev/", Object::Device),
    ];
    let known = KINDS.iter().find(|(prefix, _)| path.starts_with(prefix)).map(|(_, object)| *object);
    // What is shared as memory lies under /dev, too, but is a file.
    let is_file = path.starts_with('/') && (known.is_none() || path.starts_with("/dev/shm/"));
    if is_file { Some(Object::File) } else { known }
}

/// How long a call asks to sleep, nanoseconds; 0 where it asks for a point in time, or not to sleep.
fn sleep_ns(name: &str, arguments: &str) -> u64 {
    if !SLEEPS.contains(&name) || arguments.contains("TIMER_ABSTIME") {
        return 0;
    }
    let field = |field: &str| -> Option<u64> {
        let rest = arguments.split_once(field)?.1;
        rest.split(|other: char| !other.is_ascii_digit()).next()?.parse().ok()
    };
    let seconds = field("tv_sec=").unwrap_or(0).saturating_mul(1_000_000_000);
    seconds.saturating_add(field("tv_nsec=").unwrap_or(0))
}

/// Calls that do nothing but sleep.
pub const SLEEPS: [&str; 2] = ["nanosleep", "clock_nanosleep"];
/// Calls that wait for descriptors.
pub const POLLS: [&str; 7] =
    ["poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"];
/// The value of a mutex that is taken and waited for, in glibc, musl and Rust's standard library.
const CONTENDED: &str = ", 2,";

fn manner(name: &str, arguments: &str, asked: Option<u64>, to_standard_error: bool) -> Option<CallMode> {
    match name {
        "futex" if arguments.contains("_WAKE") => Some(CallMode::WordWake),
        "futex" if arguments.contains("FUTEX_LOCK_PI") => Some(CallMode::MutexWait),
        "futex" if arguments.contains("FUTEX_WAIT") => {
            let after = arguments.split_once("FUTEX_WAIT").map_or("", |(_, rest)| rest);
            Some(if after.contains(CONTENDED) { CallMode::MutexWait } else { CallMode::WordWait })
        }
        "flock" => Some(CallMode::FileLock),
        "fcntl" if arguments.contains("SETLKW") => Some(CallMode::FileLock),
        "poll" | "ppoll" if arguments.starts_with("NULL, 0") => Some(CallMode::TimeOnly),
        "select" | "pselect6"
            if arguments.starts_with("0, ") || arguments.contains(", NULL, NULL, NULL, {") =>
        {
            Some(CallMode::TimeOnly)
        }
        _ => match Direction::of(name)? {
            Direction::Read if asked == Some(5) => Some(CallMode::RecordHeader),
            Direction::Write if to_standard_error => Some(CallMode::StandardError),
            _ => None,
        },
    }
}

/// How many bytes a call asks to move: the third argument if the second is data.
fn asked(arguments: &str) -> Option<u64> {
    let mut words = arguments.split(", ").skip(1);
    let data = words.next()?.trim_start();
    if !data.starts_with('"') && !data.starts_with("0x") {
        return None;
    }
    words.next()?.trim_end().trim_end_matches(')').parse().ok()
}

/// The direction in which a call moves bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

impl Direction {
    /// The direction of a call by its name; `None` if it moves no bytes.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "read" | "readv" | "recvfrom" | "recvmsg" | "recv" | "pread64" | "preadv" => Some(Self::Read),
            "write" | "writev" | "sendto" | "sendmsg" | "send" | "pwrite64" | "pwritev" => Some(Self::Write),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
