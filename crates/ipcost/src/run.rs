//! `ipcost run`: measure and compare.

use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::Context;
use ipcost_engine::progress::{Observer, Progress};
use ipcost_engine::{
    About, EngineError, Outcome, PeerProgram, ProcessBench, Settings, System, document, run as measure,
    so_far,
};
use ipcost_model::{Calibrated, Document, EpochRecord, Job, Plan, Stopped};
use ipcost_report::{plan as plan_text, terminal};
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::{host, transport};

use crate::args::{OutputArgs, RunArgs};
use crate::exit::{INTERRUPTED, Problem, complain, note, problem};
use crate::here;
use crate::history::{self, SamplesFile};
use crate::job::job;
use crate::output::{print, show, write_pretty};
use crate::outputs;
use crate::peers;
use crate::progress::Line;
use crate::redact::Redacting;

/// Runs what the arguments ask for.
///
/// # Errors
/// What is wrong with the arguments, or what failed.
pub fn run(args: RunArgs) -> Result<ExitCode, Problem> {
    let outputs =
        Outputs { files: &args.outputs, redacting: args.redacting, save: !args.no_save, quiet: args.quiet };
    outputs::check(&args.outputs).map_err(Problem::usage)?;
    let job = job(&args, &transport::states()).map_err(Problem::usage)?;
    let peers = peers::prepare(&job, args.quiet);
    let plan = here::cells(&job, &peers.states)
        .and_then(|cells| here::plan(cells, &Settings::of(&job, fresh_seed())))
        .map_err(Problem::usage)?;
    if args.plan {
        return show_plan(&args, &plan).map(|()| ExitCode::SUCCESS).map_err(Problem::failed);
    }
    if !args.quiet {
        plan.notes.iter().for_each(|text| note(text));
    }
    let interrupt = listen()?;
    let setup = RunSetup { job: &job, programs: peers.programs, interrupt, quiet: args.quiet };
    let (finished, samples) = measured(setup, plan, args.name.as_deref(), outputs.save)?;
    finish(&outputs, finished, samples)
}

/// Where results go.
pub struct Outputs<'a> {
    pub files: &'a OutputArgs,
    pub redacting: Redacting,
    /// Whether the run is kept among the saved ones.
    pub save: bool,
    pub quiet: bool,
}

/// A run that has ended, whatever ended it.
pub struct Finished {
    pub document: Document,
    pub failure: Option<EngineError>,
}

/// Listens for signals that ask to stop.
///
/// # Errors
/// Where that is not possible.
pub fn listen() -> Result<Interrupt, Problem> {
    Interrupt::install().context("cannot listen for signals").map_err(Problem::failed)
}

/// A short seed, so that it is easily typed again.
pub fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (now.as_nanos() as u64 ^ u64::from(std::process::id())) & 0xffff_ffff
}

fn show_plan(args: &RunArgs, plan: &Plan) -> anyhow::Result<()> {
    match &args.outputs.json {
        Some(path) => write_pretty(plan, path),
        None => print(&plan_text::render(plan)),
    }
}

/// What a run needs beside its plan.
struct RunSetup<'a> {
    job: &'a Job,
    programs: Vec<PeerProgram>,
    interrupt: Interrupt,
    quiet: bool,
}

/// Carries a plan out and draws up its document.
///
/// # Errors
/// Where measuring cannot even begin.
pub fn carry_out(
    job: &Job,
    plan: Plan,
    programs: Vec<PeerProgram>,
    interrupt: Interrupt,
    quiet: bool,
) -> Result<Finished, Problem> {
    measured(RunSetup { job, programs, interrupt, quiet }, plan, None, false).map(|(finished, _)| finished)
}

/// The same, with a samples file beside it where one is wanted.
fn measured(
    setup: RunSetup<'_>,
    plan: Plan,
    name: Option<&str>,
    kept: bool,
) -> Result<(Finished, Option<SamplesFile>), Problem> {
    let programs = peers::with_native(setup.programs).map_err(Problem::failed)?;
    let guard = peers::own_command("guard").map_err(Problem::failed)?;
    let about = about(setup.job, plan.seed);
    let mut bench = ProcessBench::new(&plan, programs, &guard, setup.interrupt).map_err(problem)?;
    let samples = if kept { history::begin(&about, name, &plan) } else { None };
    let mut recorder = Recorder::new(setup.quiet, about.clone(), samples);
    let outcome = measure(plan, &mut bench, &mut System::default(), &mut recorder);
    drop(bench);
    Ok(finished(outcome, about, name.map(str::to_owned), recorder))
}

