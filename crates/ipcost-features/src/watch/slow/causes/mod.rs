//! What a slow request waited for: each cause says of a piece of its time whether it explains it. The first that does has it.

mod blocked;
mod computing;
mod queued;
mod ready;
mod stopped;
#[cfg(test)]
mod tests;
mod throttled;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ipcost_sys::call_samples::of_name;
use ipcost_sys::observed::{CallDirection, CalledOn, SlowRequest, ThreadLog, ThreadState};
use ipcost_sys::request_trace::call_name;

use super::WaitCause;
use super::timeline::{Doing, Stretch, stretches};

/// The part of a request's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Leg {
    /// From sending until the server has read.
    ToServer,
    /// Until it replies.
    AtServer,
    /// Until the client has read.
    ToClient,
}

impl Leg {
    fn words(self) -> &'static str {
        match self {
            Self::ToServer => "before the server read it",
            Self::AtServer => "between the server's read and its reply",
            Self::ToClient => "between the reply and the client's read",
        }
    }
}

/// A piece of a request's time: what the thread did whose turn it was.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    pub leg: Leg,
    pub log: &'a ThreadLog,
    pub stretch: Stretch,
    /// When the leg ends.
    pub until_ns: u64,
}

/// Who is at the other end of a connection that is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OtherEnd {
    pub name: String,
    /// Whether what has this end is the client.
    pub is_client: bool,
}

/// What is known besides the request.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    /// The names of threads, with their processes, by number.
    pub threads: HashMap<u32, (u32, String)>,
    /// Ends of connections.
    pub ends: Arc<HashMap<CalledOn, OtherEnd>>,
    /// The ends of the request's own connection.
    pub own: Vec<CalledOn>,
    /// Processes whose control groups were throttled meanwhile.
    pub throttled: BTreeSet<u32>,
    /// What the hypervisor took from all processors meanwhile, milliseconds; absent if the system does not tell.
    pub stolen_ms: Option<f64>,
    /// What a request usually takes.
    pub usual_ns: f64,
}

impl Surroundings {
    /// A thread by its name and the number of its process.
    pub fn name(&self, thread: u32) -> String {
        match self.threads.get(&thread) {
            // What watches is in the way, too.
            Some((process, _)) if *process == std::process::id() => "this watch itself".to_owned(),
            Some((process, name)) => format!("{name} ({process})"),
            None => format!("a program that has ended ({thread})"),
        }
    }

    fn process(&self, thread: u32) -> Option<u32> {
        self.threads.get(&thread).map(|(process, _)| *process)
    }
}

/// Says what a piece was spent with, if it was with this cause.
type Explains = fn(&Piece<'_>, &Surroundings) -> Option<String>;

const ALL: [(WaitCause, Explains); 6] = [
    (WaitCause::Stopped, stopped::explains),
    (WaitCause::Throttled, throttled::explains),
    (WaitCause::Ready, ready::explains),
    (WaitCause::Queued, queued::explains),
    (WaitCause::Blocked, blocked::explains),
    (WaitCause::Computing, computing::explains),
];

/// What most of a request's time was spent with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    pub cause: WaitCause,
    /// What it was, without figures.
    pub what: String,
    /// How much of the request's time that was.
    pub spent_ns: u64,
}

/// A request with the time of its parts. Its cause is the one that took most of its time, if that explains at least half of what it took
/// beyond the usual.
pub(super) fn judge(slow: &SlowRequest, known: &Surroundings) -> Judged {
    let took_ns = slow.returned_ns.saturating_sub(slow.sent_ns);
    // Where it takes about that long anyway, all of that is to be explained.
    let usual_ns = if known.usual_ns * 2.0 < took_ns as f64 { known.usual_ns } else { 0.0 };
    let mut spent: BTreeMap<WaitCause, BTreeMap<String, u64>> = BTreeMap::new();
    for piece in pieces(slow) {
        let explained = ALL.iter().find_map(|(cause, explains)| Some((*cause, explains(&piece, known)?)));
        let (cause, what) = explained.unwrap_or_else(|| (WaitCause::Unexplained, unexplained(&piece, known)));
        *spent.entry(cause).or_default().entry(what).or_default() += piece.stretch.lasts_ns();
    }
    let beyond = |cause: WaitCause, ns: u64| match cause {
        // It always computes.
        WaitCause::Computing => ns.saturating_sub(usual_ns as u64),
        _ => ns,
    };
    let most = |of: &BTreeMap<String, u64>| {
        let most = of.iter().max_by_key(|(_, ns)| **ns);
        most.map(|(what, ns)| (what.clone(), *ns)).unwrap_or_default()
    };
    let told_ns: u64 = spent.values().flat_map(BTreeMap::values).sum();
    let mut unknown = spent.remove(&WaitCause::Unexplained).unwrap_or_default();
    unknown.insert("what its threads did is not known any more".to_owned(), took_ns.saturating_sub(told_ns));
    let excess_ns = took_ns as f64 - usual_ns;
    let totals = spent.iter().map(|(cause, of)| (*cause, beyond(*cause, of.values().sum()), of));
    let Some((cause, ns, of)) = totals.max_by_key(|(_, ns, _)| *ns) else {
        let (what, spent_ns) = most(&unknown);
        return Judged { cause: WaitCause::Unexplained, what, spent_ns };
    };
    let (what, spent_ns) = most(of);
    if ns as f64 * 2.0 >= excess_ns {
        return Judged { cause, what, spent_ns };
    }
    let (not_known, unknown_ns) = most(&unknown);
    match unknown_ns >= spent_ns {
        true => Judged { cause: WaitCause::Unexplained, what: not_known, spent_ns: unknown_ns },
        false => {
            let what = format!("several things, the longest: {what}");
            Judged { cause: WaitCause::Unexplained, what, spent_ns }
        }
    }
}

