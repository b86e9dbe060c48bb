//! System calls of both processes, seen through strace in a pass of its own.

use std::collections::BTreeMap;

use anyhow::Context;
use ipcost_features::explain::Sides;
use ipcost_features::replicate::traced_cells;
use ipcost_features::replicate::{Replication, Software};
use ipcost_lab::system_calls::SystemCalls;
use ipcost_lab::tracing::{Lengths, TraceSetup, trace as trace_cell};
use ipcost_model::protocol::PeerRole;

/// Operations of the shorter of two traced batches, and of the longer.
const LENGTHS: Lengths = Lengths { fewer: 500, many: 2_500 };

/// Whether a test of this replication asks for system calls.
pub fn is_wanted(replication: &Replication, software: Software) -> bool {
    let tests = replication.claims.iter().flat_map(|claim| &claim.tests);
    tests.filter(|test| test.same_system_calls).any(|test| test.software.is_none_or(|only| only == software))
}

/// The calls of one operation for every cell that a test asks about, by cell.
///
/// # Errors
/// Where strace is missing or not permitted.
pub fn trace(
    replication: &Replication,
    software: Software,
    setup: TraceSetup<'_>,
) -> anyhow::Result<BTreeMap<usize, Sides<SystemCalls>>> {
    let plan = setup.plan;
    let cells = traced_cells(replication, software, &plan.cells);
    let available = cells.into_iter().filter(|cell| plan.cells[*cell].unavailable.is_none());
    let of_cell = |cell| -> anyhow::Result<(usize, Sides<SystemCalls>)> {
        let calls = trace_cell(setup, cell, &[PeerRole::Client, PeerRole::Server], LENGTHS)
            .context("system calls could not be compared")?;
        let mut calls = calls.into_iter();
        let mut next = || calls.next().context("strace saw nothing of a process");
        Ok((cell, Sides { client: next()?, server: next()? }))
    };
    available.map(of_cell).collect()
}
