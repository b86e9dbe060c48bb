//! The time to a verdict: this tool, and a fixed number of repetitions, on the same question and the same core.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ipcost_model::{Placement, read_document};
use ipcost_stats::simulation::welch;
use ipcost_stats::{Verdict, clopper_pearson, median};

use crate::common::{build_ipcost, build_plain, ipcost_run, processors};
use xtask::shell::{command, path_text};

/// The differences to detect; the first is none.
const SLOWDOWNS: [u64; 4] = [0, 2, 5, 30];
/// The target length of one run of the ping-pong program.
const RUN: Duration = Duration::from_millis(100);
/// Runs of each side in the fixed comparison.
const FIXED: usize = 30;
const BUDGET_S: u64 = 20;
const LEVEL: f64 = 0.05;

/// The results of one method, over all repetitions of one question.
#[derive(Default)]
struct MethodResults {
    answered: u64,
    wrong_way: u64,
    seconds: Vec<f64>,
}

/// Repeats each question `times` times, alternating between all methods.
pub fn bench(times: u32) -> Result<()> {
    build_ipcost()?;
    let pingpong = build_plain("pingpong")?;
    let trips = calibrate(&pingpong)?;
    eprintln!("xtask: {trips} round trips a run, {times} repetitions of each question");
    let mut ways: Vec<[MethodResults; 2]> = SLOWDOWNS.iter().map(|_| Default::default()).collect();
    for repetition in 0..times {
        for (slowdown, ways) in SLOWDOWNS.iter().zip(&mut ways) {
            let slow = trips + trips * slowdown / 100;
            ways[0].add(timed(|| ours(*slowdown))?);
            ways[1].add(timed(|| fixed(&pingpong, trips, slow))?);
        }
        eprintln!("xtask: {} of {times} done", repetition + 1);
    }
    show(&ways);
    Ok(())
}

impl MethodResults {
    /// What was decided, whether the second costs more, and how long it took.
    fn add(&mut self, (decision, took): (Option<bool>, Duration)) {
        self.answered += u64::from(decision.is_some());
        self.wrong_way += u64::from(decision == Some(false));
        self.seconds.push(took.as_secs_f64());
    }
}

fn timed(decide: impl FnOnce() -> Result<Option<bool>>) -> Result<(Option<bool>, Duration)> {
    let began = Instant::now();
    let decision = decide()?;
    Ok((decision, began.elapsed()))
}

/// The number of round trips in a run of the target length.
fn calibrate(pingpong: &Path) -> Result<u64> {
    const TRIAL: u64 = 5_000;
    let seconds: Vec<f64> = (0..5).map(|_| once(pingpong, TRIAL)).collect::<Result<_>>()?;
    let each = median(&seconds).context("no runs")? / TRIAL as f64;
    Ok((RUN.as_secs_f64() / each) as u64 / 100 * 100)
}

fn once(pingpong: &Path, trips: u64) -> Result<f64> {
    let began = Instant::now();
    // The processor that this tool uses for both processes: left to the scheduler, both methods would measure its choices.
    let processor = processors(Placement::Together)?.0.to_string();
    let status =
        command(&["taskset", "-c", &processor, path_text(pingpong)?, &trips.to_string()]).status()?;
    ensure!(status.success(), "the ping-pong program failed");
    Ok(began.elapsed().as_secs_f64())
}

/// This tool: a cell with this much extra work, until the difference is detected or the budget is spent.
fn ours(slowdown: u64) -> Result<Option<bool>> {
    let options =
        if slowdown == 0 { String::new() } else { format!("options = {{ extra_work = {slowdown} }}\n") };
    let cell = |label: &str| {
        format!(
            "[[cells]]\nlabel = \"{label}\"\npattern = \"rr\"\ntransport = \"socketpair\"\nsize = 64\nplacement = \"together\"\n"
        )
    };
    let settings = format!("baseline = \"base\"\nmargin = \"0%\"\nbudget = \"{BUDGET_S}s\"\n");
    let job = format!("{settings}{}{}{options}", cell("base"), cell("slow"));
    let document = read_document(&ipcost_run(&job, &[])?)?;
    let contrast = document.contrasts.first().context("a contrast")?;
    let is_known = matches!(contrast.verdict, Verdict::Different | Verdict::Direction);
    Ok(is_known.then_some(contrast.ratio > 1.0))
}

/// This many runs of one, then as many of the other, and Welch's test.
fn fixed(pingpong: &Path, trips: u64, slow: u64) -> Result<Option<bool>> {
    let runs = |trips: u64| (0..FIXED).map(|_| once(pingpong, trips)).collect::<Result<Vec<f64>>>();
    Ok(decide(&runs(trips)?, &runs(slow)?))
}

fn decide(base: &[f64], slow: &[f64]) -> Option<bool> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    (welch(base, slow) < LEVEL).then(|| mean(slow) > mean(base))
}

fn show(ways: &[[MethodResults; 2]]) {
    println!("| slowdown | ipcost | | 30 runs of each | |");
    println!("|---|---|---|---|---|");
    println!("| | detected | median time | detected | median time |");
    for (slowdown, ways) in SLOWDOWNS.iter().zip(ways) {
        print!("| {slowdown} %");
        for way in ways {
            let of = way.seconds.len() as u64;
            let (lo, hi) = clopper_pearson(way.answered, of, 0.95);
            let wrong = if way.wrong_way > 0 && *slowdown > 0 {
                format!(", {} the wrong way", way.wrong_way)
            } else {
                String::new()
            };
            print!(
                " | {} of {of} ({:.0}–{:.0} %){wrong} | {:.1} s",
                way.answered,
                lo * 100.0,
                hi * 100.0,
                median(&way.seconds).unwrap_or_default()
            );
        }
        println!(" |");
    }
}
