//! One experiment after the other, each run until its claims are decided or its budget is spent.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ipcost_lab::lab::{about, cells_anywhere, fresh_seed};
use ipcost_lab::progress::Observer;
use ipcost_lab::system_calls::SystemCalls;
use ipcost_lab::{EngineError, Lab, LabError, Outcome, PlanError, Settings, document, unmeasured};
use ipcost_model::units::duration_text;
use ipcost_model::{
    Document, Job, Matrix, OptionValue, Plan, PlannedCell, Stopped, TCP_CONGESTION, first_few,
};
use ipcost_sys::interrupt::Interrupt;

use super::as_published::full;
use super::compared::settings;
use super::figure::published_figure;
use super::{
    ClaimsOfRun, LEDGER_SCHEMA, Ledger, LedgerRun, MeasuredSoftware, Peers, Replication, ReplicationRun,
    Software, Stratum, decide, effects, level, needs_native, peers, sender_timed, sender_timed_under, strata,
    tracing,
};
use crate::answer::{AnsweredRun, answered, of_runs};
use crate::app::no_network;
use crate::explain::Sides;

/// The margin for what is not about margins at all: claims have bounds of their own.
pub(super) const NO_MARGIN: f64 = 0.0;
/// The share of a budget that the cells as published may take, if there are conditions.
const PUBLISHED_SHARE: f64 = 0.5;
/// The longest batch under a condition: pinned cells vary less than those that the scheduler moves.
const LONGEST_BATCH: Duration = Duration::from_millis(100);

/// What `replicate` was asked to do.
#[derive(Debug, Clone, Default)]
pub struct ReplicateRequest {
    /// What every run's own budget is multiplied by.
    pub scale: f64,
    /// How long everything may take together.
    pub budget: Duration,
    pub seed: Option<u64>,
    /// Measure the article's own counts, divided by this, in place of the runs.
    pub full: Option<u64>,
    /// A flag and its value for every peer whose name starts so: the address of the user's own server.
    pub given: Vec<(&'static str, [String; 2])>,
    /// Whether private servers may be open to other users of this machine.
    pub admits: bool,
}

/// How long all of them may take, what the user said or their own budgets, and by how much every run's own budget is stretched for that.
pub fn scale(replications: &[Replication], budget: Option<Duration>) -> (Duration, f64) {
    // The native peer has no time of its own where it only stands in.
    let of_one = |replication: &Replication| -> f64 {
        let is_original = |run: &&ReplicationRun| run.software == Software::Original;
        let has_original = replication.runs.iter().any(|run| is_original(&run));
        let counted = replication.runs.iter().filter(|run| !has_original || is_original(run));
        counted.map(|run| own_budget(run).as_secs_f64()).sum()
    };
    let usual: f64 = replications.iter().map(of_one).sum();
    let whole = budget.unwrap_or(Duration::from_secs_f64(usual));
    (whole, budget.map_or(1.0, |budget| budget.as_secs_f64() / usual.max(1e-9)))
}

fn own_budget(run: &ReplicationRun) -> Duration {
    run.budget.unwrap_or(ipcost_lab::planning::DEFAULT_BUDGET)
}

/// One experiment and its runs, and whether it was interrupted.
///
/// The original software is measured as published, then under each condition; the native peer only if that software is not
/// here, or if it alone can decide a claim.
/// What cannot be measured is in the ledger, with the reason.
pub fn run(
    request: &ReplicateRequest,
    replication: &Replication,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> (AnsweredRun<Ledger>, bool) {
    let seed = request.seed.unwrap_or_else(fresh_seed);
    let begun = about(&Job::default(), seed);
    let mut experiment =
        Experiment { request, replication, seed, interrupt, runs: Vec::new(), measured: Vec::new() };
    if request.full.is_some() {
        experiment.measure(&article_run(replication), None, Budget::default(), observer);
    } else {
        experiment.measure_all(observer);
    }
    let interrupted = interrupt.asked()
        || experiment
            .measured
            .last()
            .is_some_and(|last| last.finished.outcome.stopped == Stopped::Interrupted);
    let Experiment { runs, measured: taken, .. } = experiment;
    let measured: Vec<MeasuredSoftware<'_>> = taken
        .iter()
        .map(|MeasuredRun { software, stratum, finished }| {
            let under = stratum.map(|stratum| (stratum, &finished.published[..]));
            MeasuredSoftware::new(*software, &finished.outcome, &finished.system_calls, under)
        })
        .collect();
    let mut ledger = Ledger {
        schema: LEDGER_SCHEMA.to_owned(),
        id: replication.id.clone(),
        question: replication.question.clone(),
        machine: replication.machine.clone(),
        source: replication.source.clone(),
        differs: differs(replication, request.full.is_some()),
        effects: effects(replication, &measured),
        claims: decide(replication, &measured, &runs),
        figure: None,
        runs,
    };
    let documents: Vec<(Software, bool, Document)> = taken
        .into_iter()
        .map(|MeasuredRun { software, stratum, finished }| {
            (software, stratum.is_none(), document(finished.outcome, about(&finished.job, seed)))
        })
        .collect();
    let as_published: Vec<(Software, &Document)> = documents
        .iter()
        .filter(|(_, is_published, _)| *is_published)
        .map(|(software, _, document)| (*software, document))
        .collect();
    ledger.figure = published_figure(replication, &as_published);
    let documents = documents.into_iter().map(|(_, _, document)| document).collect();
    let document = of_runs(documents).unwrap_or_else(|| unmeasured(begun));
    (AnsweredRun { document: answered(document, &ledger), answer: ledger }, interrupted)
}

/// One experiment under way.
struct Experiment<'a> {
    request: &'a ReplicateRequest,
    replication: &'a Replication,
    seed: u64,
    interrupt: &'a Interrupt,
    runs: Vec<LedgerRun>,
    measured: Vec<MeasuredRun<'a>>,
}

/// A run that has measured something.
struct MeasuredRun<'a> {
    software: Software,
    stratum: Option<&'a Stratum>,
    finished: Finished,
}

