//! `ipcost sweep layout`, `pace` and `work`: transports over several values of one option.

use std::process::ExitCode;

use ipcost_features::sweep::{OPTION_SCHEMA, OptionRequest, OptionSweep, Over, option_job};
use ipcost_lab::planning::DEFAULT_MARGIN;
use ipcost_model::{NATIVE, Placement};

use super::{LONG, USUAL, run_one};
use crate::args::{LayoutSweepArgs, OneRunArgs, PaceSweepArgs, SweptArgs, WorkSweepArgs};
use crate::exit::Problem;
use crate::job::{one_placement, place_as_usual};

/// Measures every transport with its receive buffers at every place.
pub fn layout(args: &LayoutSweepArgs) -> Result<ExitCode, Problem> {
    let LayoutSweepArgs { swept, send_offset, recv_offsets, placement, peer, run } = args;
    let over = Over::Layout { send_offset: *send_offset };
    measure(over, swept, recv_offsets, &[one_placement(*placement)], [peer, peer], run)
}

/// Measures every transport with every pause.
pub fn pace(args: &PaceSweepArgs) -> Result<ExitCode, Problem> {
    let PaceSweepArgs { swept, think, placement, client, server, run } = args;
    measure(Over::Pace, swept, think, placement, [client, server], run)
}

/// Measures both transports under every amount of work.
pub fn work(args: &WorkSweepArgs) -> Result<ExitCode, Problem> {
    let WorkSweepArgs { swept, work, placement, run } = args;
    measure(Over::Work, swept, work, &[one_placement(*placement)], [NATIVE; 2], run)
}

fn measure(
    over: Over,
    swept: &SweptArgs,
    values: &[u64],
    placements: &[Placement],
    [client, server]: [&str; 2],
    run: &OneRunArgs,
) -> Result<ExitCode, Problem> {
    let measuring = &run.measuring;
    let request = OptionRequest {
        over,
        transports: swept.transports.clone(),
        pattern: swept.pattern,
        size: swept.size,
        values: values.to_vec(),
        placements: placements.to_vec(),
        client: client.to_owned(),
        server: server.to_owned(),
        margin: measuring.margin.unwrap_or(DEFAULT_MARGIN),
        budget: measuring.budget,
        epochs: measuring.epochs,
        seed: measuring.seed,
    };
    let mut job = option_job(&request)?;
    place_as_usual(&mut job.cells);
    let usual = if over == Over::Work { USUAL } else { LONG };
    run_one(run, job, usual, &OptionSweep { schema: OPTION_SCHEMA.to_owned(), request })
}
