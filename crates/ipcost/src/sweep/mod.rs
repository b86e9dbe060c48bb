//! `ipcost sweep`: where one transport overtakes another, what the place of two processes costs, and that of a buffer,
//! and from how much work on it stops mattering.

mod cores;
mod layout;
mod size;
mod work;

use std::process::ExitCode;

use ipcost_lab::EngineError;
use ipcost_model::Stopped;

use crate::args::{SweepArgs, SweepOver};
use crate::exit::{INTERRUPTED, Problem};

/// Does what the arguments ask for.
///
/// # Errors
/// What is wrong with the arguments, or what failed.
pub fn run(args: &SweepArgs) -> Result<ExitCode, Problem> {
    match &args.over {
        SweepOver::Size(args) => size::run(args),
        SweepOver::Cores(args) => cores::run(args),
        SweepOver::Layout(args) => layout::run(args),
        SweepOver::Work(args) => work::run(args),
    }
}

/// How a sweep that is one run ended.
fn ended(failure: Option<EngineError>, stopped: Stopped) -> Result<ExitCode, Problem> {
    match failure {
        Some(error) => Err(error.into()),
        None if stopped == Stopped::Interrupted => Ok(ExitCode::from(INTERRUPTED)),
        None => Ok(ExitCode::SUCCESS),
    }
}