impl<'a> Experiment<'a> {
    /// Every run: as published for half of its budget at most, then the conditions, which share the rest.
    fn measure_all(&mut self, observer: &mut dyn Observer) {
        let own = ipcost_sys::facts::network().tcp_congestion_control;
        for run in &self.replication.runs {
            // The native peer is asked where the original software is not here, or cannot decide.
            let asked = run.software == Software::Original
                || self.measured.is_empty()
                || needs_native(self.replication);
            if !asked || self.interrupt.asked() {
                continue;
            }
            let whole = own_budget(run).mul_f64(self.request.scale);
            let at = Instant::now();
            let strata = match run.software {
                Software::Native if !self.measured.is_empty() => &[][..],
                _ => &self.replication.strata[..],
            };
            let strata: Vec<&Stratum> =
                strata.iter().filter(|stratum| !is_measured_by_others(stratum, strata, &own)).collect();
            let first = if strata.is_empty() { whole } else { whole.mul_f64(PUBLISHED_SHARE) };
            let is_measured = self.measure(run, None, Budget { usual: first, most: whole }, observer);
            for (index, stratum) in strata.iter().enumerate().filter(|_| is_measured) {
                if self.interrupt.asked() {
                    break;
                }
                let most = whole.saturating_sub(at.elapsed());
                let usual = most / (strata.len() - index) as u32;
                self.measure(run, Some(stratum), Budget { usual, most }, observer);
            }
        }
    }

    /// Measures one run; whether anything was measured.
    fn measure(
        &mut self,
        run: &ReplicationRun,
        stratum: Option<&'a Stratum>,
        budget: Budget,
        observer: &mut dyn Observer,
    ) -> bool {
        let under = stratum.map_or_else(String::new, |stratum| format!(", {}", stratum.name));
        observer.note(&format!("{}: {}: {}{under}", self.replication.id, run.software, run.about));
        let at = Instant::now();
        let mut record = LedgerRun {
            software: run.software,
            about: run.about.clone(),
            stratum: stratum.map(|stratum| stratum.name.clone()),
            sets: stratum.map(settings).unwrap_or_default(),
            elapsed_s: 0.0,
            epochs: 0,
            missing: Vec::new(),
            own_network: false,
        };
        let finished = match stratum {
            None => self.published(run, budget, observer),
            Some(stratum) => self.under(run, stratum, budget, observer),
        };
        match finished {
            Ok(mut finished) => {
                record.missing = std::mem::take(&mut finished.missing);
                record.epochs = finished.outcome.epochs;
                record.own_network = finished.own_network;
                if record.epochs > 0 {
                    self.measured.push(MeasuredRun { software: run.software, stratum, finished });
                }
            }
            Err(error) => record.missing.push(self.reason(budget, &error)),
        }
        record.elapsed_s = at.elapsed().as_secs_f64();
        let is_measured = record.epochs > 0;
        self.runs.push(record);
        is_measured
    }

