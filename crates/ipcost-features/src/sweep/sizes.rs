//! The size at which one transport overtakes another.

use std::time::Duration;

use ipcost_lab::progress::Observer;
use ipcost_lab::{About, Contrasts, Lab, LabError, PlanSettings};
use ipcost_model::units::duration_text;
use ipcost_model::{ContrastRecord, Document, Job, LatencyMode, Matrix, Metric, Pattern, Placement, Size};
use ipcost_sys::interrupt::Interrupt;

use crate::search::{Search, Searched, Unplanned};

use super::{SWEEP_SCHEMA, SizeSweep, SweepPoint, crossings, first_sizes, next_sizes, open_sizes};

/// Intervals at the most, one for each measurement of a size; they share alpha whether they are drawn or not.
const FAMILY: u32 = 24;
/// The share of the budget for the first grid, and of what is left for each step after it, and for the last.
const FIRST: f64 = 0.4;
const LATER: f64 = 0.5;
const ALL: f64 = 1.0;

/// What `sweep size` was asked to do.
#[derive(Debug, Clone)]
pub struct SizeRequest {
    pub transports: Vec<String>,
    pub pattern: Pattern,
    pub from: u64,
    pub to: u64,
    /// How close the ends of a crossing's range are to come.
    pub resolution: f64,
    pub placement: Placement,
    pub client: String,
    pub server: String,
    pub margin: f64,
    pub budget: Duration,
    pub seed: Option<u64>,
}

/// Measures a grid of sizes, then sizes within the crossings, until these are narrow enough or the budget ends; what is left of it goes to
/// sizes that are open. What was measured before something failed stands.
pub fn sizes(
    request: &SizeRequest,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(&str),
    observer: &mut dyn FnMut(About) -> Box<dyn Observer>,
) -> Result<Searched, LabError> {
    let pair = pair(request)?;
    let lab = Lab::open(&job(request, pair, &[request.from], request.budget), tell)?;
    let search = Search::new(lab, interrupt, observer, request.budget, request.seed);
    let mut narrowing = SizeSearch { request, pair, search, points: Vec::new(), intervals: 0 };
    let out_of_budget = narrowing.narrow()?;
    let SizeSearch { search, points, .. } = narrowing;
    let sweep = SizeSweep {
        schema: SWEEP_SCHEMA.to_owned(),
        pattern: request.pattern,
        a: pair.0.to_owned(),
        b: pair.1.to_owned(),
        elapsed_s: search.began.elapsed().as_secs_f64(),
        family: FAMILY,
        crossings: crossings(&points),
        points,
        out_of_budget,
    };
    Ok(search.finish(&sweep))
}

struct SizeSearch<'a> {
    request: &'a SizeRequest,
    pair: (&'a str, &'a str),
    search: Search<'a>,
    points: Vec<SweepPoint>,
    /// How many were drawn so far.
    intervals: usize,
}

