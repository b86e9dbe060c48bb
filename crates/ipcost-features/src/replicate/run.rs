//! One experiment after the other, each run until its claims are decided or its budget is spent.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ipcost_lab::lab::{about, cells_anywhere, envelope, fresh_seed};
use ipcost_lab::progress::Observer;
use ipcost_lab::system_calls::SystemCalls;
use ipcost_lab::{EngineError, Lab, LabError, Outcome, Settings, document};
use ipcost_model::{Document, Job, Matrix, Plan, PlannedCell, Stopped, first_few};
use ipcost_sys::interrupt::Interrupt;

use super::as_published::full;
use super::figure::published_figure;
use super::{
    ClaimsOfRun, LEDGER_SCHEMA, Ledger, LedgerRun, Measured, Replication, ReplicationRun, Software, decide,
    effects, sender_timed, tracing,
};
use crate::answer::{answered, of_runs};
use crate::explain::Sides;

/// The margin for what is not about margins at all: claims have bounds of their own.
pub(super) const NO_MARGIN: f64 = 0.0;

/// What `replicate` was asked to do.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// What every run's own budget is multiplied by.
    pub scale: f64,
    pub seed: Option<u64>,
    /// Measure the article's own counts, divided by this, in place of the runs.
    pub full: Option<u64>,
    /// A flag and its value for every peer whose name starts so: the address of the user's own server.
    pub given: Vec<(&'static str, [String; 2])>,
}

/// Receives progress and notes.
pub trait Watching {
    /// Observes what is timed.
    fn timed(&mut self) -> &mut dyn Observer;

    /// A note for the user.
    fn note(&mut self, text: &str);

    /// How long it will take, which may be hours; called before it begins.
    fn estimate(&mut self, text: &str);

    /// The number of repetitions done, of how many, and the name of the next.
    fn repetition(&mut self, done: u64, of: u64, what: &str);
}

/// By how much every run's own budget is stretched so that all of them take what the user said.
pub fn scale(replications: &[Replication], budget: Option<Duration>) -> f64 {
    let runs = replications.iter().flat_map(|replication| &replication.runs);
    let usual: f64 = runs.map(|run| own_budget(run).as_secs_f64()).sum();
    budget.map_or(1.0, |budget| budget.as_secs_f64() / usual.max(1e-9))
}

fn own_budget(run: &ReplicationRun) -> Duration {
    run.budget.unwrap_or(ipcost_lab::planning::DEFAULT_BUDGET)
}

/// One experiment, with the document of its runs, and whether it was interrupted.
///
/// What cannot be measured is in the ledger, with the reason.
pub fn run(
    request: &Request,
    replication: &Replication,
    interrupt: &Interrupt,
    watching: &mut dyn Watching,
) -> (Ledger, Option<Document>, bool) {
    let seed = request.seed.unwrap_or_else(fresh_seed);
    let envelope = envelope(LEDGER_SCHEMA);
    let mut runs = Vec::new();
    let mut outcomes: Vec<(Software, Outcome, _)> = Vec::new();
    let mut jobs: Vec<Job> = Vec::new();
    let mut interrupted = false;
    let full_run = request.full.map(|_| vec![article_run(replication)]);
    for run in full_run.as_ref().unwrap_or(&replication.runs) {
        watching.note(&format!("{}: {}: {}", replication.id, run.software, run.about));
        let at = Instant::now();
        let mut record = LedgerRun {
            software: run.software,
            about: run.about.clone(),
            elapsed_s: 0.0,
            epochs: 0,
            missing: Vec::new(),
        };
        match measure(request, replication, run, seed, interrupt, watching) {
            Ok(finished) => {
                record.missing = finished.missing;
                record.epochs = finished.outcome.epochs;
                interrupted = finished.outcome.stopped == Stopped::Interrupted;
                if record.epochs > 0 {
                    outcomes.push((run.software, finished.outcome, finished.system_calls));
                    jobs.push(Job { batch: run.batch, ..job_of(&run.cells) });
                }
            }
            Err(error) => record.missing.push(error.to_string()),
        }
        record.elapsed_s = at.elapsed().as_secs_f64();
        runs.push(record);
        if interrupted || interrupt.asked() {
            interrupted = true;
            break;
        }
    }
    let measured: Vec<Measured<'_>> = outcomes
        .iter()
        .map(|(software, outcome, system_calls)| Measured::new(*software, outcome, system_calls))
        .collect();
    let mut ledger = Ledger {
        envelope,
        id: replication.id.clone(),
        question: replication.question.clone(),
        machine: replication.machine.clone(),
        source: replication.source.clone(),
        differs: differs(replication, request.full.is_some()),
        seed,
        effects: effects(replication, &measured),
        claims: decide(replication, &measured),
        figure: None,
        runs,
    };
    let documents = outcomes
        .into_iter()
        .zip(jobs)
        .map(|((software, outcome, _), job)| (software, document(outcome, about(&job, seed))));
    let documents: Vec<(Software, Document)> = documents.collect();
    let of_software: Vec<(Software, &Document)> =
        documents.iter().map(|(software, document)| (*software, document)).collect();
    ledger.figure = published_figure(replication, &of_software);
    let documents = documents.into_iter().map(|(_, document)| document).collect();
    let document = of_runs(documents).map(|document| answered(document, &ledger));
    (ledger, document, interrupted)
}

