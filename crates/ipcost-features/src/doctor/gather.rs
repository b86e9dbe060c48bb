//! The machine as it is: what is judged.

use std::time::{Duration, Instant};

use ipcost_foreign::Cache;
use ipcost_lab::journal;
use ipcost_lab::lab::envelope;
use ipcost_lab::rules::CONGESTION_CONTROL;
use ipcost_model::TransportState;
use ipcost_model::facts::{BuiltInPeer, MachineFacts, ToolFacts, UnavailableTransport};
use ipcost_sys::OS;
use ipcost_sys::placement::Topology;
use ipcost_sys::{facts, transport};

use super::installation::installation_here;
use super::measured::congestion as congestion_here;
use super::{DOCTOR_SCHEMA, Examination, Finding, State, examine};

/// Looks at the machine, for so long at what else runs, and judges it. What is better measured than believed takes seconds more,
/// of which `measuring` is told first; without it nothing is measured.
pub fn examination(window: Duration, measuring: Option<&dyn Fn(&str)>) -> Examination {
    let began = Instant::now();
    let envelope = envelope(DOCTOR_SCHEMA);
    let facts = gather(window);
    let (mut findings, unknown) = examine(&facts);
    let congestion =
        |finding: &&mut Finding| finding.code == CONGESTION_CONTROL.code && finding.state == State::Note;
    if let (Some(measuring), Some(finding)) = (measuring, findings.iter_mut().find(congestion)) {
        measuring("measuring TCP streams under two congestion controls …");
        // Where it cannot be measured, the finding stands without.
        if let Ok(measured) = congestion_here() {
            finding.found.push_str(&format!("; {measured}"));
        }
    }
    Examination {
        installed: installation_here(&envelope.tool.version),
        envelope,
        elapsed_s: began.elapsed().as_secs_f64(),
        watched_s: facts.sample.as_ref().map_or(0.0, |sample| sample.quiet_s),
        findings,
        unknown,
    }
}

fn gather(window: Duration) -> MachineFacts {
    let topology = Topology::read();
    // First of all, while this program itself has done nothing yet.
    let sample = facts::sample::sample(window, topology.processors() as u32);
    let permissions = facts::permissions::permissions();
    let strace = Some(permissions.tracing.is_some());
    MachineFacts {
        processor: facts::processor(&topology),
        scheduler: facts::scheduler(),
        limits: facts::limits(),
        network: facts::network(),
        sample: Some(sample),
        clock: Some(facts::clock()),
        left_changed: journal::left(),
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
    let peer = |peer: &ipcost_foreign::BuiltIn| {
        let lacks = peer.probe().err();
        let missing = lacks.as_ref().and_then(|lacks| lacks.package.clone());
        let all = || peer.packages.join(" ");
        BuiltInPeer {
            name: peer.name.to_owned(),
            packages: missing.unwrap_or_else(all),
            lacks: lacks.map(|lacks| lacks.reason),
        }
    };
    ToolFacts {
        transports,
        unavailable_transports: unavailable.collect(),
        peers: ipcost_foreign::all().map(peer).collect(),
        peer_cache: Cache::of_user().err().map(|reason| reason.to_string()),
        strace: None,
        debug_build: cfg!(debug_assertions),
    }
}
