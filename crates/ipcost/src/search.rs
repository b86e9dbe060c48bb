//! What looks for something step by step: `ipcost load`, `ipcost sweep size`.

use std::process::ExitCode;

use ipcost_features::search::Searched;
use ipcost_lab::progress::Observer;
use ipcost_lab::{About, LabError};
use ipcost_sys::interrupt::Interrupt;

use crate::args::SearchArgs;
use crate::exit::{Problem, step_printer};
use crate::finish::{Finished, RunOutputs, finish};
use crate::measuring::{RunRecorder, begin_measuring};

/// Searches, and shows what was found; what is searched for gets the request to stop, what tells of preparations, and what observes each run.
pub fn search(
    args: &SearchArgs,
    look: impl FnOnce(
        &Interrupt,
        &mut dyn FnMut(&str),
        &mut dyn FnMut(About) -> Box<dyn Observer>,
    ) -> Result<Searched, LabError>,
) -> Result<ExitCode, Problem> {
    let quiet = args.common.quiet;
    let outputs = RunOutputs::of(&args.common);
    outputs.check(None).map_err(Problem::usage)?;
    let interrupt = begin_measuring(quiet, args.common.waiting)?;
    let mut observer = |about: About| -> Box<dyn Observer> { Box::new(RunRecorder::new(quiet, about, None)) };
    let Searched { document, failure } = look(&interrupt, &mut step_printer(quiet), &mut observer)?;
    let failure = failure.map(Problem::from);
    match document {
        Some(document) => finish(&outputs, Finished { document, failure, samples: None }, None),
        None => Err(failure.unwrap_or_else(Problem::interrupted)),
    }
}
