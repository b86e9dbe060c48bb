//! A peer that is killed, stopped or gone too early, in every phase of its life: it is named, nothing is left behind, and
//! what was complete is kept.

use std::process::Output;
use std::thread;
use std::time::Duration;

use crate::common::{NEVER, Place, argument, signal, stat_of, text, wait};
use serde_json::Value;

const PROXY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/common/faulty_peer.py");
/// More messages than are exchanged before the third epoch, and fewer than in all.
const LATE: &str = "40";
const EPOCHS: &str = "60";
/// How many runs are hit at the same time.
const AT_ONCE: u64 = 4;

/// A run in which one side fails at its `after`-th message of a kind.
fn run(place: &Place, role: &str, phase: &str, kind: &str, after: &str, timeout: &str) -> Output {
    let counter = place.file("messages");
    let peer = format!(
        "faulty=python3 {PROXY} {} {phase} {kind} {} {after}",
        env!("CARGO_BIN_EXE_ipcost"),
        argument(&counter)
    );
    let side = format!("--{role}");
    // One that fails as it leaves does so after every epoch; the others have to live until they fail.
    let epochs = if phase == "stop" { "3" } else { EPOCHS };
    place.run(&[
        "run", "--peer", &peer, &side, "faulty", "--transports", "unix", "--placement", "free", "--patterns",
        "rr", "--epochs", epochs, "--timeout", timeout, "--quiet",
    ])
}

/// What an error says of each kind of fault.
fn says(kind: &str) -> &'static str {
    match kind {
        "kill" => "signal: 9",
        "stop" => "did not answer in time",
        _ => "ended on its own (exit status: 0)",
    }
}

/// Long enough for Python to start on a busy machine, short enough to wait for where a peer is stopped.
fn timeout(kind: &str) -> &'static str {
    if kind == "stop" { "8s" } else { NEVER }
}

/// Tries faults at the same time: mostly they are waited for.
fn each(faults: [(&str, &str); 3], tried: impl Fn(&str, &str) + Sync) {
    thread::scope(|scope| {
        for (role, kind) in faults {
            let tried = &tried;
            scope.spawn(move || tried(role, kind));
        }
    });
}

#[track_caller]
fn assert_named(place: &Place, output: &Output, role: &str, kind: &str) {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains(&format!("error: {role} faulty of rr/unix/64/c1")), "{error}");
    assert!(error.contains(says(kind)), "{error}");
    place.assert_clean();
}

#[test]
fn before_it_has_said_anything() {
    each([("server", "kill"), ("server", "stop"), ("server", "exit")], |role, kind| {
        let place = Place::new();
        let output = run(&place, role, "hello", kind, "0", timeout(kind));
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("peer \"faulty\"") && error.contains(says(kind)), "{error}");
        place.assert_clean();
    });
}

#[test]
fn while_it_is_prepared() {
    each([("server", "kill"), ("client", "stop"), ("client", "exit")], |role, kind| {
        let place = Place::new();
        assert_named(&place, &run(&place, role, "prepare", kind, "0", timeout(kind)), role, kind);
    });
}

#[test]
fn while_its_payload_is_verified() {
    each([("client", "kill"), ("server", "stop"), ("server", "exit")], |role, kind| {
        let place = Place::new();
        assert_named(&place, &run(&place, role, "verify", kind, "0", timeout(kind)), role, kind);
    });
}

#[test]
fn while_it_is_calibrated() {
    each([("server", "kill"), ("client", "stop"), ("client", "exit")], |role, kind| {
        let place = Place::new();
        let output = run(&place, role, "batch", kind, "1", timeout(kind));
        assert_named(&place, &output, role, kind);
        assert_eq!(text(&output.stdout), "", "nothing was complete");
        assert_eq!(text(&place.run(&["list", "--json"]).stdout).matches("\"id\"").count(), 0);
    });
}

#[test]
fn in_the_middle_of_a_batch_after_epochs_that_are_kept() {
    each([("client", "kill"), ("server", "stop"), ("server", "exit")], |role, kind| {
        let place = Place::new();
        let output = run(&place, role, "batch", kind, LATE, timeout(kind));
        assert_named(&place, &output, role, kind);
        assert!(text(&output.stdout).contains("64 B round trip"), "what was complete is shown");
        let shown = place.run(&["report", "last", "--json", "-"]);
        let document: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(document["stopped"], "failed");
        let epochs = document["schedule"]["epochs"].as_u64().unwrap();
        assert!((1..60).contains(&epochs), "{epochs}");
    });
}

