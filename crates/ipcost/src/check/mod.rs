//! `ipcost check`: whether the claims that a project keeps about its own machine hold here.

mod claims;
mod fleet;
mod outputs;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, ensure};
use ipcost_features::check::{ClaimsFile, Questions, Reference, measure, record};
use ipcost_lab::lab::{about, fresh_seed};
use ipcost_lab::{Lab, LabError, PlanError, PlanSettings};
use ipcost_model::ClaimVerdict;
use ipcost_model::units::counted;
use ipcost_model::{Document, Job, Plan, Warning};

use crate::args::{CheckArgs, OutputArgs};
use crate::consent;
use crate::exit::{FAILED, Problem, UNDECIDED, note, step_printer, warn};
use crate::finish::{Finished, RunOutputs, finish};
use crate::measuring::begin_measuring;
use crate::output::print;
use crate::progress::ProgressLine;

/// What `--init` prints.
const EXAMPLE: &str = include_str!("example.toml");

/// Does what the arguments ask for.
pub fn run(args: &CheckArgs) -> Result<ExitCode, Problem> {
    let Some(path) = args.file.as_deref().filter(|_| !args.init) else {
        print(EXAMPLE).map_err(Problem::failed)?;
        return Ok(ExitCode::SUCCESS);
    };
    let outputs = RunOutputs::of(&args.common);
    let own = args.junit.iter().chain(&args.record);
    outputs.check(own.map(PathBuf::as_path)).map_err(Problem::usage)?;
    if !args.fleet.is_empty() {
        return fleet::run(args, path);
    }
    let prepared = prepare(args, path).map_err(Problem::usage)?;
    if !args.common.quiet {
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
    let PreparedCheck { file, source, job, questions, plan, lab, warnings } = prepared;
    consent::ask(path, &source, &job, args.yes).map_err(Problem::usage)?;
    let about = about(&job, plan.seed);
    let mut line = ProgressLine::new(args.common.quiet);
    let interrupt = begin_measuring(args.common.quiet, args.common.waiting)?;
    let outcome = measure(&questions, plan, &lab, &interrupt, &mut line);
    line.clear();
    let mut outcome = outcome?;
    let failure = outcome.failure.take().map(Problem::from);
    let document = record(file, &questions, warnings, outcome, about);
    if let Some(path) = &args.record {
        return kept(args, document, failure, path);
    }
    let word = outputs::check_of(&document).map_err(Problem::failed)?.word;
    let ended = finish(&outputs, Finished { document, failure, samples: None }, outputs::own(args))?;
    Ok(if ended == ExitCode::SUCCESS { status(word) } else { ended })
}

/// Writes what was measured as a baseline, which answers nothing.
fn kept(
    args: &CheckArgs,
    document: Document,
    failure: Option<Problem>,
    path: &Path,
) -> Result<ExitCode, Problem> {
    let files = OutputArgs { json: Some(path.to_owned()), ..args.common.outputs.clone() };
    let outputs = RunOutputs { files: &files, shown: false, ..RunOutputs::of(&args.common) };
    let text = outputs::recorded(&document, path);
    let document = Document { answer: None, ..document };
    let ended = finish(&outputs, Finished { document, failure, samples: None }, None)?;
    if ended == ExitCode::SUCCESS {
        print(&text).map_err(Problem::failed)?;
    }
    Ok(ended)
}

/// Everything that is known before anything is measured.
struct PreparedCheck {
    file: String,
    source: File,
    job: Job,
    questions: Questions,
    plan: Plan,
    lab: Lab,
    warnings: Vec<Warning>,
}

impl PreparedCheck {
    /// What the user should know; the plan's own where it is not shown itself.
    fn notes(&self, plan_is_shown: bool) -> impl Iterator<Item = &String> {
        let of_plan = if plan_is_shown { &[] } else { &self.plan.notes[..] };
        of_plan.iter().chain(&self.questions.notes)
    }
}

fn prepare(args: &CheckArgs, path: &Path) -> anyhow::Result<PreparedCheck> {
    let file = path.display().to_string();
    let (mut claims, source) = claims::read(path)?;
    let job = &mut claims.job;
    job.budget = args.budget.or(job.budget);
    job.seed = args.seed.or(job.seed);
    let job = claims.job.clone();
    let lab = Lab::open(&job, &mut step_printer(args.common.quiet))?;
    let expanded = lab.cells(&job).context(file.clone())?;
    let settings = PlanSettings::of(&job, fresh_seed());
    // A baseline that is yet to be recorded need not be there.
    let kept = args.record.is_none();
    if !kept {
        claims.claims.clear();
    }
    let mut notes = Vec::new();
    if !args.before.is_empty() {
        compare_with(&mut claims, &args.before).context(file.clone())?;
    }
    let (baselines, warnings) = claims::baselines(path, &claims, args.run_to_run)?;
    if let Some(claim) = claims.claims.iter().find(|claim| claim.hosts.is_some()) {
        notes.push(format!(
            "{file}:{}: hosts is about a fleet, and this host is one; ipcost check --fleet asks many",
            claim.place.line
        ));
    }
    let mut questions =
        ipcost_features::check::prepare(&claims, &expanded.cells, settings.latency, &baselines)
            .map_err(|error| anyhow!("{file}:{error}"))?;
    questions.recording = !kept;
    questions.notes.extend(notes);
    let settings = PlanSettings { level: kept.then(|| questions.level_of_run()), ..settings };
    let plan =
        lab.plan(expanded, &settings).map_err(|error| too_small(error, &questions)).context(file.clone())?;
    Ok(PreparedCheck { file, source, job, questions, plan, lab, warnings })
}

/// Puts documents in place of the baselines that claims name.
fn compare_with(claims: &mut ClaimsFile, documents: &[String]) -> anyhow::Result<()> {
    let references = claims.claims.iter_mut().map(|claim| &mut claim.reference);
    let mut count = 0;
    for reference in references {
        if let Reference::Baseline(names) = reference {
            documents.clone_into(&mut names.value);
            count += 1;
        }
    }
    ensure!(count > 0, "--before: no claim compares with a baseline; add baseline = \"FILE\" to one");
    Ok(())
}

/// A budget that cannot decide anything, in the words of claims.
fn too_small(error: LabError, questions: &Questions) -> anyhow::Error {
    match error {
        LabError::Plan(PlanError::BudgetTooSmall { enough, cells, needed, .. })
            if questions.intervals() > 0 =>
        {
            anyhow!(
                "the budget cannot decide anything: {} for claims take at least {needed} epochs of {cells} cells; give --budget {enough}s, or fewer cells or claims",
                counted(questions.intervals() as u64, "test")
            )
        }
        error => error.into(),
    }
}

fn status(word: ClaimVerdict) -> ExitCode {
    match word {
        ClaimVerdict::Holds => ExitCode::SUCCESS,
        ClaimVerdict::Fails | ClaimVerdict::Depends => ExitCode::from(FAILED),
        ClaimVerdict::NoDifference | ClaimVerdict::Open | ClaimVerdict::NotTested => {
            ExitCode::from(UNDECIDED)
        }
    }
}
