//! `ipcost resume`: go on with a run that was killed.

use std::process::ExitCode;

use ipcost_features::ab;
use ipcost_lab::lab::{about, now};
use ipcost_lab::{About, Lab};
use ipcost_model::Resumed;

use crate::args::ResumeArgs;
use crate::exit::{Problem, note, teller};
use crate::finish::{Outputs, finish};
use crate::history;
use crate::run::{Recorder, begin_measuring, finished};

/// Goes on with it: the same seed, orders and operation counts, in what is left of its budget.
///
/// # Errors
/// That there is no such run, that the machine or the program is another one, or what failed.
pub fn run(args: &ResumeArgs) -> Result<ExitCode, Problem> {
    let outputs = Outputs::new(&args.outputs, args.redacting, true, args.quiet);
    outputs.check(None).map_err(Problem::usage)?;
    let (mut file, samples) = history::reopen(&args.run).map_err(Problem::usage)?;
    let begun = &samples.begun;
    let name = begun.name.clone();
    let now_here = about(&begun.job, begun.plan.seed);
    history::check_same(begun, &now_here).map_err(Problem::usage)?;
    let interrupt = begin_measuring(args.quiet, args.waiting)?;
    let lab = Lab::open(&begun.job, &mut teller(args.quiet))?;
    lab.check(begun)?;
    let resumed = Resumed { at: now(), after_epoch: samples.epochs.len() as u32 };
    if !args.quiet {
        note(&format!("run {} goes on after epoch {}", begun.id, resumed.after_epoch));
    }
    file.resumed(&resumed);

    let about = About { host: begun.host.clone(), started: begun.started.clone(), ..now_here };
    let question = ab::question(&samples.begun.job);
    let answer = begun.answer.clone();
    let mut recorder = Recorder::new(args.quiet, about, Some(file)).answering(answer);
    let outcome = lab.resume(samples, resumed, question, &interrupt, &mut recorder)?;
    finish(&outputs, finished(outcome, name, recorder), None)
}
