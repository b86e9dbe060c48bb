//! Runs the tests repeatedly, every second time on a busy machine, to find flaky tests.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::shell::command;
use crate::test::{build_extra, threads};
use crate::tools::{ensure_packages, program};

/// Keeps the processors busy: twice as many processes as a small machine has cores.
const STRESS: [&str; 3] = ["stress-ng", "--cpu", "4"];

/// A built test program, and the directory of its package, in which cargo runs it.
struct TestProgram {
    file: PathBuf,
    dir: PathBuf,
}

/// Runs all tests this many times; stops at the first failure and shows its output.
///
/// # Errors
/// Which test program failed, in which run.
pub fn run(times: u32) -> Result<()> {
    ensure_packages(&[program("stress-ng", &["stress-ng"], "keeping the processors busy")])?;
    build_extra()?;
    let programs = built()?;
    let mut tests = 0;
    for number in 1..=times {
        let stress = number.is_multiple_of(2).then(Stress::start).transpose()?;
        let beside = if stress.is_some() { format!(", beside {}", STRESS.join(" ")) } else { String::new() };
        let began = Instant::now();
        let mut passed = 0;
        for test in &programs {
            passed += passes(test).with_context(|| format!("run {number} of {times}{beside}"))?;
        }
        println!("run {number} of {times}: {passed} tests passed in {} s{beside}", began.elapsed().as_secs());
        tests += passed;
    }
    println!(
        "{times} runs of {} test programs, {} of them beside {}: {tests} tests, no failure",
        programs.len(),
        times / 2,
        STRESS.join(" ")
    );
    Ok(())
}

/// Builds the tests; cargo reports where they are.
fn built() -> Result<Vec<TestProgram>> {
    let output = command(&["cargo", "test", "--workspace", "--no-run", "--quiet", "--message-format=json"])
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    ensure!(output.status.success(), "the tests cannot be built");
    let lines = String::from_utf8(output.stdout)?;
    let messages = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let tests = messages.filter(|message| message["profile"]["test"] == true);
    let programs: Vec<TestProgram> = tests
        .filter_map(|message| {
            let file = message["executable"].as_str()?.into();
            let dir = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
            Some(TestProgram { file, dir })
        })
        .collect();
    ensure!(!programs.is_empty(), "cargo has built no tests");
    Ok(programs)
}

/// Runs one program; returns how many tests passed.
fn passes(test: &TestProgram) -> Result<u64> {
    let mut command = Command::new(&test.file);
    command.arg("--quiet").env("RUST_TEST_THREADS", threads()).current_dir(&test.dir);
    let output = command.output();
    let output = output.with_context(|| format!("cannot start {}", test.file.display()))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("{} failed ({}):\n{printed}{}", test.file.display(), output.status, complaints(&output));
    }
    // test result: ok. 12 passed; 0 failed; …
    let passed = printed.split(" passed;").next().and_then(|start| start.split(' ').next_back());
    passed.and_then(|count| count.parse().ok()).with_context(|| format!("{printed}: no count of tests"))
}

fn complaints(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A busy machine, until it is dropped.
struct Stress(Child);

impl Stress {
    fn start() -> Result<Self> {
        let mut stress = command(&STRESS);
        stress.arg("--quiet").arg("--timeout").arg("0");
        Ok(Self(stress.spawn().context("cannot start stress-ng")?))
    }
}

impl Drop for Stress {
    fn drop(&mut self) {
        // Terminated, not killed, so that its workers end with it.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}
