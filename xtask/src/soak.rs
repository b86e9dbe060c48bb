//! Runs the tests repeatedly, every second time on a busy machine, to find flaky tests.

use std::process::{Child, Command};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::pool::{PooledTest, TestStage, built, run_all};
use crate::shell::command;
use crate::tally::TestTally;
use crate::test::AT_ONCE;
use crate::tools::{ensure_packages, program};

/// Keeps the processors busy: twice as many processes as a small machine has cores.
const STRESS: [&str; 3] = ["stress-ng", "--cpu", "4"];

/// Runs all tests this many times; stops at the first failure and shows its output.
pub fn run(times: u32) -> Result<()> {
    ensure_packages(&[program("stress-ng", &["stress-ng"], "keeping the processors busy")])?;
    let tally = TestTally::new("", &[])?;
    let tests: Vec<PooledTest> =
        built()?.into_iter().filter(|test| test.when != TestStage::Nightly).collect();
    for number in 1..=times {
        let stress = number.is_multiple_of(2).then(Stress::start).transpose()?;
        let beside = if stress.is_some() { format!(", beside {}", STRESS.join(" ")) } else { String::new() };
        let began = Instant::now();
        run_all(tests.clone(), AT_ONCE, &tally)
            .with_context(|| format!("run {number} of {times}{beside}"))?;
        println!("run {number} of {times}: passed in {} s{beside}", began.elapsed().as_secs());
    }
    println!(
        "{times} runs of {} tests, {} of them beside {}: no failure",
        tests.len(),
        times / 2,
        STRESS.join(" ")
    );
    tally.print();
    Ok(())
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
