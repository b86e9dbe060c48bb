//! System calls per operation, by name, seen through strace on any peer in any language.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::strace::{CallMode, Direction, Object, TraceSummary, TracedCall, TracedCalls};

/// System calls caused by clocks and locks, which differ from run to run.
const INCIDENTAL: [&str; 6] =
    ["clock_gettime", "futex", "getrusage", "sched_yield", "rt_sigprocmask", "restart_syscall"];
/// A call less frequent than this per operation has another cause.
const RARE: f64 = 0.02;
/// Numbers that differ by less count as equal.
const CLOSE: f64 = 0.05;
/// So many calls of a kind tell how long one takes at least while it is traced.
const ENOUGH_CALLS: usize = 8;
/// What happens less often in an operation is not how it sends its messages.
const OFTEN: f64 = 0.2;
/// A thread that makes fewer calls for an operation has no part in it.
const BUSY_THREAD: f64 = 0.2;

/// One kind of system call of one side, per operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    pub name: String,
    /// What its first descriptor is, where it has one of a kind that is told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Object>,
    /// Whether threads make it that move no messages themselves.
    #[serde(default, skip_serializing_if = "is_false")]
    pub aside: bool,
    pub count: f64,
    /// How often it was made while it was traced, where `count` is of a batch in which it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<f64>,
    /// Bytes moved, if it moves bytes.
    pub moved: Option<f64>,
    /// Bytes it was asked to move.
    pub asked: Option<f64>,
    /// How often it moved less than asked.
    pub partial: f64,
    /// How often it failed, by error.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, f64>,
    /// How long all of them took beyond the least time of a traced call, nanoseconds per operation: mostly waiting. Null
    /// where that is not more than such times vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ns: Option<f64>,
    /// By how much half of them, one by one, exceed the least time of a traced call, nanoseconds: what a usual one waits,
    /// whatever a few of them met. Null where that is not more than such times vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_ns: Option<f64>,
    /// How often it waited until the time it was given was over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub timeouts: f64,
    /// How long it asked to sleep, nanoseconds per operation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sleep_ns: f64,
    /// How often it was made in a manner that tells what it is for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub manners: BTreeMap<CallMode, f64>,
}

impl CallRecord {
    /// The same calls, as often as they are made while nothing traces them; they move the same bytes.
    fn untraced(&mut self, count: f64) {
        let times = count / self.count;
        self.traced = Some(self.count);
        self.count = count;
        for rate in [&mut self.partial, &mut self.timeouts].into_iter().chain(self.asked.as_mut()) {
            *rate *= times;
        }
        let rates = self.failures.values_mut().chain(self.manners.values_mut());
        rates.for_each(|rate| *rate *= times);
    }

    /// How often it was made in this manner.
    pub fn in_manner(&self, manner: CallMode) -> f64 {
        self.manners.get(&manner).copied().unwrap_or(0.0)
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// How long the cheapest traced call takes, nanoseconds: what tracing itself costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TracingCost {
    pub median_ns: f64,
    /// By how much the slowest tenth exceeds that.
    pub spread_ns: f64,
}

fn sorted(took_ns: &[u32]) -> Vec<u32> {
    let mut took = took_ns.to_vec();
    took.sort_unstable();
    took
}

impl TracingCost {
    /// By how much a traced call can take longer without having waited, nanoseconds.
    fn varies(self) -> f64 {
        self.median_ns.max(2.0 * self.spread_ns)
    }

    /// That of the kind of call whose median is least.
    fn of(tally: &TraceSummary) -> Option<Self> {
        let calls = tally.calls();
        let telling = calls.values().filter(|calls| calls.took_ns.len() >= ENOUGH_CALLS);
        let of_kind = telling.map(|calls| {
            let took = sorted(&calls.took_ns);
            let (median, slow) = (took[took.len() / 2], took[took.len() * 9 / 10]);
            Self { median_ns: f64::from(median), spread_ns: f64::from(slow - median) }
        });
        of_kind.min_by(|a, b| a.median_ns.total_cmp(&b.median_ns))
    }
}

/// System calls per operation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemCalls {
    /// By kind, and whether threads make it that move no messages.
    calls: BTreeMap<(TracedCall, bool), CallRecord>,
    lookups: BTreeMap<String, f64>,
    threads: Vec<f64>,
    traced_call: Option<TracingCost>,
    sends: Vec<u64>,
    receives: Vec<u64>,
}

