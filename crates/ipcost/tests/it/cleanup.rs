//! No process and no file is ever left behind, however a run ends.

use std::process::Stdio;

use crate::common::{NEVER, Place, signal, stat_of, text, wait};

const LONG: [&str; 9] =
    ["run", "--transports", "fifo,unix,tcp", "--placement", "free", "--patterns", "rr", "--budget", "10min"];
/// So that it never ends early: no difference can be resolved at such a margin.
const ENDLESS: [&str; 2] = ["--epochs", "100000"];

fn endless() -> Vec<&'static str> {
    [LONG.as_slice(), ENDLESS.as_slice()].concat()
}

#[test]
fn after_success() {
    let place = Place::new();
    let output = place.run(&["run", "--transports", "fifo,unix,pipe", "--patterns", "rr", "--epochs", "1"]);
    assert!(output.status.success());
    place.assert_clean();
}

#[test]
fn private_directories_are_private_and_hold_every_socket() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let child = place.start(&endless());
    place.wait_for_peers(6);
    let dirs: Vec<_> = std::fs::read_dir(place.tmp.path()).unwrap().flatten().collect();
    assert_eq!(dirs.len(), 1, "{dirs:?}");
    assert_eq!(dirs[0].metadata().unwrap().permissions().mode() & 0o777, 0o700);
    signal(child.id(), "INT");
    wait(child);
    place.assert_clean();
}

#[test]
fn after_an_interrupt_with_what_was_measured_shown_and_written() {
    // A closing terminal and an init system send several in a row, and mean one request.
    for name in ["INT", "TERM HUP", "HUP TERM INT"] {
        let place = Place::new();
        let file = place.file("document.json");
        let samples = || std::fs::read_dir(place.tmp.path()).unwrap().flatten().next().map(|dir| dir.path());
        let arguments = [endless(), vec!["--json", crate::common::argument(&file)]].concat();
        let child = place.start(&arguments);
        // Sockets are named after their epoch: once the third one's are there, two are complete.
        place.wait_until("two epochs are complete", || {
            let entries = samples().and_then(|dir| std::fs::read_dir(dir).ok());
            entries.is_some_and(|entries| {
                entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("e3"))
            })
        });
        let sent = std::process::Command::new("sh")
            .args(["-c", "for name in $1; do kill -s $name $0; done", &child.id().to_string(), name])
            .status();
        assert!(sent.unwrap().success());
        let output = wait(child);
        assert_eq!(output.status.code(), Some(130), "{name}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains("64 B round trip"), "{name}");
        assert!(text(&output.stderr).contains("interrupted"), "{name}");
        let document: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(document["stopped"], "interrupted");
        assert!(document["schedule"]["epochs"].as_u64().unwrap() >= 2);
        place.assert_clean();
    }
}

#[test]
fn after_an_interrupt_before_anything_was_measured() {
    let place = Place::new();
    let child = place.start(&endless());
    place.wait_for_peers(1);
    signal(child.id(), "INT");
    let output = wait(child);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    place.assert_clean();
}

#[test]
fn after_the_engine_was_killed() {
    let place = Place::new();
    let mut child = place.start(&endless());
    place.wait_for_peers(6);
    child.kill().unwrap();
    child.wait().unwrap();
    place.assert_clean();
}

#[test]
fn after_engine_and_guard_were_told_to_stop_by_the_terminal() {
    // What a Ctrl-C does: the signal goes to the whole foreground group. The guard is in a session of its own.
    let place = Place::new();
    let child = place.start(&endless());
    place.wait_for_peers(6);
    for (process, _) in place.processes().iter().filter(|(_, words)| words.ends_with(" guard ")) {
        assert_eq!(
            stat_of(*process).unwrap()[3],
            process.to_string(),
            "the guard leads a session of its own"
        );
    }
    signal(child.id(), "INT");
    wait(child);
    place.assert_clean();
}

#[test]
fn after_a_second_interrupt() {
    let place = Place::new();
    // A peer that does not answer: the engine is busy waiting for it, and the user loses patience.
    let args =
        ["run", "--transports", "unix", "--peer", "mute=sleep 1000", "--client", "mute", "--timeout", NEVER];
    let child = place.start(&args);
    place.wait_until("the mute peer runs", || {
        place.processes().iter().any(|(_, words)| words.starts_with("sleep 1000"))
    });
    signal(child.id(), "INT");
    let _ = std::process::Command::new("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .stderr(Stdio::null())
        .status();
    // It ends, long before the peer would have answered or been given up.
    wait(child);
    place.assert_clean();
}

#[test]
fn after_a_peer_was_killed_in_the_middle() {
    let place = Place::new();
    let child = place.start(&endless());
    place.wait_for_peers(6);
    let peers = place.processes();
    let (peer, _) = peers.iter().find(|(_, words)| words.ends_with(" peer ")).unwrap();
    signal(*peer, "KILL");
    let output = wait(child);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("native of rr/") && error.contains("signal: 9"), "{error}");
    place.assert_clean();
}

#[test]
fn after_a_peer_was_stopped_in_the_middle() {
    let place = Place::new();
    let child = place.start(&[endless(), vec!["--timeout", "5s"]].concat());
    place.wait_for_peers(6);
    let peers = place.processes();
    let (peer, _) = peers.iter().rev().find(|(_, words)| words.ends_with(" peer ")).unwrap();
    signal(*peer, "STOP");
    let output = wait(child);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("native of rr/") && error.contains("did not answer in time"), "{error}");
    place.assert_clean();
}

#[test]
fn when_nobody_reads_the_result() {
    let place = Place::new();
    let mut child = place
        .start(&["run", "--transports", "null", "--placement", "free", "--patterns", "rr", "--epochs", "1"]);
    drop(child.stdout.take());
    let output = wait(child);
    assert!(output.status.success(), "{}", text(&output.stderr));
    place.assert_clean();
}
