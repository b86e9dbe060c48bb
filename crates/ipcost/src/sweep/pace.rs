//! `ipcost sweep pace`: what it costs that operations come with pauses between them.

use std::process::ExitCode;

use ipcost_features::sweep::{PACE_SCHEMA, PaceRequest, PaceSweep, pace_job};
use ipcost_lab::planning::DEFAULT_MARGIN;

use super::run_one;
use crate::args::PaceSweepArgs;
use crate::exit::Problem;
use crate::job::place_as_usual;

/// Measures every transport with every pause, in the same rounds.
///
/// # Errors
/// What is wrong with the arguments, or what failed.
pub fn run(args: &PaceSweepArgs) -> Result<ExitCode, Problem> {
    let measuring = &args.run.measuring;
    let request = PaceRequest {
        transports: args.transports.clone(),
        pattern: args.pattern,
        size: args.size,
        think_ns: args.think.clone(),
        placements: args.placement.clone(),
        client: args.client.clone(),
        server: args.server.clone(),
        margin: measuring.margin.unwrap_or(DEFAULT_MARGIN),
        budget: Some(measuring.budget.unwrap_or(PaceSweepArgs::BUDGET)),
        epochs: measuring.epochs,
        seed: measuring.seed,
    };
    let mut job = pace_job(&request)?;
    place_as_usual(&mut job.cells);
    let sweep = PaceSweep { schema: PACE_SCHEMA.to_owned(), request };
    run_one(&args.run, &job, &sweep)
}