/// The pieces of a request in order. Where another thread replied than the one that read, what it did counts, but for the time in which it
/// had nothing to do: then it is what the reader did.
fn pieces(slow: &SlowRequest) -> Vec<Piece<'_>> {
    let log = |thread: u32| slow.logs.iter().find(|log| log.thread == thread);
    let leg_ends = |leg: Leg| match leg {
        Leg::ToServer => slow.read_ns,
        Leg::AtServer => slow.replied_ns,
        Leg::ToClient => slow.returned_ns,
    };
    let mut found = Vec::new();
    let mut add = |leg: Leg, thread: u32, from_ns: u64, to_ns: u64| {
        let Some(log) = log(thread) else { return };
        let all = stretches(log, from_ns, to_ns);
        let until_ns = leg_ends(leg);
        found.extend(all.into_iter().map(|stretch| Piece { leg, log, stretch, until_ns }));
    };
    add(Leg::ToServer, slow.reader, slow.sent_ns, slow.read_ns);
    if slow.replier == slow.reader {
        add(Leg::AtServer, slow.reader, slow.read_ns, slow.replied_ns);
    } else if let Some(replier) = log(slow.replier) {
        for stretch in stretches(replier, slow.read_ns, slow.replied_ns) {
            match stretch.doing {
                Doing::Waits { call: Some(call), .. } if waits_for_work(call) => {
                    add(Leg::AtServer, slow.reader, stretch.from_ns, stretch.to_ns);
                }
                _ => add(Leg::AtServer, slow.replier, stretch.from_ns, stretch.to_ns),
            }
        }
    }
    add(Leg::ToClient, slow.client, slow.replied_ns, slow.returned_ns);
    found
}

/// Whether a thread that waits in a call may have nothing to do.
fn waits_for_work(call: u32) -> bool {
    let name = call_name(call);
    is_for_input(&name) || name == "futex"
}

/// Whether a call does nothing but wait, so that a thread that runs in it for long was held there.
fn only_waits(call: u32) -> bool {
    let name = call_name(call);
    // io_uring's call also does what was asked of it.
    let is_wait = direction(&name) == Some(CallDirection::Wait) && name != "io_uring_enter";
    is_wait || ["futex", "nanosleep", "clock_nanosleep"].contains(&name.as_str())
}

/// Whether a call waits for something to come.
fn is_for_input(name: &str) -> bool {
    matches!(direction(name), Some(CallDirection::In | CallDirection::Wait))
        || ["accept", "accept4"].contains(&name)
}

fn direction(name: &str) -> Option<CallDirection> {
    of_name(name).map(|call| call.direction)
}

/// What a thread has read from, with when that began and ended, in order.
fn reads(log: &ThreadLog) -> impl DoubleEndedIterator<Item = (u64, u64, CalledOn)> + '_ {
    log.spans.iter().filter_map(|span| match span.state {
        ThreadState::Called { on: Some(on), is_out: false, result } if result > 0 => {
            Some((span.began_ns, span.ended_ns, on))
        }
        _ => None,
    })
}

/// What is not explained, by where it was.
fn unexplained(piece: &Piece<'_>, known: &Surroundings) -> String {
    let thread = || known.name(piece.log.thread);
    match &piece.stretch.doing {
        Doing::Ready { before: Some((0, ..)), .. } => {
            let hidden = match known.stolen_ms {
                Some(stolen) if stolen > 0.0 => "; the hypervisor took processor time meanwhile",
                _ => "; the processor may have slept, or the hypervisor taken it",
            };
            format!("{} was ready on a processor that ran nothing{hidden}", thread())
        }
        Doing::Runs { call: Some(call), .. } if only_waits(*call) => {
            format!(
                "{} did not leave its processor in {}; a hypervisor may have held it",
                thread(),
                call_name(*call)
            )
        }
        Doing::Unknown => format!("what {} did {} is not known any more", thread(), piece.leg.words()),
        _ => format!("the time {}", piece.leg.words()),
    }
}
