//! The article's own counts and repetitions: `--as-published` prints what the article printed, `--full` decides the
//! claims.

use std::time::Duration;

use ipcost_lab::bench::{BatchKind, Bench};
use ipcost_lab::lab::fresh_seed;
use ipcost_lab::progress::Observer;
use ipcost_lab::{Lab, LabError, PlanSettings, rate};
use ipcost_model::units::{counted, duration_text};
use ipcost_model::{Expanded, Plan, PlannedCell};
use ipcost_stats::planned_epochs_to_expect;
use ipcost_sys::interrupt::Interrupt;

use super::level::PLANNED;
use super::published::Repetition;
use super::run::{NO_MARGIN, job_of, lab_of};
use super::{AsPublished, Peers, ReplicateRequest, Replication, sender_timed};

/// How much longer than estimated a batch may take before its peers are given up.
const PATIENCE: u32 = 20;
/// `--full` leaves out what takes longer.
const LONGEST: Duration = Duration::from_secs(3600);

fn failed(what: &str) -> LabError {
    LabError::Failed(what.to_owned())
}

/// The article's cells with its counts, and how long each takes here.
struct CountedOperations {
    lab: Lab,
    /// The cells with their counts.
    cells: Expanded,
    settings: PlanSettings,
    /// How long one repetition of a cell takes, by cell.
    estimates: Vec<Duration>,
}

impl CountedOperations {
    /// Prepares the cells and times each briefly; counts are divided by a number.
    fn new(
        request: &ReplicateRequest,
        published: &AsPublished,
        divide: u64,
        interrupt: &Interrupt,
        observer: &mut dyn Observer,
    ) -> Result<Self, LabError> {
        let matrices: Vec<_> = published.cells.iter().map(|cells| cells.cell.clone()).collect();
        let job = job_of(&matrices, &Peers::default())?;
        let lab = lab_of(request, &job, observer)?;
        let seed = request.seed.unwrap_or_else(fresh_seed);
        let mut settings = PlanSettings {
            epochs: Some(1),
            counted: true,
            margin: NO_MARGIN,
            ..PlanSettings::of(&job, seed)
        };
        let mut cells = lab.cells(&job)?;
        let plan = lab.plan(cells.clone(), &settings)?;
        if let Some(reason) = plan.cells.iter().find_map(|cell| cell.unavailable.clone()) {
            return Err(LabError::Failed(reason));
        }
        let ops_of = counts(&lab, published, divide)?;
        if ops_of.len() != plan.cells.len() {
            return Err(failed("two published cells are the same"));
        }
        let mut estimates = Vec::new();
        let mut bench = lab.bench(&plan, interrupt)?;
        for (cell, ops) in ops_of.iter().enumerate() {
            bench.start_epoch(0, &[cell])?;
            let workers = u64::from(plan.cells[cell].cell.concurrency);
            let rate = rate(&mut bench, cell, workers, true)?;
            bench.end_epoch()?;
            estimates.push(Duration::from_nanos((rate.ns_per_op * *ops as f64 + rate.wait_ns) as u64));
        }
        drop(bench);
        for (cell, ops) in cells.cells.iter_mut().zip(&ops_of) {
            // The first thing that its processes do, as in the article.
            (cell.ops, cell.lead_in) = (Some(*ops), Some(Duration::ZERO));
        }
        let longest = estimates.iter().max().copied().unwrap_or_default();
        settings.timeout = settings.timeout.max(longest * PATIENCE);
        Ok(Self { lab, cells, settings, estimates })
    }

    /// The plan of a number of repetitions of all cells.
    fn plan_repetitions(&self, repetitions: u32, sender_timed: Vec<usize>) -> Result<Plan, LabError> {
        let settings = PlanSettings {
            epochs: Some(repetitions),
            budget: Some(self.whole(repetitions)),
            sender_timed,
            ..self.settings.clone()
        };
        self.lab.plan(self.cells.clone(), &settings)
    }

    /// How long a number of repetitions of all cells takes.
    fn whole(&self, repetitions: u32) -> Duration {
        self.estimates.iter().sum::<Duration>() * repetitions
    }
}

