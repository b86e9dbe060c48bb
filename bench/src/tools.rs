//! ipcost against tools that know nothing of it, by turns: docs/faithfulness.md.

mod comparisons;
mod ours;
mod programs;
mod show;

use anyhow::{Context, Result, bail, ensure};
use ipcost_model::Placement;
use ipcost_stats::Random;

use self::comparisons::{COMPARISONS, ProcessorPair, TOOLS, ToolComparison};
pub use self::comparisons::{ComparedTool, REDIS_BENCHMARK};
use self::show::ToolRow;
use crate::common::{BenchRecord, build_ipcost, processors};
use crate::verdict::{BenchVerdict, Reason, verdict};

/// The probability that a row's interval misses. It is not shared over the rows: with ten turns none would have an
/// interval then.
const ALPHA: f64 = 0.05;
/// How often a turn is tried: on a busy machine some tools now and then end without a figure.
const TRIES: usize = 3;
const THEIRS: usize = 0;
const OURS: usize = 1;

/// One row, while it is measured.
struct ToolSubject {
    comparison: &'static ToolComparison,
    placement: Placement,
    place: ProcessorPair,
    failure: Option<String>,
}

/// Runs every tool and ipcost's cell for the same work once in each turn, in random order.
///
/// # Errors
/// If ipcost cannot be built, a row cannot be measured, or a row differs for no named reason.
pub fn bench(turns: u32, words: &[&str]) -> Result<()> {
    if cfg!(not(target_os = "linux")) {
        bail!("the tools are those of Linux");
    }
    let (options, names): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with("--"));
    for option in &options {
        ensure!(*option == "--markdown", "bench tools has no option {option}; it has --markdown");
    }
    for name in &names {
        let known: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        ensure!(known.contains(name), "{name} is none of {}", known.join(", "));
    }
    build_ipcost()?;
    let (mut subjects, not_run) = subjects(&names);
    let record = measure(&mut subjects, turns);
    let rows: Vec<ToolRow<'_>> =
        subjects.iter().enumerate().map(|(index, subject)| row(index, subject, &record)).collect();
    if options.is_empty() {
        show::table(&rows, &not_run);
        println!();
    }
    show::markdown(&rows, &not_run);
    let wrong: Vec<String> = rows.iter().filter(|row| row.verdict.is_wrong()).map(ToolRow::name).collect();
    ensure!(wrong.is_empty(), "{} of {} rows failed: {}", wrong.len(), rows.len(), wrong.join("; "));
    Ok(())
}

/// What can be measured here, and what cannot, with the reason.
fn subjects(names: &[&str]) -> (Vec<ToolSubject>, Vec<String>) {
    let (mut subjects, mut not_run) = (Vec::new(), Vec::new());
    let wanted = |comparison: &&ToolComparison| names.is_empty() || names.contains(&comparison.tool.name);
    for comparison in COMPARISONS.iter().filter(wanted) {
        if let Some(reason) = comparison.lacks() {
            not_run.push(format!("{} ({}): {reason}", comparison.tool.name, comparison.measured));
            continue;
        }
        for &placement in comparison.placements {
            match processors(placement) {
                Ok((client, server)) => {
                    let place = ProcessorPair { client, server };
                    subjects.push(ToolSubject { comparison, placement, place, failure: None });
                }
                Err(error) => not_run.push(format!(
                    "{} ({}), {placement}: {error}",
                    comparison.tool.name, comparison.measured
                )),
            }
        }
    }
    (subjects, not_run)
}

fn measure(subjects: &mut [ToolSubject], turns: u32) -> BenchRecord {
    let (mut record, mut random) = (BenchRecord::default(), Random::new(1));
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    for turn in 0..turns as usize {
        random.shuffle(&mut order);
        for (done, &index) in order.iter().enumerate() {
            let subject = &mut subjects[index];
            if subject.failure.is_some() {
                continue;
            }
            eprint!("\rxtask: turn {} of {turns}, row {} of {} ", turn + 1, done + 1, order.len());
            let is_first = random.below(2) == 0;
            match tried(|| pair(subject, is_first)) {
                Ok((theirs, ours)) => {
                    record.add(index, THEIRS, turn, theirs);
                    record.add(index, OURS, turn, ours);
                }
                Err(error) => subject.failure = Some(format!("{error:#}")),
            }
        }
    }
    eprintln!();
    record
}

/// The first success, or the last failure.
pub fn tried<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    let mut outcome = attempt();
    for _ in 1..TRIES {
        if outcome.is_err() {
            outcome = attempt();
        }
    }
    outcome
}

/// The tool's figure and ours, nanoseconds, one right after the other.
fn pair(subject: &ToolSubject, tool_first: bool) -> Result<(f64, f64)> {
    let ToolSubject { comparison, placement, place, .. } = subject;
    let theirs = || {
        let figure = (comparison.run)(place)?;
        ensure!(figure.is_finite() && figure > 0.0, "its figure is {figure}");
        Ok(figure)
    };
    let theirs = || theirs().with_context(|| comparison.tool.name);
    let ours = || ours::measure(comparison, *placement).context("ipcost");
    if tool_first {
        let theirs = theirs()?;
        Ok((theirs, ours()?))
    } else {
        let ours = ours()?;
        Ok((theirs()?, ours))
    }
}

fn row<'a>(index: usize, subject: &'a ToolSubject, record: &BenchRecord) -> ToolRow<'a> {
    let ratio = record.ratio(index, OURS, THEIRS, ALPHA);
    let verdict = match (&subject.failure, &ratio) {
        (None, Some(ratio)) => verdict(ratio, subject.comparison.differs.map(Reason::Below)),
        _ => BenchVerdict::Failed,
    };
    ToolRow {
        comparison: subject.comparison,
        placement: subject.placement,
        theirs: record.cost(index, THEIRS),
        ours: record.cost(index, OURS),
        ratio,
        verdict,
        failure: subject.failure.as_deref(),
    }
}
