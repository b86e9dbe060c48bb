//! `ipcost resume`: go on with a run that was killed.

use std::process::ExitCode;

use ipcost_features::ab;
use ipcost_lab::lab::{about, now};
use ipcost_lab::{About, CampaignState, EngineError, Lab};
use ipcost_model::{Begun, Resumed, Samples};

use crate::app;
use crate::args::ResumeArgs;
use crate::exit::{Problem, note, step_printer};
use crate::finish::{Finished, RunOutputs, finish};
use crate::history::{self, SamplesFile};
use crate::measuring::{RunRecorder, begin_measuring, finished};

/// Goes on with it: the same seed, orders and operation counts, in what is left of its budget.
///
/// # Errors
/// That there is no such run, that the machine or the program is another one, or what failed.
pub fn run(args: &ResumeArgs) -> Result<ExitCode, Problem> {
    let outputs = RunOutputs::new(&args.outputs, args.redacting, true, args.quiet);
    outputs.check(None).map_err(Problem::usage)?;
    let (file, samples) = history::reopen(&args.run).map_err(Problem::usage)?;
    let begun = &samples.begun;
    let now_here = about(&begun.job, begun.plan.seed);
    history::check_same(begun, &now_here).map_err(Problem::usage)?;
    let killed = Killed { file, samples, now_here };
    if let Some(request) = killed.samples.begun.purpose.request.clone() {
        return app::resume(request, killed, args.waiting, &outputs);
    }
    let interrupt = begin_measuring(args.quiet, args.waiting)?;
    let lab = Lab::open(&killed.samples.begun.job, &mut step_printer(args.quiet))?;
    lab.check(&killed.samples.begun)?;
    let question = ab::question(&killed.samples.begun.job);
    let finished = killed.go_on(args.quiet, |samples, resumed, recorder| {
        lab.resume(samples, resumed, question, &interrupt, recorder)
    })?;
    finish(&outputs, finished, None)
}

/// A run that was killed, on the machine and with the program that began it.
pub struct Killed {
    file: SamplesFile,
    pub samples: Samples,
    now_here: About,
}

impl Killed {
    /// Goes on with it by `measure`, and draws up the document of all that was measured.
    pub fn go_on(
        mut self,
        quiet: bool,
        measure: impl FnOnce(Samples, Resumed, &mut RunRecorder) -> Result<CampaignState, EngineError>,
    ) -> Result<Finished, Problem> {
        let Begun { id, name, host, started, purpose, .. } = &self.samples.begun;
        let resumed = Resumed { at: now(), after_epoch: self.samples.epochs.len() as u32 };
        if !quiet {
            note(&format!("run {id} goes on after epoch {}", resumed.after_epoch));
        }
        self.file.resumed(&resumed);
        let about = About { host: host.clone(), started: started.clone(), ..self.now_here };
        let (name, answer) = (name.clone(), purpose.answer.clone());
        let mut recorder = RunRecorder::new(quiet, about, Some(self.file)).answering(answer);
        let outcome = measure(self.samples, resumed, &mut recorder)?;
        Ok(finished(outcome, name, recorder))
    }
}
