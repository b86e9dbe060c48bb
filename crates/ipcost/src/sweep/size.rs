//! `ipcost sweep size`: the size at which one transport overtakes another.

use std::process::ExitCode;

use ipcost_features::sweep::{SizeRequest, Swept, sizes};

use crate::args::SizeSweepArgs;
use crate::exit::{Problem, teller};
use crate::finish::{Finished, Outputs, finish};
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
    let outputs = Outputs::new(&args.outputs, args.redacting, !args.saving.no_save, quiet);
    outputs.check(None).map_err(Problem::usage)?;
    let interrupt = begin_measuring(quiet, args.waiting)?;
    let Swept { document, failure } = sizes(&request, &interrupt, &mut teller(quiet), &mut |about| {
        Box::new(Recorder::new(quiet, about, None))
    })?;
    let failure = failure.map(Problem::from);
    match document {
        Some(document) => finish(&outputs, Finished { document, failure, samples: None }, None),
        None => Err(failure.unwrap_or_else(Problem::interrupted)),
    }
}
