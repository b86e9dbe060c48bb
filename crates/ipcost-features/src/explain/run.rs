//! The passes of an explanation: one that is timed, then those that trace and count.

use std::time::Duration;

use ipcost_lab::lab::{about, fresh_seed};
use ipcost_lab::progress::Observer;
use ipcost_lab::{CampaignState, EngineError, Lab, LabError, PlanSettings, document};
use ipcost_model::pace::{CPU_DMA_LATENCY, POLLUTE, Pause};
use ipcost_model::{
    Document, Job, LatencyMode, Matrix, Metric, ModelError, NATIVE, OptionName, OptionValue, Plan,
    PlannedCell, Point, Stopped, parse_cell_id,
};
use ipcost_stats::median;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::placement::Topology;
use ipcost_sys::{facts, firewall, idle, pausing};

use crate::answer::answered;

use super::evidence::{CellEvidence, Collector};
use super::flame::draw;
use super::flames::flame_cell;
use super::floors::Costs;
use super::{
    ExplainedQuestion, Explanation, Floors, MeasuredFloors, MissingEvidence, ObservedMachine, explain,
    try_remedies,
};

/// How long the timed part may take where the user does not say.
const DEFAULT_BUDGET: Duration = Duration::from_secs(20);
/// The kernel tells user from system time by ticks of some milliseconds, so short batches tell them badly; longer ones tell
/// hardly more.
const BATCH: Duration = Duration::from_millis(200);
/// Epochs are more important: it is their number that gives an interval.
const SHORTEST_BATCH: Duration = Duration::from_millis(20);

/// What the passes that are not timed do.
const LOOKING: &str = "looking at what the cells do";

/// What `explain` was asked to do.
#[derive(Debug, Clone)]
pub struct ExplainRequest {
    pub job: Job,
    /// Whether its cells are compared as given rather than with a baseline.
    pub by_id: bool,
    /// Whether their floors are measured, too.
    pub floor: bool,
    /// Whether flame graphs are drawn.
    pub flame: bool,
    /// Whether remedies are tried.
    pub trial: bool,
    pub seed: Option<u64>,
}

/// An explanation, the document of its timed pass, and what was drawn.
pub struct Examined {
    pub explanation: Explanation,
    pub document: Document,
    /// Flame graphs as SVG, each with the ids of its cells: of every difference, or of every cell alone.
    pub flames: Vec<(String, String)>,
}

/// The plan of the timed pass, with native twins of cells between other peers.
pub fn prepare(asked: &ExplainRequest, lab: &Lab) -> Result<(Job, Plan, ExplainedQuestion), LabError> {
    let mut job = Job { floor: false, ..asked.job.clone() };
    let first = lab.cells(&job)?;
    let by_id = if asked.by_id { pairs_by_id(&job, lab)? } else { Vec::new() };
    for cell in &first.cells {
        let Some(twin) = twin_of(cell) else { continue };
        job.cells.push(parse_cell_id(&twin)?);
    }
    job.cells.extend(controls(&first.cells)?);
    let expanded = lab.cells(&job)?;
    let find = |id: &str| expanded.cells.iter().position(|cell| cell.id == *id);
    let all: Vec<usize> = (0..first.cells.len()).collect();
    let available = |index: &usize| expanded.cells[*index].unavailable.is_none();
    let pairs: Vec<(usize, usize)> = if asked.by_id {
        by_id.iter().filter_map(|(a, b)| Some((find(a)?, find(b)?))).collect()
    } else {
        let compared =
            first.workloads.iter().flat_map(|workload| workload.cells.iter().zip(&workload.against));
        compared.filter_map(|(cell, against)| Some((*cell, (*against)?))).collect()
    };
    let twins = all.iter().filter_map(|index| {
        let found = find(&twin_of(&expanded.cells[*index])?)?;
        (available(index) && available(&found)).then_some((*index, found))
    });
    let question = ExplainedQuestion {
        twins: twins.collect(),
        pairs: pairs.into_iter().filter(|(a, b)| available(a) && available(b)).collect(),
        asked: all,
    };
    let budget = job.budget.unwrap_or(DEFAULT_BUDGET);
    let settings = PlanSettings {
        budget: Some(budget),
        batch: Some(job.batch.unwrap_or(BATCH)),
        batch_least: job.batch.is_none().then_some(SHORTEST_BATCH),
        latency: LatencyMode::Off,
        level: Some(question.level()),
        ..PlanSettings::of(&job, asked.seed.unwrap_or_else(fresh_seed))
    };
    let plan = lab.plan(expanded, &settings)?;
    let job = Job { seed: Some(plan.seed), budget: Some(budget), floor: asked.floor, ..job };
    Ok((job, plan, question))
}

