//! Built test programs, run one after the other within a time limit.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::shell::command;
use crate::tally::Tally;

/// When to give up, in seconds since 1970: anyone who ends this program from outside learns nothing about the tests.
const DEADLINE: &str = "IPCOST_DEADLINE";
/// How often to look whether a program has ended.
const POLL: Duration = Duration::from_millis(100);
/// The longest tests take about a minute, and longer next to others: so much before the end is looked which have taken that long already.
const SLOW: Duration = Duration::from_secs(120);

/// How a program of tests tells what each took, by its whole name; the compiler's own variable lets it.
const TIMED: [&str; 3] = ["-Zunstable-options", "--report-time", "--exact"];
const TAKES_UNSTABLE: &str = "RUSTC_BOOTSTRAP";

/// A built test program.
pub struct TestProgram {
    /// The program.
    pub file: PathBuf,
    /// The directory of its package, in which cargo runs it.
    dir: PathBuf,
    /// Whether it holds unit tests, rather than runs the program as a user does.
    pub is_unit: bool,
}

/// Which tests to run.
#[derive(Clone, Copy)]
pub enum Which<'a> {
    /// All but those of these modules.
    Except(&'a [&'a str]),
    /// Those of these modules.
    Only(&'a [&'a str]),
    /// All.
    All,
}

impl Which<'_> {
    fn has(self, name: &str) -> bool {
        // Of a module, and not of one whose name ends alike.
        let is_of = |modules: &[&str]| modules.iter().any(|module| name.starts_with(module));
        match self {
            Self::Except(modules) => !is_of(modules),
            Self::Only(modules) => is_of(modules),
            Self::All => true,
        }
    }
}

/// How a program ended.
pub struct Run {
    /// How many tests passed; `None` if the program said nothing of that.
    pub passed: Option<u64>,
    /// What went wrong: the status and all that was printed.
    pub failure: Option<String>,
}

/// Builds the tests and all that they run, peers with libraries too; cargo reports where they are. Programs with unit tests come first.
///
/// # Errors
/// If they cannot be built.
pub fn built() -> Result<Vec<TestProgram>> {
    let words = ["cargo", "build", "--workspace", "--all-targets", "--quiet", "--message-format=json"];
    let output = command(&words).stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    let lines = String::from_utf8(output.stdout)?;
    let messages: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if !output.status.success() {
        // With JSON as its format cargo does not show what the compiler said.
        let said = messages.iter().filter_map(|message| message["message"]["rendered"].as_str());
        bail!("the tests cannot be built\n{}", said.collect::<String>());
    }
    let tests = messages.iter().filter(|message| message["profile"]["test"] == true);
    let mut programs: Vec<TestProgram> = tests
        .filter_map(|message| {
            let file = message["executable"].as_str()?.into();
            let dir = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
            let kinds = message["target"]["kind"].as_array()?;
            Some(TestProgram { file, dir, is_unit: kinds.iter().all(|kind| kind != "test") })
        })
        .collect();
    ensure!(!programs.is_empty(), "cargo has built no tests");
    programs.sort_by_key(|program| !program.is_unit);
    Ok(programs)
}

/// Runs programs one after the other, shows each failure as it happens, and goes on.
///
/// # Errors
/// How many programs failed, or that the time was up and what was still running then.
pub fn run_all(programs: &[TestProgram], which: Which<'_>, tally: &Tally) -> Result<()> {
    let began = Instant::now();
    let (mut passed, mut failed) = (0, 0);
    for program in programs {
        let began = Instant::now();
        let run = run(program, which, tally)?;
        let count = run.passed.unwrap_or(0);
        passed += count;
        let name = program.file.file_stem().map(|name| name.to_string_lossy()).unwrap_or_default();
        let name = name.rsplit_once('-').map_or(&*name, |(name, _)| name);
        if count > 0 || run.failure.is_some() {
            eprintln!("{:>6} s  {name}: {count} passed", began.elapsed().as_secs());
        }
        if let Some(failure) = run.failure {
            failed += 1;
            eprintln!("{failure}");
        }
    }
    eprintln!("{:>6} s  {passed} tests passed", began.elapsed().as_secs());
    ensure!(failed == 0, "{failed} test programs failed; what they printed is above");
    Ok(())
}

