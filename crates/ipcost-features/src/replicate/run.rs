//! One experiment after the other, each run until its claims are decided or its budget is spent.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ipcost_lab::lab::{about, cells_anywhere, fresh_seed};
use ipcost_lab::progress::Observer;
use ipcost_lab::{
    Batches, CampaignState, EngineError, Lab, LabError, NO_TIME, PlanError, PlanSettings, document,
    unmeasured,
};
use ipcost_model::units::duration_text;
use ipcost_model::{
    Document, Job, LatencyMode, Matrix, OptionValue, Plan, PlannedCell, Point, Stopped, TCP_CONGESTION,
    first_few,
};
use ipcost_stats::planned_epochs_to_expect;
use ipcost_sys::interrupt::Interrupt;

use super::as_published::full;
use super::compared::settings;
use super::figure::published_figure;
use super::level::PLANNED;
use super::{
    ClaimsOfRun, Condition, MeasuredSoftware, Peers, REPLICATION_SCHEMA, ReplicatedRun, Replication,
    ReplicationRecord, ReplicationRun, Software, TracedLevel, conditions, decide, effects, needs_native,
    only_traced, peers, timed_by_sender, tracing,
};
use crate::answer::{AnsweredRun, answered, of_runs};
use crate::app::no_network;

/// The margin for what is not about margins at all: claims have bounds of their own.
pub(super) const NO_MARGIN: f64 = 0.0;
/// The share of a budget that the batches as published may take, if there are conditions.
const PUBLISHED_SHARE: f64 = 0.4;
/// For so many times the epochs of a first interval there is to be time: by then most fields are decided.
const ROOM: f64 = 2.5;
/// The longest batch under a condition: pinned cells vary less than those that the scheduler moves.
const LONGEST_BATCH: Duration = Duration::from_millis(100);
/// The shortest where there would be too few epochs otherwise.
const SHORTEST_BATCH: Duration = Duration::from_millis(20);

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
) -> (AnsweredRun<ReplicationRecord>, bool) {
    let seed = request.seed.unwrap_or_else(fresh_seed);
    let begun = about(&Job::default(), seed);
    let mut experiment =
        Experiment { request, replication, seed, interrupt, runs: Vec::new(), measured: Vec::new() };
    match request.full {
        Some(_) => experiment.measure(&article_run(replication), Vec::new(), observer),
        None => experiment.measure_all(observer),
    }
    let stopped = experiment.measured.last().map(|last| last.outcome.stopped);
    let interrupted = interrupt.asked() || stopped == Some(Stopped::Interrupted);
    let Experiment { runs, measured: taken, .. } = experiment;
    let batches: Vec<Batches<'_>> = taken.iter().map(|run| run.outcome.batches()).collect();
    let measured: Vec<MeasuredSoftware<'_>> =
        taken.iter().zip(&batches).flat_map(|(run, batches)| run.under_each(batches)).collect();
    let (claims, fields) = decide(replication, &measured, &runs);
    let mut record = ReplicationRecord {
        schema: REPLICATION_SCHEMA.to_owned(),
        id: replication.id.clone(),
        question: replication.question.clone(),
        machine: replication.machine.clone(),
        source: replication.source.clone(),
        differs: differs(replication, request.full.is_some()),
        effects: effects(replication, &measured),
        claims,
        fields: Some(fields),
        figure: None,
        runs,
    };
    let documents: Vec<(Software, usize, Document)> = taken
        .into_iter()
        .map(|run| (run.software, run.timed(), document(run.outcome, about(&run.job, seed))))
        .collect();
    record.figure = published_figure(replication, &documents);
    let documents = documents.into_iter().map(|(.., document)| document).collect();
    let document = of_runs(documents).unwrap_or_else(|| unmeasured(begun));
    (AnsweredRun { document: answered(document, &record), answer: record }, interrupted)
}

/// One experiment under way.
struct Experiment<'a> {
    request: &'a ReplicateRequest,
    replication: &'a Replication,
    seed: u64,
    interrupt: &'a Interrupt,
    runs: Vec<ReplicatedRun>,
    measured: Vec<MeasuredRun<'a>>,
}

/// A run that has measured something.
struct MeasuredRun<'a> {
    software: Software,
    conditions: Vec<&'a Condition>,
    outcome: CampaignState,
    /// The published cells, which tests name.
    published: Vec<PlannedCell>,
    system_calls: TracedLevel,
    job: Job,
}

impl<'a> MeasuredRun<'a> {
    /// How many of its first cells are the published ones.
    fn timed(&self) -> usize {
        let is_there = |published: &&PlannedCell| {
            self.outcome.plan.cells.iter().any(|cell| cell.point == published.point)
        };
        self.published.iter().filter(is_there).count()
    }

