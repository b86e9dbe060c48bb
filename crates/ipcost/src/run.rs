//! `ipcost run`: measure and compare.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use ipcost_features::ab;
use ipcost_features::answer::answered;
use ipcost_lab::journal;
use ipcost_lab::lab::{about, fresh_seed};
use ipcost_lab::machine_observer::neighbours;
use ipcost_lab::progress::{Observer, Progress};
use ipcost_lab::{About, Contrasts, Lab, LabError, Outcome, PlanError, document, so_far};
use ipcost_model::units::duration_text;
use ipcost_model::{Arms, Calibrated, Document, EpochRecord, Job, Matrix, Metric, Plan, Purpose};
use ipcost_report::{plan as plan_text, run_page};
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::transport;
use ipcost_sys::{Neighbour, measuring};
use serde_json::Value;

use crate::args::{RunArgs, Waiting};
use crate::exit::{Problem, note, step_printer, warn};
use crate::finish::{Finished, Outputs, finish};
use crate::history::{self, SamplesFile};
use crate::job::{job, one_core_note, usual_budget};
use crate::output::{print, write_pretty};
use crate::progress::{ProgressLine, bar};

/// Runs what the arguments ask for.
pub fn run(args: RunArgs) -> Result<ExitCode, Problem> {
    let job = job(&args, &transport::states()).map_err(Problem::usage)?;
    run_job(&args, job)
}

/// Runs a job, with the rest of the arguments.
pub fn run_job(args: &RunArgs, job: Job) -> Result<ExitCode, Problem> {
    let outputs = Outputs::new(&args.outputs, args.redacting, !args.no_save, args.quiet);
    outputs.check(None).map_err(Problem::usage)?;
    let lab = Lab::open(&job, &mut step_printer(args.quiet))?;
    let mut asked = job;
    // Before anything is tried: what is refused starts nothing.
    let (mut job, mut plan) = planned(&lab, asked.clone())?;
    if args.job.is_none() {
        let paced = lab.paced_transfers(&asked)?;
        if let Some(both) = with_long_transfers(&lab, &asked, paced, args.quiet)? {
            (job, plan) = both;
            asked.cells.clone_from(&job.cells);
        }
    }
    if args.plan {
        return show_plan(args, &plan).map(|()| ExitCode::SUCCESS).map_err(Problem::failed);
    }
    let interrupt = begin_measuring(args.quiet, args.waiting)?;
    if job.ab.as_ref().is_some_and(Arms::change_the_machine) {
        // What is there now: another run may have been waited for, or something have been put back.
        (job, plan) = planned(&lab, asked.clone())?;
    }
    // A run of so many epochs is to have the same cells each time; in two arms a trial would meet what they set.
    if args.job.is_none() && job.epochs.is_none() && job.ab.is_none() {
        let long = lab.long_transfers(&asked, &interrupt)?;
        if let Some(both) = with_long_transfers(&lab, &asked, long, args.quiet)? {
            (job, plan) = both;
        }
    }
    if !args.quiet {
        one_core_note(&job).into_iter().for_each(note);
        plan.notes.iter().for_each(|text| note(text));
    }
    let (about, name) = (about(&job, plan.seed), args.name.clone());
    let begin = |plan: &Plan| RunRecorder::begin(&outputs, &about, name.as_deref(), plan, Purpose::default());
    let (outcome, recorder) = lab.run(plan, ab::question(&job), &interrupt, begin)?;
    finish(&outputs, finished(outcome, name, recorder), None)
}

/// A job with long transfers, too, and its plan; `None` if there are none to add, or the user's budget has no room for them, which is said.
fn with_long_transfers(
    lab: &Lab,
    job: &Job,
    long: Vec<Matrix>,
    quiet: bool,
) -> Result<Option<(Job, Plan)>, LabError> {
    if long.is_empty() {
        return Ok(None);
    }
    let cells = [job.cells.clone(), long].concat();
    match planned(lab, Job { cells, ..job.clone() }) {
        Ok(both) => Ok(Some(both)),
        Err(LabError::Plan(PlanError::BudgetTooSmall { enough, .. })) => {
            if !quiet {
                note(&format!(
                    "the budget has no room for long transfers over TCP, which cost more or less than bursts; --budget {enough}s measures both"
                ));
            }
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The plan of a job, which gets the usual budget if it has none: with two arms, what they take.
fn planned(lab: &Lab, job: Job) -> Result<(Job, Plan), LabError> {
    let given = job.budget.is_some();
    let job = Job { budget: job.budget.or_else(|| usual_budget(&job)), ..job };
    let seed = fresh_seed();
    match ab::plan(lab, &job, seed) {
        Err(LabError::Plan(PlanError::BudgetTooSmall { enough, .. })) if job.ab.is_some() && !given => {
            // Room for more than the first intervals.
            let job = Job { budget: Some(Duration::from_secs(enough + enough / 2)), ..job };
            let plan = ab::plan(lab, &job, seed)?;
            Ok((job, plan))
        }
        plan => Ok((job, plan?)),
    }
}

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

fn show_plan(args: &RunArgs, plan: &Plan) -> anyhow::Result<()> {
    match &args.outputs.json {
        Some(path) => write_pretty(plan, path),
        None => print(&plan_text::render(plan)),
    }
}

/// Carries a plan out and draws up its document, with an answer that is known before it ends.
pub fn carry_out(
    lab: &Lab,
    job: &Job,
    plan: Plan,
    interrupt: &Interrupt,
    outputs: &Outputs<'_>,
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
pub fn finished(mut outcome: Outcome, name: Option<String>, recorder: RunRecorder) -> Finished {
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
        outputs: &Outputs<'_>,
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

    fn judged(&mut self, outcome: &Outcome) {
        if outcome.plan.epochs_exact.is_none() {
            self.line.expect(outcome.plan.epochs_needed);
        }
        if outcome.plan.cells.len() <= MOST_TO_WATCH && outcome.plan.arms.is_none() {
            self.line.above(|width, height| run_page::so_far(&so_far(outcome, &self.about), width, height));
        }
    }
}