impl SystemCalls {
    /// The calls of one operation, from the traces of two runs, the second with `more` additional operations.
    pub fn between(fewer: &TraceSummary, many: &TraceSummary, more: u64) -> Self {
        let each = |now: u64, before: u64| (now as f64 - before as f64) / more as f64;
        let errors = |now: &TracedCalls, before: &TracedCalls| -> BTreeMap<String, f64> {
            let rate = |(error, count): (&String, &u64)| {
                let failures = each(*count, before.failures.get(error).copied().unwrap_or(0));
                (failures > 0.0).then(|| (error.clone(), failures))
            };
            now.failures.iter().filter_map(rate).collect()
        };
        let none = TracedCalls::default();
        let traced_call = TracingCost::of(many);
        let record = |aside: bool,
                      before: &BTreeMap<TracedCall, TracedCalls>,
                      call: &TracedCall,
                      now: &TracedCalls| {
            let before = before.get(call).unwrap_or(&none);
            let moves = Direction::of(&call.name).is_some();
            let manner = |(manner, count): (&CallMode, &u64)| {
                let rate = each(*count, before.manners.get(manner).copied().unwrap_or(0));
                (rate > RARE).then_some((*manner, rate))
            };
            let record = CallRecord {
                name: call.name.clone(),
                on: call.on,
                aside,
                count: each(now.count, before.count),
                traced: None,
                moved: moves.then(|| each(now.moved, before.moved)),
                asked: (moves && now.asked > 0).then(|| each(now.asked, before.asked)),
                partial: each(now.partial, before.partial).max(0.0),
                failures: errors(now, before),
                took_ns: traced_call.and_then(|least| beyond(least, now, before, more)),
                median_ns: traced_call.and_then(|least| usual(least, now)),
                timeouts: each(now.timeouts, before.timeouts).max(0.0),
                sleep_ns: each(now.sleep_ns, before.sleep_ns).max(0.0),
                manners: now.manners.iter().filter_map(manner).collect(),
            };
            (record.count > 0.0).then(|| ((call.clone(), aside), record))
        };
        let (before, now) = (fewer.by_part(), many.by_part());
        let of_part = |aside: bool,
                       before: &BTreeMap<TracedCall, TracedCalls>,
                       now: &BTreeMap<TracedCall, TracedCalls>| {
            now.iter().filter_map(|(call, now)| record(aside, before, call, now)).collect::<Vec<_>>()
        };
        let calls = [of_part(false, &before.0, &now.0), of_part(true, &before.1, &now.1)];
        let lookup = |(what, count): (&String, &u64)| {
            let lookups = each(*count, fewer.lookups.get(what).copied().unwrap_or(0));
            (lookups > RARE).then(|| (what.clone(), lookups))
        };
        let usual = |fewer: &BTreeMap<Vec<u64>, u64>, many: &BTreeMap<Vec<u64>, u64>| {
            let rate = |pieces: &Vec<u64>, count: u64| each(count, fewer.get(pieces).copied().unwrap_or(0));
            let rates = many.iter().map(|(pieces, count)| (rate(pieces, *count), pieces));
            let often = rates.filter(|(rate, _)| *rate >= OFTEN).max_by(|a, b| a.0.total_cmp(&b.0));
            often.map(|(_, pieces)| pieces.clone()).unwrap_or_default()
        };
        Self {
            sends: usual(&fewer.sends, &many.sends),
            receives: usual(&fewer.receives, &many.receives),
            calls: calls.into_iter().flatten().collect(),
            lookups: many.lookups.iter().filter_map(lookup).collect(),
            threads: busy_threads(fewer, many, more),
            traced_call,
        }
    }

