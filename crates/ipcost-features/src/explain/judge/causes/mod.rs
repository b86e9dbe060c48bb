//! Causes that have a name, recognised from evidence: facts in, causes out.
//!
//! A cause is told only where the figures show both that it is there and that it matters. Each has a test with facts
//! that plant it; those that can be planted in a real run have one there, too (`crates/ipcost/tests/it/explain.rs`).

mod acts;
mod buffers;
mod machine;
mod network;
mod processor;
#[cfg(test)]
mod tests;

use ipcost_lab::machine_observer::Observed;
use ipcost_lab::rules::{self, Rule, nanoseconds};
use ipcost_model::{Incidents, LayoutEffect, Warning};

use super::ObservedMachine;
use crate::explain::{Division, ExplainedCell, ExplainedDifference, NamedCause, Purpose};

/// A weight for what is seen but takes too little to be told.
const SLIGHT: f64 = 0.01;
/// What takes up less than this share of the elapsed time is not worth a name.
const LEAST_SHARE: f64 = 0.1;

/// Everything that causes are recognised from.
#[derive(Debug, Clone)]
pub struct CauseInputs<'a> {
    /// The cells, as in the explanation.
    pub cells: &'a [ExplainedCell],
    /// What else is known of each of them.
    pub of_cells: &'a [CellInputs],
    /// The differences that were asked about.
    pub differences: &'a [ExplainedDifference],
    /// Asked cells against their native twins.
    pub twins: &'a [ExplainedDifference],
    /// Operations of all timed batches and lead-ins together.
    pub ops: u64,
    /// What the machine did during the timed pass.
    pub observed: &'a Observed,
    pub machine: &'a ObservedMachine,
    /// What ended the timed pass early.
    pub failure: Option<&'a str>,
}

/// What is known of a cell besides its explanation.
#[derive(Debug, Clone, Default)]
pub struct CellInputs {
    /// What happened beside its batches.
    pub incidents: Incidents,
    /// What options of its buffers became.
    pub buffer: Option<u64>,
    /// How many bytes may lie between its sides by default, where that is more.
    pub usual_buffer: Option<u64>,
    /// A place of its buffers at which it costs more.
    pub layout: Option<LayoutEffect>,
}

/// Causes in a cell, by its index, given those that were found in it before. What lies in the calls of a side is in `acts::RULES`.
type OfCell = fn(&CauseInputs<'_>, usize, &[NamedCause]) -> Vec<NamedCause>;
const OF_CELLS: &[OfCell] = &[
    |facts, at, _| network::nagle(&facts.cells[at]),
    |facts, at, _| {
        let CellInputs { buffer, usual_buffer, .. } = facts.of_cells[at];
        buffers::small_buffer(&facts.cells[at], buffer, usual_buffer).into_iter().collect()
    },
    |facts, at, _| {
        let effect = facts.of_cells[at].layout.iter();
        effect.map(|effect| buffers::layout(&facts.cells[at], effect)).collect()
    },
    |facts, at, _| network::backlog(&facts.cells[at], &facts.of_cells[at].incidents).into_iter().collect(),
    |facts, at, _| {
        network::ports(&facts.cells[at], &facts.machine.network, facts.failure).into_iter().collect()
    },
    |facts, at, _| {
        let others = machine::elsewhere(facts.observed);
        processor::one_core(&facts.cells[at], facts.machine.cores, others).into_iter().collect()
    },
    |facts, at, _| {
        processor::idle_wakeups(&facts.cells[at], &facts.machine.idle, facts.ops).into_iter().collect()
    },
    |facts, at, found| {
        let cut = found.iter().any(|cause| cause.code == rules::SMALL_BUFFER.code);
        acts::of_cell(facts, &facts.cells[at], cut)
    },
    |facts, at, _| {
        network::firewall(&facts.cells[at], &facts.machine.firewall, &facts.machine.network)
            .into_iter()
            .collect()
    },
];

/// Causes of a difference that was asked about.
type OfDifference = fn(&CauseInputs<'_>, &ExplainedDifference) -> Option<NamedCause>;
const OF_DIFFERENCES: &[OfDifference] = &[processor::hand_over, processor::descriptor_table];

/// What is recognised, what weighs most first.
pub fn causes(facts: &CauseInputs<'_>) -> Vec<NamedCause> {
    let mut found: Vec<NamedCause> = Vec::new();
    for at in (0..facts.cells.len()).filter(|at| facts.cells[*at].purpose != Purpose::Twin) {
        let mut own = Vec::new();
        for cause in OF_CELLS {
            own.extend(cause(facts, at, &own));
        }
        found.extend(own);
    }
    found.extend(facts.twins.iter().filter_map(|twin| processor::runtime(facts, twin)));
    for cause in OF_DIFFERENCES {
        found.extend(facts.differences.iter().filter_map(|difference| cause(facts, difference)));
    }
    found.extend(machine::of_the_machine(facts.observed));
    found.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    found
}

/// What the run leaves behind.
pub(super) fn left_in_time_wait(facts: &CauseInputs<'_>) -> Option<Warning> {
    network::left_in_time_wait(facts.cells, &facts.machine.network)
}

fn cause(rule: Rule, cell: &ExplainedCell, weight: f64, sentence: String, remedy: &str) -> NamedCause {
    NamedCause {
        code: rule.code.to_owned(),
        cell: Some(cell.id.clone()),
        sentence: format!("{}: {sentence}", cell.label),
        remedy: remedy.to_owned(),
        weight: weight.clamp(0.0, 1.0),
        ..NamedCause::default()
    }
}

fn wall_ns(cell: &ExplainedCell) -> Option<f64> {
    cell.wall_ns.map(|estimate| estimate.median)
}

/// The share of the elapsed time in which not even the busier side runs.
fn idle_share(cell: &ExplainedCell) -> Option<f64> {
    let busy = cell.busy?;
    Some(match cell.division {
        Division::Turns => 1.0 - busy.client - busy.server,
        _ => 1.0 - busy.client.max(busy.server),
    })
}

/// A number for a sentence.
fn count(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 1.0 => format!("{value:.1}"),
        value if value >= 0.01 => format!("{value:.2}"),
        value => format!("{value:.5}"),
    }
}
