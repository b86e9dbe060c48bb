//! Causes of bias, searched for in the samples and in what the machine did meanwhile.

use ipcost_model::{CellRecord, Metric, Mode, Placement, Plan, Sample};
use ipcost_stats::{Placed, carry_over, mann_whitney, median, serial_correlation, trend};

use crate::batches::Batches;
use crate::campaign::Outcome;
use crate::causes::{COARSE_CLOCK_NS, NEIGHBOUR_SHARE, SLOW_CLOCK_NS, STEAL_SHARE};
use crate::surroundings::Observed;
use crate::warnings::Finding;

/// The probability of a false alarm on a clean machine, for each kind of diagnostic.
const FALSE_ALARMS: f64 = 0.01;
/// Smaller effects are not worth reporting, whatever the margin: 2 %.
const LEAST_EFFECT: f64 = 0.02;
/// The same for effects that come with interruptions: 5 %.
const LEAST_PREEMPTION: f64 = 0.05;
/// A visible difference between groups, as a factor.
const VISIBLE: f64 = 1.25;
/// Clock ticks per second of the kernel's processor time (`sysconf(_SC_CLK_TCK)`, 100 on Linux).
const TICKS_PER_S: f64 = 100.0;

/// All findings from the samples and the machine.
pub fn diagnose(outcome: &Outcome, batches: &Batches<'_>, cells: &[CellRecord]) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(correlated(&outcome.plan, batches));
    findings.extend(drift(&outcome.plan, batches));
    findings.extend(carried_over(outcome));
    for (index, cell) in cells.iter().enumerate() {
        if let Some(effect) = cell.layout {
            findings.push(Finding::BufferLayout { cell: cell.id.clone(), effect });
        } else if let Ok(modes) = <[Mode; 2]>::try_from(cell.modes.as_slice()) {
            let id = cell.id.clone();
            findings.push(Finding::TwoModes {
                cell: id,
                differs: differs(&modes),
                modes,
                free: cell.placement == Placement::Free,
            });
        } else {
            findings.extend(preempted(outcome, index, batches.of(index), cells.len()));
        }
    }
    findings.extend(of_the_machine(&outcome.observed));
    findings
}

/// Whether neighbouring epochs of a contrast resemble each other more than chance allows.
fn correlated(plan: &Plan, batches: &Batches<'_>) -> Option<Finding> {
    let epochs = batches.epochs() as f64;
    // The normal tail is at most exp(−z²/2)/2, and n·ρ² is nearly chi-squared for independent epochs.
    let many = plan.contrasts.len().max(1) as f64;
    let significant = (2.0 * (many / (2.0 * FALSE_ALARMS)).ln()).sqrt() / epochs.sqrt();
    let correlations = plan.contrasts.iter().map(|contrast| {
        let values = batches.log_ratios(Metric::Wall, contrast.a, contrast.b);
        (if values.is_empty() { 0.0 } else { serial_correlation(&values) }, contrast)
    });
    let found: Vec<_> = correlations.filter(|(correlation, _)| *correlation > significant).collect();
    let (correlation, worst) = found.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Finding::Correlated {
        a: plan.cells[worst.a].id.clone(),
        b: plan.cells[worst.b].id.clone(),
        correlation: *correlation,
        others: found.len() - 1,
    })
}

/// Costs that rise or fall through the run.
fn drift(plan: &Plan, batches: &Batches<'_>) -> Option<Finding> {
    let measured: Vec<usize> = plan.measurable().collect();
    let least = plan.margin.max(LEAST_EFFECT);
    let mut found: Vec<(f64, usize)> = measured
        .iter()
        .filter_map(|cell| {
            let trend = trend(&batches.log_costs(Metric::Wall, *cell))?;
            let holds = trend.p < FALSE_ALARMS / measured.len() as f64 && trend.shift.abs() > least;
            holds.then_some((trend.shift, *cell))
        })
        .collect();
    found.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let (shift, worst) = *found.first()?;
    Some(Finding::Drift { cell: plan.cells[worst].id.clone(), ratio: shift.exp(), others: found.len() - 1 })
}

