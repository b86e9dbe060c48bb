//! `ipcost sweep work`: from how much work of the server on a transport stops mattering.

use std::process::ExitCode;

use ipcost_features::sweep::{WORK_SCHEMA, WorkRequest, WorkSweep, work_job};

use ipcost_lab::planning::DEFAULT_MARGIN;

use super::run_one;
use crate::args::WorkSweepArgs;
use crate::exit::Problem;

/// Measures both transports under every amount of work, in the same rounds.
///
/// # Errors
/// What is wrong with the arguments, or what failed.
pub fn run(args: &WorkSweepArgs) -> Result<ExitCode, Problem> {
    let measuring = &args.run.measuring;
    let request = WorkRequest {
        transports: args.transports.clone(),
        pattern: args.pattern,
        size: args.size,
        work_ns: args.work.clone(),
        placement: args.placement,
        margin: measuring.margin.unwrap_or(DEFAULT_MARGIN),
        budget: Some(measuring.budget.unwrap_or(WorkSweepArgs::BUDGET)),
        epochs: measuring.epochs,
        seed: measuring.seed,
    };
    let job = work_job(&request)?;
    let sweep = WorkSweep { schema: WORK_SCHEMA.to_owned(), request };
    run_one(&args.run, &job, &sweep)
}
