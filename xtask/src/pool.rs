//! All tests from one pool, each in a process of its own: the longest first, then those that take the machine for themselves.

use std::collections::{BTreeMap, VecDeque};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::Value;

use crate::shell::{command, target};
use crate::tally::TestTally;

/// When to give up, in seconds since 1970: anyone who ends this program from outside learns nothing about the tests.
const DEADLINE: &str = "IPCOST_DEADLINE";
/// What is a feature of the build is tested with the rest, as one build; packages and the program for Windows are without some.
pub const FEATURES: [&str; 2] = ["--features", "ipcost/man,ipcost/png,ipcost/tls"];
/// How often to look whether a test has ended.
const POLL: Duration = Duration::from_millis(10);
/// A test that takes longer hangs: the longest take two minutes, and ten every night.
const HANGS: Duration = Duration::from_secs(1_200);
/// The compiler's own variable, without which a program of tests does not tell why it ignores some.
const TAKES_UNSTABLE: &str = "RUSTC_BOOTSTRAP";

/// When a test runs, by the first word of why others ignore it: `#[ignore = "alone: …"]`, `#[ignore = "nightly: …"]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestStage {
    Beside,
    /// Beside no other: it loads the machine, or asserts what takes how long.
    Alone,
    /// In `cargo xtask test --nightly`.
    Nightly,
}

#[derive(Clone, Debug)]
pub struct PooledTest {
    program: PathBuf,
    /// The directory of its package, in which cargo runs it.
    dir: PathBuf,
    /// Its name in the program.
    name: String,
    /// Whether it runs the program as a user does: one of the program's own package.
    pub is_of_users: bool,
    pub when: TestStage,
}

impl PooledTest {
    /// Its name among those of all programs.
    fn label(&self) -> String {
        let package = self.dir.file_name().unwrap_or_default().to_string_lossy();
        if self.is_of_users { self.name.clone() } else { format!("{package} {}", self.name) }
    }

    /// Whether it is of one of these modules of the tests that run the program.
    pub fn is_in(&self, modules: &[&str]) -> bool {
        self.is_of_users && modules.iter().any(|module| self.name.starts_with(module))
    }
}

/// Builds the whole workspace once, for lints and for tests: Clippy is the compiler, which does all that the usual one does but the
/// optimisations before LLVM's. What cargo tells of it.
pub fn build() -> Result<Vec<Value>> {
    let words = ["cargo", "build", "--workspace", "--all-targets", "--quiet", "--message-format=json"];
    let mut build = command(&[&words[..], &FEATURES].concat());
    build.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").stderr(Stdio::inherit());
    let output = build.output().context("cannot start cargo")?;
    let lines = String::from_utf8(output.stdout)?;
    let messages: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if !output.status.success() {
        bail!("the workspace cannot be built\n{}", said(&messages));
    }
    Ok(messages)
}

/// What the compiler said: with JSON as its format, cargo does not show it.
pub fn said(messages: &[Value]) -> String {
    messages.iter().filter_map(|message| message["message"]["rendered"].as_str()).collect()
}

/// Builds the tests and all that they run, peers with libraries too, and asks each program which tests it has.
pub fn built() -> Result<Vec<PooledTest>> {
    let messages = build()?;
    let mut tests = Vec::new();
    for message in messages.iter().filter(|message| message["profile"]["test"] == true) {
        let Some(program) = message["executable"].as_str().map(PathBuf::from) else { continue };
        let manifest = Path::new(message["manifest_path"].as_str().context("a manifest")?);
        let dir = manifest.parent().context("a directory")?.to_owned();
        let is_of_users = message["target"]["kind"] == serde_json::json!(["test"]) && dir.ends_with("ipcost");
        tests.extend(listed(&program, &dir)?.into_iter().map(|(name, when)| PooledTest {
            program: program.clone(),
            dir: dir.clone(),
            name,
            is_of_users,
            when,
        }));
    }
    ensure!(!tests.is_empty(), "cargo has built no tests");
    Ok(tests)
}

/// The tests of a program, without those that run only where they are asked for.
fn listed(program: &Path, dir: &Path) -> Result<Vec<(String, TestStage)>> {
    let mut command = Command::new(program);
    command.args(["--list", "--format", "json", "-Zunstable-options"]).env(TAKES_UNSTABLE, "1");
    let output = command.current_dir(dir).output()?;
    let text = String::from_utf8(output.stdout)?;
    let told: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let tests = told.iter().filter(|line| line["event"] == "discovered" && line["type"] == "test");
    let named = tests.filter_map(|test| {
        let why = test["ignore_message"].as_str().unwrap_or_default();
        let when = match (test["ignore"].as_bool()?, why.split(':').next()) {
            (false, _) => TestStage::Beside,
            (true, Some("alone")) => TestStage::Alone,
            (true, Some("nightly")) => TestStage::Nightly,
            (true, _) => return None,
        };
        Some((test["name"].as_str()?.to_owned(), when))
    });
    Ok(named.collect())
}

