//! The size at which one transport overtakes another.

use std::time::{Duration, Instant};

use ipcost_lab::lab::{about, fresh_seed};
use ipcost_lab::progress::Observer;
use ipcost_lab::{About, Contrasts, Lab, LabError, PlanSettings, document};
use ipcost_model::units::duration_text;
use ipcost_model::{
    ContrastRecord, Document, Job, LatencyMode, Matrix, Metric, Pattern, Placement, Size, Stopped,
};
use ipcost_sys::interrupt::Interrupt;

use crate::answer::{answered, of_runs};
use crate::search::{Searched, Unplanned, plan_of};

use super::{SWEEP_SCHEMA, SizeSweep, SweepPoint, crossings, first_sizes, next_sizes, open_sizes};

/// Intervals at the most, one for each measurement of a size; they share alpha whether they are drawn or not.
const FAMILY: u32 = 24;
/// The share of the budget for the first grid, and of what is left for each step after it.
const FIRST: f64 = 0.4;
const LATER: f64 = 0.5;

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
    let (a, b) = pair(request)?;
    let lab = Lab::open(&job(request, (a, b), &[request.from], request.budget), tell)?;
    let began = Instant::now();
    let seed = request.seed.unwrap_or_else(fresh_seed);
    let mut points: Vec<SweepPoint> = Vec::new();
    let mut documents: Vec<Document> = Vec::new();
    let mut sizes = first_sizes(request.from, request.to);
    let mut failure = None;
    let mut out_of_budget = false;
    let mut intervals = 0;
    // All that is left goes to the same sizes where the machine was too slow for what was foreseen, or nothing else is left to narrow.
    let mut is_last = false;
    while !sizes.is_empty() {
        let left = request.budget.saturating_sub(began.elapsed());
        let share = left.mul_f64(match intervals {
            0 => FIRST,
            _ if is_last => 1.0,
            _ => LATER,
        });
        let job = job(request, (a, b), &sizes, share);
        // Every size of the whole sweep shares alpha, not only those of this step.
        let settings =
            PlanSettings { family: Some(FAMILY), ..PlanSettings::of(&job, seed + intervals as u64) };
        let plan = match plan_of(&lab, &job, &settings) {
            Ok(plan) => plan,
            // What is left is too short for another step; what has been measured stands.
            Err(Unplanned::TooShort(_)) if !points.is_empty() => {
                out_of_budget = true;
                break;
            }
            Err(Unplanned::TooShort(enough)) => {
                return Err(wrong(format!(
                    "a budget of {} is too short for the first sizes; give --budget {}s",
                    duration_text(request.budget),
                    (enough as f64 / FIRST).ceil()
                )));
            }
            Err(Unplanned::Other(error)) => return Err(error),
        };
        let about = about(&job, plan.seed);
        let mut watching = observer(about.clone());
        let (mut outcome, _) = lab.run(plan, &Contrasts, interrupt, |_| &mut *watching)?;
        failure = outcome.failure.take();
        let document = document(outcome, about);
        let ended = failure.is_some() || document.stopped == Stopped::Interrupted;
        intervals += sizes.len();
        let found = measured(&document, (a, b));
        points.retain(|point| !found.iter().any(|found| found.size == point.size));
        points.extend(found);
        points.sort_by_key(|point| point.size);
        if document.schedule.epochs > 0 {
            documents.push(document);
        }
        if ended {
            break;
        }
        if is_last {
            // A crossing that only the last step has found is as wide as it was.
            out_of_budget = !next_sizes(&points, 1.0 + request.resolution).is_empty();
            break;
        }
        if !unknown(&points) {
            sizes = next_sizes(&points, 1.0 + request.resolution);
        }
        if unknown(&points) || sizes.is_empty() {
            is_last = true;
            sizes = open_sizes(&points);
        }
        if intervals + sizes.len() > FAMILY as usize {
            out_of_budget = true;
            break;
        }
    }
    let sweep = SizeSweep {
        schema: SWEEP_SCHEMA.to_owned(),
        pattern: request.pattern,
        a: a.to_owned(),
        b: b.to_owned(),
        elapsed_s: began.elapsed().as_secs_f64(),
        family: FAMILY,
        crossings: crossings(&points),
        points,
        out_of_budget,
    };
    Ok(Searched { document: of_runs(documents).map(|document| answered(document, &sweep)), failure })
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
            format!("--pattern takes rr or stream: what {pattern} costs hardly depends on the size"),
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
