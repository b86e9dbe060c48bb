//! Steps in order, with their times.

use std::time::{Duration, Instant};

use anyhow::Result;

/// Something that must succeed.
pub struct TaskStep<'a> {
    pub name: &'static str,
    pub run: &'a dyn Fn() -> Result<()>,
}

/// Says which steps there are, then runs them and reports their times; stops at the first failure.
pub fn run(what: &str, steps: &[TaskStep<'_>]) -> Result<()> {
    eprintln!("xtask: {what}");
    for (number, step) in (1..).zip(steps) {
        eprintln!("{number:>4}. {}", step.name);
    }
    let mut took = Vec::new();
    let mut result = Ok(());
    for (number, step) in (1..).zip(steps) {
        eprintln!("\nxtask: {number}. {}", step.name);
        let began = Instant::now();
        result = (step.run)();
        took.push(began.elapsed());
        if result.is_err() {
            break;
        }
    }
    eprintln!("\nxtask:");
    for (step, took) in steps.iter().zip(&took) {
        eprintln!("{:>6} s  {}", took.as_secs(), step.name);
    }
    let outcome = match &result {
        Ok(()) => "all good".to_owned(),
        Err(_) => format!("failed in step {} of {}", took.len(), steps.len()),
    };
    eprintln!("{:>6} s  {outcome}", took.iter().sum::<Duration>().as_secs());
    result
}
