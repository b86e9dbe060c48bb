//! Why requests were slow: those of other programs are followed in the kernel, and what the slow ones waited for is told by cause.

mod causes;
mod followed;
mod page;
mod record;
mod timeline;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ipcost_model::units::counted;
use ipcost_model::{LaneState, escaped};
use ipcost_report::numbers::time;
use ipcost_sys::clock::now_ns;
use ipcost_sys::observed::{
    AwayReason, CalledOn, Followed, RequestTally, SampleError, SlowRequest, ThreadLog, ThreadState,
};
use ipcost_sys::request_trace::{MOST_CONVERSATIONS, RequestTrace, call_name, give_way};
use ipcost_sys::running::{ProcessWaits, process_of, process_waits, thread_name};
use ipcost_sys::{counters, quota};

pub(super) use self::followed::{Connection, connections};
pub use self::page::slow_page;
pub use self::record::*;

use self::causes::{Judged, OtherEnd, Surroundings, judge};
use self::timeline::{Doing, Stretch, stretches};
use super::conversation_figures::fits;
use super::conversation_state::{ConversationKey, ConversationState};
use super::proc_table::ProcId;
use super::state::{Moment, WatchState};
use super::{Conversation, Unseen};

/// So many requests are kept in full of each conversation, and in all: the slowest.
const MOST_OF_CONVERSATION: usize = 20;
const MOST_KEPT: usize = 200;
/// The slowest hundredth is known from so many requests on.
const LEAST_REQUESTS: u64 = 200;
/// From then on it is slow, where no one says.
const SLOWEST: f64 = 0.99;
/// Of the kernel's counters.
const MS_PER_TICK: f64 = 10.0;

/// From when on a request is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowLimit {
    Longer(Duration),
    /// The slowest hundredth of each conversation, of what was seen in about the first second.
    SlowestHundredth,
}

/// A conversation that is followed.
#[derive(Debug)]
struct FollowedConversation {
    key: ConversationKey,
    conversation: Conversation,
    limit_ns: Option<u64>,
    /// The slow requests by what they waited for: how many, what they took in all, and some of them, as what was spent and taken.
    causes: BTreeMap<(WaitCause, String), CauseSum>,
    judged: u64,
    /// The longest of those.
    longest_ns: u64,
}

#[derive(Debug, Default)]
struct CauseSum {
    requests: u64,
    spent_ns: u64,
    /// What was spent and what was taken, of some.
    examples: Vec<(u64, u64)>,
}

/// Follows requests until it is dropped.
#[derive(Debug)]
pub struct SlowWatch {
    limit: SlowLimit,
    /// What follows them, or why nothing does.
    trace: Result<RequestTrace, SampleError>,
    began_ns: u64,
    conversations: Vec<FollowedConversation>,
    /// What ends read from, with who is at the other end.
    ends: Arc<HashMap<CalledOn, OtherEnd>>,
    /// What the server's end of a connection reads from, by what the client's does.
    servers: HashMap<CalledOn, CalledOn>,
    /// The processes of conversations, by number.
    met: BTreeMap<u32, MetProcess>,
    /// Control groups with a quota, by name.
    throttled: BTreeMap<String, Throttled>,
    stolen: Option<Stolen>,
    kept: Vec<SlowRequestRecord>,
    lost: u64,
    left_out: usize,
}

/// A process when it was first met.
#[derive(Debug)]
struct MetProcess {
    name: String,
    /// Its control group.
    group: String,
    /// What it had waited for by then, and how often its group was throttled.
    waits: Option<ProcessWaits>,
    throttled: Option<u64>,
    at_ns: u64,
}

/// A control group with a quota.
#[derive(Debug)]
struct Throttled {
    /// The process that is asked.
    asked: u32,
    /// How often it was throttled, and when that last rose.
    times: u64,
    rose_ns: u64,
}

/// What hypervisors have taken: ticks by the first look and by the last one, and milliseconds between the last two.
#[derive(Debug, Clone, Copy)]
struct Stolen {
    first: u64,
    ticks: u64,
    lately_ms: f64,
}

impl SlowWatch {
    pub fn open(limit: SlowLimit) -> Self {
        Self {
            limit,
            trace: RequestTrace::open(),
            began_ns: now_ns(),
            conversations: Vec::new(),
            ends: Arc::default(),
            servers: HashMap::new(),
            met: BTreeMap::new(),
            throttled: BTreeMap::new(),
            stolen: None,
            kept: Vec::new(),
            lost: 0,
            left_out: 0,
        }
    }

    /// Lets all others run first, where they leave enough for that.
    pub fn give_way(&self, gives: bool) {
        if self.trace.is_ok() {
            give_way(gives);
        }
    }