#[test]
fn when_it_was_to_leave_it_does_no_harm() {
    for (role, kind) in [("client", "kill"), ("server", "exit")] {
        let place = Place::new();
        // The fault repeats itself whenever it is asked to leave.
        let output = run(&place, role, "stop", kind, "0", timeout(kind));
        assert!(output.status.success(), "{}", text(&output.stderr));
        place.assert_clean();
    }
    let place = Place::new();
    // One that is stopped is waited for, then killed: once, at the end of some epoch.
    let counter = place.file("messages");
    let script = format!(
        "n=$(wc -c < {0} 2>/dev/null || echo 0); exec python3 {PROXY} {1} stop $([ $n -eq 2 ] && echo stop || echo exit) {0} 0",
        argument(&counter),
        env!("CARGO_BIN_EXE_ipcost")
    );
    let peer = format!("faulty=sh -c '{script}'");
    // It ends, long before anybody would be given up.
    let output = wait(place.start(&[
        "run", "--peer", &peer, "--server", "faulty", "--transports", "unix", "--placement", "free",
        "--patterns", "rr", "--epochs", "3", "--timeout", NEVER, "--quiet",
    ]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    place.assert_clean();
}

/// Signals to native peers, whatever they are doing at the moment: moments are spread over the life of a run.
#[test]
fn native_peers_at_any_moment() {
    let named: usize = thread::scope(|scope| {
        let hits = |first: u64| {
            (first..24).step_by(AT_ONCE as usize).filter(|attempt| hit_at_a_moment(*attempt)).count()
        };
        let threads: Vec<_> = (0..AT_ONCE).map(|first| scope.spawn(move || hits(first))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(named >= 3, "of 24 peers most are missed: {named}");
}

/// Whether the run ended with the name of the peer that was hit, rather than went on without it until it was interrupted.
fn hit_at_a_moment(attempt: u64) -> bool {
    let place = Place::new();
    let kind = ["KILL", "STOP", "KILL"][attempt as usize % 3];
    let args = [
        "run", "--transports", "fifo,unix", "--placement", "free", "--patterns", "rr", "--epochs", "100000",
        "--timeout", "2s",
    ];
    let child = place.start(&args);
    place.wait_for_peers(1);
    // Not to wait for anything: the moment is what is varied.
    std::thread::sleep(Duration::from_millis(attempt * 17));
    place.wait_until("a peer could be hit", || {
        let peers: Vec<u32> = place
            .processes()
            .into_iter()
            .filter(|(_, words)| words.ends_with(" peer "))
            .map(|(id, _)| id)
            .collect();
        let hit = peers.get(attempt as usize % peers.len().max(1));
        hit.is_some_and(|peer| {
            let kill = std::process::Command::new("kill").args(["-s", kind, &peer.to_string()]).output();
            kill.is_ok_and(|output| output.status.success())
        })
    });
    // A peer that was just leaving, or about to be asked to, is not missed: then the run goes on.
    place.wait_until("the run ends or goes on", || {
        let engine = format!("/proc/{}", child.id());
        let stopped = place.processes().iter().any(|(id, _)| state(*id) == Some('T'));
        !stopped || !std::path::Path::new(&engine).exists()
    });
    if state(child.id()).is_some_and(|state| state != 'Z') {
        std::thread::sleep(Duration::from_millis(300));
    }
    if state(child.id()).is_some_and(|state| state != 'Z') {
        signal(child.id(), "INT");
    }
    let output = wait(child);
    let error = text(&output.stderr);
    let is_named = match output.status.code() {
        Some(130) => false,
        Some(1 | 2) => {
            assert!(error.contains("native"), "the peer is named: {error}");
            assert!(error.contains("signal: 9") || error.contains("did not answer in time"), "{error}");
            true
        }
        other => panic!("{other:?}: {error}"),
    };
    place.assert_clean();
    is_named
}

/// The state of a process, as `/proc` tells it: `T` is stopped, `Z` has ended.
fn state(process: u32) -> Option<char> {
    stat_of(process)?.first()?.chars().next()
}
