//! `ipcost explain`: where the time of cells goes, and what makes the difference between them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{anyhow, bail};
use ipcost_features::explain::Explanation;
use ipcost_features::explain::evidence::{Collector, Evidence};
use ipcost_features::explain::words as text;
use ipcost_features::explain::{Machine, Question, explain};
use ipcost_lab::lab::{about, fresh_seed};
use ipcost_lab::{EngineError, Lab, Needed, Outcome, Settings};
use ipcost_model::{Job, LatencyMode, NATIVE, Plan, PlannedCell, Stopped, parse_cell_id};
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::placement::Topology;
use ipcost_sys::{facts, firewall, idle, transport};

use crate::args::ExplainArgs;
use crate::exit::{INTERRUPTED, Problem, note, teller, warn};
use crate::job::job as job_of;
use crate::output::{is_standard_output, print, room, write_pretty};
use crate::progress::{Line, bar};
use crate::run::listen;

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

/// Explains what the arguments ask about.
///
/// # Errors
/// What is wrong with the arguments, or what failed.
pub fn run(args: &ExplainArgs) -> Result<ExitCode, Problem> {
    let asked = job(args).map_err(Problem::usage)?;
    let lab = Lab::open(&asked.job, &mut teller(args.quiet))?;
    let (job, plan, question) = prepare(&asked, &lab, args).map_err(Problem::usage)?;
    if !args.quiet {
        plan.notes.iter().for_each(|text| note(text));
    }
    let explanation = examine(args, &job, plan, &question, &lab, &listen()?)?;
    let explanation = args.redacting.apply(explanation)?;
    show(&explanation, args).map_err(Problem::failed)?;
    Ok(match (&explanation.failure, explanation.stopped) {
        (Some(failure), _) => return Err(Problem::failed(anyhow!("{failure}"))),
        (None, Stopped::Interrupted) => ExitCode::from(INTERRUPTED),
        (None, _) => ExitCode::SUCCESS,
    })
}

/// A job, and whether its cells are compared as given rather than with a baseline.
struct Asked {
    job: Job,
    by_id: bool,
}

fn job(args: &ExplainArgs) -> anyhow::Result<Asked> {
    let transports = transport::states();
    let is_file = |name: &str| name.ends_with(".toml");
    match args.cells.as_slice() {
        [] if !args.matrix.is_empty() => {
            Ok(Asked { job: job_of(&args.as_run(None), &transports)?, by_id: false })
        }
        [] => bail!(
            "explain takes one cell or two, such as ipcost explain rr/tcp/64/c1 rr/unix/64/c1; or a job file, or flags for cells as ipcost run does"
        ),
        [file] if is_file(file) => {
            Ok(Asked { job: job_of(&args.as_run(Some(PathBuf::from(file))), &transports)?, by_id: false })
        }
        ids => {
            if let Some(file) = ids.iter().find(|id| is_file(id)) {
                bail!("{file} is a job file, and a job stands alone: give either one job file or two cells");
            }
            let cells: Result<Vec<_>, String> = ids.iter().map(|id| parse_cell_id(id)).collect();
            let settings = Job { cells: cells.map_err(|error| anyhow!("{error}"))?, ..Job::default() };
            // Flags that are not for cells hold here, too; without flags for cells, those would be the default suite.
            let flags = job_of(&args.as_run(None), &transports)?;
            Ok(Asked { job: Job { cells: settings.cells, ..flags }, by_id: true })
        }
    }
}

/// The plan of the timed pass, with native twins of cells between other peers.
fn prepare(asked: &Asked, lab: &Lab, args: &ExplainArgs) -> anyhow::Result<(Job, Plan, Question)> {
    let mut job = Job { floor: false, ..asked.job.clone() };
    let first = lab.cells(&job)?;
    if asked.by_id && args.cells.len() > first.cells.len() {
        bail!("both ids name the same cell, {}; give two that differ", first.cells[0].id);
    }
    let twin_of = |cell: &PlannedCell| {
        let other = cell.client != NATIVE || cell.server != NATIVE;
        other.then(|| cell.cell.id(cell.placement, NATIVE, NATIVE, NATIVE))
    };
    for cell in &first.cells {
        let Some(twin) = twin_of(cell) else { continue };
        job.cells.push(parse_cell_id(&twin).map_err(|error| anyhow!("{error}"))?);
    }
    job.floor = !args.no_floor;
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
        ..Settings::of(&job, args.seed.unwrap_or_else(fresh_seed))
    };
    let plan = lab.plan(expanded, &settings)?;
    Ok((Job { seed: Some(plan.seed), budget: Some(budget), ..job }, plan, question))
}

/// The timed pass, then those that are not timed.
fn examine(
    args: &ExplainArgs,
    job: &Job,
    plan: Plan,
    question: &Question,
    lab: &Lab,
    interrupt: &Interrupt,
) -> Result<Explanation, Problem> {
    let about = about(job, plan.seed);
    let idle_before = idle::states();
    let mut line = Line::new(args.quiet);
    let mut asking = |outcome: &Outcome| match question.answered(outcome) {
        true => Needed::Nothing,
        false => Needed::Everything,
    };
    let mut outcome = lab.run_until(plan, interrupt, &mut line, &mut asking)?;
    let machine = Machine {
        cores: Topology::read().cores.len(),
        idle: idle::since(&idle_before, &idle::states()),
        firewall: firewall::read(),
        network: facts::network(),
    };
    line.clear();
    if outcome.stopped == Stopped::Interrupted && outcome.table.epochs() == 0 {
        return Err(Problem::interrupted());
    }
    let mut evidence = vec![Evidence::default(); outcome.plan.cells.len()];
    let mut missing = Vec::new();
    if outcome.stopped == Stopped::Budget || outcome.stopped == Stopped::Resolved {
        let collected = collect(args, lab, interrupt, question, &outcome, &mut evidence);
        match collected {
            Ok(found) => missing = found,
            Err(EngineError::Interrupted) => outcome.stopped = Stopped::Interrupted,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(explain(&outcome, question, &evidence, &machine, missing, about))
}

fn collect(
    args: &ExplainArgs,
    lab: &Lab,
    interrupt: &Interrupt,
    question: &Question,
    outcome: &Outcome,
    evidence: &mut [Evidence],
) -> Result<Vec<ipcost_features::explain::Missing>, EngineError> {
    let available = |cell: &&usize| outcome.plan.cells[**cell].unavailable.is_none();
    let cells: Vec<usize> = question.asked.iter().filter(available).copied().collect();
    let progress = bar(args.quiet, cells.len() as u64, "looking at what the cells do, {pos} of {len}");
    let mut collector = Collector::new(lab.tracing(&outcome.plan, interrupt), lab.namespace());
    for cell in cells {
        let cost = ipcost_stats::median(&outcome.table.log_costs(ipcost_model::Metric::Wall, cell));
        evidence[cell] = collector.collect(cell, cost.map_or(1e6, f64::exp))?;
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(collector.missing())
}

fn show(explanation: &Explanation, args: &ExplainArgs) -> anyhow::Result<()> {
    if let Some(path) = &args.json {
        write_pretty(explanation, path)?;
    }
    if args.json.as_deref().is_some_and(is_standard_output) {
        return Ok(());
    }
    print(&text::render(explanation, room()))?;
    if !args.quiet {
        explanation.warnings.iter().for_each(|warning| warn(&warning.message));
    }
    Ok(())
}
