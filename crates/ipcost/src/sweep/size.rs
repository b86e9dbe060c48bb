//! `ipcost sweep size`: the size at which one transport overtakes another.

use std::process::ExitCode;

use ipcost_features::sweep::{SizeRequest, sizes};

use crate::args::{SearchArgs, SizeSweepArgs};
use crate::exit::Problem;
use crate::job::one_placement;
use crate::search::search;

/// Looks for the crossings of two transports, and shows them.
pub fn run(args: &SizeSweepArgs) -> Result<ExitCode, Problem> {
    let request = SizeRequest {
        transports: args.transports.clone(),
        pattern: args.pattern,
        from: args.from,
        to: args.to,
        resolution: args.resolution,
        placement: one_placement(args.placement),
        client: args.client.clone(),
        server: args.server.clone(),
        margin: args.search.margin,
        budget: args.search.budget.unwrap_or(SearchArgs::BUDGET),
        seed: args.search.seed,
    };
    search(&args.search, |interrupt, tell, observer| sizes(&request, interrupt, tell, observer))
}