    /// Stops following, and goes on later: what was counted stays. What is started meanwhile gives no way to others.
    pub fn pause(&mut self) {
        self.give_way(false);
        if let Ok(trace) = &mut self.trace {
            trace.pause();
        }
    }

    pub fn resume(&mut self) {
        if let Ok(trace) = &mut self.trace
            && let Err(error) = trace.resume()
        {
            self.trace = Err(SampleError::Failed(error));
        }
    }

    /// Follows what an observation has shown.
    pub fn follow(&mut self, state: &WatchState) {
        let (mut all, mut ends_of_all) = (Vec::new(), HashMap::new());
        self.servers.clear();
        for connection in state.connections() {
            let [client, server] = connection.processes.map(|id| id.pid);
            // Also of those that are not asked for: what they send may be in the way.
            for (ends, other, is_client) in
                [(connection.client, server, true), (connection.server, client, false)]
            {
                ends_of_all.insert(ends[1], OtherEnd { name: state.name(other), is_client });
            }
            let Some(number) = self.number(state, &connection.key) else { continue };
            self.servers.insert(connection.client[1], connection.server[1]);
            all.push(Followed {
                conversation: number as u32,
                processes: connection.holders.clone(),
                client_out: connection.client[0],
                client_in: connection.client[1],
                server_in: connection.server[1],
                server_out: connection.server[0],
            });
            for id in connection.processes {
                self.meet(state, id);
            }
        }
        self.ends = Arc::new(ends_of_all);
        if let Ok(trace) = &mut self.trace {
            self.left_out = trace.follow(&all).unwrap_or(all.len());
        }
        self.set_limits();
    }

    /// Notes who a process is, for when it has ended, and where its processor time is limited.
    fn meet(&mut self, state: &WatchState, id: ProcId) {
        let Some(program) = state.procs.get(id).map(|known| &known.program) else { return };
        let throttled = &mut self.throttled;
        // Of a control group any process tells: one that lives.
        if let Some(group) = throttled.get_mut(&program.group) {
            group.asked = id.pid;
        }
        if self.met.contains_key(&id.pid) {
            return;
        }
        let times = quota::throttled(id.pid);
        if let Some(times) = times {
            let group = Throttled { asked: id.pid, times, rose_ns: 0 };
            throttled.entry(program.group.clone()).or_insert(group);
        }
        // Where requests are followed, no one asks what processes waited for.
        let waits = self.trace.is_err().then(|| process_waits(id.pid)).flatten();
        let (name, group) = (program.name.clone(), program.group.clone());
        self.met.insert(id.pid, MetProcess { name, group, waits, throttled: times, at_ns: now_ns() });
    }

    /// The number of a conversation that fits the request, a new one if there is room.
    fn number(&mut self, state: &WatchState, key: &ConversationKey) -> Option<usize> {
        if let Some(number) = self.conversations.iter().position(|it| it.key == *key) {
            return Some(number);
        }
        let conversation = state.describe(key, &ConversationState::default(), Moment::default());
        if !fits(&conversation, &state.request) || self.conversations.len() >= MOST_CONVERSATIONS {
            return None;
        }
        let number = self.conversations.len();
        let (mut limit_ns, mut first_ns) = (None, u64::MAX);
        if let SlowLimit::Longer(limit) = self.limit {
            (limit_ns, first_ns) = (Some(limit.as_nanos() as u64), limit.as_nanos() as u64);
        }
        if let Ok(trace) = &self.trace {
            trace.set_limit(number as u32, first_ns).ok()?;
        }
        let causes = BTreeMap::new();
        self.conversations.push(FollowedConversation {
            key: key.clone(),
            conversation,
            limit_ns,
            causes,
            judged: 0,
            longest_ns: 0,
        });
        Some(number)
    }

    /// Takes the slowest hundredth of what was seen so far as the limit, once that is enough.
    fn set_limits(&mut self) {
        let Ok(trace) = &self.trace else { return };
        for (number, followed) in self.conversations.iter_mut().enumerate() {
            if followed.limit_ns.is_some() {
                continue;
            }
            let Ok(tally) = trace.tally(number as u32) else { continue };
            let limit_ns = tally.quantile_ns(SLOWEST).filter(|_| tally.requests >= LEAST_REQUESTS);
            if let Some(limit_ns) = limit_ns.map(|ns| ns as u64)
                && trace.set_limit(number as u32, limit_ns).is_ok()
            {
                followed.limit_ns = Some(limit_ns);
            }
        }
    }