    /// As published, then under each condition.
    fn under_each<'m>(&'m self, batches: &'m Batches<'m>) -> Vec<MeasuredSoftware<'m>> {
        let Self { software, conditions, outcome, published, system_calls, .. } = self;
        MeasuredSoftware::each((*software, published, conditions), &outcome.plan, batches, system_calls)
    }
}

/// What a run is about to measure.
struct Planned<'a> {
    lab: Lab,
    plan: Plan,
    job: Job,
    /// The conditions for which there is time.
    conditions: Vec<&'a Condition>,
    /// Those for which there is none, each with the reason.
    left_out: Vec<(&'a Condition, String)>,
}

impl<'a> Experiment<'a> {
    /// Every run, each with its conditions.
    fn measure_all(&mut self, observer: &mut dyn Observer) {
        let own = ipcost_sys::facts::network().tcp_congestion_control;
        let all = &self.replication.conditions[..];
        for run in &self.replication.runs {
            // The native peer is asked where the original software is not here, or cannot decide.
            let asked = run.software == Software::Original
                || self.measured.is_empty()
                || needs_native(self.replication);
            if !asked || self.interrupt.asked() {
                continue;
            }
            let conditions = match run.software {
                Software::Native if !self.measured.is_empty() => &[][..],
                _ => all,
            };
            let conditions =
                conditions.iter().filter(|condition| !is_measured_by_others(condition, all, &own)).collect();
            self.measure(run, conditions, observer);
        }
    }

    /// Measures one run, as published and under each condition.
    fn measure(&mut self, run: &ReplicationRun, conditions: Vec<&'a Condition>, observer: &mut dyn Observer) {
        observer.note(&format!("{}: {}: {}", self.replication.id, run.software, run.about));
        let of = |condition: Option<&Condition>, missing: Vec<String>| ReplicatedRun {
            software: run.software,
            about: run.about.clone(),
            condition: condition.map(|condition| condition.name.clone()),
            sets: condition.map(settings).unwrap_or_default(),
            missing,
            ..ReplicatedRun::default()
        };
        let at = Instant::now();
        match self.measured_run(run, conditions, observer) {
            Ok(Finished { run: measured, left_out, mut missing, own_network }) => {
                let batches = measured.outcome.batches();
                let under = conditions::published_and(&measured.conditions);
                let shares = time_of_each(&measured, &batches);
                self.runs.extend(under.zip(shares).map(|(condition, (share, epochs))| ReplicatedRun {
                    elapsed_s: at.elapsed().as_secs_f64() * share,
                    epochs,
                    own_network,
                    ..of(condition, std::mem::take(&mut missing))
                }));
                self.runs.extend(left_out.into_iter().map(|(condition, why)| of(Some(condition), vec![why])));
                drop(batches);
                if measured.outcome.epochs > 0 {
                    self.measured.push(measured);
                }
            }
            Err(error) => {
                let elapsed_s = at.elapsed().as_secs_f64();
                self.runs.push(ReplicatedRun { elapsed_s, ..of(None, vec![self.reason(run, &error)]) });
            }
        }
    }

