//! `ipcost sweep size`: the size at which one transport overtakes another.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, ensure};
use ipcost_features::sweep::SWEEP_SCHEMA;
use ipcost_features::sweep::SizeSweep;
use ipcost_features::sweep::SweepPoint;
use ipcost_features::sweep::words as text;
use ipcost_features::sweep::{crossings, first_sizes, next_sizes};
use ipcost_lab::lab::fresh_seed;
use ipcost_lab::planning::ALPHA;
use ipcost_lab::{Lab, LabError, PlanError, Settings};
use ipcost_model::{
    Document, Job, LatencyMode, Matrix, Metric, Multiplicity, Pattern, Plan, Size, Stopped, Tool,
};
use ipcost_sys::host;

use crate::args::SizeSweepArgs;
use crate::exit::{INTERRUPTED, Problem, teller};
use crate::output::{is_standard_output, print, room, write_pretty};
use crate::run::{Finished, carry_out, listen};

/// Intervals at the most, one for each measurement of a size; they share alpha whether they are drawn or not.
const FAMILY: u32 = 24;
/// The share of the budget for the first grid, and of what is left for each step after it.
const FIRST: f64 = 0.4;
const LATER: f64 = 0.5;

/// Measures a grid of sizes, then sizes within the crossings, until these are narrow enough or the budget ends.
///
/// # Errors
/// What is wrong with the arguments, or what failed.
pub fn run(args: &SizeSweepArgs) -> Result<ExitCode, Problem> {
    let (a, b) = pair(args).map_err(Problem::usage)?;
    let lab = Lab::open(&job(args, (a, b), &[args.from], args.budget), &mut teller(args.quiet))?;
    let interrupt = listen()?;
    let began = Instant::now();
    let seed = args.seed.unwrap_or_else(fresh_seed);
    let mut points: Vec<SweepPoint> = Vec::new();
    let mut sizes = first_sizes(args.from, args.to);
    let mut interrupted = false;
    let mut out_of_budget = false;
    let mut intervals = 0;
    while !sizes.is_empty() && !interrupted {
        let left = args.budget.saturating_sub(began.elapsed());
        let share = left.mul_f64(match intervals {
            0 => FIRST,
            // The machine was too slow for what was foreseen, so all that is left goes to the same sizes.
            _ if unknown(&points) => 1.0,
            _ => LATER,
        });
        let job = job(args, (a, b), &sizes, share);
        let plan = match plan_of(&lab, &job, seed + intervals as u64) {
            Ok(plan) => plan,
            // What is left is too short for another step; what has been measured stands.
            Err(Failure::TooSmall(_)) if !points.is_empty() => {
                out_of_budget = true;
                break;
            }
            Err(failure) => return Err(failure.problem(args)),
        };
        let Finished { document, failure } = carry_out(&lab, &job, plan, &interrupt, args.quiet)?;
        if let Some(error) = failure {
            return Err(error.into());
        }
        interrupted = document.stopped == Stopped::Interrupted;
        intervals += sizes.len();
        points.retain(|point| !sizes.contains(&point.size));
        points.extend(measured(&document, (a, b)));
        points.sort_by_key(|point| point.size);
        let again = unknown(&points);
        sizes = if again { sizes } else { next_sizes(&points, 1.0 + args.resolution) };
        if intervals + sizes.len() > FAMILY as usize {
            out_of_budget = true;
            break;
        }
    }
    let sweep = SizeSweep {
        schema: SWEEP_SCHEMA.to_owned(),
        tool: Tool { name: "ipcost".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        host: host::read(),
        pattern: args.pattern,
        a: a.to_owned(),
        b: b.to_owned(),
        seed,
        elapsed_s: began.elapsed().as_secs_f64(),
        alpha: ALPHA,
        family: FAMILY,
        margin: args.margin,
        crossings: crossings(&points),
        points,
        out_of_budget,
    };
    finish(args, &args.redacting.apply(sweep)?, interrupted)
}

/// Whether no size has an interval yet.
fn unknown(points: &[SweepPoint]) -> bool {
    points.iter().all(|point| point.lo.is_none() && point.hi.is_none())
}

fn finish(args: &SizeSweepArgs, sweep: &SizeSweep, interrupted: bool) -> Result<ExitCode, Problem> {
    if sweep.points.is_empty() {
        return Err(Problem::interrupted());
    }
    if let Some(path) = &args.json {
        write_pretty(sweep, path).map_err(Problem::failed)?;
    }
    if !args.json.as_deref().is_some_and(is_standard_output) {
        print(&text::render(sweep, room())).map_err(Problem::failed)?;
    }
    Ok(if interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

fn pair(args: &SizeSweepArgs) -> anyhow::Result<(&str, &str)> {
    let [a, b] = args.transports.as_slice() else {
        bail!("--transports takes two, such as unix,tcp; there are {}", args.transports.len());
    };
    ensure!(a != b, "--transports names {a} twice; a crossing is between two");
    ensure!(
        matches!(args.pattern, Pattern::Rr | Pattern::Stream),
        "--pattern takes rr or stream: what {} costs hardly depends on the size",
        args.pattern
    );
    ensure!(args.from > 0, "--from 0: there is no message without a byte");
    ensure!(args.from < args.to, "--from must be below --to");
    ensure!(args.resolution > 0.0, "--resolution 0% is never reached; give at least 1%");
    Ok((a, b))
}

fn job(args: &SizeSweepArgs, (a, b): (&str, &str), sizes: &[u64], budget: Duration) -> Job {
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

/// Why a step cannot be planned.
enum Failure {
    TooSmall(PlanError),
    Other(anyhow::Error),
}

impl Failure {
    fn problem(self, args: &SizeSweepArgs) -> Problem {
        Problem::usage(match self {
            Self::TooSmall(PlanError::BudgetTooSmall { enough, .. }) => anyhow!(
                "a budget of {} is too short for the first sizes; give --budget {}s",
                ipcost_model::units::duration_text(args.budget),
                (enough as f64 / FIRST).ceil()
            ),
            Self::TooSmall(error) => error.into(),
            Self::Other(error) => error,
        })
    }
}

fn plan_of(lab: &Lab, job: &Job, seed: u64) -> Result<Plan, Failure> {
    let expanded = lab.cells(job).map_err(|error| Failure::Other(error.into()))?;
    if let Some((cell, reason)) =
        expanded.cells.iter().find_map(|cell| Some((&cell.id, cell.unavailable.as_ref()?)))
    {
        return Err(Failure::Other(anyhow!("{cell} cannot be measured here: {reason}")));
    }
    let level = ALPHA / f64::from(FAMILY);
    let settings = Settings { level: Some(level), ..Settings::of(job, seed) };
    let mut plan = lab.plan(expanded, &settings).map_err(|error| match error {
        LabError::Plan(error @ PlanError::BudgetTooSmall { .. }) => Failure::TooSmall(error),
        error => Failure::Other(error.into()),
    })?;
    // Every size of the whole sweep shares alpha, not only those of this step.
    (plan.family, plan.alpha_each, plan.multiplicity) = (FAMILY, level, Multiplicity::Headline);
    Ok(plan)
}

/// The sizes of a document.
fn measured(document: &Document, (a, b): (&str, &str)) -> Vec<SweepPoint> {
    let cell = |id: &str| document.cells.iter().find(|cell| cell.id == id);
    let point = |contrast: &ipcost_model::ContrastRecord| {
        let (of_a, of_b) = (cell(&contrast.a)?, cell(&contrast.b)?);
        (of_a.transport == a && of_b.transport == b).then_some(SweepPoint {
            size: of_a.size,
            a_ns: of_a.wall_ns_per_op?.median,
            b_ns: of_b.wall_ns_per_op?.median,
            ratio: contrast.ratio,
            lo: contrast.lo,
            hi: contrast.hi,
            verdict: contrast.verdict,
            epochs: contrast.epochs,
        })
    };
    document.contrasts.iter().filter(|contrast| contrast.metric == Metric::Wall).filter_map(point).collect()
}