    /// Takes what has happened since the last time; to be called some times a second.
    pub fn take(&mut self) {
        self.look_around();
        let mut found = Vec::new();
        if let Ok(trace) = &mut self.trace {
            match trace.take(&mut |request| found.push(request)) {
                Ok(taken) => self.lost += taken.lost,
                Err(error) => self.trace = Err(SampleError::Failed(error)),
            }
        }
        for request in found {
            self.judge(&request);
        }
    }

    /// Asks what control groups and hypervisors have withheld.
    fn look_around(&mut self) {
        for group in self.throttled.values_mut() {
            if let Some(now) = quota::throttled(group.asked).filter(|now| *now > group.times) {
                (group.times, group.rose_ns) = (now, now_ns());
            }
        }
        if let Some(times) = counters::of_processors() {
            let (first, before) =
                self.stolen.map_or((times.stolen, times.stolen), |stolen| (stolen.first, stolen.ticks));
            let lately_ms = times.stolen.saturating_sub(before) as f64 * MS_PER_TICK;
            self.stolen = Some(Stolen { first, ticks: times.stolen, lately_ms });
        }
    }

    fn judge(&mut self, slow: &SlowRequest) {
        let number = slow.conversation as usize;
        if number >= self.conversations.len() {
            return;
        }
        let tally = self.trace.as_ref().ok().and_then(|trace| trace.tally(slow.conversation).ok());
        let usual_ns = tally.and_then(|tally| tally.quantile_ns(0.5)).unwrap_or(0.0);
        let known = self.surroundings(slow, usual_ns);
        let Judged { cause, what, spent_ns } = judge(slow, &known);
        let took_ns = slow.returned_ns.saturating_sub(slow.sent_ns);
        let found = sentence(cause, &what, spent_ns, took_ns, usual_ns);
        let kept = SlowRequestRecord {
            conversation: slow.conversation,
            at_s: slow.returned_ns.saturating_sub(self.began_ns) as f64 / 1e9,
            took_us: took_ns as f64 / 1e3,
            read_us: slow.read_ns.saturating_sub(slow.sent_ns) as f64 / 1e3,
            replied_us: slow.replied_ns.saturating_sub(slow.sent_ns) as f64 / 1e3,
            cause,
            found,
            lanes: lanes(slow, &known),
        };
        let followed = &mut self.conversations[number];
        followed.judged += 1;
        followed.longest_ns = followed.longest_ns.max(took_ns);
        let sum = followed.causes.entry((cause, what)).or_default();
        sum.requests += 1;
        sum.spent_ns += spent_ns;
        if sum.examples.len() < MOST_KEPT {
            sum.examples.push((spent_ns, took_ns));
        }
        self.keep(kept);
    }

    /// Keeps the slowest requests.
    fn keep(&mut self, new: SlowRequestRecord) {
        let of_same = |it: &SlowRequestRecord| it.conversation == new.conversation;
        let is_full = self.kept.len() >= MOST_KEPT;
        if is_full || self.kept.iter().filter(|it| of_same(it)).count() >= MOST_OF_CONVERSATION {
            let of_same = self.kept.iter().enumerate().filter(|(_, it)| of_same(it));
            let least = of_same.min_by(|(_, a), (_, b)| a.took_us.total_cmp(&b.took_us));
            match least.map(|(index, it)| (index, it.took_us)) {
                Some((index, took_us)) if took_us < new.took_us => drop(self.kept.swap_remove(index)),
                _ => return,
            }
        }
        self.kept.push(new);
    }

    /// Asks for the names of all threads that a request has to do with, while they are there.
    fn surroundings(&self, slow: &SlowRequest, usual_ns: f64) -> Surroundings {
        let mut threads: HashMap<u32, (u32, String)> = HashMap::new();
        for log in &slow.logs {
            // One that has ended meanwhile was met before.
            let met = || self.met.get(&log.process).map(|met| met.name.clone());
            let name = thread_name(log.process, log.thread).or_else(met).unwrap_or_default();
            threads.insert(log.thread, (log.process, escaped(&name)));
        }
        let aways = slow.logs.iter().flat_map(|log| &log.spans).filter(|span| span.ended_ns >= slow.sent_ns);
        let mut others: HashSet<(u32, &str)> = HashSet::new();
        for span in aways {
            if let ThreadState::Away { why, woken, before } = &span.state {
                others.extend(woken.filter(|_| *why != AwayReason::Ready).map(|(_, thread)| (thread, "")));
                others.extend(before.as_ref().map(|(thread, name, _)| (*thread, name.as_str())));
            }
        }
        for (thread, name) in others {
            if thread == 0 || threads.get(&thread).is_some_and(|(_, known)| !known.is_empty()) {
                continue;
            }
            let Some(process) = process_of(thread) else { continue };
            let known = thread_name(process, thread).filter(|_| name.is_empty());
            threads.insert(thread, (process, escaped(&known.unwrap_or_else(|| name.to_owned()))));
        }
        let own = slow.client_in.into_iter().flat_map(|on| [Some(on), self.servers.get(&on).copied()]);
        let is_throttled = |met: &MetProcess| {
            self.throttled.get(&met.group).is_some_and(|group| group.rose_ns >= slow.sent_ns)
        };
        let throttled = self.met.iter().filter(|(_, met)| is_throttled(met)).map(|(process, _)| *process);
        Surroundings {
            threads,
            ends: Arc::clone(&self.ends),
            own: own.flatten().collect(),
            throttled: throttled.collect(),
            stolen_ms: self.stolen.map(|stolen| stolen.lately_ms),
            usual_ns,
        }
    }

