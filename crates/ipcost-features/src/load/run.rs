//! Measures a load: what each transport carries back to back, then rates of that, then rates around the limit.

use std::time::{Duration, Instant};

use ipcost_lab::estimate::estimate_of_logs;
use ipcost_lab::lab::{about, envelope, fresh_seed};
use ipcost_lab::planning::ALPHA;
use ipcost_lab::progress::Observer;
use ipcost_lab::{
    About, Answered, Contrasts, EngineError, Lab, LabError, Needed, Outcome, Percentiles, PlanError, Question,
    Settings, document,
};
use ipcost_model::pace::{Pace, RATE};
use ipcost_model::{
    CellRecord, Document, Estimate, Job, LatencyMode, Matrix, Metric, OptionName, OptionValue, Percentile,
    Stopped,
};
use ipcost_sys::interrupt::Interrupt;

use super::judge::{first_rates, knee, next_rates};
use super::{Capacity, EqualRate, LOAD_SCHEMA, LoadCurves, LoadPoint, LoadRequest};
use crate::answer::{answered, of_runs};

/// Percentiles that share alpha at the most, one for each measurement of a rate.
const FAMILY: u32 = 60;
/// The share of the budget for what transports carry back to back, of what is left for the first rates, and for each step after it.
const BACK_TO_BACK: f64 = 0.15;
const FIRST: f64 = 0.6;
const LATER: f64 = 0.6;
/// How many connections are tried back to back, besides those of the load.
const CONNECTIONS: [u32; 3] = [1, 2, 4];
/// How long a batch lasts: enough operations for a 99th percentile at a low rate, and for a queue to form at a high one.
const BATCH: Duration = Duration::from_millis(60);
/// How short it may get where there is little time.
const BATCH_LEAST: Duration = Duration::from_millis(20);

/// A load that was measured.
pub struct Loaded {
    /// The document of its runs, with the answer; `None` where nothing was measured.
    pub document: Option<Document>,
    /// What ended it, if something failed.
    pub failure: Option<EngineError>,
}

/// The level of each percentile's interval.
fn level() -> f64 {
    ALPHA / f64::from(FAMILY)
}

/// Whether each cell's 99th percentile is known to be below a limit, or not to be.
struct UnderLimit {
    limit_ns: u64,
}

impl UnderLimit {
    fn is_known(&self, epochs: &[Percentiles]) -> bool {
        let Some(p99) = percentile(epochs, Percentile::P99) else { return false };
        let limit = self.limit_ns as f64;
        p99.hi.is_some_and(|hi| hi < limit) || p99.lo.is_some_and(|lo| lo >= limit)
    }
}

impl Question for UnderLimit {
    fn answered(&self, so_far: &Outcome) -> Answered {
        let cells: Vec<usize> = so_far.plan.measurable().collect();
        let open: Vec<usize> =
            cells.iter().copied().filter(|cell| !self.is_known(&so_far.percentiles[*cell])).collect();
        let resolved = (cells.len() - open.len()) as u32;
        let needed = if open.is_empty() { Needed::Nothing } else { Needed::Cells(open) };
        Answered { resolved, of: cells.len() as u32, needed }
    }
}

/// A percentile over epochs; `None` if an epoch had too few operations for it.
fn percentile(epochs: &[Percentiles], percentile: Percentile) -> Option<Estimate> {
    let logs: Option<Vec<f64>> =
        epochs.iter().map(|epoch| Some((epoch.at(percentile)?.max(1) as f64).ln())).collect();
    estimate_of_logs(&logs?, level())
}

/// Measures until every knee's range is narrow enough or the budget ends. What was measured before something failed stands.
///
/// `base` is a job whose matrix holds the load at no rate, over all transports, and whose peers are those that it names.
///
/// # Errors
/// What is wrong with the request, or what failed.
pub fn load(
    request: &LoadRequest,
    base: &Job,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(&str),
    observer: &mut dyn FnMut(About) -> Box<dyn Observer>,
) -> Result<Loaded, LabError> {
    check(request)?;
    let envelope = envelope(LOAD_SCHEMA);
    let lab = Lab::open(base, tell)?;
    let seed = request.seed.unwrap_or_else(fresh_seed);
    let mut measuring = Measuring {
        request,
        base,
        lab,
        interrupt,
        observer,
        began: Instant::now(),
        seed,
        documents: Vec::new(),
        points: Vec::new(),
        equal_rates: Vec::new(),
        failure: None,
    };
    let capacities = measuring.back_to_back()?;
    let own: Vec<&Capacity> =
        capacities.iter().filter(|capacity| capacity.concurrency == request.concurrency).collect();
    let mut rates = first_rates(&own);
    let mut out_of_budget = false;
    let mut share = FIRST;
    while !measuring.has_ended() && rates.iter().any(|(_, rates)| !rates.is_empty()) {
        let measured: usize = rates.iter().map(|(_, rates)| rates.len()).sum();
        if measuring.points.len() + measured > FAMILY as usize || !measuring.step(&rates, &own, share)? {
            out_of_budget = true;
            break;
        }
        share = LATER;
        rates = own
            .iter()
            .map(|capacity| {
                let found = knee(&capacity.transport, &measuring.points, request.limit_ns);
                let next = next_rates(&found, &measuring.points, capacity.per_s.median, request.resolution);
                (capacity.transport.clone(), next)
            })
            .collect();
    }
    let Measuring { documents, points, equal_rates, failure, began, .. } = measuring;
    let curves = LoadCurves {
        envelope,
        request: request.clone(),
        seed,
        elapsed_s: began.elapsed().as_secs_f64(),
        alpha: ALPHA,
        family: FAMILY,
        knees: request.transports.iter().map(|name| knee(name, &points, request.limit_ns)).collect(),
        capacities,
        points,
        equal_rates,
        out_of_budget,
    };
    Ok(Loaded { document: of_runs(documents).map(|document| answered(document, &curves)), failure })
}

