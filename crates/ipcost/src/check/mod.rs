//! `ipcost check`: whether the claims that a project keeps about its own machine hold here.

mod claims;
mod outputs;

use std::cell::Cell;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use ipcost_features::check::{CHECK_SCHEMA, Check, CheckedClaim};
use ipcost_features::check::{Questions, decide, is_settled, settled, together};
use ipcost_features::replicate::Word;
use ipcost_lab::lab::{about, fresh_seed};
use ipcost_lab::planning::ALPHA;
use ipcost_lab::progress::{Observer, Phase, Progress};
use ipcost_lab::{About, EngineError, Lab, LabError, Needed, Outcome, PlanError, Settings, document};
use ipcost_model::{Job, Plan, Stopped, Tool, Warning};

use crate::args::CheckArgs;
use crate::exit::{FAILED, INTERRUPTED, Problem, UNDECIDED, complain, note, teller, warn};
use crate::output::{print, write_json};
use crate::progress::Line;
use crate::run::listen;

/// What `--init` prints.
const EXAMPLE: &str = include_str!("example.toml");

/// Does what the arguments ask for.
///
/// # Errors
/// What is wrong with the arguments or the file of claims, or what failed.
pub fn run(args: &CheckArgs) -> Result<ExitCode, Problem> {
    let Some(path) = args.file.as_deref().filter(|_| !args.init) else {
        print(EXAMPLE).map_err(Problem::failed)?;
        return Ok(ExitCode::SUCCESS);
    };
    let prepared = prepare(args, path).map_err(Problem::usage)?;
    if !args.quiet {
        prepared.notes(args.plan).for_each(|text| note(text));
        prepared.warnings.iter().for_each(|warning| warn(&warning.message));
    }
    if args.list {
        print(&outputs::list(&prepared.questions)).map_err(Problem::failed)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.plan {
        let shown = outputs::plan(&prepared.plan, &prepared.questions);
        print(&shown).map_err(Problem::failed)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Prepared { file, job, questions, plan, lab, warnings } = prepared;
    let about = about(&job, plan.seed);
    let mut outcome = measure(args, &questions, plan, &lab)?;
    let failure = outcome.failure.take();
    let claims = decide(&questions, &outcome);
    let check = Checking { file, questions: &questions, claims, warnings }.check(outcome, about);
    finish(args, &args.redacting.apply(check)?, failure)
}

/// Everything that is known before anything is measured.
struct Prepared {
    file: String,
    job: Job,
    questions: Questions,
    plan: Plan,
    lab: Lab,
    warnings: Vec<Warning>,
}

impl Prepared {
    /// What the user should know; the plan's own where it is not shown itself.
    fn notes(&self, plan_is_shown: bool) -> impl Iterator<Item = &String> {
        let of_plan = if plan_is_shown { &[] } else { &self.plan.notes[..] };
        of_plan.iter().chain(&self.questions.notes)
    }
}

fn prepare(args: &CheckArgs, path: &std::path::Path) -> anyhow::Result<Prepared> {
    let file = path.display().to_string();
    let mut claims = claims::read(path)?;
    let job = &mut claims.job;
    job.budget = args.budget.or(job.budget);
    job.seed = args.seed.or(job.seed);
    let job = claims.job.clone();
    let lab = Lab::open(&job, &mut teller(args.quiet))?;
    let expanded = lab.cells(&job).context(file.clone())?;
    let settings = Settings::of(&job, fresh_seed());
    // A baseline that is yet to be recorded need not be there.
    let kept = args.record.is_none();
    if !kept {
        claims.claims.clear();
    }
    let (baselines, warnings) = claims::baselines(path, &claims)?;
    let questions = ipcost_features::check::prepare(&claims, &expanded.cells, settings.latency, &baselines)
        .map_err(|error| anyhow!("{file}:{error}"))?;
    let settings = Settings { level: kept.then(|| questions.level_of_run()), ..settings };
    let plan =
        lab.plan(expanded, &settings).map_err(|error| too_small(error, &questions)).context(file.clone())?;
    Ok(Prepared { file, job, questions, plan, lab, warnings })
}

/// A budget that cannot decide anything, in the words of claims.
fn too_small(error: LabError, questions: &Questions) -> anyhow::Error {
    match error {
        LabError::Plan(PlanError::BudgetTooSmall { enough, cells, needed, .. })
            if questions.intervals() > 0 =>
        {
            anyhow!(
                "the budget cannot decide anything: with {} intervals for claims the first finite ones take {needed} epochs of {cells} cells; give --budget {enough}s, or fewer cells or claims",
                questions.intervals()
            )
        }
        error => error.into(),
    }
}

/// Measures until nothing is left to decide, or the budget is spent.
fn measure(args: &CheckArgs, questions: &Questions, plan: Plan, lab: &Lab) -> Result<Outcome, Problem> {
    let decided = Cell::new((0, 0));
    let recording = args.record.is_some();
    let mut asking = |outcome: &Outcome| {
        let claims = decide(questions, outcome);
        decided.set((claims.iter().filter(|claim| is_settled(claim)).count() as u32, claims.len() as u32));
        if !recording && settled(&claims) { Needed::Nothing } else { Needed::Everything }
    };
    let mut line = Claims { line: Line::new(args.quiet), decided: &decided };
    let outcome = lab.run_until(plan, &listen()?, &mut line, &mut asking)?;
    line.line.clear();
    Ok(outcome)
}

/// Progress that counts claims in the place of contrasts.
struct Claims<'a> {
    line: Line,
    decided: &'a Cell<(u32, u32)>,
}

impl Observer for Claims<'_> {
    fn progress(&mut self, progress: &Progress) {
        let phase = match progress.phase {
            Phase::Measuring { epoch, of, .. } => {
                let (resolved, contrasts) = self.decided.get();
                Phase::Measuring { epoch, of, resolved, contrasts }
            }
            Phase::Calibrating => Phase::Calibrating,
        };
        self.line.progress(&Progress { phase, ..*progress });
    }
}

