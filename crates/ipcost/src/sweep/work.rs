//! `ipcost sweep work`: from how much work of the server on a transport stops mattering.

use std::process::ExitCode;

use ipcost_features::answer::answered;
use ipcost_features::sweep::{WORK_SCHEMA, WorkRequest, WorkSweep, work_job};
use ipcost_lab::Lab;
use ipcost_lab::lab::fresh_seed;

use super::ended;
use crate::args::WorkSweepArgs;
use crate::exit::{Problem, teller};
use crate::history;
use crate::output::{Showing, is_standard_output, show, write_json};
use crate::run::{Finished, carry_out, listen};

/// Measures both transports under every amount of work, in the same rounds.
///
/// # Errors
/// What is wrong with the arguments, or what failed.
pub fn run(args: &WorkSweepArgs) -> Result<ExitCode, Problem> {
    let request = WorkRequest {
        transports: args.transports.clone(),
        pattern: args.pattern,
        size: args.size,
        work_ns: args.work.clone(),
        placement: args.placement,
        margin: args.margin,
        budget: Some(args.budget),
        epochs: args.epochs,
        seed: args.seed,
    };
    let job = work_job(&request)?;
    let lab = Lab::open(&job, &mut teller(args.quiet))?;
    let plan = lab.plan_job(&job, fresh_seed())?;
    let Finished { document, failure } = carry_out(&lab, &job, plan, &listen()?, args.quiet)?;
    let sweep = WorkSweep { schema: WORK_SCHEMA.to_owned(), request, document };
    let document = answered(sweep.document.clone(), &sweep);
    let document = args.redacting.apply_to_document(document)?;
    if document.schedule.epochs > 0 {
        if let Some(path) = &args.json {
            write_json(&document, path).map_err(Problem::failed)?;
        }
        if !args.json.as_deref().is_some_and(is_standard_output) {
            show(&document, Showing { wide: false, quiet: args.quiet, texts: "ipcost show last --warnings" })
                .map_err(Problem::failed)?;
        }
    }
    let stopped = document.stopped;
    history::keep_answer(document, args.saving, args.quiet);
    ended(failure, stopped)
}
