//! `--as-published`: the article's own counts and repetitions.

use std::time::Duration;

use ipcost_lab::bench::Bench;
use ipcost_lab::lab::fresh_seed;
use ipcost_lab::{LabError, Settings, rate};
use ipcost_model::units::duration_text;
use ipcost_sys::interrupt::Interrupt;

use super::published::Repetition;
use super::run::{job_of, lab_of};
use super::{AsPublished, Request, Watching};

/// How much longer than estimated a batch may take before its peers are given up.
const PATIENCE: u32 = 20;

fn failed(what: &str) -> LabError {
    LabError::Failed(what.to_owned())
}

/// A cell of the article with its count.
struct Counted {
    cell: usize,
    ops: u64,
    estimate: Duration,
}

/// Repeats the article's own counts, divided by a number; divided, once.
///
/// # Errors
/// What this machine lacks, or what failed.
pub fn repeat(
    request: &Request,
    published: &AsPublished,
    divide: u64,
    interrupt: &Interrupt,
    watching: &mut dyn Watching,
) -> Result<Vec<Repetition>, LabError> {
    let matrices: Vec<_> = published.cells.iter().map(|cells| cells.cell.clone()).collect();
    let job = job_of(&matrices);
    let lab = lab_of(request, &job, watching)?;
    let settings = Settings { epochs: Some(1), ..Settings::of(&job, fresh_seed()) };
    let mut plan = lab.plan(lab.cells(&job)?, &settings)?;
    if let Some(reason) = plan.cells.iter().find_map(|cell| cell.unavailable.clone()) {
        return Err(LabError::Failed(reason));
    }

    // Counts follow the matrices in order; what they expand to is found by asking for each alone.
    let mut ops_of = Vec::new();
    for cells in &published.cells {
        let own = lab.cells(&job_of(std::slice::from_ref(&cells.cell)))?;
        for planned in &own.cells {
            let workers = u64::from(planned.cell.concurrency);
            let each = match (cells.ops_per_worker, cells.bytes) {
                (Some(ops), _) => ops,
                (None, Some(bytes)) => bytes / planned.cell.size.max(1) / workers,
                (None, None) => {
                    return Err(failed("a published cell has neither ops_per_worker nor bytes"));
                }
            };
            ops_of.push((each / divide).max(1) * workers);
        }
    }
    if ops_of.len() != plan.cells.len() {
        return Err(failed("two published cells are the same"));
    }

    let repetitions = if divide > 1 { 1 } else { u64::from(published.repetitions) };
    let mut counted = Vec::new();
    let mut bench = lab.bench(&plan, interrupt)?;
    for (cell, ops) in ops_of.iter().enumerate() {
        bench.start_epoch(0, &[cell])?;
        let workers = u64::from(plan.cells[cell].cell.concurrency);
        let rate = rate(&mut bench, cell, workers, true)?;
        bench.end_epoch()?;
        counted.push(Counted {
            cell,
            ops: *ops,
            estimate: Duration::from_nanos((rate.ns_per_op * *ops as f64 + rate.wait_ns) as u64),
        });
    }
    drop(bench);
    let whole: Duration = counted.iter().map(|one| one.estimate).sum::<Duration>() * repetitions as u32;
    watching.estimate(&format!(
        "{} cells, {repetitions} times each: about {}; ipcost replicate without --as-published decides the claims in minutes",
        counted.len(),
        duration_text(whole)
    ));
    let longest = counted.iter().map(|one| one.estimate).max().unwrap_or_default();
    plan.timeout = plan.timeout.max(longest * PATIENCE);
    let mut bench = lab.bench(&plan, interrupt)?;
    let of = counted.len() as u64 * repetitions;
    let mut done: Vec<Repetition> = Vec::new();
    for one in &counted {
        for repetition in 1..=repetitions {
            let what = format!("{} ({repetition} of {repetitions})", plan.cells[one.cell].id);
            watching.repetition(done.len() as u64, of, &what);
            bench.start_epoch(repetition as u32, &[one.cell])?;
            let batch = bench
                .batch(one.cell, one.ops, false)
                .map_err(|error| failed(&format!("in the middle of a repetition: {error}")))?;
            bench.end_epoch()?;
            done.push(Repetition {
                cell: plan.cells[one.cell].cell.clone(),
                ops: one.ops,
                wall_ns: batch.wall_ns,
                sent_ns: batch.sent_ns,
                client: batch.client,
                incr_usec_per_call: batch.measures.get("incr_usec_per_call").copied(),
            });
        }
    }
    watching.repetition(of, of, "");
    Ok(done)
}