/// What was decided, on its way to what is written of it.
struct Checking<'a> {
    file: String,
    questions: &'a Questions,
    claims: Vec<CheckedClaim>,
    warnings: Vec<Warning>,
}

impl Checking<'_> {
    fn check(self, mut outcome: Outcome, about: About) -> Check {
        // The document speaks of its own contrasts; what claims needed is beside it.
        outcome.plan.epochs_needed = ipcost_stats::epochs_to_expect(outcome.plan.alpha_each);
        let document = document(outcome, about);
        Check {
            schema: CHECK_SCHEMA.to_owned(),
            tool: Tool { name: "ipcost".to_owned(), version: document.tool.version.clone() },
            host: document.host.clone(),
            file: self.file,
            started: document.started.clone(),
            elapsed_s: document.elapsed_s,
            stopped: document.stopped,
            alpha: ALPHA,
            alpha_each: self.questions.level(),
            epochs: document.schedule.epochs,
            word: together(&self.claims),
            claims: self.claims,
            warnings: self.warnings,
            document,
        }
    }
}

/// Shows and writes what was decided, whatever ended the run.
fn finish(args: &CheckArgs, check: &Check, failure: Option<EngineError>) -> Result<ExitCode, Problem> {
    let measured = check.epochs > 0;
    if measured {
        match &args.record {
            Some(path) => {
                write_json(&check.document, path).map_err(Problem::failed)?;
                outputs::recorded(args, check, path).map_err(Problem::failed)?;
            }
            None => outputs::write(args, check).map_err(Problem::failed)?,
        }
    }
    match failure {
        Some(error) => return Err(error.into()),
        None if check.stopped == Stopped::Interrupted => {
            if !measured {
                complain("interrupted before the first epoch was complete; nothing was measured");
            }
            return Ok(ExitCode::from(INTERRUPTED));
        }
        None => {}
    }
    Ok(match check.word {
        _ if args.record.is_some() => ExitCode::SUCCESS,
        Word::Confirmed => ExitCode::SUCCESS,
        Word::Refuted => ExitCode::from(FAILED),
        Word::Undecided => ExitCode::from(UNDECIDED),
    })
}
