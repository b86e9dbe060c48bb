//! Untimed passes under strace.

use std::collections::BTreeMap;
use std::path::Path;

use ipcost_model::protocol::PeerRole;
use ipcost_model::{Lasts, Plan, ServiceCommand};
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::net_namespace::Entrance;
use ipcost_sys::programs;

use crate::bench::{BatchKind, Bench};
use crate::error::EngineError;
use crate::peer_control::PeerProgram;
use crate::processes::ProcessBench;
use crate::strace::{TraceSummary, traced};
use crate::system_calls::SystemCalls;

/// The context of every pass: the plan, how to start its peers and the guard, and the stop request.
#[derive(Clone, Copy)]
pub struct TraceSetup<'a> {
    /// The plan with the cells.
    pub plan: &'a Plan,
    /// All peers of its cells.
    pub programs: &'a [PeerProgram],
    /// The real servers that peers talk to, by peer.
    pub services: &'a BTreeMap<String, ServiceCommand>,
    /// The command of the guard.
    pub guard: &'a [String],
    /// The request to stop.
    pub interrupt: &'a Interrupt,
    /// The network that peers and servers run in, if it is not this program's.
    pub network: Option<Entrance>,
}

impl TraceSetup<'_> {
    /// The real server of a cell, which runs for one pass; none where its peers talk to each other.
    pub fn services_of(&self, cell: usize) -> BTreeMap<String, ServiceCommand> {
        let server = &self.plan.cells[cell].server;
        let service = self
            .services
            .get(server)
            .map(|service| (server.clone(), ServiceCommand { lasts: Lasts::Epoch, ..service.clone() }));
        service.into_iter().collect()
    }
}

/// Why system calls could not be traced.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// strace is not installed.
    #[error("strace is not installed (Debian's package strace)")]
    NoStrace,
    #[error("strace wrote nothing; is tracing permitted here?")]
    Nothing,
    /// Its output files cannot be created.
    #[error("cannot create strace's output files: {0}")]
    Place(#[from] std::io::Error),
    /// The peers failed under strace.
    #[error(transparent)]
    Peer(#[from] EngineError),
}

/// Operations of two traced batches: calls common to both do not belong to the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// In the shorter batch.
    pub fewer: u64,
    /// In the longer batch.
    pub many: u64,
}

/// The time per operation of a cell while these sides are traced, nanoseconds: tracing stops a process for each call,
/// and the number of calls is what it is to find out.
pub fn traced_ns(
    setup: TraceSetup<'_>,
    cell: usize,
    sides: &[PeerRole],
    ops: u64,
) -> Result<f64, TraceError> {
    if !is_there() {
        return Err(TraceError::NoStrace);
    }
    let (_, wall_ns) = once(setup, cell, sides, ops)?;
    Ok(wall_ns as f64 / ops as f64)
}

/// The calls per operation of a cell, for each of these sides.
pub fn trace(
    setup: TraceSetup<'_>,
    cell: usize,
    sides: &[PeerRole],
    lengths: Lengths,
) -> Result<Vec<SystemCalls>, TraceError> {
    if !is_there() {
        return Err(TraceError::NoStrace);
    }
    let [fewer, many] = [lengths.fewer, lengths.many].map(|ops| once(setup, cell, sides, ops));
    let ((fewer, _), (many, _)) = (fewer?, many?);
    let more = lengths.many - lengths.fewer;
    Ok(fewer.iter().zip(&many).map(|(fewer, many)| SystemCalls::between(fewer, many, more)).collect())
}

/// Whether strace can be started.
fn is_there() -> bool {
    let asked = programs::output("strace", &["-V"], &[], None);
    asked.is_ok_and(|output| output.status.success())
}

/// One epoch of the cell with these sides traced: their calls, and the duration of the batch, nanoseconds.
fn once(
    setup: TraceSetup<'_>,
    cell: usize,
    sides: &[PeerRole],
    ops: u64,
) -> Result<(Vec<TraceSummary>, u64), TraceError> {
    let scratch = ipcost_sys::private_dir::PrivateDir::create().map_err(EngineError::from)?;
    let file = |side: PeerRole| scratch.path().join(side.name());
    let mut only = alone(setup.plan, cell);
    let mut programs = setup.programs.to_vec();
    let mut services = setup.services_of(cell);
    for side in sides {
        let planned = &mut only.cells[cell];
        // The server is the real one, and the peer in its place only speaks for it.
        if *side == PeerRole::Server
            && let Some(service) = services.get_mut(&planned.point.server)
        {
            service.command = traced(&service.command, &file(*side));
            continue;
        }
        let name = match side {
            PeerRole::Client => &mut planned.point.client,
            PeerRole::Server => &mut planned.point.server,
        };
        let Some(program) = setup.programs.iter().find(|program| program.name == *name) else { continue };
        *name = format!("traced-{side}");
        let command = traced(&program.command, &file(*side));
        programs.push(PeerProgram::new(name.clone(), command));
    }
    let bench = ProcessBench::new(&only, programs, setup.guard, setup.interrupt.clone())?;
    let mut bench = bench.within(setup.network).with_services(services)?;
    bench.start_epoch(1, &[cell])?;
    let wall_ns = bench.batch(cell, ops, BatchKind::Plain)?.wall_ns;
    bench.end_epoch()?;
    // A server that is traced writes its last calls as it ends.
    drop(bench);
    let tallies: Result<Vec<TraceSummary>, TraceError> =
        sides.iter().map(|side| read(&file(*side))).collect();
    Ok((tallies?, wall_ns))
}

/// The same plan with every other cell unavailable.
pub fn alone(plan: &Plan, cell: usize) -> Plan {
    let mut only = plan.clone();
    only.cells.iter_mut().enumerate().filter(|(index, _)| *index != cell).for_each(|(_, other)| {
        other.unavailable = Some("another cell's turn".to_owned());
    });
    only
}

fn read(file: &Path) -> Result<TraceSummary, TraceError> {
    // Paths in a trace may hold any bytes; the relevant ones are ASCII.
    let bytes = std::fs::read(file).map_err(|_| TraceError::Nothing)?;
    let tally = TraceSummary::of(&String::from_utf8_lossy(&bytes));
    if tally.threads.is_empty() { Err(TraceError::Nothing) } else { Ok(tally) }
}
