//! The system calls that floors of `connect` are put together from are those that the built-in peer makes.

use std::path::Path;

use ipcost_lab::bench::{BatchKind, Bench};
use ipcost_lab::strace::{TraceSummary, traced};
use ipcost_lab::system_calls::SystemCalls;
use ipcost_lab::{PeerProgram, PlanSettings, ProcessBench, plan};
use ipcost_model::{FloorKind, Offers, Plan, expand, parse_job};
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::transport;

const JOB: &str = r#"
floor = true
epochs = 1
[[cells]]
pattern = "connect"
transport = ["unix", "unix-abstract", "tcp"]
[[cells]]
label = "server speaks"
pattern = "connect"
transport = "unix"
speaks_first = "server"
[[cells]]
label = "client closes"
pattern = "connect"
transport = "tcp"
[cells.options]
closes_first = "client"
spread_sources = false
[[cells]]
label = "neither waits"
pattern = "connect"
transport = "unix"
[cells.options]
closes_first = "any"
"#;

/// Operations of the shorter of two traced batches, and of the longer.
const FEWER: u64 = 20;
const MANY: u64 = 220;

fn planned(placement: &str) -> Plan {
    let transports = transport::states();
    let offers = Offers {
        transports: &transports,
        placements_unavailable: &[],
        peers: &[],
        lacks: Offers::LACKS_NOTHING,
    };
    let text = JOB.replace("pattern =", &format!("placement = \"{placement}\"\npattern ="));
    let job = parse_job(&text).unwrap();
    plan(expand(&job, &offers).unwrap(), &PlanSettings::of(&job, 1)).unwrap()
}

/// The system calls in the floor of a cell, beyond those of its hand-overs.
fn beyond_hand_overs(plan: &Plan, cell: usize) -> f64 {
    let recipe = plan.cells[cell].floor.as_ref().unwrap();
    let calls = recipe.parts.iter().find(|share| {
        let known = transport::find(&plan.cells[share.cell].cell.transport).unwrap().capabilities();
        known.floor == Some(FloorKind::SystemCall)
    });
    calls.unwrap().count
}

fn program(name: &str, command: Vec<String>) -> PeerProgram {
    PeerProgram::new(name, command)
}

/// What the client and the server call in one operation.
fn counted(plan: &Plan, cell: usize, dir: &Path) -> (f64, f64) {
    let own = |role: &str| vec![env!("CARGO_BIN_EXE_ipcost").to_owned(), role.to_owned()];
    let summary = |side: &str, ops: u64| dir.join(format!("{side}{ops}"));
    for ops in [FEWER, MANY] {
        let mut only = plan.clone();
        only.cells.iter_mut().enumerate().filter(|(index, _)| *index != cell).for_each(|(_, other)| {
            other.unavailable = Some("not traced".to_owned());
        });
        only.cells[cell].client = "client".to_owned();
        only.cells[cell].server = "server".to_owned();
        let programs =
            ["client", "server"].map(|side| program(side, traced(&own("peer"), &summary(side, ops))));
        let interrupt = Interrupt::never().unwrap();
        let mut bench = ProcessBench::new(&only, programs.to_vec(), &own("guard"), interrupt).unwrap();
        bench.start_epoch(1, &[cell]).unwrap();
        bench.batch(cell, ops, BatchKind::Plain).unwrap();
        bench.end_epoch().unwrap();
    }
    let calls = |side: &str| {
        let tally =
            |ops: u64| released(TraceSummary::of(&std::fs::read_to_string(summary(side, ops)).unwrap()));
        let [fewer, many] = [FEWER, MANY].map(tally);
        SystemCalls::between(&fewer, &many, MANY - FEWER).total()
    };
    (calls("client"), calls("server"))
}

/// A trace as that of a released program: with debug assertions the standard library looks at every descriptor
/// (`fcntl`) before it closes it.
fn released(mut tally: TraceSummary) -> TraceSummary {
    if cfg!(debug_assertions) {
        tally.threads.values_mut().for_each(|calls| calls.retain(|call, _| call.name != "fcntl"));
    }
    tally
}

#[test]
fn the_table_agrees_with_strace() {
    let dir = tempfile::tempdir().unwrap();
    let (free, together) = (planned("free"), planned("together"));
    for cell in 0..6 {
        let id = &free.cells[cell].id;
        let (client, server) = counted(&free, cell, dir.path());
        assert!(
            (beyond_hand_overs(&free, cell) - (client - 2.0)).abs() < 0.1,
            "{id}: the client makes {client}"
        );
        let both = client + server;
        assert!((beyond_hand_overs(&together, cell) - (both - 4.0)).abs() < 0.1, "{id}: both make {both}");
    }
}
