//! `ipcost sweep layout`: what the place of a buffer within a page costs.

use std::process::ExitCode;

use ipcost_features::sweep::{LAYOUT_SCHEMA, LayoutRequest, LayoutSweep, layout_job};

use super::run_one;
use crate::args::LayoutSweepArgs;
use crate::exit::Problem;

/// Measures every transport with its receive buffers at every place, in the same rounds.
///
/// # Errors
/// What is wrong with the arguments, or what failed.
pub fn run(args: &LayoutSweepArgs) -> Result<ExitCode, Problem> {
    let measuring = &args.run.measuring;
    let request = LayoutRequest {
        transports: args.transports.clone(),
        pattern: args.pattern,
        size: args.size,
        send_offset: args.send_offset,
        recv_offsets: args.recv_offsets.clone(),
        placement: args.placement,
        peer: args.peer.clone(),
        budget: Some(measuring.budget.unwrap_or(LayoutSweepArgs::BUDGET)),
        epochs: measuring.epochs,
        seed: measuring.seed,
    };
    let job = measuring.over(layout_job(&request)?);
    let sweep = LayoutSweep { schema: LAYOUT_SCHEMA.to_owned(), request };
    run_one(&args.run, &job, &sweep)
}
