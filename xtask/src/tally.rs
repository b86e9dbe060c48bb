//! How many tests passed, and what was skipped because this machine lacks something: allowed by name, counted and named at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Result, bail};
use tempfile::NamedTempFile;

use crate::tools::Package;
use ipcost_testing::{ALLOWED, NAMES, NIGHTLY, SKIPS, is_allowed};

/// The tests of one command.
pub struct TestTally {
    /// Names of what may be missing, as the tests read them.
    allowed: String,
    /// A line for each skip.
    skips: NamedTempFile,
    /// Whether tests take many times as long as for each change.
    is_nightly: bool,
    /// The tests that passed, and the seconds that each took.
    passed: Mutex<BTreeMap<String, f64>>,
}

/// So many tests are named that took the longest.
const SLOWEST: usize = 20;

impl TestTally {
    /// Begins to count; what is named here or in the environment may be missing.
    pub fn new(names: &str, packages: &[&[Package]]) -> Result<Self> {
        let from_outside = std::env::var(ALLOWED).unwrap_or_default();
        let words = names.split(',').chain(from_outside.split(','));
        let words: BTreeSet<&str> = words.map(str::trim).filter(|name| !name.is_empty()).collect();
        let of_packages = packages.iter().copied().flatten().flat_map(|package| package.names).copied();
        let mut known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).chain(of_packages).collect();
        known.sort_unstable();
        known.dedup();
        if let Some(unknown) = words.iter().find(|name| **name != "all" && !known.contains(name)) {
            bail!(
                "{unknown} is not the name of something that may be missing; known: all, {}",
                known.join(", ")
            );
        }
        let allowed = words.into_iter().collect::<Vec<_>>().join(",");
        Ok(Self { allowed, skips: NamedTempFile::new()?, is_nightly: false, passed: Mutex::default() })
    }

    /// Lets a command that runs tests know what may be missing and where skips are recorded.
    pub fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if self.is_nightly {
            command.env(NIGHTLY, "1");
        }
        command.env(ALLOWED, &self.allowed).env(SKIPS, self.skips.path())
    }

    /// The same for the tests of every night.
    pub fn nightly(self) -> Self {
        Self { is_nightly: true, ..self }
    }

    /// Whether this may be missing.
    pub fn allows(&self, name: &str) -> bool {
        is_allowed(name, &self.allowed)
    }

    /// Notes that a test passed, and how long it took.
    pub fn add_passed(&self, test: &str, took: Duration) {
        self.passed.lock().unwrap().insert(test.to_owned(), took.as_secs_f64());
    }

    /// The tests that passed, and the seconds that each took.
    pub fn times(&self) -> BTreeMap<String, f64> {
        self.passed.lock().unwrap().clone()
    }

    /// Leaves out a step or a test, with that word before its name, for something that is missing, if that is allowed.
    pub fn skip(&self, name: &str, step: &str, why: &str) -> Result<()> {
        if !self.allows(name) {
            bail!("{step}: {why}; to leave it out: --allow-missing {name}");
        }
        let mut file = OpenOptions::new().append(true).open(self.skips.path())?;
        writeln!(file, "{name}\tthe {step}\t{why}")?;
        Ok(())
    }

    /// Prints the slowest tests, each skip, then how many tests passed and what was skipped.
    pub fn print(&self) {
        let mut times: Vec<(String, f64)> = self.times().into_iter().collect();
        times.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let all: f64 = times.iter().map(|(_, took)| took).sum();
        eprintln!("\nxtask: the slowest tests, of {all:.0} s in all");
        for (test, took) in times.iter().take(SLOWEST) {
            eprintln!("{took:>6.1} s  {test}");
        }
        let lines = fs::read_to_string(self.skips.path()).unwrap_or_default();
        let (skips, last) = summary(&lines, times.len() as u64);
        eprintln!();
        for skip in skips {
            eprintln!("skipped: {skip}");
        }
        eprintln!("xtask: {last}");
    }
}

/// The skips, one a line, and the last line. A test that skipped a part is not counted as passed.
fn summary(lines: &str, passed: u64) -> (Vec<String>, String) {
    let skips: BTreeSet<(&str, &str, &str)> = lines
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once('\t')?;
            let (test, why) = rest.split_once('\t')?;
            Some((name, test, why))
        })
        .collect();
    let tests: BTreeSet<&str> = skips.iter().map(|(_, test, _)| *test).collect();
    let mut by_name: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, test, _) in &skips {
        by_name.entry(name).or_default().insert(test);
    }
    let names: Vec<String> =
        by_name.iter().map(|(name, tests)| format!("{name} ({})", tests.len())).collect();
    // Steps that are left out have no tests that passed; they are the names with spaces.
    let of_tests = tests.iter().filter(|name| !name.contains(' ')).count() as u64;
    let last = match tests.len() {
        0 => format!("{passed} tests passed, none skipped"),
        count => {
            format!("{} tests passed, {count} skipped: {}", passed.saturating_sub(of_tests), names.join(", "))
        }
    };
    (skips.iter().map(|(name, test, why)| format!("{test}: {name} ({why})")).collect(), last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_names_what_was_skipped_with_the_number_of_tests() {
        assert_eq!(summary("", 357), (vec![], "357 tests passed, none skipped".to_owned()));
        let lines = "quotas\tdoctor::a\tno\nquotas\texplain::b\tno\nquotas\texplain::b\tno\n\
                     fish\tshell::c\tno\nzsh\tshell::c\tno\nwine64\tthe step Windows\tnone\n";
        let (skips, last) = summary(lines, 357);
        assert_eq!(last, "354 tests passed, 4 skipped: fish (1), quotas (2), wine64 (1), zsh (1)");
        assert_eq!(skips.len(), 5, "{skips:?}");
        assert_eq!(skips[0], "shell::c: fish (no)");
    }

    #[test]
    fn only_known_names_are_allowed() {
        let tally = TestTally::new("quotas, redis-server", &[]).unwrap();
        assert!(tally.allows("quotas") && tally.allows("redis-server") && !tally.allows("root"));
        assert!(TestTally::new("all", &[]).unwrap().allows("root"));
        let error = TestTally::new("quota", &[]).err().unwrap().to_string();
        assert!(error.starts_with("quota is not the name") && error.contains(", quotas, "), "{error}");
    }

    #[test]
    fn a_step_that_may_not_be_left_out_fails() {
        let tally = TestTally::new("quotas", &[]).unwrap();
        assert!(tally.skip("quotas", "a step", "none").is_ok());
        assert!(tally.skip("containers", "a step", "none").is_err());
    }

    /// Every name that a test gives as a word is in the table; others are checked when they are used.
    #[test]
    fn tests_name_what_the_table_has() {
        let (mut dirs, mut found) = (vec![crate::shell::root().join("crates")], 0);
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    dirs.push(path);
                } else if path.extension().is_some_and(|end| end == "rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    let calls = [" missing(\"", " opened(\"", "(opened(\"", ", opened(\""];
                    let rests = calls.iter().flat_map(|call| text.split(call).skip(1));
                    for rest in rests {
                        let name = rest.split('"').next().unwrap();
                        assert!(NAMES.iter().any(|(known, _)| *known == name), "{}: {name}", path.display());
                        found += 1;
                    }
                }
            }
        }
        assert!(found > 20, "{found}");
    }
}