/// What a document says beside what is measured now.
pub fn about(job: &Job, seed: u64) -> About {
    About {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: host::read(),
        job: Job { seed: Some(seed), ..job.clone() },
        started: now(SystemTime::now()),
        debug_build: cfg!(debug_assertions),
    }
}

/// A moment as documents tell it, RFC 3339.
pub fn now(moment: SystemTime) -> String {
    humantime::format_rfc3339_seconds(moment).to_string()
}

/// Draws up the document; gives the samples file back, if there is one.
pub fn finished(
    mut outcome: Outcome,
    about: About,
    name: Option<String>,
    recorder: Recorder,
) -> (Finished, Option<SamplesFile>) {
    recorder.line.clear();
    let failure = outcome.failure.take();
    let document = Document { name, ..document(outcome, about) };
    (Finished { document, failure }, recorder.samples)
}

/// Draws progress, and keeps what is measured in the samples file.
pub struct Recorder {
    line: Line,
    about: About,
    samples: Option<SamplesFile>,
}

/// More cells than that fit on no terminal, and to judge them takes longer than to draw them.
const MOST_TO_WATCH: usize = 500;

impl Recorder {
    /// One that draws, unless it was asked to be quiet.
    pub fn new(quiet: bool, about: About, samples: Option<SamplesFile>) -> Self {
        Self { line: Line::new(quiet), about, samples }
    }
}

impl Observer for Recorder {
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
        if outcome.plan.cells.len() <= MOST_TO_WATCH {
            self.line.above(|width, height| terminal::so_far(&so_far(outcome, &self.about), width, height));
        }
    }
}

/// Shows, writes and saves what was measured, whatever ended the run.
///
/// # Errors
/// What ended it, or what cannot be written.
pub fn finish(
    outputs: &Outputs<'_>,
    Finished { document, failure }: Finished,
    samples: Option<SamplesFile>,
) -> Result<ExitCode, Problem> {
    let on_standard_output = outputs::take_standard_output(outputs.files);
    let measured = document.schedule.epochs > 0;
    let keep = |document: &Document, samples: Option<SamplesFile>| match samples {
        samples if measured && outputs.save => history::keep(document, outputs.quiet, samples),
        Some(samples) => samples.remove(),
        None => {}
    };
    let document = match outputs.redacting.redacted(&document) {
        Ok(redacted) => redacted.unwrap_or(document),
        Err(problem) => {
            // What was measured is not lost for that: saved runs are for this user's eyes alone.
            keep(&document, samples);
            return Err(problem);
        }
    };
    let nothing_else_to_say = document.stopped == Stopped::Resolved || document.stopped == Stopped::Budget;
    let written = match measured || nothing_else_to_say {
        true => write(&document, outputs.files),
        false => Ok(()),
    };
    let shown = if measured && !on_standard_output { show(&document, outputs.quiet) } else { Ok(()) };
    keep(&document, samples);
    if document.stopped == Stopped::Interrupted && failure.is_none() {
        if !measured {
            complain("interrupted before the first epoch was complete; nothing was measured");
        }
        // A terminal that is closed interrupts, and then shows nothing: that is no other ending.
        [shown, written]
            .into_iter()
            .filter_map(Result::err)
            .for_each(|error| complain(&format!("{error:#}")));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    shown.map_err(Problem::failed)?;
    written.map_err(Problem::failed)?;
    failure.map_or(Ok(ExitCode::SUCCESS), |error| Err(problem(error)))
}

/// Writes every output that was asked for; what was measured takes time to measure again, so that a picture that
/// cannot be drawn does not keep the others from being written.
fn write(document: &Document, args: &OutputArgs) -> anyhow::Result<()> {
    let (pictures, drawn) = match outputs::draw(document, args) {
        Ok(pictures) => (pictures, Ok(())),
        Err(error) => (Vec::new(), Err(error.context("no picture is drawn"))),
    };
    outputs::write(document, args, pictures).and(drawn)
}