    /// Plans, traces and measures until every claim is decided, or the budget is spent; the article's own counts to their end.
    fn measured_run(
        &self,
        run: &ReplicationRun,
        conditions: Vec<&'a Condition>,
        observer: &mut dyn Observer,
    ) -> Result<Finished<'a>, LabError> {
        let Self { request, replication, interrupt, .. } = *self;
        let published = cells_of_run(run)?;
        let Planned { lab, plan, job, mut conditions, mut left_out } = match request.full {
            Some(divide) => {
                let (lab, plan) = full(request, replication, divide, interrupt, observer)?;
                let job = job_of(&run.cells, &run.peers)?;
                Planned { lab, plan, job, conditions, left_out: Vec::new() }
            }
            None => self.planned(run, conditions, &published, observer)?,
        };
        plan.notes.iter().for_each(|text| observer.note(text));
        let mut missing = unavailable(&plan.cells);
        missing.extend(peers::missing(&run.peers));
        let system_calls = match tracing::is_wanted(replication, run.software) {
            true => self.traced(run, &lab).unwrap_or_else(|error| {
                missing.push(error.to_string());
                Default::default()
            }),
            false => Default::default(),
        };
        let question = ClaimsOfRun {
            replication,
            software: run.software,
            conditions: &conditions,
            published: &published,
            system_calls: &system_calls,
        };
        let outcome = ask(&lab, plan, &question, interrupt, &mut missing, observer)?;
        // Those whose own cells had no time after all.
        let has_time = |condition: &&Condition| {
            let own = published.iter().map(|cell| condition.of(&cell.point));
            let is_spared = |cell: &PlannedCell| cell.unavailable.as_deref() == Some(NO_TIME);
            let spared: Vec<&Point> =
                outcome.plan.cells.iter().filter(|cell| is_spared(cell)).map(|cell| &cell.point).collect();
            !own.into_iter().any(|point| spared.contains(&&point))
        };
        let (kept, spared): (Vec<&Condition>, Vec<&Condition>) =
            conditions.iter().copied().partition(has_time);
        left_out.extend(
            spared.into_iter().map(|condition| (condition, format!("{NO_TIME}; give a larger --budget"))),
        );
        conditions = kept;
        let own_network = lab.has_own_network();
        let job = Job { seed: Some(self.seed), ..job };
        let run = MeasuredRun { software: run.software, conditions, outcome, published, system_calls, job };
        Ok(Finished { run, left_out, missing, own_network })
    }

    /// The system calls of the published cells that tests compare; the others of this plan are not looked at.
    fn traced(&self, run: &ReplicationRun, lab: &Lab) -> Result<TracedLevel, LabError> {
        let cells = lab.cells(&job_of(&run.cells, &run.peers)?)?;
        let settings = PlanSettings { epochs: Some(1), ..PlanSettings::of(&Job::default(), self.seed) };
        let plan = lab.plan(cells, &settings)?;
        tracing::trace(self.replication, run.software, lab.tracing(&plan, self.interrupt))
    }

    /// Why a run was not measured, with a budget of all experiments that would do.
    fn reason(&self, run: &ReplicationRun, error: &LabError) -> String {
        let LabError::Plan(PlanError::BudgetTooSmall { enough, cells, needed, .. }) = error else {
            return error.to_string();
        };
        let (part, whole) = (own_budget(run).mul_f64(self.request.scale), self.request.budget);
        format!(
            "its {} of a budget of {} cannot reach an interval: {cells} cells take {needed} epochs, about {}; {}",
            duration_text(part),
            duration_text(whole),
            duration_text(Duration::from_secs(*enough)),
            budget_that_does(whole, part, Duration::from_secs(*enough))
        )
    }

    /// A plan of the published cells and of those under each condition, with the lab for it. The last conditions for which there is no
    /// time are left out.
    fn planned(
        &self,
        run: &ReplicationRun,
        mut conditions: Vec<&'a Condition>,
        published: &[PlannedCell],
        observer: &mut dyn Observer,
    ) -> Result<Planned<'a>, LabError> {
        let Self { replication, request, .. } = *self;
        let whole = own_budget(run).mul_f64(request.scale);
        let timed = self.timed(run, published)?;
        let mut lab = lab_of(request, &job_of(&peers::usable(&timed, &run.peers)?, &run.peers)?, observer)?;
        if let Some(why) = peers::open_to_all(&run.peers).filter(|_| !request.admits) {
            let lost = lab.in_own_network().map_err(|error| no_network(why, &error.to_string()))?;
            if !lost.is_empty() {
                observer.note(&format!(
                    "measured in a network of its own, where these settings differ: {}",
                    lost.join(", ")
                ));
            }
        }
        let mut left_out = Vec::new();
        loop {
            let batch = run.batch.map(|batch| match conditions.is_empty() {
                true => batch,
                false => batch.min(LONGEST_BATCH),
            });
            let longest = run.batch.filter(|_| !conditions.is_empty()).map(|batch| {
                let epochs = f64::from(planned_epochs_to_expect(PLANNED)) * ROOM;
                let part = whole.mul_f64(PUBLISHED_SHARE / epochs / published.len().max(1) as f64);
                part.clamp(batch.min(LONGEST_BATCH), batch)
            });
            let mut cells = timed.clone();
            cells.iter_mut().for_each(|matrix| matrix.batch = longest);
            for condition in &conditions {
                let own = conditions::cells(replication, condition, run.software, published);
                let own = own.map_err(|error| LabError::Refused(error.to_string()))?;
                cells.extend(own.into_iter().map(|matrix| Matrix { batch: condition.batch, ..matrix }));
            }
            let job = Job { batch, ..job_of(&peers::usable(&cells, &run.peers)?, &run.peers)? };
            let expanded = lab.cells(&job)?;
            let settings = PlanSettings {
                budget: Some(whole),
                batch,
                batch_least: batch.filter(|_| !conditions.is_empty()).map(|batch| batch.min(SHORTEST_BATCH)),
                counted: true,
                margin: NO_MARGIN,
                level: Some(PLANNED),
                sender_timed: timed_by_sender(replication, (published, &conditions), &expanded.cells),
                // No claim is about a percentile.
                latency: LatencyMode::Off,
                ..PlanSettings::of(&job, self.seed)
            };
            match (lab.plan(expanded, &settings), conditions.last()) {
                // Rather one condition with intervals than all without.
                (Err(error @ LabError::Plan(PlanError::BudgetTooSmall { .. })), Some(last)) => {
                    left_out.push((*last, self.reason(run, &error)));
                    conditions.pop();
                }
                (plan, _) => return Ok(Planned { plan: plan?, lab, job, conditions, left_out }),
            }
        }
    }

    /// The published cells of which times are asked, and not only calls.
    fn timed(&self, run: &ReplicationRun, published: &[PlannedCell]) -> Result<Vec<Matrix>, LabError> {
        let only_traced = only_traced(self.replication, run.software, published);
        let mut timed = Vec::new();
        for matrix in &run.cells {
            let own = cells_anywhere(
                &job_of(std::slice::from_ref(matrix), &run.peers)?,
                &ipcost_foreign::states(),
            )?;
            let traced =
                |cell: &PlannedCell| only_traced.iter().any(|index| published[*index].point == cell.point);
            if !own.cells.iter().all(traced) {
                timed.push(matrix.clone());
            }
        }
        Ok(timed)
    }
}

