//! `--as-published`: the article's own counts and repetitions, and its own output.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use ipcost_features::replicate::published::{Repetition, render};
use ipcost_features::replicate::{AsPublished, Replication};
use ipcost_lab::lab::fresh_seed;
use ipcost_lab::{Settings, bench::Bench, rate};
use ipcost_model::units::duration_text;
use ipcost_sys::interrupt::Interrupt;

use crate::args::ReplicateArgs;
use crate::exit::{FAILED, INTERRUPTED, Problem, complain, note};
use crate::output::print;
use crate::progress::bar;

use super::{job_of, lab_of};

/// How much longer than estimated a batch may take before its peers are given up.
const PATIENCE: u32 = 20;

/// Runs the experiments as they were published, one after the other.
///
/// # Errors
/// What failed.
pub fn run(
    args: &ReplicateArgs,
    replications: &[Replication],
    interrupt: &Interrupt,
) -> Result<ExitCode, Problem> {
    let mut status = ExitCode::SUCCESS;
    for replication in replications {
        let Some(published) = &replication.as_published else { continue };
        print(&format!("# {}: {}\n", replication.id, replication.question)).map_err(Problem::failed)?;
        match repeat(args, published, interrupt) {
            Ok(repetitions) => {
                print(&render(published.output, &repetitions)).map_err(Problem::failed)?;
            }
            Err(_) if interrupt.asked() => return Ok(ExitCode::from(INTERRUPTED)),
            Err(error) => {
                complain(&format!("{}: {error:#}", replication.id));
                status = ExitCode::from(FAILED);
            }
        }
    }
    Ok(status)
}

/// A cell of the article with its count.
struct Counted {
    cell: usize,
    ops: u64,
    estimate: Duration,
}

fn repeat(
    args: &ReplicateArgs,
    published: &AsPublished,
    interrupt: &Interrupt,
) -> anyhow::Result<Vec<Repetition>> {
    let matrices: Vec<_> = published.cells.iter().map(|cells| cells.cell.clone()).collect();
    let job = job_of(&matrices);
    let lab = lab_of(args, &job)?;
    let settings = Settings { epochs: Some(1), ..Settings::of(&job, fresh_seed()) };
    let mut plan = lab.plan(lab.cells(&job)?, &settings)?;
    if let Some(reason) = plan.cells.iter().find_map(|cell| cell.unavailable.clone()) {
        anyhow::bail!("{reason}");
    }

    // Counts follow the matrices in order; what they expand to is found by asking for each alone.
    let divide = args.divide.unwrap_or(1).max(1);
    let mut ops_of = Vec::new();
    for cells in &published.cells {
        let own = lab.cells(&job_of(std::slice::from_ref(&cells.cell)))?;
        for planned in &own.cells {
            let workers = u64::from(planned.cell.concurrency);
            let each = match (cells.ops_per_worker, cells.bytes) {
                (Some(ops), _) => ops,
                (None, Some(bytes)) => bytes / planned.cell.size.max(1) / workers,
                (None, None) => anyhow::bail!("a published cell has neither ops_per_worker nor bytes"),
            };
            ops_of.push((each / divide).max(1) * workers);
        }
    }
    ensure!(ops_of.len() == plan.cells.len(), "two published cells are the same");

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
    note(&format!(
        "{} cells, {repetitions} times each: about {}; ipcost replicate without --as-published decides the claims in minutes",
        counted.len(),
        duration_text(whole)
    ));
    let longest = counted.iter().map(|one| one.estimate).max().unwrap_or_default();
    plan.timeout = plan.timeout.max(longest * PATIENCE);
    let mut bench = lab.bench(&plan, interrupt)?;
    let bar = bar(args.quiet, counted.len() as u64 * repetitions, "{pos} of {len}, {eta} left: {msg}");
    let mut done = Vec::new();
    for one in &counted {
        for repetition in 1..=repetitions {
            bar.set_message(format!("{} ({repetition} of {repetitions})", plan.cells[one.cell].id));
            bench.start_epoch(repetition as u32, &[one.cell])?;
            let batch = bench.batch(one.cell, one.ops, false).context("in the middle of a repetition")?;
            bench.end_epoch()?;
            bar.inc(1);
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
    bar.finish_and_clear();
    Ok(done)
}
