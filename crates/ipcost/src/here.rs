//! What a job becomes on this machine. Every command that measures plans through this file, so that none of them
//! overlooks what the machine lacks or has no room for.

use anyhow::ensure;
use ipcost_engine::{Settings, plan as planned};
use ipcost_model::{Expanded, Job, Offers, PeerState, Placement, Plan, expand};
use ipcost_sys::placement::Topology;
use ipcost_sys::transport;

use crate::limits;

/// The cells of a job; what this machine lacks makes a cell unavailable, with the reason.
///
/// # Errors
/// What is wrong with the job.
pub fn cells(job: &Job, peers: &[PeerState]) -> anyhow::Result<Expanded> {
    let topology = Topology::read();
    let unavailable = |placement: &Placement| Some((*placement, topology.pair(*placement).err()?));
    let placements_unavailable: Vec<_> = Placement::ALL.iter().filter_map(unavailable).collect();
    let transports = transport::states();
    let offers = Offers { transports: &transports, placements_unavailable: &placements_unavailable, peers };
    Ok(expand(job, &offers)?)
}

/// The cells of a job on a machine that lacks nothing but what peers say: for questions about the job alone.
///
/// # Errors
/// What is wrong with the job.
pub fn cells_anywhere(job: &Job, peers: &[PeerState]) -> anyhow::Result<Expanded> {
    let transports = transport::states();
    Ok(expand(job, &Offers { transports: &transports, placements_unavailable: &[], peers })?)
}

/// Plans cells, and fits the plan into the limits of this system.
///
/// # Errors
/// A [`PlanError`](ipcost_engine::PlanError), or what the system has no room for and how to make it.
pub fn plan(cells: Expanded, settings: &Settings) -> anyhow::Result<Plan> {
    limits::fitted(planned(cells, settings)?)
}

/// Whether a plan that was made before can still be carried out.
///
/// # Errors
/// The placement that this machine no longer offers, or the limit that is now too low.
pub fn check(plan: &Plan) -> anyhow::Result<()> {
    let topology = Topology::read();
    for cell in plan.measurable().map(|index| &plan.cells[index]) {
        let place = topology.pair(cell.placement);
        ensure!(place.is_ok(), "{}: {}", cell.id, place.unwrap_err());
    }
    limits::check(plan)
}
