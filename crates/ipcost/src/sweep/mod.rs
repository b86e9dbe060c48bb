//! `ipcost sweep`: where one transport overtakes another, what the place of two processes costs, and that of a buffer,
//! and from how much work on it stops mattering.

mod cores;
mod layout;
mod size;
mod work;

use std::process::ExitCode;

use ipcost_lab::lab::fresh_seed;
use ipcost_lab::{EngineError, Lab};
use ipcost_model::{Document, Job, Stopped};

use crate::args::{OneRunArgs, SweepArgs, SweepOver};
use crate::exit::{INTERRUPTED, Problem, teller};
use crate::history;
use crate::output::{Showing, is_standard_output, show, write_json};
use crate::run::{Finished, begin_measuring, carry_out};

/// Does what the arguments ask for.
///
/// # Errors
/// What is wrong with the arguments, or what failed.
pub fn run(args: &SweepArgs) -> Result<ExitCode, Problem> {
    match &args.over {
        SweepOver::Size(args) => size::run(args),
        SweepOver::Cores(args) => cores::run(args),
        SweepOver::Layout(args) => layout::run(args),
        SweepOver::Work(args) => work::run(args),
    }
}

/// Measures the job of a sweep that is one run.
///
/// # Errors
/// What this machine lacks, or what failed before the first epoch.
fn measure(job: &Job, args: &OneRunArgs) -> Result<Finished, Problem> {
    let lab = Lab::open(job, &mut teller(args.quiet))?;
    let plan = lab.plan_job(job, fresh_seed())?;
    carry_out(&lab, job, plan, &begin_measuring(args.quiet, args.waiting)?, args.quiet)
}

/// Writes, shows and saves what a sweep that is one run has measured; `texts` shows the texts of its warnings.
///
/// # Errors
/// What cannot be written, or what ended the sweep.
fn end(
    args: &OneRunArgs,
    document: Document,
    failure: Option<EngineError>,
    texts: &str,
) -> Result<ExitCode, Problem> {
    let document = args.redacting.apply_to_document(document)?;
    if document.schedule.epochs > 0 {
        if let Some(path) = &args.json {
            write_json(&document, path).map_err(Problem::failed)?;
        }
        if !args.json.as_deref().is_some_and(is_standard_output) {
            show(&document, Showing { wide: false, quiet: args.quiet, texts }).map_err(Problem::failed)?;
        }
    }
    let stopped = document.stopped;
    history::keep_answer(document, args.saving, args.quiet);
    ended(failure, stopped)
}

/// How a sweep that is one run ended.
fn ended(failure: Option<EngineError>, stopped: Stopped) -> Result<ExitCode, Problem> {
    match failure {
        Some(error) => Err(error.into()),
        None if stopped == Stopped::Interrupted => Ok(ExitCode::from(INTERRUPTED)),
        None => Ok(ExitCode::SUCCESS),
    }
}