/// Runs tests, so many at once for each core, shows each failure as it happens, and goes on.
pub fn run_all(tests: Vec<PooledTest>, for_each_core: usize, tally: &TestTally) -> Result<()> {
    let began = Instant::now();
    let count = tests.len();
    let known = recorded();
    let (alone, mut beside): (Vec<PooledTest>, Vec<PooledTest>) =
        tests.into_iter().partition(|test| test.when == TestStage::Alone);
    // What has never run is taken for long where it runs the program.
    let took = |test: &PooledTest| {
        known.get(&test.label()).copied().unwrap_or(if test.is_of_users { 3.0 } else { 0.0 })
    };
    beside.sort_by(|one, other| took(other).total_cmp(&took(one)));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let failed = Mutex::new(Vec::new());
    for (tests, at_once) in [(beside, for_each_core * cores), (alone, 1)] {
        let waiting = Mutex::new(VecDeque::from(tests));
        let next = || waiting.lock().unwrap().pop_front();
        scope(|pool| {
            for _ in 0..at_once {
                pool.spawn(|| {
                    while let Some(test) = next() {
                        let (began, label) = (Instant::now(), test.label());
                        match run(&test, time_left().min(HANGS), tally) {
                            Ok(()) => tally.add_passed(&label, began.elapsed()),
                            Err(error) => {
                                eprintln!("{label} failed after {} s: {error:#}", began.elapsed().as_secs());
                                failed.lock().unwrap().push(label);
                            }
                        }
                    }
                });
            }
        });
    }
    record(known, tally);
    let failed = failed.into_inner().unwrap();
    eprintln!("{:>6} s  {} of {count} tests passed", began.elapsed().as_secs(), count - failed.len());
    ensure!(
        failed.is_empty(),
        "{} tests failed; what they printed is above: {}",
        failed.len(),
        failed.join(", ")
    );
    Ok(())
}

/// Runs one test, for so long at most.
fn run(test: &PooledTest, limit: Duration, tally: &TestTally) -> Result<()> {
    ensure!(!limit.is_zero(), "not begun: the time was up");
    let mut printed = tempfile::NamedTempFile::new()?;
    let out = printed.reopen()?;
    let mut command = Command::new(&test.program);
    command.args([&*test.name, "--exact", "--include-ignored", "--nocapture"]).current_dir(&test.dir);
    // With one thread a test runs in the program's first, which has not the test's name.
    command.env("RUST_TEST_THREADS", "2").stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
    let mut child =
        tally.prepare(&mut command).spawn().with_context(|| test.program.display().to_string())?;
    let began = Instant::now();
    let ended = loop {
        match child.try_wait()? {
            Some(status) => break status.to_string(),
            None if began.elapsed() > limit => {
                child.kill()?;
                child.wait()?;
                break "the time was up".to_owned();
            }
            None => sleep(POLL),
        }
    };
    let mut text = Vec::new();
    printed.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    // A name that no test has makes a program that passes.
    if ended == "exit status: 0" && text.contains("test result: ok. 1 passed;") {
        return Ok(());
    }
    Err(anyhow!("{ended}\n{text}"))
}

/// Time until the deadline, if there is one.
fn time_left() -> Duration {
    let deadline = std::env::var(DEADLINE).ok().and_then(|text| text.parse().ok());
    let Some(deadline) = deadline.map(Duration::from_secs) else { return Duration::MAX };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    deadline.saturating_sub(now)
}

/// What each test took the last time, seconds.
fn recorded() -> BTreeMap<String, f64> {
    let text = std::fs::read_to_string(target().join("test-times.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Writes that down for the next time. It changes the order alone, so that a failure to do so is no failure.
fn record(mut times: BTreeMap<String, f64>, tally: &TestTally) {
    times.extend(tally.times());
    let text = serde_json::to_string_pretty(&times).unwrap_or_default();
    let _ = std::fs::write(target().join("test-times.json"), text);
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A test of a program that is these lines of shell.
    fn test_of(script: &str) -> (tempfile::TempDir, PooledTest) {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program");
        // Written by another process: one that is started meanwhile would keep it open for writing.
        let text = format!("#!/bin/sh\n{script}\n");
        assert!(
            Command::new("sh")
                .args(["-c", "printf %s \"$1\" > \"$0\""])
                .arg(&program)
                .arg(text)
                .status()
                .unwrap()
                .success()
        );
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let test = PooledTest {
            program,
            dir: dir.path().into(),
            name: "a".into(),
            is_of_users: false,
            when: TestStage::Beside,
        };
        (dir, test)
    }

    #[test]
    fn one_test_has_to_pass_before_the_time_is_up() {
        let tally = TestTally::new("", &[]).unwrap();
        let fails = |script: &str, limit: Duration| {
            let (_dir, test) = test_of(script);
            run(&test, limit, &tally).map_err(|error| error.to_string())
        };
        let passed = "echo 'test result: ok. 1 passed; 0 failed'";
        assert_eq!(fails(passed, HANGS), Ok(()));
        // A name that no test has; a failure, with what it printed; one that hangs, and one that is not begun.
        let none = "echo 'test result: ok. 0 passed; 0 failed'";
        assert!(fails(none, HANGS).unwrap_err().contains("0 passed"));
        assert_eq!(fails("echo why >&2; exit 101", HANGS).unwrap_err(), "exit status: 101\nwhy\n");
        assert!(
            fails("exec sleep 1000", Duration::from_millis(1)).unwrap_err().starts_with("the time was up")
        );
        assert!(fails(passed, Duration::ZERO).unwrap_err().starts_with("not begun"));
    }

    #[test]
    fn why_a_test_is_ignored_says_when_it_runs() {
        let lines = r#"
{ "type": "suite", "event": "discovery" }
{ "type": "test", "event": "discovered", "name": "a", "ignore": false, "ignore_message": "" }
{ "type": "test", "event": "discovered", "name": "b", "ignore": true, "ignore_message": "alone: loads" }
{ "type": "test", "event": "discovered", "name": "c", "ignore": true, "ignore_message": "nightly: long" }
{ "type": "test", "event": "discovered", "name": "d", "ignore": true, "ignore_message": "prints a table" }"#;
        let (_dir, test) = test_of(&format!("cat <<'END'{lines}\nEND"));
        let listed = listed(&test.program, &test.dir).unwrap();
        let named = [("a", TestStage::Beside), ("b", TestStage::Alone), ("c", TestStage::Nightly)];
        assert_eq!(listed, named.map(|(name, when)| (name.to_owned(), when)));
    }
}
