//! What is to be warned of, and noted, at the end of a run.

use std::collections::BTreeSet;

use ipcost_model::{CellRecord, Document, LatencyMode, OptionValue, Placement, Stopped};
use ipcost_sys::host::WINE;
use ipcost_sys::transport::uses_tcp;

use crate::analysis::Judge;
use crate::batches::Batches;
use crate::bench::DELAYED_NS;
use crate::campaign::{CampaignState, holds_back};
use crate::diagnostics::diagnose;
use crate::document::About;
use crate::planning::epochs_for_contrasts;
use crate::rules::{self, AppliedRule};
use crate::warnings;

/// The option for what a pipe holds, and what the engine reports it as.
const PIPE_SIZE: &str = "pipe_size";
/// The host's fact that time in softirqs is in no process's account.
const IRQ_TIME_ACCOUNTING_FACT: &str = "irq_time_accounting";

pub(crate) fn findings(
    outcome: &CampaignState,
    batches: &Batches<'_>,
    about: &About,
    document: &Document,
    judge: &Judge<'_>,
) -> Vec<AppliedRule> {
    let (plan, cells) = (&outcome.plan, &document.cells);
    let epochs = outcome.epochs;
    let mut findings = Vec::new();
    if outcome.stopped == Stopped::Interrupted {
        findings.push(warnings::interrupted(epochs));
    }
    let needed = epochs_for_contrasts(plan);
    // In a grid some have one long before all would.
    let has_one = document.contrasts.iter().any(|contrast| contrast.lo.is_some() || contrast.range.is_some());
    if epochs < needed && plan.family > 0 && !has_one {
        let first = if epochs < plan.epochs_needed { plan.epochs_needed } else { needed };
        findings.push(warnings::no_intervals(epochs, first));
    } else if outcome.stopped == Stopped::Budget {
        // What the run was asked may be another question than its tables are.
        let answered = outcome.answered.clone().unwrap_or_else(|| judge.answered());
        if !answered.all() && answered.of > 0 {
            let open = answered.of - answered.resolved;
            let mixed = |cell: &CellRecord| cell.placement == Placement::Free && cell.modes.len() == 2;
            let mixed = cells.iter().any(mixed);
            findings.push(warnings::unresolved(
                open,
                answered.of,
                plan.budget,
                mixed,
                document.analysis.longer.as_ref(),
            ));
        }
    }
    if let Some(first) = outcome.suspended.first() {
        findings.push(warnings::suspended(
            &plan.cells[first.cell as usize].id,
            first.epoch,
            outcome.suspended.len(),
        ));
    }
    for index in 0..cells.len() {
        findings.extend(of_cell(outcome, cells, index));
    }
    findings.extend(warnings::regime(&document.contrasts));
    findings.extend(warnings::held_back(cells));
    findings.extend(warnings::clock_in_cost(cells, outcome.observed.clock.read_ns));
    findings.extend(diagnose(outcome, batches, cells));
    if plan.latency == LatencyMode::Inline {
        findings.push(warnings::inline_latency());
    }
    if let Some(version) = about.host.more.get(WINE).and_then(|version| version.as_str()) {
        findings.push(rules::wine(version));
    }
    findings.extend(irq_time_accounting(about, cells));
    if about.debug_build {
        findings.push(rules::debug_build());
    }
    findings
}

/// What is to be said of one cell.
fn of_cell(outcome: &CampaignState, cells: &[CellRecord], index: usize) -> Vec<AppliedRule> {
    let (plan, cell, incidents) = (&outcome.plan, &cells[index], &outcome.incidents[index]);
    let id = cell.id.as_str();
    let mut findings = Vec::new();
    if let Some(reason) = &cell.reason {
        findings.push(warnings::unavailable(id, reason));
    }
    findings.extend(clamped(cell));
    findings.extend(small_pipe(cell));
    findings.extend(below_floor(cell, plan.margin));
    findings.extend(fixed_wait(cell));
    let held = plan.ports_to.zip(outcome.out_of_ports.get(&index).copied());
    findings.extend(held.map(|(to, known)| warnings::ports_held(cell, to, known)));
    findings.extend(warnings::overloaded(cell));
    let batches = f64::from(cell.epochs.max(1)) * f64::from(plan.rounds.max(1));
    findings.extend(warnings::not_offered(cell, cell.ops as f64 / batches));
    if incidents.retries > 0 {
        findings.push(warnings::backlog_full(id, incidents.retries));
    }
    if !incidents.troubles.is_empty() {
        let list: Vec<String> =
            incidents.troubles.iter().map(|(name, count)| format!("{name} {count}")).collect();
        findings.push(warnings::connection_trouble(id, &list.join(", ")));
    }
    findings
}

/// Where time in softirqs is in no process's account, the transports whose processor time is too low.
fn irq_time_accounting(about: &About, cells: &[CellRecord]) -> Option<AppliedRule> {
    let apart = about.host.more.get(IRQ_TIME_ACCOUNTING_FACT)?.as_bool()?;
    let measured = cells.iter().filter(|cell| cell.cpu_ns_per_op.is_some() && uses_tcp(&cell.transport));
    let names: BTreeSet<&str> = measured.map(|cell| cell.transport.as_str()).collect();
    let whose = names.into_iter().collect::<Vec<_>>().join(", ");
    (apart && !whose.is_empty()).then(|| rules::irq_time_accounting(&whose))
}

/// A burst's fixed part, with its cause if known: one that waits for a delayed acknowledgement lasts as long as that.
fn fixed_wait(cell: &CellRecord) -> Option<AppliedRule> {
    let wait_ns = cell.wait_ns?;
    let held_back = wait_ns >= DELAYED_NS as f64 && holds_back(&cell.transport, cell.pattern, &cell.options);
    Some(warnings::fixed_wait(&cell.id, wait_ns, held_back))
}

/// A cell that surely costs less than the parts of its floor, by more than the margin.
fn below_floor(cell: &CellRecord, margin: f64) -> Option<AppliedRule> {
    let multiple = cell.floor.as_ref()?.multiple;
    (multiple.hi? < 1.0 - margin)
        .then(|| warnings::below_floor(&cell.id, multiple.median, cell.placement == Placement::Free))
}

/// A pipe that holds less than pipes do, although nothing was asked for.
fn small_pipe(cell: &CellRecord) -> Option<AppliedRule> {
    let is_asked = cell.options.iter().any(|(option, _)| option.spec().name == PIPE_SIZE);
    let held = cell.effective.get("engine").filter(|_| !is_asked)?.get(PIPE_SIZE)?.as_u64()?;
    Some(warnings::small_pipe(&cell.id, held))
}

/// The options of a cell that the kernel lowered.
fn clamped(cell: &CellRecord) -> Vec<AppliedRule> {
    let mut findings = Vec::new();
    for (option, value) in cell.options.iter() {
        let OptionValue::Int(asked) = value else { continue };
        let became = cell.effective.values().filter_map(|role| role.get(option.spec().name)?.as_u64()).min();
        if let Some(became) = became.filter(|became| became < asked) {
            findings.push(warnings::clamped(&cell.id, &option.to_string(), *asked, became));
        }
    }
    findings
}
