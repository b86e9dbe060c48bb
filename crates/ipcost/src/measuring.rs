//! What commands that measure have in common: they meet others that measure, carry a plan out, and draw up its document.

use std::time::{Duration, Instant};

use anyhow::Context;
use ipcost_features::ab;
use ipcost_features::answer::answered;
use ipcost_lab::journal;
use ipcost_lab::lab::about;
use ipcost_lab::machine_observer::neighbours;
use ipcost_lab::progress::{Observer, Progress};
use ipcost_lab::{About, CampaignState, Contrasts, Lab, document, so_far};
use ipcost_model::units::duration_text;
use ipcost_model::{Calibrated, Document, EpochRecord, Job, Metric, Plan, Purpose};
use ipcost_report::run_page;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::{Neighbour, measuring};
use serde_json::Value;

use crate::args::Waiting;
use crate::exit::{Problem, note, warn};
use crate::finish::{Finished, RunOutputs};
use crate::history::{self, SamplesFile};
use crate::progress::{ProgressLine, bar};

/// Begins to measure: listens for signals that ask to stop, and does what [`meet_others`] does.
pub fn begin_measuring(quiet: bool, waiting: Waiting) -> Result<Interrupt, Problem> {
    let interrupt = listen()?;
    meet_others(quiet, waiting, &|| interrupt.asked())?;
    Ok(interrupt)
}

/// Tells of others that measure or waits for them, and undoes what a run that was killed has left changed. Every command that measures
/// does this before it looks at the machine.
pub fn meet_others(quiet: bool, waiting: Waiting, is_asked: &dyn Fn() -> bool) -> Result<(), Problem> {
    if let Some(patience) = waiting.wait {
        wait_for_others(quiet, patience, is_asked)?;
    }
    measuring::mark();
    for other in neighbours::others().iter().filter(|_| !quiet) {
        let Neighbour { process, user } = other;
        warn(&format!(
            "another ipcost measures on this machine (process {process} of {user}); each distorts the other, and --wait waits for it"
        ));
    }
    // Not even a quiet run changes the machine in silence.
    if let Some(undone) = journal::undo() {
        note(&undone);
    }
    Ok(())
}

/// How often to look whether others still measure.
const LOOK: Duration = Duration::from_millis(100);

fn wait_for_others(quiet: bool, patience: Duration, is_asked: &dyn Fn() -> bool) -> Result<(), Problem> {
    if !measuring::is_known() {
        let reason = "this system does not show what others measure, so there is nothing to wait for; leave out --wait";
        return Err(Problem::usage(anyhow::anyhow!(reason)));
    }
    measuring::mark_as_waiting();
    let mut told = Vec::new();
    let line = bar(quiet, 1, "{msg}");
    let began = Instant::now();
    loop {
        let ahead = neighbours::ahead();
        if ahead.is_empty() {
            line.finish_and_clear();
            return Ok(());
        }
        if is_asked() {
            line.finish_and_clear();
            return Err(Problem::interrupted());
        }
        let names: Vec<String> =
            ahead.iter().map(|other| format!("process {} of {}", other.process, other.user)).collect();
        // Any user may call a process so, and never end it.
        if began.elapsed() >= patience {
            line.finish_and_clear();
            return Err(Problem::failed(anyhow::anyhow!(
                "{} still measured after {}; wait longer with --wait=TIME, or leave --wait out",
                names.join(", "),
                duration_text(patience)
            )));
        }
        let text = format!("waiting until no other ipcost measures ({})", names.join(", "));
        if line.is_hidden() && !quiet && told != ahead {
            note(&text);
        }
        told = ahead;
        line.set_message(text);
        std::thread::sleep(LOOK);
    }
}

/// Listens for signals that ask to stop.
pub fn listen() -> Result<Interrupt, Problem> {
    Interrupt::install().context("cannot listen for signals").map_err(Problem::failed)
}

/// Carries a plan out and draws up its document, with an answer that is known before it ends.
pub fn carry_out(
    lab: &Lab,
    job: &Job,
    plan: Plan,
    interrupt: &Interrupt,
    outputs: &RunOutputs<'_>,
    answer: Value,
) -> Result<Finished, Problem> {
    let about = about(job, plan.seed);
    let begin = |plan: &Plan| {
        let purpose = Purpose { answer: Some(answer), request: None };
        RunRecorder::begin(outputs, &about, None, plan, purpose)
    };
    let (outcome, recorder) = lab.run(plan, &Contrasts, interrupt, begin)?;
    Ok(finished(outcome, None, recorder))
}

/// Draws up the document.
pub fn finished(mut outcome: CampaignState, name: Option<String>, recorder: RunRecorder) -> Finished {
    recorder.line.clear();
    let failure = outcome.failure.take().map(Problem::from);
    let document = Document { name, ..document(outcome, recorder.about) };
    Finished { document: with_answer(document, recorder.answer), failure, samples: recorder.samples }
}

/// A document with its answer: one that was known before it was measured, or what two arms say.
pub fn with_answer(document: Document, known: Option<Value>) -> Document {
    match known.is_none().then(|| ab::comparison(&document, Metric::Wall)).flatten() {
        Some(comparison) => answered(document, &comparison),
        None => Document { answer: known, ..document },
    }
}

/// Draws progress, and keeps what is measured in the samples file.
pub struct RunRecorder {
    line: ProgressLine,
    about: About,
    samples: Option<SamplesFile>,
    /// What the run answers, where that is known before it ends.
    answer: Option<Value>,
}

/// More cells than that fit on no terminal, and to judge them takes longer than to draw them.
const MOST_TO_WATCH: usize = 500;

impl RunRecorder {
    /// One that draws, unless it was asked to be quiet.
    pub fn new(quiet: bool, about: About, samples: Option<SamplesFile>) -> Self {
        Self { line: ProgressLine::new(quiet), about, samples, answer: None }
    }

    /// One that draws unless the outputs are quiet, and begins a samples file if the run is to be saved.
    pub fn begin(
        outputs: &RunOutputs<'_>,
        about: &About,
        name: Option<&str>,
        plan: &Plan,
        purpose: Purpose,
    ) -> Self {
        let answer = purpose.answer.clone();
        let samples = if outputs.save { history::begin(about, name, plan, purpose) } else { None };
        Self::new(outputs.quiet, about.clone(), samples).answering(answer)
    }

    /// The same, with what the run answers where that is known before it ends.
    pub fn answering(self, answer: Option<Value>) -> Self {
        Self { answer, ..self }
    }
}

impl Observer for RunRecorder {
    fn progress(&mut self, progress: &Progress) {
        self.line.progress(progress);
    }

    fn calibrated(&mut self, calibrated: &Calibrated) {
        if let Some(samples) = &mut self.samples {
            samples.calibrated(calibrated);
        }
    }

    fn epoch(&mut self, epoch: &EpochRecord) {
        if let Some(samples) = &mut self.samples {
            samples.epoch(epoch);
        }
    }

    fn judged(&mut self, outcome: &CampaignState) {
        if outcome.plan.epochs_exact.is_none() {
            self.line.expect(outcome.plan.epochs_needed);
        }
        if outcome.plan.cells.len() <= MOST_TO_WATCH && outcome.plan.arms.is_none() {
            self.line.above(|width, height| run_page::so_far(&so_far(outcome, &self.about), width, height));
        }
    }
}
