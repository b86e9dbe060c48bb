//! `ipcost doctor`: what this machine has, how it bends results, and the remedies.

use std::env::consts::OS;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ipcost_features::doctor::examine;
use ipcost_features::doctor::words::render;
use ipcost_features::doctor::{DOCTOR_SCHEMA, Examination};
use ipcost_lab::lab::now;
use ipcost_model::facts::{BuiltInPeer, Facts, ToolFacts, UnavailableTransport};
use ipcost_model::{Tool, TransportState};
use ipcost_peers::Cache;
use ipcost_sys::placement::Topology;
use ipcost_sys::{facts, host, transport};

use crate::args::DoctorArgs;
use crate::exit::Problem;
use crate::output::{is_standard_output, print, room, write_pretty};

/// Examines the machine and shows what is found.
///
/// # Errors
/// What cannot be written; what cannot be looked at is no error.
pub fn run(args: &DoctorArgs) -> Result<ExitCode, Problem> {
    let began = Instant::now();
    let started = now();
    let facts = gather(args.window);
    let (findings, unknown) = examine(&facts);
    let examination = Examination {
        schema: DOCTOR_SCHEMA.to_owned(),
        tool: Tool { name: "ipcost".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        host: host::read(),
        started,
        elapsed_s: began.elapsed().as_secs_f64(),
        watched_s: facts.sample.as_ref().map_or(0.0, |sample| sample.quiet_s),
        findings,
        unknown,
    };
    let examination = args.redacting.apply(examination)?;
    if let Some(path) = &args.json {
        write_pretty(&examination, path).map_err(Problem::failed)?;
    }
    if !args.json.as_deref().is_some_and(is_standard_output) {
        print(&render(&examination, args.all, room())).map_err(Problem::failed)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn gather(window: Duration) -> Facts {
    let topology = Topology::read();
    // First of all, while this program itself has done nothing yet.
    let sample = facts::sample::sample(window, topology.processors() as u32);
    let permissions = facts::permissions::permissions();
    let strace = Some(permissions.tracing.is_some());
    Facts {
        processor: facts::processor(&topology),
        scheduler: facts::scheduler(),
        limits: facts::limits(),
        network: facts::network(),
        sample: Some(sample),
        clock: Some(facts::clock()),
        permissions,
        tools: ToolFacts { strace, ..tools() },
    }
}

fn tools() -> ToolFacts {
    // What exists on other systems alone is nothing that this machine lacks.
    let here = |state: &TransportState| state.capabilities.exists_on(OS);
    let states: Vec<TransportState> = transport::states().into_iter().filter(here).collect();
    let transports = states.len() as u32;
    let unavailable = states.into_iter().filter_map(|state| {
        Some(UnavailableTransport { name: state.capabilities.name.to_owned(), reason: state.unavailable? })
    });
    let peer = |peer: &ipcost_peers::BuiltIn| BuiltInPeer {
        name: peer.name.to_owned(),
        lacks: peer.probe().err().map(|reason| reason.to_string()),
        packages: peer.packages.iter().map(|package| (*package).to_owned()).collect(),
    };
    ToolFacts {
        transports,
        unavailable_transports: unavailable.collect(),
        peers: ipcost_peers::all().map(peer).collect(),
        peer_cache: Cache::of_user().err().map(|reason| reason.to_string()),
        strace: None,
        debug_build: cfg!(debug_assertions),
    }
}