    /// Whether both make the same calls equally often.
    pub fn same_as(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.frequent(), other.frequent());
        ours.len() == theirs.len()
            && ours.iter().all(|(name, count)| theirs.get(name).is_some_and(|others| close(*count, *others)))
    }

    /// All calls together, except those of clocks and locks.
    pub fn total(&self) -> f64 {
        self.frequent().values().sum()
    }

    /// The calls that belong to the operation, the most frequent first. Calls that move bytes or fail belong to it,
    /// however rare.
    pub fn records(&self) -> Vec<CallRecord> {
        let belongs = |record: &&CallRecord| {
            let moves = record.moved.is_some_and(|moved| moved > 0.0);
            record.count > RARE || moves || record.failures.values().any(|rate| *rate > 0.0)
        };
        let mut records: Vec<CallRecord> = self.calls.values().filter(belongs).cloned().collect();
        records.sort_by(|a, b| b.count.total_cmp(&a.count));
        records
    }

    /// Threads that take part in an operation: the calls of each, the busiest first.
    pub fn threads(&self) -> &[f64] {
        &self.threads
    }

    /// The bytes of each call that sends a message, in their order, if most messages take several.
    pub fn sends(&self) -> &[u64] {
        &self.sends
    }

    /// The same of each call that receives one.
    pub fn receives(&self) -> &[u64] {
        &self.receives
    }

    /// What tracing a call costs here; `None` where too few were traced.
    pub fn traced_call(&self) -> Option<TracingCost> {
        self.traced_call
    }

    /// How often an operation uses name resolution.
    pub fn lookups(&self) -> &BTreeMap<String, f64> {
        &self.lookups
    }

    /// Frequent calls by name, except those of clocks and locks.
    fn frequent(&self) -> BTreeMap<&str, f64> {
        let mut by_name: BTreeMap<&str, f64> = BTreeMap::new();
        for record in self.calls.values().filter(|record| !INCIDENTAL.contains(&record.name.as_str())) {
            *by_name.entry(&record.name).or_default() += record.count;
        }
        by_name.retain(|_, count| *count > RARE);
        by_name
    }
}

/// Takes counts of calls, by name, from a batch that was not traced.
pub fn take_untraced(records: &mut [CallRecord], counts: &BTreeMap<String, f64>) {
    for (name, count) in counts {
        let traced: f64 = records.iter().filter(|call| call.name == *name).map(|call| call.count).sum();
        for call in records.iter_mut().filter(|call| call.name == *name && traced > 0.0) {
            call.untraced(count * call.count / traced);
        }
    }
}

/// How long calls took beyond the least time of a traced call, nanoseconds per operation; `None` where that is within
/// what such times vary by.
fn beyond(least: TracingCost, now: &TracedCalls, before: &TracedCalls, more: u64) -> Option<f64> {
    let sum = |calls: &TracedCalls| calls.took_ns.iter().map(|ns| f64::from(*ns)).sum::<f64>();
    let calls = now.took_ns.len() as f64 - before.took_ns.len() as f64;
    let beyond = sum(now) - sum(before) - calls * least.median_ns;
    (calls > 0.0 && beyond > calls * least.varies()).then_some(beyond / more as f64)
}

/// By how much the median call exceeds the least time of a traced call, nanoseconds.
fn usual(least: TracingCost, calls: &TracedCalls) -> Option<f64> {
    let took = sorted(&calls.took_ns);
    let median = f64::from(*took.get(took.len() / 2)?) - least.median_ns;
    (median > least.varies()).then_some(median)
}

/// The threads of a process have other numbers in each run, but as many calls.
fn busy_threads(fewer: &TraceSummary, many: &TraceSummary, more: u64) -> Vec<f64> {
    let by_calls = |tally: &TraceSummary| {
        let of_thread =
            |calls: &BTreeMap<TracedCall, TracedCalls>| calls.values().map(|calls| calls.count).sum();
        let mut calls: Vec<u64> = tally.threads.values().map(of_thread).collect();
        calls.sort_unstable_by(|a, b| b.cmp(a));
        calls
    };
    let (before, now) = (by_calls(fewer), by_calls(many));
    let before = before.into_iter().chain(std::iter::repeat(0));
    let each = now.into_iter().zip(before).map(|(now, before)| (now as f64 - before as f64) / more as f64);
    each.filter(|calls| *calls >= BUSY_THREAD).collect()
}

/// Whether two counts of calls per operation are equal.
pub fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= (CLOSE * a.max(b)).max(RARE / 2.0)
}