fn check(request: &LoadRequest) -> Result<(), LabError> {
    let refuse = |reason: &str| Err(LabError::Refused(reason.to_owned()));
    if request.transports.is_empty() {
        return refuse("--transports names none; give some, such as unix,tcp");
    }
    if request.limit_ns == 0 {
        return refuse("--limit 0: no operation takes no time; give one such as 1ms");
    }
    if request.resolution <= 0.0 {
        return refuse("--resolution 0% is never reached; give at least 1%");
    }
    Ok(())
}

struct Measuring<'a> {
    request: &'a LoadRequest,
    base: &'a Job,
    lab: Lab,
    interrupt: &'a Interrupt,
    observer: &'a mut dyn FnMut(About) -> Box<dyn Observer>,
    began: Instant,
    seed: u64,
    documents: Vec<Document>,
    points: Vec<LoadPoint>,
    equal_rates: Vec<EqualRate>,
    failure: Option<EngineError>,
}

impl Measuring<'_> {
    fn has_ended(&self) -> bool {
        self.failure.is_some()
            || self.documents.last().is_none_or(|last| last.stopped == Stopped::Interrupted)
    }

    fn left(&self) -> Duration {
        let budget = self.request.budget.unwrap_or(super::DEFAULT_BUDGET);
        budget.saturating_sub(self.began.elapsed())
    }

    fn job(&self, cells: Vec<Matrix>, budget: Duration) -> Job {
        Job {
            cells,
            baseline: self.request.transports.last().cloned(),
            budget: Some(budget),
            margin: Some(self.request.margin),
            latency: Some(LatencyMode::Off),
            ..self.base.clone()
        }
    }

    /// Runs a job; `None` if the time is too short for it.
    fn run(
        &mut self,
        job: &Job,
        settings: impl FnOnce(Settings) -> Settings,
        question: &dyn Question,
    ) -> Result<Option<Outcome>, LabError> {
        let seed = self.seed.wrapping_add(self.documents.len() as u64);
        let expanded = self.lab.cells(job)?;
        if let Some((cell, reason)) =
            expanded.cells.iter().find_map(|cell| Some((&cell.id, cell.unavailable.as_ref()?)))
        {
            return Err(LabError::Refused(format!("{cell} cannot be measured here: {reason}")));
        }
        let plan = match self.lab.plan(expanded, &settings(Settings::of(job, seed))) {
            Err(LabError::Plan(PlanError::BudgetTooSmall { .. })) => return Ok(None),
            plan => plan?,
        };
        let mut watching = (self.observer)(about(job, plan.seed));
        let (outcome, _) = self.lab.run(plan, question, self.interrupt, |_| &mut *watching)?;
        Ok(Some(outcome))
    }

    /// Keeps the record of an outcome; `None` if no epoch was complete.
    fn keep(&mut self, mut outcome: Outcome, job: &Job) -> Option<&Document> {
        self.failure = outcome.failure.take();
        let seed = outcome.plan.seed;
        let epochs = outcome.epochs;
        self.documents.push(document(outcome, about(job, seed)));
        self.documents.last().filter(|_| epochs > 0)
    }

    /// What each transport does back to back, over the connections of the load and over some more.
    fn back_to_back(&mut self) -> Result<Vec<Capacity>, LabError> {
        let own = self.request.concurrency;
        let mut connections: Vec<u32> = CONNECTIONS.iter().map(|times| own.saturating_mul(*times)).collect();
        connections.dedup();
        let cells = self.base.cells.iter();
        let cells = cells
            .map(|matrix| Matrix { concurrency: connections.clone().into(), ..matrix.clone() })
            .collect();
        let budget = self.left().mul_f64(BACK_TO_BACK);
        let job = self.job(cells, budget);
        let Some(outcome) = self.run(&job, |settings| settings, &Contrasts)? else {
            return Err(too_short(self.request));
        };
        let Some(document) = self.keep(outcome, &job) else { return Ok(Vec::new()) };
        let capacity = |cell: &CellRecord| {
            let cost = cell.wall_ns_per_op?;
            let per_s = Estimate {
                median: 1e9 / cost.median,
                lo: cost.hi.map(|ns| 1e9 / ns),
                hi: cost.lo.map(|ns| 1e9 / ns),
            };
            Some(Capacity { transport: cell.transport.clone(), concurrency: cell.concurrency, per_s })
        };
        Ok(document.cells.iter().filter_map(capacity).collect())
    }

    /// Measures rates; `false` if the time is too short for them.
    fn step(
        &mut self,
        rates: &[(String, Vec<u64>)],
        capacities: &[&Capacity],
        share: f64,
    ) -> Result<bool, LabError> {
        let name = OptionName::find(RATE).map_err(LabError::Refused)?;
        let mut cells = Vec::new();
        for (transport, rates) in rates.iter().filter(|(_, rates)| !rates.is_empty()) {
            let of_transport =
                self.base.cells.iter().find(|matrix| matrix.transport.0.iter().any(|known| known == transport));
            let Some(matrix) = of_transport else { continue };
            let mut options = matrix.options.clone();
            options.0.insert(name, rates.iter().map(|rate| OptionValue::Int(*rate)).collect());
            let concurrency = vec![self.request.concurrency].into();
            cells.push(Matrix {
                transport: vec![transport.clone()].into(),
                options,
                concurrency,
                ..matrix.clone()
            });
        }
        let budget = self.left().mul_f64(share);
        let job = Job { batch: Some(BATCH), ..self.job(cells, budget) };
        let question = UnderLimit { limit_ns: self.request.limit_ns };
        let settings = |settings: Settings| Settings {
            level: Some(level()),
            family: Some(FAMILY),
            may_overload: true,
            batch_least: Some(BATCH_LEAST),
            ..settings
        };
        let Some(outcome) = self.run(&job, settings, &question)? else {
            return match self.points.is_empty() {
                true => Err(too_short(self.request)),
                false => Ok(false),
            };
        };
        let percentiles = outcome.percentiles.clone();
        let Some(document) = self.keep(outcome, &job) else { return Ok(false) };
        let mut points = Vec::new();
        for (cell, epochs) in document.cells.iter().zip(&percentiles) {
            points.extend(point(cell, epochs, capacities));
        }
        let equal = equal_rates(document);
        self.points.extend(points);
        let transports = &self.request.transports;
        let place = |name: &String| transports.iter().position(|known| known == name);
        self.points.sort_by_key(|point| (place(&point.transport), point.per_s));
        self.equal_rates.extend(equal);
        Ok(true)
    }
}

