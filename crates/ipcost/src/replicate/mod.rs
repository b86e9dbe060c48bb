//! `ipcost replicate`: published experiments, run again here, and what holds of their claims.

mod catalogue;
mod published;
mod tracing;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use ipcost_features::explain::Sides;
use ipcost_features::replicate::words::{render, summary};
use ipcost_features::replicate::{LEDGER_SCHEMA, Ledger, LedgerRun, Replication, ReplicationRun, Software};
use ipcost_features::replicate::{Measured, check, decide, effects, needed, sender_timed};
use ipcost_lab::lab::{cells_anywhere, fresh_seed, now};
use ipcost_lab::{EngineError, Lab, Outcome, Settings};
use ipcost_model::{Job, PlannedCell, Stopped, Tool};
use ipcost_sys::host;
use ipcost_sys::interrupt::Interrupt;

pub use catalogue::names;

use crate::args::ReplicateArgs;
use crate::exit::{INTERRUPTED, Problem, note, teller};
use crate::output::{is_standard_output, print, room, write_pretty};
use crate::progress::Line;
use crate::run::listen;

/// The margin for what is not about margins at all: claims have bounds of their own.
const NO_MARGIN: f64 = 0.0;

/// Runs what the arguments ask for.
///
/// # Errors
/// What is wrong with the arguments or a replication file, or what failed.
pub fn run(args: &ReplicateArgs) -> Result<ExitCode, Problem> {
    if args.list {
        print(&catalogue::list().map_err(Problem::usage)?).map_err(Problem::failed)?;
        return Ok(ExitCode::SUCCESS);
    }
    let replications = catalogue::chosen(&args.names, args.all).map_err(Problem::usage)?;
    for replication in &replications {
        check(replication, &|run| cells_of(run).map_err(|error| format!("{error:#}")))
            .map_err(|reason| Problem::usage(anyhow!("{}: {reason}", replication.id)))?;
    }
    let interrupt = listen()?;
    if args.as_published {
        return published::run(args, &replications, &interrupt);
    }
    let scale = scale(&replications, args.budget);
    let mut ledgers = Vec::new();
    let mut interrupted = false;
    if let Some(version) = host::read().more.get(host::WINE).filter(|_| !args.quiet) {
        let version = version.as_str().unwrap_or_default();
        eprintln!("warning: {}", ipcost_lab::causes::wine(version).sentence());
    }
    for replication in &replications {
        let (ledger, was_interrupted) = one(args, replication, scale, &interrupt)?;
        let ledger = args.redacting.apply(ledger)?;
        if !json_alone(args) {
            let gap = if ledgers.is_empty() { "" } else { "\n" };
            print(&format!("{gap}{}", render(&ledger, room()))).map_err(Problem::failed)?;
        }
        ledgers.push(ledger);
        if was_interrupted {
            interrupted = true;
            break;
        }
    }
    if let Some(path) = &args.json {
        write_pretty(&ledgers, path).map_err(Problem::failed)?;
    }
    if ledgers.len() > 1 && !json_alone(args) {
        print(&format!("\n{}", summary(&ledgers))).map_err(Problem::failed)?;
    }
    Ok(if interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

fn json_alone(args: &ReplicateArgs) -> bool {
    args.json.as_deref().is_some_and(is_standard_output)
}

/// By how much every run's own budget is stretched so that all of them take what the user said.
fn scale(replications: &[Replication], budget: Option<Duration>) -> f64 {
    let runs = replications.iter().flat_map(|replication| &replication.runs);
    let usual: f64 = runs.map(|run| own_budget(run).as_secs_f64()).sum();
    budget.map_or(1.0, |budget| budget.as_secs_f64() / usual.max(1e-9))
}

fn own_budget(run: &ReplicationRun) -> Duration {
    run.budget.unwrap_or(ipcost_lab::planning::DEFAULT_BUDGET)
}

/// One experiment; `true` where it was interrupted.
fn one(
    args: &ReplicateArgs,
    replication: &Replication,
    scale: f64,
    interrupt: &Interrupt,
) -> Result<(Ledger, bool), Problem> {
    let seed = args.seed.unwrap_or_else(fresh_seed);
    let started = now();
    let mut runs = Vec::new();
    let mut outcomes: Vec<(Software, Outcome, _)> = Vec::new();
    let mut interrupted = false;
    for run in &replication.runs {
        if !args.quiet {
            note(&format!("{}: {}: {}", replication.id, run.software, run.about));
        }
        let at = Instant::now();
        let mut record = LedgerRun {
            software: run.software,
            about: run.about.clone(),
            elapsed_s: 0.0,
            epochs: 0,
            missing: Vec::new(),
        };
        match measure(args, replication, run, own_budget(run).mul_f64(scale), seed, interrupt) {
            Ok(finished) => {
                record.missing = finished.missing;
                record.epochs = finished.outcome.table.epochs() as u32;
                interrupted = finished.outcome.stopped == Stopped::Interrupted;
                if record.epochs > 0 {
                    outcomes.push((run.software, finished.outcome, finished.system_calls));
                }
            }
            Err(error) => record.missing.push(format!("{error:#}")),
        }
        record.elapsed_s = at.elapsed().as_secs_f64();
        runs.push(record);
        if interrupted || interrupt.asked() {
            interrupted = true;
            break;
        }
    }
    let measured: Vec<Measured<'_>> = outcomes
        .iter()
        .map(|(software, outcome, system_calls)| Measured {
            software: *software,
            outcome,
            system_calls: system_calls.clone(),
        })
        .collect();
    let ledger = Ledger {
        schema: LEDGER_SCHEMA.to_owned(),
        tool: Tool { name: "ipcost".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        host: host::read(),
        id: replication.id.clone(),
        question: replication.question.clone(),
        machine: replication.machine.clone(),
        differs: replication.differs.clone(),
        started,
        seed,
        effects: effects(replication, &measured),
        claims: decide(replication, &measured),
        runs,
    };
    Ok((ledger, interrupted))
}

struct Finished {
    outcome: Outcome,
    missing: Vec<String>,
    system_calls: BTreeMap<usize, Sides<ipcost_lab::system_calls::SystemCalls>>,
}

/// Measures one run until every claim is decided, or its budget is spent.
fn measure(
    args: &ReplicateArgs,
    replication: &Replication,
    run: &ReplicationRun,
    budget: Duration,
    seed: u64,
    interrupt: &Interrupt,
) -> anyhow::Result<Finished> {
    let job = job_of(&run.cells);
    let lab = lab_of(args, &job)?;
    let settings = Settings {
        budget: Some(budget),
        batch: run.batch,
        counted: true,
        margin: NO_MARGIN,
        ..Settings::of(&job, seed)
    };
    let mut plan = lab.plan(lab.cells(&job)?, &settings)?;
    plan.sender_timed = sender_timed(replication, &plan.cells);
    if !args.quiet {
        plan.notes.iter().for_each(|text| note(text));
    }
    let mut missing = unavailable(&plan.cells);

    let system_calls = if tracing::is_wanted(replication, run.software) {
        tracing::trace(replication, run.software, lab.tracing(&plan, interrupt)).unwrap_or_else(|error| {
            missing.push(format!("{error:#}"));
            Default::default()
        })
    } else {
        Default::default()
    };

    let mut line = Line::new(args.quiet);
    let software = run.software;
    let mut asking = |outcome: &Outcome| {
        needed(replication, &Measured { software, outcome, system_calls: system_calls.clone() })
    };
    let mut outcome = lab.run_until(plan, interrupt, &mut line, &mut asking)?;
    line.clear();
    if let Some(error) = outcome.failure.take() {
        if matches!(error, EngineError::Interrupted) {
            return Err(anyhow!("interrupted"));
        }
        // What was complete before is kept, and the failure is told.
        missing.push(format!("{:#}", anyhow::Error::from(error)));
    }
    Ok(Finished { outcome, missing, system_calls })
}

/// The lab for a job; peers that drive redis-server are told to use the one that the user gave.
fn lab_of(args: &ReplicateArgs, job: &Job) -> anyhow::Result<Lab> {
    let mut lab = Lab::open(job, &mut teller(args.quiet))?;
    for (flag, address) in [("--tcp", &args.redis_tcp), ("--unix", &args.redis_unix)] {
        if let Some(address) = address {
            lab.give(|name| name.starts_with("redis"), &[flag.to_owned(), address.clone()]);
        }
    }
    Ok(lab)
}

fn job_of(cells: &[ipcost_model::Matrix]) -> Job {
    Job { cells: cells.to_vec(), ..Job::default() }
}

/// Every reason for which cells cannot be measured here, with the cells.
fn unavailable(cells: &[PlannedCell]) -> Vec<String> {
    /// More cells than this are counted, not named.
    const NAMED: usize = 3;
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for cell in cells {
        if let Some(reason) = &cell.unavailable {
            by_reason.entry(reason).or_default().push(&cell.id);
        }
    }
    let line = |(reason, ids): (&str, Vec<&str>)| {
        let named = ids[..ids.len().min(NAMED)].join(", ");
        let more = if ids.len() > NAMED { format!(" and {} more", ids.len() - NAMED) } else { String::new() };
        format!("{reason} ({named}{more})")
    };
    by_reason.into_iter().map(line).collect()
}

/// The cells of a run, whatever this machine lacks.
fn cells_of(run: &ReplicationRun) -> anyhow::Result<Vec<PlannedCell>> {
    Ok(cells_anywhere(&job_of(&run.cells), &ipcost_peers::states())?.cells)
}