/// The cell after which others most surely cost more or less. Report only one: since cells after it are dearer, cells
/// after every other one look cheaper than usual.
fn carried_over(outcome: &Outcome) -> Option<Finding> {
    let plan = &outcome.plan;
    let least = plan.margin.max(LEAST_EFFECT);
    let all = carry_over(&placed(&outcome.samples));
    let level = FALSE_ALARMS / all.len().max(1) as f64;
    let worst =
        all.into_iter().min_by(|a, b| a.p.total_cmp(&b.p).then(b.shift.abs().total_cmp(&a.shift.abs())))?;
    (worst.p < level && worst.shift.abs() > least)
        .then(|| Finding::CarryOver { cell: plan.cells[worst.from].id.clone(), ratio: worst.shift.exp() })
}

/// The batches with the cell that ran before each, within epochs.
fn placed(samples: &[Sample]) -> Vec<Placed> {
    let mut before: Option<&Sample> = None;
    samples
        .iter()
        .filter(|sample| sample.wall_ns > 0)
        .map(|sample| {
            let after =
                before.filter(|before| before.epoch == sample.epoch).map(|before| before.cell as usize);
            before = Some(sample);
            let log_cost = (sample.wall_ns as f64 / sample.ops as f64).ln();
            Placed { cell: sample.cell as usize, after, log_cost }
        })
        .collect()
}

/// Batches of a cell cost more where the scheduler took the core away more often.
fn preempted(outcome: &Outcome, cell: usize, samples: &[&Sample], cells: usize) -> Option<Finding> {
    let taken =
        |sample: &Sample| (sample.client + sample.server).involuntary_switches as f64 / sample.ops as f64;
    let points: Vec<(f64, f64)> =
        samples.iter().map(|s| (taken(s), (s.wall_ns as f64 / s.ops as f64).ln())).collect();
    let usual = median(&points.iter().map(|point| point.0).collect::<Vec<_>>())?;
    let (often, seldom): (Vec<_>, Vec<_>) = points.iter().partition(|point| point.0 > usual);
    let costs = |points: Vec<&(f64, f64)>| points.iter().map(|point| point.1).collect::<Vec<f64>>();
    let (often, seldom) = (costs(often), costs(seldom));
    let shift = median(&often)? - median(&seldom)?;
    let sure = mann_whitney(&often, &seldom) < FALSE_ALARMS / cells as f64;
    (sure && shift > LEAST_PREEMPTION)
        .then(|| Finding::Preempted { cell: outcome.plan.cells[cell].id.clone(), ratio: shift.exp() })
}

/// How two modes differ besides the cost.
fn differs([low, high]: &[Mode; 2]) -> Vec<String> {
    let visible = |a: f64, b: f64| a.max(b) > VISIBLE * a.min(b) && a.max(b) > 0.01;
    let mut facts = Vec::new();
    if let Some((low, high)) = low.switches_per_op.zip(high.switches_per_op).filter(|(a, b)| visible(*a, *b))
    {
        facts.push(format!("{low:.2} switches an operation against {high:.2}"));
    }
    if let Some((low, high)) = low.cpus_busy.zip(high.cpus_busy).filter(|(a, b)| visible(*a, *b)) {
        facts.push(format!("{low:.2} processors busy against {high:.2}"));
    }
    facts
}

/// Steal, quotas, neighbours, and the clock.
fn of_the_machine(observed: &Observed) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(times) = observed.processors.filter(|times| times.total > 0) {
        let share = times.stolen as f64 / times.total as f64;
        if share > STEAL_SHARE {
            findings.push(Finding::Steal { share });
        }
        let own_ticks = observed.own_cpu.as_secs_f64() * TICKS_PER_S;
        let share = (times.busy as f64 - own_ticks) / times.total as f64;
        if share > NEIGHBOUR_SHARE {
            let busiest = observed.busiest.as_ref();
            // A process with little of it is not to blame.
            let guilty = busiest.filter(|busy| busy.ticks as f64 > share * times.total as f64 / 4.0);
            findings
                .push(Finding::Neighbour { share, busiest: guilty.map(|busy| (busy.name.clone(), busy.id)) });
        }
    }
    if let Some(throttling) = observed.throttling.filter(|throttling| throttling.times > 0) {
        let cores = throttling.cores.unwrap_or_default();
        findings.push(Finding::Throttled { times: throttling.times, time: throttling.time, cores });
    }
    if observed.clock.read_ns > SLOW_CLOCK_NS || observed.clock.step_ns > COARSE_CLOCK_NS {
        findings.push(Finding::Clock { quality: observed.clock, source: observed.clock_source.clone() });
    }
    findings
}