    /// Why a run was not measured. It had a part of the whole budget: the whole that suffices is named.
    fn reason(&self, part: Budget, error: &LabError) -> String {
        let LabError::Plan(PlanError::BudgetTooSmall { enough, cells, needed, .. }) = error else {
            return error.to_string();
        };
        let whole = self.request.budget;
        let sufficient = whole.mul_f64(*enough as f64 / part.usual.as_secs_f64().max(1e-9));
        format!(
            "its {} of a budget of {} cannot reach an interval: {cells} cells take {needed} epochs, about {enough} s; \
             give --budget {}s",
            duration_text(part.usual),
            duration_text(whole),
            sufficient.as_secs_f64().ceil()
        )
    }

    /// As published, until every claim is decided, or the budget is spent; the article's own counts to their end.
    fn published(
        &self,
        run: &ReplicationRun,
        budget: Budget,
        observer: &mut dyn Observer,
    ) -> Result<Finished, LabError> {
        let Self { request, replication, seed, interrupt, .. } = *self;
        let (lab, plan) = match request.full {
            Some(divide) => full(request, replication, divide, interrupt, observer)?,
            None => self.planned(
                &run.cells,
                run,
                budget,
                run.batch,
                |cells| sender_timed(replication, cells),
                observer,
            )?,
        };
        plan.notes.iter().for_each(|text| observer.note(text));
        let mut missing = unavailable(&plan.cells);
        missing.extend(peers::missing(&run.peers));
        let system_calls = if tracing::is_wanted(replication, run.software) {
            tracing::trace(replication, run.software, lab.tracing(&plan, interrupt)).unwrap_or_else(|error| {
                missing.push(error.to_string());
                Default::default()
            })
        } else {
            Default::default()
        };
        let question =
            ClaimsOfRun { replication, software: run.software, stratum: None, system_calls: &system_calls };
        let published = plan.cells.clone();
        let outcome = ask(&lab, plan, &question, interrupt, &mut missing, observer)?;
        let job = Job { batch: run.batch, seed: Some(seed), ..job_of(&run.cells, &run.peers)? };
        Ok(Finished { outcome, missing, system_calls, published, job, own_network: lab.has_own_network() })
    }

    /// The cells that claims name, under a condition.
    fn under(
        &self,
        run: &ReplicationRun,
        stratum: &Stratum,
        budget: Budget,
        observer: &mut dyn Observer,
    ) -> Result<Finished, LabError> {
        let Self { replication, interrupt, seed, .. } = *self;
        let published = cells_of_run(run)?;
        let cells =
            strata::cells(replication, stratum, run.software, &published).map_err(LabError::Refused)?;
        let batch = stratum.batch.or(run.batch.map(|batch| batch.min(LONGEST_BATCH)));
        let timed = |cells: &[PlannedCell]| sender_timed_under(replication, stratum, &published, cells);
        let (lab, plan) = self.planned(&cells, run, budget, batch, timed, observer)?;
        let mut missing = unavailable(&plan.cells);
        missing.extend(peers::missing(&run.peers));
        let system_calls = BTreeMap::new();
        let question = ClaimsOfRun {
            replication,
            software: run.software,
            stratum: Some((stratum, &published)),
            system_calls: &system_calls,
        };
        let outcome = ask(&lab, plan, &question, interrupt, &mut missing, observer)?;
        let job = Job { batch, seed: Some(seed), ..job_of(&cells, &run.peers)? };
        Ok(Finished { outcome, missing, system_calls, published, job, own_network: lab.has_own_network() })
    }