    /// What was seen so far.
    pub fn record(&self) -> SlowRecord {
        let mut conversations: Vec<(usize, SlowConversation)> = Vec::new();
        let (mut slow, mut judged, mut requests) = (0, 0, 0);
        for (number, followed) in self.conversations.iter().enumerate() {
            let tally = self.trace.as_ref().ok().and_then(|trace| trace.tally(number as u32).ok());
            let Some(tally) = tally.filter(|tally| tally.requests + tally.overlapping + followed.judged > 0)
            else {
                continue;
            };
            slow += tally.slow.max(followed.judged);
            judged += followed.judged;
            requests += tally.requests + tally.overlapping;
            conversations.push((number, followed.told(&tally)));
        }
        conversations.sort_by_key(|(_, it)| std::cmp::Reverse((it.slow, it.requests)));
        let place: HashMap<usize, u32> =
            conversations.iter().enumerate().map(|(place, (number, _))| (*number, place as u32)).collect();
        let renumbered = |it: &SlowRequestRecord| {
            Some(SlowRequestRecord { conversation: *place.get(&(it.conversation as usize))?, ..it.clone() })
        };
        let mut kept: Vec<SlowRequestRecord> = self.kept.iter().filter_map(renumbered).collect();
        kept.sort_by(|a, b| a.conversation.cmp(&b.conversation).then(b.took_us.total_cmp(&a.took_us)));
        let elapsed_ns = now_ns().saturating_sub(self.began_ns).max(1);
        let run_time = self.trace.as_ref().ok().and_then(RequestTrace::run_time);
        let ran_ns = run_time.map(|(time, _)| time.as_nanos() as f64);
        SlowRecord {
            limit_ms: match self.limit {
                SlowLimit::Longer(limit) => Some(limit.as_secs_f64() * 1e3),
                SlowLimit::SlowestHundredth => None,
            },
            conversations: conversations.into_iter().map(|(_, it)| it).collect(),
            requests: kept,
            kernel_cpu: ran_ns.map(|ns| ns / elapsed_ns as f64),
            added_us: ran_ns.filter(|_| requests > 0).map(|ns| ns / requests as f64 / 1e3),
            seen: if slow == 0 { 1.0 } else { (judged as f64 / slow as f64).min(1.0) },
            stolen_ms: self
                .stolen
                .map(|stolen| stolen.ticks.saturating_sub(stolen.first) as f64 * MS_PER_TICK),
            shares: if self.trace.is_err() { self.shares() } else { Vec::new() },
        }
    }

    /// What processes waited for since they were first met.
    fn shares(&self) -> Vec<WaitShares> {
        let share = |(pid, met): (&u32, &MetProcess)| {
            let (before, now) = (met.waits?, process_waits(*pid)?);
            let time_ns = now_ns().saturating_sub(met.at_ns).max(1) as f64;
            let throttled = quota::throttled(*pid).zip(met.throttled);
            Some(WaitShares {
                pid: *pid,
                name: met.name.clone(),
                ready: now.ready_ns.saturating_sub(before.ready_ns) as f64 / time_ns,
                faults: now.faults.saturating_sub(before.faults),
                throttled: throttled.map(|(now, before)| now.saturating_sub(before)),
            })
        };
        let mut found: Vec<WaitShares> = self.met.iter().filter_map(share).collect();
        found.sort_by(|a, b| b.ready.total_cmp(&a.ready));
        found
    }