fn too_short(request: &LoadRequest) -> LabError {
    let given = request.budget.unwrap_or(super::DEFAULT_BUDGET);
    LabError::Refused(format!(
        "a budget of {:.0} s is too short for {} transports; give --budget {:.0}s, or fewer transports",
        given.as_secs_f64(),
        request.transports.len(),
        (given.as_secs_f64() * 2.0).max(60.0)
    ))
}

fn point(cell: &CellRecord, epochs: &[Percentiles], capacities: &[&Capacity]) -> Option<LoadPoint> {
    let Pace::Rate { per_s, .. } = cell.cell.pace() else { return None };
    let capacity = capacities.iter().find(|capacity| capacity.transport == cell.transport)?;
    let pace = cell.pace.as_ref()?;
    Some(LoadPoint {
        transport: cell.transport.clone(),
        per_s,
        utilisation: per_s as f64 / capacity.per_s.median,
        achieved_per_s: pace.achieved_per_s,
        mean_ns: cell.wall_ns_per_op?,
        p50_ns: percentile(epochs, Percentile::P50),
        p99_ns: percentile(epochs, Percentile::P99),
        p999_ns: percentile(epochs, Percentile::P999),
        cpu_ns_per_op: cell.cpu_ns_per_op.map(|cpu| cpu.median),
        wakeups_per_op: cell.usage_per_op.as_ref().map(|usage| usage.voluntary_switches),
        late_p99_ns: pace.late_ns.as_ref().and_then(|late| late.at(Percentile::P99)),
        epochs: cell.epochs,
    })
}

/// The transports of a document compared at the same rate.
fn equal_rates(document: &Document) -> Vec<EqualRate> {
    let cell = |id: &str| document.cells.iter().find(|cell| cell.id == id);
    let mut found = Vec::new();
    for contrast in document.contrasts.iter().filter(|contrast| contrast.metric == Metric::Wall) {
        let (Some(a), Some(b)) = (cell(&contrast.a), cell(&contrast.b)) else { continue };
        let Pace::Rate { per_s, .. } = a.cell.pace() else { continue };
        found.extend(contrast.latency.iter().map(|known| EqualRate {
            per_s,
            a: a.transport.clone(),
            b: b.transport.clone(),
            percentile: known.percentile,
            ratio: known.ratio,
            lo: known.lo,
            hi: known.hi,
            verdict: known.verdict,
        }));
    }
    found
}
