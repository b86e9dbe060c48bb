//! `ipcost run`: measure and compare.

use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::Context;
use ipcost_engine::{
    About, EngineError, PeerProgram, ProcessBench, Settings, System, document, plan, run as measure,
};
use ipcost_model::{
    Document, Expanded, Job, Offers, PeerState, Placement, Plan, Stopped, TransportState, expand,
};
use ipcost_report::plan as plan_text;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::placement::Topology;
use ipcost_sys::{host, limits, transport};

use crate::args::RunArgs;
use crate::exit::{INTERRUPTED, Problem, complain, problem};
use crate::history;
use crate::job::job;
use crate::output::{
    at_most_one_on_standard_output, is_standard_output, print, show, write_html, write_json, write_pretty,
};
use crate::peers;
use crate::progress::Line;

/// Runs what the arguments ask for.
///
/// # Errors
/// What is wrong with the arguments, or what failed.
pub fn run(args: RunArgs) -> Result<ExitCode, Problem> {
    let outputs = [&args.json, &args.html].into_iter().flatten();
    at_most_one_on_standard_output(outputs.map(std::path::PathBuf::as_path)).map_err(Problem::usage)?;
    let transports = transport::states();
    let job = job(&args, &transports).map_err(Problem::usage)?;
    let peers = peers::prepare(&job, args.quiet);
    let plan = plan_of(&job, &transports, &peers.states).map_err(Problem::usage)?;
    if args.plan {
        return show_plan(&args, &plan).map(|()| ExitCode::SUCCESS).map_err(Problem::failed);
    }
    if !args.quiet {
        plan.notes.iter().for_each(|note| eprintln!("note: {note}"));
    }
    let interrupt = listen()?;
    let Finished { document, failure } = carry_out(&job, plan, peers.programs, interrupt, args.quiet)?;
    let document = Document { name: args.name.clone(), ..document };
    if !args.redacting.redact {
        return finish(&args, &document, failure);
    }
    match args.redacting.apply_to_document(document.clone()) {
        Ok(redacted) => finish(&args, &redacted, failure),
        Err(problem) => {
            // What was measured is not lost for that: saved runs are for this user's eyes alone.
            if document.schedule.epochs > 0 && !args.no_save {
                history::keep(&document, args.quiet);
            }
            Err(problem)
        }
    }
}

/// A run that has ended, whatever ended it.
pub struct Finished {
    pub document: Document,
    pub failure: Option<EngineError>,
}

/// Listens for signals that ask to stop.
///
/// # Errors
/// Where that is not possible.
pub fn listen() -> Result<Interrupt, Problem> {
    Interrupt::install().context("cannot listen for signals").map_err(Problem::failed)
}

fn plan_of(job: &Job, transports: &[TransportState], peers: &[PeerState]) -> anyhow::Result<Plan> {
    let plan = plan(expand_here(job, transports, peers)?, &Settings::of(job, fresh_seed()))?;
    check_descriptors(&plan)?;
    Ok(plan)
}

/// The cells of a job on this machine.
///
/// # Errors
/// What is wrong with the job.
pub fn expand_here(
    job: &Job,
    transports: &[TransportState],
    peers: &[PeerState],
) -> anyhow::Result<Expanded> {
    let topology = Topology::read();
    let unavailable = |placement: &Placement| Some((*placement, topology.pair(*placement).err()?));
    let placements_unavailable: Vec<_> = Placement::ALL.iter().filter_map(unavailable).collect();
    let offers = Offers { transports, placements_unavailable: &placements_unavailable, peers };
    Ok(expand(job, &offers)?)
}

/// A short seed, so that it is easily typed again.
pub fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (now.as_nanos() as u64 ^ u64::from(std::process::id())) & 0xffff_ffff
}

/// Every cell keeps two processes and so their pipes open; pipes among the transports need more while they start.
///
/// # Errors
/// Where the system does not give so many.
pub fn check_descriptors(plan: &Plan) -> anyhow::Result<()> {
    const PER_CELL: u64 = 2 * 4;
    const OWN: u64 = 64;
    let most_channels =
        plan.measurable().map(|index| u64::from(plan.cells[index].cell.concurrency)).max().unwrap_or(0);
    let needed = plan.measurable().count() as u64 * PER_CELL + most_channels * 4 + OWN;
    let limit = limits::raise_descriptors();
    anyhow::ensure!(
        needed <= limit,
        "this run needs about {needed} open descriptors, and the limit is {limit}; raise it with ulimit -n {needed}, or take fewer cells or less concurrency"
    );
    Ok(())
}

fn show_plan(args: &RunArgs, plan: &Plan) -> anyhow::Result<()> {
    match &args.json {
        Some(path) => write_pretty(plan, path),
        None => print(&plan_text::render(plan)),
    }
}

/// Carries a plan out and draws up its document.
///
/// # Errors
/// Where measuring cannot even begin.
pub fn carry_out(
    job: &Job,
    plan: Plan,
    programs: Vec<PeerProgram>,
    interrupt: Interrupt,
    quiet: bool,
) -> Result<Finished, Problem> {
    let programs = peers::with_native(programs).map_err(Problem::failed)?;
    let guard = peers::own_command("guard").map_err(Problem::failed)?;
    let job = Job { seed: Some(plan.seed), ..job.clone() };
    let about = About {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: host::read(),
        job,
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        debug_build: cfg!(debug_assertions),
    };
    let mut bench = ProcessBench::new(&plan, programs, &guard, interrupt).map_err(problem)?;
    let mut line = Line::new(quiet);
    let mut outcome = measure(plan, &mut bench, &mut System::default(), &mut line);
    drop(bench);
    line.clear();
    let failure = outcome.failure.take();
    Ok(Finished { document: document(outcome, about), failure })
}

/// Shows and writes what was measured, whatever ended the run.
fn finish(args: &RunArgs, document: &Document, failure: Option<EngineError>) -> Result<ExitCode, Problem> {
    let outputs = [&args.json, &args.html];
    let on_standard_output = outputs.into_iter().flatten().any(|path| is_standard_output(path));
    let measured = document.schedule.epochs > 0;
    let nothing_else_to_say = document.stopped == Stopped::Resolved || document.stopped == Stopped::Budget;
    let written = match measured || nothing_else_to_say {
        true => write(args, document),
        false => Ok(()),
    };
    let shown = if measured && !on_standard_output { show(document, args.quiet) } else { Ok(()) };
    if measured && !args.no_save {
        history::keep(document, args.quiet);
    }
    shown.map_err(Problem::failed)?;
    written.map_err(Problem::failed)?;
    match failure {
        Some(error) => Err(problem(error)),
        None if document.stopped == Stopped::Interrupted => {
            if !measured {
                complain("interrupted before the first epoch was complete; nothing was measured");
            }
            Ok(ExitCode::from(INTERRUPTED))
        }
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Writes every output that was asked for; the first that fails does not keep the others from being written.
fn write(args: &RunArgs, document: &ipcost_model::Document) -> anyhow::Result<()> {
    let json = args.json.as_ref().map_or(Ok(()), |path| write_json(document, path));
    let html = args.html.as_ref().map_or(Ok(()), |path| write_html(document, path));
    json.and(html)
}