    /// What could not be seen, and what would allow it.
    pub fn unseen(&self) -> Vec<Unseen> {
        let mut found = Vec::new();
        let mut add = |what: String, why: String, remedy: &str| {
            found.push(Unseen::new(what, why, remedy));
        };
        if let Err(why) = &self.trace {
            add(
                "Where single requests waited".to_owned(),
                why.to_string(),
                "Run as root, or with CAP_BPF and CAP_PERFMON; until then, only what processes waited for is told",
            );
        }
        if self.left_out > 0 {
            add(
                counted(self.left_out as u64, "connection"),
                "there are more than are followed".to_owned(),
                "Name what you look for with --pid, --port, --path or --command",
            );
        }
        if self.lost > 0 {
            add(
                format!("{} of slow requests", counted(self.lost, "record")),
                "they came faster than they were read".to_owned(),
                "Causes are of the others",
            );
        }
        found
    }
}

impl FollowedConversation {
    fn told(&self, tally: &RequestTally) -> SlowConversation {
        let Conversation { client, server, medium, address, .. } = self.conversation.clone();
        // One that is slow is told before it is counted, which is with the next.
        let slow = tally.slow.max(self.judged);
        let us = |ns: Option<f64>| ns.map(|ns| ns / 1e3);
        let mut causes: Vec<SlowCause> =
            self.causes.iter().map(|((cause, what), sum)| sum.told(*cause, what, tally)).collect();
        causes.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
        SlowConversation {
            client,
            server,
            medium,
            address,
            limit_us: us(self.limit_ns.map(|ns| ns as f64)),
            requests: tally.requests.max(slow),
            slow,
            overlapping: tally.overlapping,
            median_us: us(tally.quantile_ns(0.5)),
            p99_us: us(tally.quantile_ns(0.99)),
            slowest_us: tally.slowest_ns.max(self.longest_ns) as f64 / 1e3,
            oldest_unread_us: tally.oldest_unread_ns as f64 / 1e3,
            causes,
        }
    }
}

impl CauseSum {
    fn told(&self, cause: WaitCause, what: &str, tally: &RequestTally) -> SlowCause {
        let mut examples = self.examples.clone();
        examples.sort_unstable();
        let (spent_ns, took_ns) = examples.get(examples.len() / 2).copied().unwrap_or_default();
        SlowCause {
            cause,
            requests: self.requests,
            total_ms: self.spent_ns as f64 / 1e6,
            found: sentence(cause, what, spent_ns, took_ns, tally.quantile_ns(0.5).unwrap_or(0.0)),
        }
    }
}

/// What it was, with times.
fn sentence(cause: WaitCause, what: &str, spent_ns: u64, took_ns: u64, usual_ns: f64) -> String {
    let times = format!("{} of {}", time(spent_ns as f64), time(took_ns as f64));
    match cause {
        WaitCause::Computing if usual_ns * 2.0 < took_ns as f64 => {
            format!("{what}: {times}, where all usually takes {}", time(usual_ns))
        }
        _ if usual_ns * 2.0 >= took_ns as f64 && cause != WaitCause::Unexplained => {
            format!("{what}: {times}, as usual")
        }
        WaitCause::Unexplained => format!("not explained: {times}, {what}"),
        _ => format!("{what}: {times}"),
    }
}

/// What the threads of a request did from its begin to its end: the client's, then the server's.
fn lanes(slow: &SlowRequest, known: &Surroundings) -> Vec<RequestLane> {
    let lane = |log: &ThreadLog| {
        let spans = stretches(log, slow.sent_ns, slow.returned_ns);
        let us = |ns: u64| ns.saturating_sub(slow.sent_ns) as f64 / 1e3;
        let span = |stretch: Stretch| {
            let (state, call, other, processor) = match stretch.doing {
                Doing::Runs { call, .. } => (LaneState::Runs, call, None, None),
                Doing::Ready { processor, before } => {
                    let other = before.map(|(thread, ..)| match thread {
                        0 => "nothing".to_owned(),
                        thread => known.name(thread),
                    });
                    (LaneState::Ready, None, other, processor)
                }
                Doing::Waits { call, waker, .. } => {
                    (LaneState::Waits, call, waker.filter(|it| *it != 0).map(|it| known.name(it)), None)
                }
                Doing::Stopped => (LaneState::Stopped, None, None, None),
                Doing::Unknown => (LaneState::Unknown, None, None, None),
            };
            let (from_us, to_us) = (us(stretch.from_ns), us(stretch.to_ns));
            RequestSpan { from_us, to_us, state, call: call.map(call_name), other, processor }
        };
        RequestLane {
            name: known.threads.get(&log.thread).map(|(_, name)| name.clone()).unwrap_or_default(),
            pid: log.process,
            thread: log.thread,
            spans: spans.into_iter().map(span).collect(),
        }
    };
    slow.logs.iter().map(lane).collect()
}
