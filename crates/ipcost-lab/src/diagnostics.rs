//! Causes of bias, searched for in the samples and in what the machine did meanwhile.

use ipcost_model::{CellRecord, Metric, Mode, Placement, Plan, Sample};
use ipcost_stats::{Placed, carry_over, mann_whitney, median, serial_correlation, trend};

use crate::batches::Batches;
use crate::campaign::CampaignState;
use crate::machine_observer::Observed;
use crate::rules::{self, AppliedRule, COARSE_CLOCK_NS, SLOW_CLOCK_NS};
use crate::warnings;

/// The probability of a false alarm on a clean machine, for each kind of diagnostic.
const FALSE_ALARMS: f64 = 0.01;
/// Smaller effects are not worth reporting, whatever the margin: 2 %.
const LEAST_EFFECT: f64 = 0.02;
/// The same for effects that come with interruptions: 5 %.
const LEAST_PREEMPTION: f64 = 0.05;
/// A visible difference between groups, as a factor.
const VISIBLE: f64 = 1.25;

/// All findings from the samples and the machine.
pub fn diagnose(outcome: &CampaignState, batches: &Batches<'_>, cells: &[CellRecord]) -> Vec<AppliedRule> {
    let mut findings = Vec::new();
    findings.extend(correlated(&outcome.plan, batches));
    findings.extend(drift(&outcome.plan, batches));
    findings.extend(carried_over(outcome));
    for (index, cell) in cells.iter().enumerate() {
        if let Some(effect) = cell.layout {
            findings.push(warnings::buffer_layout(&cell.id, &effect));
        } else if let Ok(modes) = <[Mode; 2]>::try_from(cell.modes.as_slice()) {
            let free = cell.placement == Placement::Free;
            findings.push(warnings::two_modes(&cell.id, &modes, &differs(&modes), free));
        } else {
            findings.extend(preempted(outcome, index, batches.of(index), cells.len()));
        }
    }
    findings.extend(of_the_machine(&outcome.observed));
    findings
}

/// Whether neighbouring epochs of a contrast resemble each other more than chance allows.
fn correlated(plan: &Plan, batches: &Batches<'_>) -> Option<AppliedRule> {
    // The normal tail is at most exp(−z²/2)/2, and n·ρ² is nearly chi-squared for independent epochs.
    let many = plan.contrasts.len().max(1) as f64;
    let significant = (2.0 * (many / (2.0 * FALSE_ALARMS)).ln()).sqrt();
    let correlations = plan.contrasts.iter().map(|contrast| {
        let values = batches.log_ratios(Metric::Wall, contrast.a, contrast.b);
        let correlation = if values.is_empty() { 0.0 } else { serial_correlation(&values) };
        // Cells of answered questions leave: each contrast has its own number of epochs.
        (correlation, values.len() as f64, contrast)
    });
    let found: Vec<_> =
        correlations.filter(|(correlation, epochs, _)| *correlation * epochs.sqrt() > significant).collect();
    let (correlation, _, worst) = found.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(warnings::correlated(
        &plan.cells[worst.a].id,
        &plan.cells[worst.b].id,
        *correlation,
        found.len() - 1,
    ))
}

/// Costs that rise or fall through the run.
fn drift(plan: &Plan, batches: &Batches<'_>) -> Option<AppliedRule> {
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
    Some(warnings::drift(&plan.cells[worst].id, shift.exp(), found.len() - 1))
}

/// The cell after which others most surely cost more or less. Report only one: since cells after it are costlier, cells
/// after every other one look cheaper than usual.
fn carried_over(outcome: &CampaignState) -> Option<AppliedRule> {
    let plan = &outcome.plan;
    let least = plan.margin.max(LEAST_EFFECT);
    let all = carry_over(&placed(&outcome.samples));
    let level = FALSE_ALARMS / all.len().max(1) as f64;
    let worst =
        all.into_iter().min_by(|a, b| a.p.total_cmp(&b.p).then(b.shift.abs().total_cmp(&a.shift.abs())))?;
    (worst.p < level && worst.shift.abs() > least)
        .then(|| warnings::carry_over(&plan.cells[worst.from].id, worst.shift.exp()))
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
///
/// How often is by time, not by operation: what takes longer for any other reason meets more of them.
fn preempted(outcome: &CampaignState, cell: usize, samples: &[&Sample], cells: usize) -> Option<AppliedRule> {
    let taken = |sample: &Sample| {
        (sample.client + sample.server).involuntary_switches as f64 / sample.wall_ns.max(1) as f64
    };
    let points: Vec<(f64, f64)> =
        samples.iter().map(|s| (taken(s), (s.wall_ns as f64 / s.ops as f64).ln())).collect();
    let usual = median(&points.iter().map(|point| point.0).collect::<Vec<_>>())?;
    let (often, seldom): (Vec<_>, Vec<_>) = points.iter().partition(|point| point.0 > usual);
    let costs = |points: Vec<&(f64, f64)>| points.iter().map(|point| point.1).collect::<Vec<f64>>();
    let (often, seldom) = (costs(often), costs(seldom));
    let shift = median(&often)? - median(&seldom)?;
    let sure = mann_whitney(&often, &seldom) < FALSE_ALARMS / cells as f64;
    (sure && shift > LEAST_PREEMPTION).then(|| {
        warnings::preempted(&outcome.plan.cells[cell].id, outcome.plan.cells[cell].placement, shift.exp())
    })
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
fn of_the_machine(observed: &Observed) -> Vec<AppliedRule> {
    let mut findings: Vec<AppliedRule> = observed.pressures().into_iter().map(|(found, _)| found).collect();
    if observed.clock.read_ns > SLOW_CLOCK_NS || observed.clock.step_ns > COARSE_CLOCK_NS {
        let clock = observed.clock;
        findings.push(rules::slow_clock(observed.clock_source.as_deref(), clock.read_ns, clock.step_ns));
    }
    findings
}
