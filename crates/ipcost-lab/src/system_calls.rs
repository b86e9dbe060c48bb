//! System calls per operation, by name, seen through strace on any peer in any language.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::strace::{Calls, Direction, Tally};

/// System calls caused by clocks and locks, which differ from run to run.
const INCIDENTAL: [&str; 6] =
    ["clock_gettime", "futex", "getrusage", "sched_yield", "rt_sigprocmask", "restart_syscall"];
/// A call less frequent than this per operation has another cause.
const RARE: f64 = 0.02;
/// Numbers that differ by less count as equal.
const CLOSE: f64 = 0.05;

/// One system call of one side, per operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// Its name.
    pub name: String,
    /// Calls per operation.
    pub count: f64,
    /// Bytes moved, if it moves bytes.
    pub moved: Option<f64>,
    /// Bytes it was asked to move.
    pub asked: Option<f64>,
    /// How often it moved less than asked.
    pub partial: f64,
    /// How often it failed, by error.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, f64>,
}

/// System calls per operation, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemCalls {
    calls: BTreeMap<String, CallRecord>,
    lookups: BTreeMap<String, f64>,
}

impl SystemCalls {
    /// The calls of one operation, from the traces of two runs, the second with `more` additional operations.
    pub fn between(fewer: &Tally, many: &Tally, more: u64) -> Self {
        let each = |now: u64, before: u64| (now as f64 - before as f64) / more as f64;
        let errors = |now: &Calls, before: &Calls| -> BTreeMap<String, f64> {
            let rate = |(error, count): (&String, &u64)| {
                let failures = each(*count, before.failures.get(error).copied().unwrap_or(0));
                (failures > 0.0).then(|| (error.clone(), failures))
            };
            now.failures.iter().filter_map(rate).collect()
        };
        let none = Calls::default();
        let record = |(name, now): (&String, &Calls)| {
            let before = fewer.calls.get(name).unwrap_or(&none);
            let moves = Direction::of(name).is_some();
            let record = CallRecord {
                name: name.clone(),
                count: each(now.count, before.count),
                moved: moves.then(|| each(now.moved, before.moved)),
                asked: (moves && now.asked > 0).then(|| each(now.asked, before.asked)),
                partial: each(now.partial, before.partial).max(0.0),
                failures: errors(now, before),
            };
            (record.count > 0.0).then(|| (name.clone(), record))
        };
        let lookup = |(what, count): (&String, &u64)| {
            let lookups = each(*count, fewer.lookups.get(what).copied().unwrap_or(0));
            (lookups > RARE).then(|| (what.clone(), lookups))
        };
        Self {
            calls: many.calls.iter().filter_map(record).collect(),
            lookups: many.lookups.iter().filter_map(lookup).collect(),
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

    /// How often an operation uses name resolution.
    pub fn lookups(&self) -> &BTreeMap<String, f64> {
        &self.lookups
    }

    /// Frequent calls, except those of clocks and locks.
    fn frequent(&self) -> BTreeMap<&str, f64> {
        let counts =
            |record: &&CallRecord| record.count > RARE && !INCIDENTAL.contains(&record.name.as_str());
        let of = |record: &'_ CallRecord| record.count;
        self.calls.values().filter(counts).map(|record| (record.name.as_str(), of(record))).collect()
    }
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

    fn tally(calls: &[(&str, usize)]) -> Tally {
        let lines = calls.iter().flat_map(|(name, count)| {
            std::iter::repeat_n(format!("1 {name}(3, \"\"..., 64) = 32\n"), *count)
        });
        Tally::of(&lines.collect::<String>())
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
    fn bytes_are_those_of_an_operation() {
        let records = SystemCalls::between(&Tally::default(), &tally(&[("read", 10)]), 10).records();
        assert_eq!((records[0].count, records[0].moved, records[0].asked), (1.0, Some(32.0), Some(64.0)));
        assert_eq!(records[0].partial, 1.0);
        // A call that moves bytes belongs to the operation, however rare it is.
        let rare = SystemCalls::between(&Tally::default(), &tally(&[("read", 1), ("mmap", 1)]), 1_000);
        assert_eq!(rare.records().len(), 1);
    }
}