/// The operations of every cell, in the order of the matrices; what these expand to is found by asking for each alone.
fn counts(lab: &Lab, published: &AsPublished, divide: u64) -> Result<Vec<u64>, LabError> {
    let mut ops_of = Vec::new();
    for cells in &published.cells {
        let own = lab.cells(&job_of(std::slice::from_ref(&cells.cell), &Peers::default())?)?;
        for planned in &own.cells {
            let workers = u64::from(planned.cell.concurrency);
            let each = match (cells.ops_per_worker, cells.bytes) {
                (Some(ops), _) => ops,
                (None, Some(bytes)) => bytes / planned.cell.size.max(1) / workers,
                (None, None) => {
                    return Err(failed("a published cell has neither ops_per_worker nor bytes"));
                }
            };
            ops_of.push((each / divide).max(1) * workers);
        }
    }
    Ok(ops_of)
}

/// Repeats the article's own counts, divided by a number; divided, once.
pub fn repeat(
    request: &ReplicateRequest,
    published: &AsPublished,
    divide: u64,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<Vec<Repetition>, LabError> {
    let article = CountedOperations::new(request, published, divide, interrupt, observer)?;
    let repetitions = if divide > 1 { 1 } else { published.repetitions };
    let plan = article.plan_repetitions(repetitions, Vec::new())?;
    let CountedOperations { lab, estimates, .. } = &article;
    observer.estimate(&format!(
        "{} cells, {repetitions} times each: about {}; ipcost replicate without --as-published decides the claims in minutes",
        estimates.len(),
        duration_text(article.whole(repetitions))
    ));
    let mut bench = lab.bench(&plan, interrupt)?;
    let of = plan.cells.len() as u64 * u64::from(repetitions);
    let mut done: Vec<Repetition> = Vec::new();
    for (cell, PlannedCell { id, point, ops, .. }) in plan.cells.iter().enumerate() {
        let ops = ops.unwrap_or_default();
        for repetition in 1..=repetitions {
            observer.step(done.len() as u64, of, &format!("{id} ({repetition} of {repetitions})"));
            bench.start_epoch(repetition, &[cell])?;
            let batch = bench
                .batch(cell, ops, BatchKind::Plain)
                .map_err(|error| failed(&format!("in the middle of a repetition: {error}")))?;
            bench.end_epoch()?;
            done.push(Repetition {
                cell: point.cell.clone(),
                ops,
                wall_ns: batch.wall_ns,
                sent_ns: batch.sent_ns,
                client: batch.client,
                incr_usec_per_call: batch.measures.get("incr_usec_per_call").copied(),
            });
        }
    }
    observer.step(of, of, "");
    Ok(done)
}

/// Prepares the article's own counts as a run that decides claims, all cells in random order in every repetition; says
/// what is to come.
///
/// There are as many repetitions as published; more if an interval takes more, as long as all of them take less than an
/// hour.
pub(super) fn full(
    request: &ReplicateRequest,
    replication: &Replication,
    divide: u64,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<(Lab, Plan), LabError> {
    let published = replication
        .as_published
        .as_ref()
        .ok_or_else(|| LabError::Refused("it has no published counts; run it without --full".to_owned()))?;
    let article = CountedOperations::new(request, published, divide, interrupt, observer)?;
    let asked = published.repetitions;
    let whole = article.whole(asked);
    if whole > LONGEST {
        return Err(LabError::Refused(format!(
            "its own counts take about {}, more than an hour; --divide N makes them smaller, and without --full the claims are decided in minutes",
            duration_text(whole)
        )));
    }
    let for_intervals = planned_epochs_to_expect(PLANNED);
    let repetitions = if article.whole(for_intervals) > LONGEST { asked } else { asked.max(for_intervals) };
    let more = if repetitions > asked {
        format!(", where the article had {asked}: fewer have no interval")
    } else {
        String::new()
    };
    let whole = article.whole(repetitions);
    let cells = counted(article.estimates.len() as u32, "cell");
    let times = counted(repetitions, "repetition");
    let divided = if divide > 1 { format!(" divided by {divide}") } else { String::new() };
    observer.estimate(&format!(
        "{}: the article's own counts{divided}: {cells}, {times}{more}; about {}",
        replication.id,
        duration_text(whole)
    ));
    let plan = article.plan_repetitions(repetitions, sender_timed(replication, &article.cells.cells))?;
    Ok((article.lab, plan))
}
