//! The passes of an explanation: one that is timed, then those that trace and count.

use std::time::Duration;

use ipcost_lab::lab::{about, fresh_seed};
use ipcost_lab::progress::Observer;
use ipcost_lab::{EngineError, Lab, LabError, Outcome, Settings, document};
use ipcost_model::{
    Document, Job, LatencyMode, Metric, NATIVE, Plan, PlannedCell, Point, Stopped, parse_cell_id,
};
use ipcost_stats::median;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::placement::Topology;
use ipcost_sys::{facts, firewall, idle};

use crate::answer::answered;

use super::evidence::{Collector, Evidence};
use super::{Explanation, Machine, Missing, Question, explain};

/// How long the timed part may take where the user does not say.
const DEFAULT_BUDGET: Duration = Duration::from_secs(20);
/// Epochs that batches leave time for.
const EPOCHS_WANTED: u32 = 30;
/// What an epoch costs beside its batches, for each cell.
const OVERHEAD: Duration = Duration::from_millis(15);
/// The kernel tells user from system time by ticks of some milliseconds, so short batches tell them badly.
const SHORTEST_BATCH: Duration = Duration::from_millis(20);
/// Longer batches tell hardly more.
const LONGEST_BATCH: Duration = Duration::from_millis(200);

/// What `explain` was asked to do.
#[derive(Debug, Clone)]
pub struct Request {
    pub job: Job,
    /// Whether its cells are compared as given rather than with a baseline.
    pub by_id: bool,
    /// Whether their floors are measured, too.
    pub floor: bool,
    pub seed: Option<u64>,
}

/// Receives progress.
pub trait Watching {
    /// Observes the timed pass.
    fn timed(&mut self) -> &mut dyn Observer;

    /// The number of cells that have been traced, of how many.
    fn looked_at(&mut self, done: usize, of: usize);
}

/// The plan of the timed pass, with native twins of cells between other peers.
///
/// # Errors
/// What is wrong with the request, or what this system has no room for.
pub fn prepare(asked: &Request, lab: &Lab) -> Result<(Job, Plan, Question), LabError> {
    let mut job = Job { floor: false, ..asked.job.clone() };
    let first = lab.cells(&job)?;
    if asked.by_id && asked.job.cells.len() > first.cells.len() {
        return Err(LabError::Refused(format!(
            "both ids name the same cell, {}; give two that differ",
            first.cells[0].id
        )));
    }
    let twin_of = |cell: &PlannedCell| {
        let other = cell.client != NATIVE || cell.server != NATIVE;
        other.then(|| {
            Point { client: NATIVE.to_owned(), server: NATIVE.to_owned(), ..cell.point.clone() }.id()
        })
    };
    for cell in &first.cells {
        let Some(twin) = twin_of(cell) else { continue };
        job.cells.push(parse_cell_id(&twin).map_err(LabError::Refused)?);
    }
    job.floor = asked.floor;
    let expanded = lab.cells(&job)?;
    let all: Vec<usize> = (0..first.cells.len()).collect();
    let available = |index: &usize| expanded.cells[*index].unavailable.is_none();
    let pairs = if asked.by_id {
        all.windows(2).map(|pair| (pair[0], pair[1])).collect()
    } else {
        let compared =
            first.workloads.iter().flat_map(|workload| workload.cells.iter().zip(&workload.against));
        compared.filter_map(|(cell, against)| Some((*cell, (*against)?))).collect::<Vec<_>>()
    };
    let twins = all.iter().filter_map(|index| {
        let twin = twin_of(&expanded.cells[*index])?;
        let found = expanded.cells.iter().position(|cell| cell.id == twin)?;
        (available(index) && available(&found)).then_some((*index, found))
    });
    let question = Question {
        twins: twins.collect(),
        pairs: pairs.into_iter().filter(|(a, b)| available(a) && available(b)).collect(),
        asked: all,
    };
    let budget = job.budget.unwrap_or(DEFAULT_BUDGET);
    let each = budget / (expanded.cells.len() as u32 * EPOCHS_WANTED);
    let batch = job.batch.unwrap_or(each.saturating_sub(OVERHEAD).clamp(SHORTEST_BATCH, LONGEST_BATCH));
    let settings = Settings {
        budget: Some(budget),
        batch: Some(batch),
        latency: LatencyMode::Off,
        level: Some(question.level()),
        ..Settings::of(&job, asked.seed.unwrap_or_else(fresh_seed))
    };
    let plan = lab.plan(expanded, &settings)?;
    Ok((Job { seed: Some(plan.seed), budget: Some(budget), ..job }, plan, question))
}

/// The timed pass, then those that are not timed.
///
/// # Errors
/// Where measuring cannot begin, or a peer fails while it is looked at.
pub fn examine(
    job: &Job,
    plan: Plan,
    question: &Question,
    lab: &Lab,
    interrupt: &Interrupt,
    watching: &mut dyn Watching,
) -> Result<(Explanation, Document), EngineError> {
    let about = about(job, plan.seed);
    let idle_before = idle::states();
    let (mut outcome, _) = lab.run(plan, question, interrupt, |_| watching.timed())?;
    let machine = Machine {
        cores: Topology::read().cores.len(),
        idle: idle::since(&idle_before, &idle::states()),
        firewall: firewall::read(),
        network: facts::network(),
    };
    if outcome.stopped == Stopped::Interrupted && outcome.epochs == 0 {
        return Err(EngineError::Interrupted);
    }
    let mut evidence = vec![Evidence::default(); outcome.plan.cells.len()];
    let mut missing = Vec::new();
    if outcome.stopped == Stopped::Budget || outcome.stopped == Stopped::Resolved {
        let collected = collect(lab, interrupt, question, &outcome, &mut evidence, watching);
        match collected {
            Ok(found) => missing = found,
            Err(EngineError::Interrupted) => outcome.stopped = Stopped::Interrupted,
            Err(error) => return Err(error),
        }
    }
    let explanation = explain(&outcome, question, &evidence, &machine, missing, about.clone());
    let document = answered(document(outcome, about), &explanation);
    Ok((explanation, document))
}

fn collect(
    lab: &Lab,
    interrupt: &Interrupt,
    question: &Question,
    outcome: &Outcome,
    evidence: &mut [Evidence],
    watching: &mut dyn Watching,
) -> Result<Vec<Missing>, EngineError> {
    let available = |cell: &&usize| outcome.plan.cells[**cell].unavailable.is_none();
    let cells: Vec<usize> = question.asked.iter().filter(available).copied().collect();
    let batches = outcome.batches();
    let mut collector = Collector::new(lab.tracing(&outcome.plan, interrupt), lab.namespace());
    for (done, cell) in cells.iter().copied().enumerate() {
        watching.looked_at(done, cells.len());
        let cost = median(&batches.log_costs(Metric::Wall, cell));
        evidence[cell] = collector.collect(cell, cost.map_or(1e6, f64::exp))?;
    }
    watching.looked_at(cells.len(), cells.len());
    Ok(collector.missing())
}