/// The budget of everything that leaves a part of it the time that it takes, as a person types it.
fn budget_that_does(whole: Duration, part: Duration, enough: Duration) -> String {
    /// No one waits for longer.
    const LONGEST: f64 = 6.0 * 3600.0;
    let wanted = whole.as_secs_f64() * enough.as_secs_f64() / part.as_secs_f64().max(1e-9);
    match wanted <= LONGEST {
        true => format!("give --budget {}min", (wanted / 60.0).ceil().max(1.0)),
        false => "no budget of some hours decides this; measure fewer experiments at a time".to_owned(),
    }
}

/// The share of the time that the cells of each condition took, and their epochs: a cell that several have is the first one's.
fn time_of_each(run: &MeasuredRun<'_>, batches: &Batches<'_>) -> Vec<(f64, u32)> {
    let cells = &run.outcome.plan.cells;
    let mut is_taken = vec![false; cells.len()];
    let found: Vec<(f64, u32)> = conditions::published_and(&run.conditions)
        .map(|condition| {
            let mut sum = (0.0, 0);
            for published in &run.published {
                let point = conditions::point_under(condition, &published.point);
                let Some(cell) = cells.iter().position(|cell| cell.point == point) else { continue };
                let samples = batches.of(cell);
                let mut epochs: Vec<u32> = samples.iter().map(|sample| sample.epoch).collect();
                epochs.dedup();
                sum.1 = sum.1.max(epochs.len() as u32);
                if !std::mem::replace(&mut is_taken[cell], true) {
                    sum.0 += samples.iter().map(|sample| sample.wall_ns as f64).sum::<f64>();
                }
            }
            sum
        })
        .collect();
    let all: f64 = found.iter().map(|(ns, _)| ns).sum();
    let count = found.len() as f64;
    found.into_iter().map(|(ns, epochs)| (if all > 0.0 { ns / all } else { 1.0 / count }, epochs)).collect()
}

/// Whether a condition sets the congestion control that this machine uses anyway, and another sets all else that it does, or it sets nothing
/// else.
fn is_measured_by_others(condition: &Condition, all: &[Condition], own: &Option<String>) -> bool {
    let set = condition.options.iter().find(|(name, _)| name.spec().name == TCP_CONGESTION);
    let Some((name, OptionValue::Text(control))) = set else { return false };
    let mut others = condition.options.clone();
    others.remove(name);
    let is_like = |other: &Condition| {
        (&other.placement, &other.peers, &other.options) == (&condition.placement, &condition.peers, &others)
    };
    let sets_more = condition.placement.is_some() || !condition.peers.is_empty() || !others.is_empty();
    own.as_ref() == Some(control) && (!sets_more || all.iter().any(is_like))
}

/// Measures until the question is answered. What was complete before a failure is kept, and the failure is told.
fn ask(
    lab: &Lab,
    plan: Plan,
    question: &ClaimsOfRun<'_>,
    interrupt: &Interrupt,
    missing: &mut Vec<String>,
    observer: &mut dyn Observer,
) -> Result<CampaignState, LabError> {
    let (mut outcome, _) = lab.run(plan, question, interrupt, |_| &mut *observer)?;
    if let Some(error) = outcome.failure.take() {
        if matches!(error, EngineError::Interrupted) {
            return Err(error.into());
        }
        missing.push(error.to_string());
    }
    Ok(outcome)
}

/// A run that has ended.
struct Finished<'a> {
    run: MeasuredRun<'a>,
    left_out: Vec<(&'a Condition, String)>,
    missing: Vec<String>,
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
pub fn cells_of_run(run: &ReplicationRun) -> Result<Vec<PlannedCell>, LabError> {
    Ok(cells_anywhere(&job_of(&run.cells, &run.peers)?, &ipcost_foreign::states())?.cells)
}
