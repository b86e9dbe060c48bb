//! `ipcost sweep layout`: what the place of a buffer within a page costs.

use std::process::ExitCode;

use ipcost_features::sweep::{LayoutRequest, layout_job, layout_table};
use ipcost_lab::Lab;
use ipcost_lab::lab::fresh_seed;
use ipcost_model::Stopped;
use ipcost_report::picture::{Background, Chart, draw};

use crate::args::LayoutSweepArgs;
use crate::exit::{INTERRUPTED, Problem, teller};
use crate::output::{Showing, is_standard_output, print, room, show, write_json, write_text};
use crate::run::{Finished, carry_out, listen};

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
        budget: args.budget,
        epochs: args.epochs,
        seed: args.seed,
    };
    let job = layout_job(&request)?;
    let lab = Lab::open(&job, &mut teller(args.quiet))?;
    let plan = lab.plan_job(&job, fresh_seed())?;
    let Finished { document, failure } = carry_out(&lab, &job, plan, &listen()?, args.quiet)?;
    let document = args.redacting.apply_to_document(document)?;
    if document.schedule.epochs > 0 {
        if let Some(path) = &args.json {
            write_json(&document, path).map_err(Problem::failed)?;
        }
        if let Some(path) = &args.svg {
            let picture = draw(&document, Chart::Layout, Background::default());
            let picture = picture.map_err(|error| Problem::failed(error.into()))?;
            write_text(&picture.svg(), path).map_err(Problem::failed)?;
        }
        let taken = [&args.json, &args.svg].into_iter().flatten().any(|path| is_standard_output(path));
        if !taken {
            print(&layout_table(&document, &request, room())).map_err(Problem::failed)?;
            if args.details {
                show(&document, Showing { wide: false, quiet: args.quiet, texts: "--json FILE" })
                    .map_err(Problem::failed)?;
            }
        }
    }
    match failure {
        Some(error) => Err(error.into()),
        None if document.stopped == Stopped::Interrupted => Ok(ExitCode::from(INTERRUPTED)),
        None => Ok(ExitCode::SUCCESS),
    }
}
