//! `ipcost sweep layout`: what the place of a buffer within a page costs.

use std::process::ExitCode;

use ipcost_features::answer::answered;
use ipcost_features::sweep::{LAYOUT_SCHEMA, LayoutRequest, LayoutSweep, layout_job};
use ipcost_report::picture::{Background, Chart, draw};

use super::{ended, measure};
use crate::args::LayoutSweepArgs;
use crate::exit::Problem;
use crate::history;
use crate::output::{Showing, is_standard_output, show, write_json, write_text};
use crate::run::Finished;

/// Measures every transport with its receive buffers at every place, in the same rounds.
///
/// # Errors
/// What is wrong with the arguments, or what failed.
pub fn run(args: &LayoutSweepArgs) -> Result<ExitCode, Problem> {
    let request = LayoutRequest {
        transports: args.transports.clone(),
        pattern: args.pattern,
        size: args.size,
        send_offset: args.send_offset,
        recv_offsets: args.recv_offsets.clone(),
        placement: args.placement,
        peer: args.peer.clone(),
        budget: Some(args.budget),
        epochs: args.run.epochs,
        seed: args.run.seed,
    };
    let job = layout_job(&request)?;
    let Finished { document, failure } = measure(&job, &args.run)?;
    let sweep = LayoutSweep { schema: LAYOUT_SCHEMA.to_owned(), request, document };
    let document = answered(sweep.document.clone(), &sweep);
    let document = args.run.redacting.apply_to_document(document)?;
    if document.schedule.epochs > 0 {
        if let Some(path) = &args.run.json {
            write_json(&document, path).map_err(Problem::failed)?;
        }
        if let Some(path) = &args.svg {
            let picture = draw(&document, Chart::Layout, Background::default());
            let picture = picture.map_err(|error| Problem::failed(error.into()))?;
            write_text(&picture.svg(), path).map_err(Problem::failed)?;
        }
        let taken = [&args.run.json, &args.svg].into_iter().flatten().any(|path| is_standard_output(path));
        if !taken {
            show(
                &document,
                Showing { wide: args.details, quiet: args.run.quiet || !args.details, texts: "--json FILE" },
            )
            .map_err(Problem::failed)?;
        }
    }
    let stopped = document.stopped;
    history::keep_answer(document, args.run.saving, args.run.quiet);
    ended(failure, stopped)
}
