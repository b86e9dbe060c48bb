//! System calls for one operation, by name, seen through strace on any peer in any language.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// System calls that are there because of clocks and locks and differ from run to run.
const INCIDENTAL: [&str; 6] =
    ["clock_gettime", "futex", "getrusage", "sched_yield", "rt_sigprocmask", "restart_syscall"];
/// Rarer than this in an operation, a call has to do with something else.
const RARE: f64 = 0.02;
/// Numbers that differ by less than this are the same.
const CLOSE: f64 = 0.05;

/// System calls for one operation, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemCalls(BTreeMap<String, f64>);

impl SystemCalls {
    /// What one operation makes, from the summaries of two runs, of which the second did `more` operations more.
    pub fn between(fewer: &str, many: &str, more: u64) -> Self {
        let (fewer, many) = (parse(fewer), parse(many));
        let per_op = |(name, count): (String, u64)| {
            let each = (count as f64 - *fewer.get(&name).unwrap_or(&0) as f64) / more as f64;
            let counts = each > RARE && !INCIDENTAL.contains(&name.as_str());
            counts.then_some((name, each))
        };
        Self(many.into_iter().filter_map(per_op).collect())
    }

    /// Whether both make the same calls as often.
    pub fn same_as(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().all(|(name, count)| {
                other.0.get(name).is_some_and(|others| (count - others).abs() <= CLOSE * count.max(*others))
            })
    }

    /// How many in all.
    pub fn total(&self) -> f64 {
        self.0.values().sum()
    }
}

impl fmt::Display for SystemCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: Vec<String> = self.0.iter().map(|(name, count)| format!("{name} {count:.2}")).collect();
        write!(f, "{} ({:.1} an operation)", calls.join(", "), self.total())
    }
}

/// The command that runs a program under strace, with a summary of all its threads' calls written to a file.
pub fn traced(command: &[String], summary: &Path) -> Vec<String> {
    let mut words: Vec<String> =
        ["strace", "-f", "-qq", "-c", "-U", "calls,name", "-o"].map(str::to_owned).to_vec();
    words.push(summary.to_string_lossy().into_owned());
    words.push("--".to_owned());
    words.extend(command.iter().cloned());
    words
}

/// A summary (`strace -c -U calls,name`): a line a call, between rules.
fn parse(summary: &str) -> BTreeMap<String, u64> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let (count, name) = (words.next()?.parse().ok()?, words.next()?);
        (name != "total").then(|| (name.to_owned(), count))
    };
    summary.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEWER: &str = "    calls syscall\n--------- ----------------\n      100 write\n       12 mmap\n--------- ----------------\n      112 total\n";
    const MANY: &str = "    calls syscall\n--------- ----------------\n     1100 write\n     1000 read\n       13 mmap\n       50 futex\n--------- ----------------\n     2163 total\n";

    #[test]
    fn start_up_cancels_out() {
        let calls = SystemCalls::between(FEWER, MANY, 1_000);
        assert_eq!(calls.0, BTreeMap::from([("read".to_owned(), 1.0), ("write".to_owned(), 1.0)]));
        assert_eq!(calls.to_string(), "read 1.00, write 1.00 (2.0 an operation)");
        assert!(calls.same_as(&calls));
        assert!(!calls.same_as(&SystemCalls::between(FEWER, FEWER, 1_000)));
        assert_eq!(SystemCalls::between("", "rubbish\n1\n", 5), SystemCalls::default());
    }
}