impl SizeSearch<'_> {
    /// Measures until nothing is left to narrow, or something failed; whether the budget ended before.
    fn narrow(&mut self) -> Result<bool, LabError> {
        let mut sizes = first_sizes(self.request.from, self.request.to);
        let mut share = FIRST;
        while !sizes.is_empty() {
            match self.measure(&sizes, share) {
                // What is left is too short for another step; what has been measured stands.
                Err(Unplanned::TooShort(_)) if !self.points.is_empty() => return Ok(true),
                Err(Unplanned::TooShort(enough)) => {
                    return Err(wrong(format!(
                        "a budget of {} is too short for the first sizes; give --budget {}s",
                        duration_text(self.request.budget),
                        (enough as f64 / FIRST).ceil()
                    )));
                }
                Err(Unplanned::Other(error)) => return Err(error),
                Ok(()) if self.search.has_ended() => return Ok(false),
                Ok(()) => {}
            }
            let next = next_sizes(&self.points, 1.0 + self.request.resolution);
            if share >= ALL {
                // A crossing that only the last step has found is as wide as it was.
                return Ok(!next.is_empty());
            }
            // All that is left goes to the same sizes where the machine was too slow for what was foreseen, or nothing else is left to
            // narrow.
            (sizes, share) = match unknown(&self.points) || next.is_empty() {
                true => (open_sizes(&self.points), ALL),
                false => (next, LATER),
            };
            if self.intervals + sizes.len() > FAMILY as usize {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Measures these sizes in a share of the time that is left.
    fn measure(&mut self, sizes: &[u64], share: f64) -> Result<(), Unplanned> {
        let job = job(self.request, self.pair, sizes, self.search.left().mul_f64(share));
        // Every size of the whole sweep shares alpha, not only those of this step.
        let of_sweep = |own| PlanSettings { family: Some(FAMILY), ..own };
        let outcome = self.search.run(&job, of_sweep, &Contrasts)?;
        self.intervals += sizes.len();
        let found = self.search.keep(outcome, &job).map(|document| measured(document, self.pair));
        let found = found.unwrap_or_default();
        self.points.retain(|point| !found.iter().any(|found| found.size == point.size));
        self.points.extend(found);
        self.points.sort_by_key(|point| point.size);
        Ok(())
    }
}

/// Whether no size has an interval yet.
fn unknown(points: &[SweepPoint]) -> bool {
    points.iter().all(|point| point.lo.is_none() && point.hi.is_none())
}

fn pair(args: &SizeRequest) -> Result<(&str, &str), LabError> {
    let [a, b] = args.transports.as_slice() else {
        return Err(wrong(format!(
            "--transports takes two, such as unix,tcp; there are {}",
            args.transports.len()
        )));
    };
    let SizeRequest { pattern, from, to, resolution, .. } = args;
    let complaints = [
        (a == b, format!("--transports names {a} twice; a crossing is between two")),
        (
            !matches!(pattern, Pattern::Rr | Pattern::Stream),
            format!("--patterns takes rr or stream: the cost of {pattern} hardly depends on the size"),
        ),
        (*from == 0, "--from 0: there is no message without a byte".to_owned()),
        (from >= to, "--from must be below --to".to_owned()),
        (*resolution <= 0.0, "--resolution 0% is never reached; give at least 1%".to_owned()),
    ];
    match complaints.into_iter().find(|(holds, _)| *holds) {
        Some((_, complaint)) => Err(wrong(complaint)),
        None => Ok((a, b)),
    }
}

fn job(args: &SizeRequest, (a, b): (&str, &str), sizes: &[u64], budget: Duration) -> Job {
    let matrix = Matrix {
        transport: vec![a.to_owned(), b.to_owned()].into(),
        pattern: vec![args.pattern].into(),
        size: sizes.iter().copied().map(Size).collect::<Vec<_>>().into(),
        placement: vec![args.placement].into(),
        client: vec![args.client.clone()].into(),
        server: vec![args.server.clone()].into(),
        ..Matrix::default()
    };
    Job {
        cells: vec![matrix],
        baseline: Some(b.to_owned()),
        budget: Some(budget),
        margin: Some(args.margin),
        latency: Some(LatencyMode::Off),
        ..Job::default()
    }
}

fn wrong(reason: String) -> LabError {
    LabError::Refused(reason)
}

/// The sizes of a document.
fn measured(document: &Document, (a, b): (&str, &str)) -> Vec<SweepPoint> {
    let cell = |id: &str| document.cell(id);
    let point = |contrast: &ContrastRecord| {
        let (of_a, of_b) = (cell(&contrast.a)?, cell(&contrast.b)?);
        (of_a.transport == a && of_b.transport == b).then_some(SweepPoint {
            size: of_a.size,
            a_ns: of_a.wall_ns_per_op?.median,
            b_ns: of_b.wall_ns_per_op?.median,
            ratio: contrast.ratio,
            lo: contrast.lo,
            hi: contrast.hi,
            verdict: contrast.verdict,
            mean: contrast.mean,
            epochs: contrast.epochs,
        })
    };
    document.contrasts.iter().filter(|contrast| contrast.metric == Metric::Wall).filter_map(point).collect()
}