struct Finished {
    outcome: Outcome,
    missing: Vec<String>,
    system_calls: BTreeMap<usize, Sides<SystemCalls>>,
}

/// Measures one run until every claim is decided, or its budget is spent; the article's own counts to their end.
fn measure(
    request: &Request,
    replication: &Replication,
    run: &ReplicationRun,
    seed: u64,
    interrupt: &Interrupt,
    watching: &mut dyn Watching,
) -> Result<Finished, LabError> {
    let (lab, plan) = match request.full {
        Some(divide) => full(request, replication, divide, interrupt, watching)?,
        None => planned(request, replication, run, seed, watching)?,
    };
    plan.notes.iter().for_each(|text| watching.note(text));
    let mut missing = unavailable(&plan.cells);

    let system_calls = if tracing::is_wanted(replication, run.software) {
        tracing::trace(replication, run.software, lab.tracing(&plan, interrupt)).unwrap_or_else(|error| {
            missing.push(error.to_string());
            Default::default()
        })
    } else {
        Default::default()
    };

    let question = ClaimsOfRun { replication, software: run.software, system_calls: &system_calls };
    let (mut outcome, _) = lab.run(plan, &question, interrupt, |_| watching.timed())?;
    if let Some(error) = outcome.failure.take() {
        if matches!(error, EngineError::Interrupted) {
            return Err(error.into());
        }
        // What was complete before is kept, and the failure is told.
        missing.push(error.to_string());
    }
    Ok(Finished { outcome, missing, system_calls })
}

/// The plan of a run, with the lab for it.
fn planned(
    request: &Request,
    replication: &Replication,
    run: &ReplicationRun,
    seed: u64,
    watching: &mut dyn Watching,
) -> Result<(Lab, Plan), LabError> {
    let job = job_of(&run.cells);
    let lab = lab_of(request, &job, watching)?;
    let expanded = lab.cells(&job)?;
    let settings = Settings {
        budget: Some(own_budget(run).mul_f64(request.scale)),
        batch: run.batch,
        counted: true,
        margin: NO_MARGIN,
        sender_timed: sender_timed(replication, &expanded.cells),
        ..Settings::of(&job, seed)
    };
    let plan = lab.plan(expanded, &settings)?;
    Ok((lab, plan))
}

/// The article's own cells, as a run.
fn article_run(replication: &Replication) -> ReplicationRun {
    let cells = replication.as_published.iter().flat_map(|published| &published.cells);
    ReplicationRun {
        software: Software::Original,
        about: "the article's own counts and repetitions, all cells in random order in each".to_owned(),
        budget: None,
        batch: None,
        os: Vec::new(),
        cells: cells.map(|cells| cells.cell.clone()).collect(),
    }
}

/// What cannot be as it was; with the article's own counts that is less.
fn differs(replication: &Replication, full: bool) -> Option<String> {
    let own = replication.as_published.as_ref().and_then(|published| published.differs.clone());
    own.filter(|_| full).or_else(|| replication.differs.clone())
}

/// The lab for a job; peers that drive a server are told of the one that the user gave.
///
/// # Errors
/// As [`Lab::open`].
pub(super) fn lab_of(request: &Request, job: &Job, watching: &mut dyn Watching) -> Result<Lab, LabError> {
    let mut lab = Lab::open(job, &mut |text| watching.note(text))?;
    for (start, words) in &request.given {
        lab.give(|name| name.starts_with(start), words);
    }
    Ok(lab)
}

pub(super) fn job_of(cells: &[Matrix]) -> Job {
    Job { cells: cells.to_vec(), ..Job::default() }
}

/// Every reason for which cells cannot be measured here, with the cells.
fn unavailable(cells: &[PlannedCell]) -> Vec<String> {
    /// More cells than this are counted, not named.
    const NAMED: usize = 3;
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for cell in cells {
        if let Some(reason) = &cell.unavailable {
            by_reason.entry(reason).or_default().push(&cell.id);
        }
    }
    let line = |(reason, ids): (&str, Vec<&str>)| format!("{reason} ({})", first_few(&ids, NAMED));
    by_reason.into_iter().map(line).collect()
}

/// The cells of a run, whatever this machine lacks.
///
/// # Errors
/// What is wrong with them.
pub fn cells_of_run(run: &ReplicationRun) -> Result<Vec<PlannedCell>, LabError> {
    Ok(cells_anywhere(&job_of(&run.cells), &ipcost_foreign::states())?.cells)
}
