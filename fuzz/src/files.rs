//! Files that people write or pass on, and output of the kernel and its tools.

use std::sync::OnceLock;

use ipcost_features::check::parse_claims;
use ipcost_features::replicate as replications;
use ipcost_features::replicate::Replication;
use ipcost_foreign::Manifest;
use ipcost_lab::strace::TraceSummary;
use ipcost_lab::{PlanSettings, plan};
use ipcost_model::{Expanded, Job, Offers, Placement, TransportState, expand, parse_cell_id, parse_job};
use ipcost_report::plan as plan_text;
use ipcost_sys::{kernel_texts as kernel, transport};

/// A job file, up to its plan.
pub fn job(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match parse_job(text) {
        Ok(job) => planned(&job),
        Err(error) => one_line(&error.to_string()),
    }
}

/// A file of claims, up to the plan of its job.
pub fn claims(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match parse_claims(text) {
        Ok(file) => planned(&file.job),
        Err(error) => one_line(&error.to_string()),
    }
}

/// A replication file, with the names in its tests.
pub fn replication(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(replication) = toml::from_str::<Replication>(text) else { return };
    if let Err(error) = replications::check(&replication) {
        one_line(&error.to_string());
    }
}

/// The manifest of a built peer.
pub fn manifest(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(manifest) = Manifest::parse(text) {
        let _ = manifest.has("main.c", bytes);
    }
}

/// The id of a cell, as `ipcost explain` takes it.
pub fn cell_id(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(matrix) = parse_cell_id(text) {
        planned(&Job { cells: vec![matrix], ..Job::default() });
    }
}

/// Files below `/proc` and `/sys`, and answers of netlink and nft.
pub fn kernel_texts(bytes: &[u8]) {
    kernel::read_as_each(bytes);
}

pub fn trace(bytes: &[u8]) {
    let _ = TraceSummary::of(&String::from_utf8_lossy(bytes));
}

fn expanded(job: &Job) -> Result<Expanded, ipcost_model::ModelError> {
    static TRANSPORTS: OnceLock<Vec<TransportState>> = OnceLock::new();
    let peers = ipcost_foreign::states();
    let offers = Offers {
        // Checking what can be used here takes system calls; once is enough.
        transports: TRANSPORTS.get_or_init(transport::states),
        placements_unavailable: &[(Placement::Apart, "there is one core".to_owned())],
        peers: &peers,
        lacks: Offers::LACKS_NOTHING,
    };
    expand(job, &offers)
}

fn planned(job: &Job) {
    const SEED: u64 = 1;
    match expanded(job) {
        Ok(expanded) => match plan(expanded, &PlanSettings::of(job, SEED)) {
            Ok(plan) => drop(plan_text::render(&plan)),
            Err(error) => one_line(&error.to_string()),
        },
        Err(error) => one_line(&error.to_string()),
    }
}

/// Errors go to a terminal, in one line.
fn one_line(error: &str) {
    assert!(!error.contains(|c: char| c.is_control()), "an error with control characters: {error:?}");
}