    /// The plan of a run, with the lab for it.
    fn planned(
        &self,
        cells: &[Matrix],
        run: &ReplicationRun,
        budget: Budget,
        batch: Option<Duration>,
        sender_timed: impl Fn(&[PlannedCell]) -> Vec<usize>,
        observer: &mut dyn Observer,
    ) -> Result<(Lab, Plan), LabError> {
        let job = job_of(&peers::usable(cells, &run.peers)?, &run.peers)?;
        let mut lab = lab_of(self.request, &job, observer)?;
        if let Some(why) = peers::open_to_all(&run.peers).filter(|_| !self.request.admits) {
            let lost = lab.in_own_network().map_err(|error| no_network(why, &error.to_string()))?;
            if !lost.is_empty() {
                observer.note(&format!(
                    "measured in a network of its own, where these settings differ: {}",
                    lost.join(", ")
                ));
            }
        }
        let expanded = lab.cells(&job)?;
        let settings = Settings {
            budget: Some(budget.usual),
            batch,
            counted: true,
            margin: NO_MARGIN,
            level: Some(level(self.replication, run.software)),
            sender_timed: sender_timed(&expanded.cells),
            ..Settings::of(&job, self.seed)
        };
        let plan = match lab.plan(expanded.clone(), &settings) {
            // Rather one condition with intervals than all without.
            Err(LabError::Plan(PlanError::BudgetTooSmall { enough, .. }))
                if Duration::from_secs(enough) <= budget.most =>
            {
                lab.plan(expanded, &Settings { budget: Some(Duration::from_secs(enough)), ..settings })?
            }
            plan => plan?,
        };
        Ok((lab, plan))
    }
}

/// Whether a condition sets the congestion control that this machine uses anyway, and another sets all else that it does, or it sets nothing
/// else.
fn is_measured_by_others(stratum: &Stratum, all: &[Stratum], own: &Option<String>) -> bool {
    let set = stratum.options.iter().find(|(name, _)| name.spec().name == TCP_CONGESTION);
    let Some((name, OptionValue::Text(control))) = set else { return false };
    let mut others = stratum.options.clone();
    others.remove(name);
    let is_like = |other: &Stratum| {
        (&other.placement, &other.peers, &other.options) == (&stratum.placement, &stratum.peers, &others)
    };
    let sets_more = stratum.placement.is_some() || !stratum.peers.is_empty() || !others.is_empty();
    own.as_ref() == Some(control) && (!sets_more || all.iter().any(is_like))
}

/// How long a run may take.
#[derive(Debug, Clone, Copy, Default)]
struct Budget {
    /// Its part.
    usual: Duration,
    /// All that is left, if its part cannot reach an interval.
    most: Duration,
}

/// Measures until the question is answered. What was complete before a failure is kept, and the failure is told.
fn ask(
    lab: &Lab,
    plan: Plan,
    question: &ClaimsOfRun<'_>,
    interrupt: &Interrupt,
    missing: &mut Vec<String>,
    observer: &mut dyn Observer,
) -> Result<Outcome, LabError> {
    let (mut outcome, _) = lab.run(plan, question, interrupt, |_| &mut *observer)?;
    if let Some(error) = outcome.failure.take() {
        if matches!(error, EngineError::Interrupted) {
            return Err(error.into());
        }
        missing.push(error.to_string());
    }
    Ok(outcome)
}

struct Finished {
    outcome: Outcome,
    missing: Vec<String>,
    system_calls: BTreeMap<usize, Sides<SystemCalls>>,
    /// The published cells, which tests name.
    published: Vec<PlannedCell>,
    job: Job,
    own_network: bool,
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
        peers: Peers::default(),
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
pub(super) fn lab_of(
    request: &ReplicateRequest,
    job: &Job,
    observer: &mut dyn Observer,
) -> Result<Lab, LabError> {
    let mut lab = Lab::open(job, &mut |text| observer.note(text))?;
    for (start, words) in &request.given {
        lab.give(|name| name.starts_with(start), words);
    }
    Ok(lab)
}

/// The job of cells, which may name peers of their run.
///
/// # Errors
/// If this program's path is not known.
pub(super) fn job_of(cells: &[Matrix], peers: &Peers) -> Result<Job, LabError> {
    Ok(Job { cells: cells.to_vec(), peers: peers::commands(peers)?, ..Job::default() })
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
    Ok(cells_anywhere(&job_of(&run.cells, &run.peers)?, &ipcost_foreign::states())?.cells)
}
