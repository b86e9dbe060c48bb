//! `ipcost run`: measure and compare.

use std::process::ExitCode;
use std::time::Duration;

use ipcost_features::ab;
use ipcost_lab::lab::{about, fresh_seed};
use ipcost_lab::{Lab, LabError, PlanError};
use ipcost_model::{Arms, Job, Matrix, Plan, Purpose};
use ipcost_report::plan as plan_text;
use ipcost_sys::transport;

use crate::args::RunArgs;
use crate::exit::{Problem, note, step_printer};
use crate::finish::{RunOutputs, finish};
use crate::job::{job, one_core_note, usual_budget};
use crate::measuring::{RunRecorder, begin_measuring, finished};
use crate::output::{print, write_pretty};

/// Runs what the arguments ask for.
pub fn run(args: RunArgs) -> Result<ExitCode, Problem> {
    let job = job(&args, &transport::states()).map_err(Problem::usage)?;
    run_job(&args, job)
}

/// Runs a job, with the rest of the arguments.
pub fn run_job(args: &RunArgs, job: Job) -> Result<ExitCode, Problem> {
    let quiet = args.common.quiet;
    let outputs = RunOutputs::of(&args.common);
    outputs.check(None).map_err(Problem::usage)?;
    let lab = Lab::open(&job, &mut step_printer(quiet))?;
    let mut asked = job;
    // Before anything is tried: what is refused starts nothing.
    let (mut job, mut plan) = planned(&lab, asked.clone())?;
    if args.job.is_none() {
        let paced = lab.paced_transfers(&asked)?;
        if let Some(both) = with_long_transfers(&lab, &asked, paced, quiet)? {
            (job, plan) = both;
            asked.cells.clone_from(&job.cells);
        }
    }
    if args.plan {
        return show_plan(args, &plan).map(|()| ExitCode::SUCCESS).map_err(Problem::failed);
    }
    let interrupt = begin_measuring(quiet, args.common.waiting)?;
    if job.ab.as_ref().is_some_and(Arms::change_the_machine) {
        // What is there now: another run may have been waited for, or something have been put back.
        (job, plan) = planned(&lab, asked.clone())?;
    }
    // A run of so many epochs is to have the same cells each time; in two arms a trial would meet what they set.
    if args.job.is_none() && job.epochs.is_none() && job.ab.is_none() {
        let long = lab.long_transfers(&asked, &interrupt)?;
        if let Some(both) = with_long_transfers(&lab, &asked, long, quiet)? {
            (job, plan) = both;
        }
    }
    if !quiet {
        one_core_note(&job).into_iter().for_each(note);
        plan.notes.iter().for_each(|text| note(text));
    }
    let (about, name) = (about(&job, plan.seed), args.name.clone());
    let begin = |plan: &Plan| RunRecorder::begin(&outputs, &about, name.as_deref(), plan, Purpose::default());
    let (outcome, recorder) = lab.run(plan, ab::question(&job), &interrupt, begin)?;
    finish(&outputs, finished(outcome, name, recorder), None)
}

/// A job with long transfers, too, and its plan; `None` if there are none to add, or the user's budget has no room for them, which is said.
fn with_long_transfers(
    lab: &Lab,
    job: &Job,
    long: Vec<Matrix>,
    quiet: bool,
) -> Result<Option<(Job, Plan)>, LabError> {
    if long.is_empty() {
        return Ok(None);
    }
    let cells = [job.cells.clone(), long].concat();
    match planned(lab, Job { cells, ..job.clone() }) {
        Ok(both) => Ok(Some(both)),
        Err(LabError::Plan(PlanError::BudgetTooSmall { enough, .. })) => {
            if !quiet {
                note(&format!(
                    "the budget has no room for long transfers over TCP, which cost more or less than bursts; --budget {enough}s measures both"
                ));
            }
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn planned(lab: &Lab, job: Job) -> Result<(Job, Plan), LabError> {
    let usual = usual_budget(&job);
    planned_in(lab, job, usual)
}

/// The plan of a job, which gets a budget if it has none: the usual one, or as much as it takes. Only what a user chose is refused.
pub fn planned_in(lab: &Lab, job: Job, usual: Option<Duration>) -> Result<(Job, Plan), LabError> {
    let given = job.budget.is_some();
    let job = Job { budget: job.budget.or(usual), ..job };
    let seed = fresh_seed();
    match ab::plan(lab, &job, seed) {
        Err(LabError::Plan(PlanError::BudgetTooSmall { enough, .. })) if !given => {
            // Room for more than the first intervals.
            let job = Job { budget: Some(Duration::from_secs(enough + enough / 2)), ..job };
            let plan = ab::plan(lab, &job, seed)?;
            Ok((job, plan))
        }
        plan => Ok((job, plan?)),
    }
}

fn show_plan(args: &RunArgs, plan: &Plan) -> anyhow::Result<()> {
    match &args.common.outputs.json {
        Some(path) => write_pretty(plan, path),
        None => print(&plan_text::render(plan)),
    }
}
