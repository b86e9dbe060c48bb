//! `ipcost sweep size`: the size at which one transport overtakes another.

use std::process::ExitCode;

use ipcost_features::sweep::{SizeRequest, SizeSweep, page_of_sizes, sizes};

use crate::args::SizeSweepArgs;
use crate::exit::{INTERRUPTED, Problem, teller};
use crate::history;
use crate::output::{is_standard_output, print, room, write_pretty};
use crate::run::{Recorder, begin_measuring};

/// Looks for the crossings of two transports, and shows them.
///
/// # Errors
/// What is wrong with the arguments, or what failed.
pub fn run(args: &SizeSweepArgs) -> Result<ExitCode, Problem> {
    let request = SizeRequest {
        transports: args.transports.clone(),
        pattern: args.pattern,
        from: args.from,
        to: args.to,
        resolution: args.resolution,
        placement: args.placement,
        client: args.client.clone(),
        server: args.server.clone(),
        margin: args.margin,
        budget: args.budget,
        seed: args.seed,
    };
    let quiet = args.quiet;
    let interrupt = begin_measuring(quiet, args.waiting)?;
    let (sweep, document, interrupted) = sizes(&request, &interrupt, &mut teller(quiet), &mut |about| {
        Box::new(Recorder::new(quiet, about, None))
    })?;
    let finished = finish(args, &args.redacting.apply(sweep)?, interrupted);
    if let Some(document) = document {
        history::keep_answer(args.redacting.apply_to_document(document)?, args.saving, quiet);
    }
    finished
}

fn finish(args: &SizeSweepArgs, sweep: &SizeSweep, interrupted: bool) -> Result<ExitCode, Problem> {
    if sweep.points.is_empty() {
        return Err(Problem::interrupted());
    }
    if let Some(path) = &args.json {
        write_pretty(sweep, path).map_err(Problem::failed)?;
    }
    if !args.json.as_deref().is_some_and(is_standard_output) {
        print(&page_of_sizes(sweep).terminal(false, room())).map_err(Problem::failed)?;
    }
    Ok(if interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}
