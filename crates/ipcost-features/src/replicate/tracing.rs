//! System calls of both processes, seen through strace in a pass of its own.

use std::collections::BTreeMap;

use ipcost_lab::LabError;
use ipcost_lab::system_calls::SystemCalls;
use ipcost_lab::tracing::{Lengths, TraceSetup, trace as trace_cell};
use ipcost_model::protocol::PeerRole;

use super::{Replication, Software, traced_cells};
use crate::explain::Sides;

/// Operations of the shorter of two traced batches, and of the longer.
const LENGTHS: Lengths = Lengths { fewer: 500, many: 2_500 };

/// Whether a test of this replication asks for system calls.
pub fn is_wanted(replication: &Replication, software: Software) -> bool {
    let tests = replication.claims.iter().flat_map(|claim| &claim.tests);
    tests.filter(|test| test.same_system_calls).any(|test| test.is_for(software))
}

/// The calls of one operation for every cell that a test asks about, by cell.
pub fn trace(
    replication: &Replication,
    software: Software,
    setup: TraceSetup<'_>,
) -> Result<BTreeMap<usize, Sides<SystemCalls>>, LabError> {
    let plan = setup.plan;
    let cells = traced_cells(replication, software, &plan.cells);
    let available = cells.into_iter().filter(|cell| plan.cells[*cell].unavailable.is_none());
    let of_cell = |cell| -> Result<(usize, Sides<SystemCalls>), LabError> {
        let calls = trace_cell(setup, cell, &[PeerRole::Client, PeerRole::Server], LENGTHS)
            .map_err(|error| LabError::Failed(format!("system calls could not be compared: {error}")))?;
        let mut calls = calls.into_iter();
        let none = || LabError::Failed("strace saw nothing of a process".to_owned());
        let mut next = || calls.next().ok_or_else(none);
        Ok((cell, Sides { client: next()?, server: next()? }))
    };
    available.map(of_cell).collect()
}
