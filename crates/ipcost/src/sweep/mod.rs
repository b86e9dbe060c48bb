//! `ipcost sweep`: where one transport overtakes another, what the place of two processes costs, and that of a buffer,
//! and from how much work on it stops mattering.

mod cores;
mod option;
mod size;

use std::process::ExitCode;
use std::time::Duration;

use ipcost_lab::Lab;
use ipcost_model::Job;
use serde::Serialize;

use crate::args::{OneRunArgs, SweepArgs, SweepOver};
use crate::exit::{Problem, step_printer};
use crate::finish::{RunOutputs, finish};
use crate::measuring::{begin_measuring, carry_out};
use crate::run::planned_in;

/// The budget of a sweep for which no one says one.
const USUAL: Duration = Duration::from_secs(30);
/// The same of one with many values.
const LONG: Duration = Duration::from_secs(60);

/// Does what the arguments ask for.
pub fn run(args: &SweepArgs) -> Result<ExitCode, Problem> {
    match &args.over {
        SweepOver::Size(args) => size::run(args),
        SweepOver::Cores(args) => cores::run(args),
        SweepOver::Layout(args) => option::layout(args),
        SweepOver::Pace(args) => option::pace(args),
        SweepOver::Work(args) => option::work(args),
    }
}

/// Measures the job of a sweep that is one run, and gives its answer.
fn run_one(
    args: &OneRunArgs,
    job: Job,
    usual: Duration,
    answer: &impl Serialize,
) -> Result<ExitCode, Problem> {
    let outputs = RunOutputs::of(&args.common);
    outputs.check(None).map_err(Problem::usage)?;
    let lab = Lab::open(&job, &mut step_printer(args.common.quiet))?;
    let (job, plan) = planned_in(&lab, job, Some(usual))?;
    let interrupt = begin_measuring(args.common.quiet, args.common.waiting)?;
    let answer = serde_json::to_value(answer).map_err(|error| Problem::failed(error.into()))?;
    finish(&outputs, carry_out(&lab, &job, plan, &interrupt, &outputs, answer)?, None)
}
