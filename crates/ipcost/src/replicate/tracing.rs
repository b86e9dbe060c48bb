//! System calls of clients, seen through strace in a pass of its own.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, ensure};
use ipcost_engine::replication::traced_cells;
use ipcost_engine::system_calls::{SystemCalls, traced};
use ipcost_engine::{PeerProgram, ProcessBench, bench::Bench};
use ipcost_model::Plan;
use ipcost_model::replication::{Replication, Software};
use ipcost_sys::interrupt::Interrupt;

/// Operations of the shorter of two traced batches, and of the longer.
const FEWER: u64 = 500;
const MANY: u64 = 2_500;

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
    plan: &Plan,
    programs: &[PeerProgram],
    guard: &[String],
    interrupt: &Interrupt,
) -> anyhow::Result<BTreeMap<usize, SystemCalls>> {
    let there =
        std::process::Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
    ensure!(there, "system calls could not be compared: strace is not installed (Debian's package strace)");
    let cells = traced_cells(replication, software, &plan.cells);
    let mut calls = BTreeMap::new();
    for cell in cells.into_iter().filter(|cell| plan.cells[*cell].unavailable.is_none()) {
        let scratch = tempfile::tempdir().context("a directory for what strace writes")?;
        let mut summaries = Vec::new();
        for ops in [FEWER, MANY] {
            let file = scratch.path().join(ops.to_string());
            once(plan, cell, ops, programs, guard, interrupt, &file)?;
            summaries
                .push(std::fs::read_to_string(&file).context("strace wrote no summary; may it trace here?")?);
        }
        calls.insert(cell, SystemCalls::between(&summaries[0], &summaries[1], MANY - FEWER));
    }
    Ok(calls)
}

/// One epoch of one cell with its client traced.
fn once(
    plan: &Plan,
    cell: usize,
    ops: u64,
    programs: &[PeerProgram],
    guard: &[String],
    interrupt: &Interrupt,
    summary: &Path,
) -> anyhow::Result<()> {
    const TRACED: &str = "traced";
    let mut only = plan.clone();
    only.cells.iter_mut().enumerate().filter(|(index, _)| *index != cell).for_each(|(_, other)| {
        other.unavailable = Some("not traced".to_owned());
    });
    let name = only.cells[cell].client.clone();
    let program = programs.iter().find(|program| program.name == name).context("a client that is known")?;
    let mut programs = programs.to_vec();
    programs.push(PeerProgram { name: TRACED.to_owned(), command: traced(&program.command, summary) });
    TRACED.clone_into(&mut only.cells[cell].client);
    let mut bench = ProcessBench::new(&only, programs, guard, interrupt.clone())?;
    bench.start_epoch(1, &[cell])?;
    bench.batch(cell, ops, false)?;
    bench.end_epoch()?;
    Ok(())
}