impl fmt::Display for SystemCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: Vec<String> =
            self.frequent().iter().map(|(name, count)| format!("{name} {count:.2}")).collect();
        if calls.is_empty() {
            return write!(f, "fewer than one call in {:.0} operations", 1.0 / RARE);
        }
        write!(f, "{} ({:.1} an operation)", calls.join(", "), self.total())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(calls: &[(&str, usize)]) -> TraceSummary {
        let lines = calls.iter().flat_map(|(name, count)| {
            std::iter::repeat_n(format!("1 {name}(3, \"\"..., 64) = 32\n"), *count)
        });
        TraceSummary::of(&lines.collect::<String>())
    }

    #[test]
    fn start_up_cancels_out() {
        let fewer = tally(&[("write", 100), ("mmap", 12)]);
        let many = tally(&[("write", 1_100), ("read", 1_000), ("mmap", 13), ("futex", 50)]);
        let calls = SystemCalls::between(&fewer, &many, 1_000);
        assert_eq!(calls.to_string(), "read 1.00, write 1.00 (2.0 an operation)");
        assert!(calls.same_as(&calls));
        assert!(!calls.same_as(&SystemCalls::between(&fewer, &fewer, 1_000)));
        let none = SystemCalls::between(&fewer, &fewer, 5);
        assert_eq!(none, SystemCalls::default());
        assert_eq!(none.to_string(), "fewer than one call in 50 operations");
    }

    #[test]
    fn a_call_that_waits_is_told_from_what_tracing_costs() {
        let trace = |ops: usize| {
            let line = |ops: usize| {
                let took = [30, 31, 29, 34][ops % 4];
                format!(
                    "1 write(3<socket:[1]>, \"\"..., 64) = 64 <0.0000{took}>\n1 fdatasync(4</tmp/log>) = 0 <0.000126>\n\
                     2 write(4</tmp/log>, \"\"..., 9) = 9 <0.0000{took}>\n"
                )
            };
            TraceSummary::of(&(0..ops).map(line).collect::<String>())
        };
        let calls = SystemCalls::between(&trace(100), &trace(500), 400);
        let records = calls.records();
        let record = |name: &str, on| records.iter().find(|call| call.name == name && call.on == on).unwrap();
        let took = record("fdatasync", Some(Object::File)).took_ns.unwrap();
        assert!((took - 95_000.0).abs() < 2_000.0, "{took}");
        assert_eq!(record("fdatasync", Some(Object::File)).median_ns, Some(126_000.0 - 31_000.0));
        assert_eq!(record("write", Some(Object::Socket)).took_ns, None, "it takes what tracing takes");
        assert_eq!((record("write", Some(Object::File)).count, calls.threads()), (1.0, &[2.0, 1.0][..]));
        assert!(record("write", Some(Object::File)).aside, "another thread writes the log");
        assert!(!record("fdatasync", Some(Object::File)).aside);
        assert_eq!(calls.to_string(), "fdatasync 1.00, write 2.00 (3.0 an operation)");
    }

    #[test]
    fn a_few_calls_that_met_something_do_not_make_it_one_that_waits() {
        let line = |op: usize| {
            let took = if op.is_multiple_of(20) { "0.004000" } else { "0.000030" };
            format!(
                "1 write(4</tmp/log>, \"\"..., 9) = 9 <{took}>\n1 getppid() = 1 <0.0000{}>\n",
                28 + op % 3
            )
        };
        let tally = TraceSummary::of(&(0..400).map(line).collect::<String>());
        let records = SystemCalls::between(&TraceSummary::default(), &tally, 400).records();
        let write = records.iter().find(|call| call.name == "write").unwrap();
        assert!(write.took_ns.unwrap() > 150_000.0, "{write:?}");
        assert_eq!(write.median_ns, None);
    }

    #[test]
    fn bytes_are_those_of_an_operation() {
        let records = SystemCalls::between(&TraceSummary::default(), &tally(&[("read", 10)]), 10).records();
        assert_eq!((records[0].count, records[0].moved, records[0].asked), (1.0, Some(32.0), Some(64.0)));
        assert_eq!(records[0].partial, 1.0);
        // A call that moves bytes belongs to the operation, however rare it is.
        let rare = SystemCalls::between(&TraceSummary::default(), &tally(&[("read", 1), ("mmap", 1)]), 1_000);
        assert_eq!(rare.records().len(), 1);
    }
}