/// The id of the same cell between native peers, of one that is not.
fn twin_of(cell: &PlannedCell) -> Option<String> {
    // Who asks a real server has no like between native peers.
    let other = (cell.client != NATIVE || cell.server != NATIVE) && cell.cell.request.is_none();
    let native = || NATIVE.to_owned();
    other.then(|| Point { client: native(), server: native(), ..cell.point.clone() }.id())
}

/// How much memory goes through the caches to show what cold ones cost: more than the second level holds of most processors.
const POLLUTED: u64 = 1 << 20;

/// Where cells have several pauses, what tells why longer ones cost more: the longest of each work and transport without idle states, and
/// the shortest with cold caches.
fn controls(cells: &[PlannedCell]) -> Result<Vec<Matrix>, LabError> {
    let pause = |cell: &PlannedCell| cell.cell.pause().filter(Pause::is_plain);
    let paced =
        |cell: &&PlannedCell| cell.unavailable.is_none() && cell.client == NATIVE && pause(cell).is_some();
    let mut groups: Vec<Vec<&PlannedCell>> = Vec::new();
    for cell in cells.iter().filter(paced) {
        match groups.iter_mut().find(|group| group[0].point.without_pace() == cell.point.without_pace()) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    let mut found = Vec::new();
    for mut group in groups.into_iter().filter(|group| group.len() > 1) {
        group.sort_by_key(|cell| pause(cell));
        let mut add = |cell: Option<&&PlannedCell>, option: &str, value: u64| -> Result<(), ModelError> {
            let Some(cell) = cell else { return Ok(()) };
            let mut matrix = parse_cell_id(&cell.id)?;
            matrix.options.0.insert(OptionName::find(option)?, vec![OptionValue::Int(value)]);
            found.push(matrix);
            Ok(())
        };
        add(group.first(), POLLUTE, POLLUTED)?;
        if pausing::may_keep_awake() {
            add(group.last(), CPU_DMA_LATENCY, 0)?;
        }
    }
    Ok(found)
}

/// The cells that a matrix of a job makes on its own, by id.
pub(super) fn ids_of(matrix: &Matrix, job: &Job, lab: &Lab) -> Result<Vec<String>, LabError> {
    let alone = lab.cells(&Job { cells: vec![matrix.clone()], ..job.clone() })?;
    Ok(alone.cells.into_iter().map(|cell| cell.id).collect())
}

/// Two ids make as many pairs as there are placements: each cell with the one of its own placement.
fn pairs_by_id(job: &Job, lab: &Lab) -> Result<Vec<(String, String)>, LabError> {
    let [a, b] = job.cells.as_slice() else { return Ok(Vec::new()) };
    let (a, b) = (ids_of(a, job, lab)?, ids_of(b, job, lab)?);
    match a.iter().find(|id| b.contains(id)) {
        Some(id) => {
            Err(LabError::Refused(format!("both ids name the same cell, {id}; give two that differ")))
        }
        None => Ok(a.into_iter().zip(b).collect()),
    }
}

/// The timed pass, then those that are not timed.
pub fn examine(
    asked: &ExplainRequest,
    (job, plan, question): (&Job, Plan, &ExplainedQuestion),
    lab: &Lab,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<Examined, EngineError> {
    let about = about(job, plan.seed);
    let mut missing = Vec::new();
    let floors = if job.floor { Floors::of(job, plan.seed, lab) } else { Ok(None) };
    let floors = floors.unwrap_or_else(|error| {
        missing.push(no_floors(&error));
        None
    });
    let begin = floors.as_ref().and_then(|floors| measured(floors, lab, interrupt, &mut missing).transpose());
    let begin = begin.transpose()?;
    let idle_before = idle::states();
    let (mut outcome, _) = lab.run(plan, question, interrupt, |_| &mut *observer)?;
    let machine = ObservedMachine {
        cores: Topology::read().cores.len(),
        idle: idle::since(&idle_before, &idle::states()),
        firewall: firewall::read(),
        network: facts::network(),
    };
    if outcome.stopped == Stopped::Interrupted && outcome.epochs == 0 {
        return Err(EngineError::Interrupted);
    }
    let mut evidence = vec![CellEvidence::default(); outcome.plan.cells.len()];
    let mut measured_floors = None;
    if outcome.stopped == Stopped::Budget || outcome.stopped == Stopped::Resolved {
        let collected =
            collect(asked, lab, interrupt, question, &outcome, &mut evidence, observer).and_then(|found| {
                missing.extend(found);
                let Some((floors, begin)) = floors.zip(begin) else { return Ok(None) };
                let end = measured(&floors, lab, interrupt, &mut missing)?;
                Ok(end.map(|end| MeasuredFloors { floors, begin, end }))
            });
        match collected {
            Ok(found) => measured_floors = found,
            Err(EngineError::Interrupted) => outcome.stopped = Stopped::Interrupted,
            Err(error) => return Err(error),
        }
    }
    let floors = measured_floors.as_ref();
    let mut explanation = explain(&outcome, question, &evidence, &machine, floors, about.debug_build);
    explanation.missing = missing;
    let flames = if asked.flame { flames(&mut explanation, &outcome, &evidence) } else { Vec::new() };
    if asked.trial && outcome.stopped != Stopped::Interrupted {
        let tried = try_remedies(&mut explanation, &outcome.plan, job, lab, interrupt, observer);
        explanation.tried = tried.as_ref().ok().map(|tried| *tried as u32);
        if let Err(error) = tried {
            let remedy = "measure the cell with its remedy by hand: ipcost explain CELL CELL";
            explanation.missing.push(MissingEvidence::new("remedies", error, remedy));
        }
    }
    let document = answered(document(outcome, about), &explanation);
    Ok(Examined { explanation, document, flames })
}

/// A picture of each difference, or of each cell where there is none.
fn flames(
    explanation: &mut Explanation,
    outcome: &CampaignState,
    evidence: &[CellEvidence],
) -> Vec<(String, String)> {
    let drawable = |id: &str| {
        let index = outcome.plan.cells.iter().position(|cell| cell.id == id)?;
        let cell = explanation.cells.iter().find(|cell| cell.id == id)?;
        Some(flame_cell(cell, evidence[index].stacks.as_ref()?))
    };
    let differences =
        if explanation.differences.is_empty() { &explanation.twins } else { &explanation.differences };
    let mut pairs: Vec<(String, Option<String>)> =
        differences.iter().map(|found| (found.a.clone(), Some(found.b.clone()))).collect();
    if pairs.is_empty() {
        pairs = explanation.cells.iter().map(|cell| (cell.id.clone(), None)).collect();
    }
    let mut drawn = Vec::new();
    let mut failed = Vec::new();
    for (a, b) in pairs {
        let Some(cell) = drawable(&a) else { continue };
        let baseline = b.as_deref().and_then(drawable);
        match draw(&cell, baseline.as_ref()) {
            Ok(picture) => drawn.push((b.map_or(a.clone(), |b| format!("{a} against {b}")), picture)),
            Err(error) => failed.push(MissingEvidence::new(
                format!("a flame graph of {a}"),
                error,
                "the rest of the report needs none",
            )),
        }
    }
    explanation.missing.extend(failed);
    drawn
}

/// What floors cost now; what cannot be measured is missing, and the rest goes on.
fn measured(
    floors: &Floors,
    lab: &Lab,
    interrupt: &Interrupt,
    missing: &mut Vec<MissingEvidence>,
) -> Result<Option<Costs>, EngineError> {
    match floors.measure(lab, interrupt) {
        Ok(costs) => Ok(Some(costs)),
        Err(EngineError::Interrupted) => Err(EngineError::Interrupted),
        Err(error) => {
            missing.push(no_floors(&error));
            Ok(None)
        }
    }
}

fn no_floors(error: &dyn std::error::Error) -> MissingEvidence {
    MissingEvidence::new("floors", error, "leave them out with --no-floor")
}

fn collect(
    asked: &ExplainRequest,
    lab: &Lab,
    interrupt: &Interrupt,
    question: &ExplainedQuestion,
    outcome: &CampaignState,
    evidence: &mut [CellEvidence],
    observer: &mut dyn Observer,
) -> Result<Vec<MissingEvidence>, EngineError> {
    let available = |cell: &&usize| outcome.plan.cells[**cell].unavailable.is_none();
    let twins = question.twins.iter().map(|(_, twin)| twin);
    let mut cells: Vec<usize> = question.asked.iter().chain(twins).filter(available).copied().collect();
    cells.sort_unstable();
    cells.dedup();
    let batches = outcome.batches();
    let mut collector = Collector::new(lab.tracing(&outcome.plan, interrupt), lab.namespace(), asked.flame);
    for (done, cell) in cells.iter().copied().enumerate() {
        observer.step(done as u64, cells.len() as u64, LOOKING);
        let cost = median(&batches.log_costs(Metric::Wall, cell));
        evidence[cell] = collector.collect(cell, cost.map_or(1e6, f64::exp))?;
    }
    observer.step(cells.len() as u64, cells.len() as u64, LOOKING);
    Ok(collector.missing())
}