/// Runs one program.
///
/// # Errors
/// If it cannot be started.
pub fn run(program: &TestProgram, which: Which<'_>, tally: &Tally) -> Result<Run> {
    let context = || format!("cannot start {}", program.file.display());
    let chosen: Vec<String> = listed(program)?.into_iter().filter(|name| which.has(name)).collect();
    if chosen.is_empty() {
        return Ok(Run { passed: None, failure: None });
    }
    let mut printed = tempfile::NamedTempFile::new()?;
    let out: File = printed.reopen()?;
    let mut command = Command::new(&program.file);
    command.args(TIMED).args(chosen.iter().filter(|_| !matches!(which, Which::All)));
    command.env(TAKES_UNSTABLE, "1").env("RUST_TEST_THREADS", threads(which)).current_dir(&program.dir);
    tally.prepare(&mut command).stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
    let mut child = command.spawn().with_context(context)?;
    let mut early: Option<String> = None;
    let ended: Option<ExitStatus> = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if early.is_none() && time_left() < SLOW {
            early = Some(std::fs::read_to_string(printed.path()).unwrap_or_default());
        }
        if time_left().is_zero() {
            child.kill()?;
            child.wait()?;
            break None;
        }
        sleep(POLL);
    };
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut printed, &mut text)?;
    let text = String::from_utf8_lossy(&text);
    let passed = match ended {
        // test result: ok. 12 passed; 0 failed; …
        Some(_) => {
            let passed = text.split(" passed;").next().and_then(|start| start.split(' ').next_back());
            passed.and_then(|count| count.parse().ok())
        }
        None => Some(results(&text).filter(|(_, result)| result.starts_with("ok")).count() as u64),
    };
    tally.add_passed(passed.unwrap_or(0));
    for (name, result) in results(&text) {
        let took = result.split_once('<').and_then(|(_, took)| took.strip_suffix("s>")?.parse().ok());
        tally.add_time(name, took.unwrap_or(0.0));
    }
    let failure = match ended {
        Some(status) if status.success() => None,
        Some(status) => Some(format!("{} failed ({status}):\n{text}", program.file.display())),
        None => {
            let why = too_late(&unfinished(chosen, &text), &early.unwrap_or_default());
            Some(format!("{}: the time was up; {why}\n{text}", program.file.display()))
        }
    };
    Ok(Run { passed, failure })
}

/// What is wrong when the time is up: the tests that hang, else all that have printed no result. A test hangs that had been running for a
/// minute when `early` was printed, [`SLOW`] before.
fn too_late(unfinished: &[String], early: &str) -> String {
    let is_long =
        |name: &&String| early.contains(&format!("test {name} has been running for over 60 seconds"));
    let hanging: Vec<&str> = unfinished.iter().filter(is_long).map(String::as_str).collect();
    match hanging.is_empty() {
        true => format!("still running or not begun: {}", unfinished.join(", ")),
        false => format!("running for over three minutes: {}", hanging.join(", ")),
    }
}

/// Tests that have printed a result, with that: `ok <1.234s>`, `FAILED <0.012s>`.
fn results(printed: &str) -> impl Iterator<Item = (&str, &str)> {
    printed.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "))
}

/// The tests that have printed no result.
fn unfinished(mut chosen: Vec<String>, printed: &str) -> Vec<String> {
    let finished: BTreeSet<&str> = results(printed).map(|(name, _)| name).collect();
    chosen.retain(|name| !finished.contains(&**name));
    chosen
}

/// The tests of a program.
fn listed(program: &TestProgram) -> Result<Vec<String>> {
    let mut command = Command::new(&program.file);
    let output = command.args(["--list", "--format", "terse"]).current_dir(&program.dir).output()?;
    let names = String::from_utf8(output.stdout)?;
    Ok(names.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// Time until the deadline, if there is one.
fn time_left() -> Duration {
    let deadline = std::env::var(DEADLINE).ok().and_then(|text| text.parse().ok());
    let Some(deadline) = deadline.map(Duration::from_secs) else { return Duration::MAX };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    deadline.saturating_sub(now)
}

/// The number of parallel tests: three a core, since most wait most of the time; two of those that were chosen, which start browsers,
/// servers and traced programs.
fn threads(which: Which<'_>) -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let each = if matches!(which, Which::Only(_)) { 2 } else { 3 };
    (each * cores).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_the_time_is_up_what_hangs_is_named_else_all_that_is_left() {
        let left = ["app::a".to_owned(), "html::b".to_owned()];
        let printed = "test x ... ok\ntest y has been running for over 60 seconds\ntest y ... ok\n";
        assert_eq!(too_late(&left, printed), "still running or not begun: app::a, html::b");
        let hangs = format!("{printed}test app::a has been running for over 60 seconds\n");
        assert_eq!(too_late(&left, &hangs), "running for over three minutes: app::a");
    }
}
