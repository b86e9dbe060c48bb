//! The engine killed at random moments, two hundred times: no process, no socket, no FIFO and no directory is left behind,
//! and what was complete can be read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, Place, text};
use serde_json::Value;

const KILLS: u64 = 100;
/// Runs at the same time.
const AT_ONCE: usize = 4;
/// The latest moment after the start, or after the first complete epoch, milliseconds.
const LATEST_MS: u64 = 500;

/// The plan and the counts come before epochs in a samples file.
const HEAD_LINES: u64 = 2;

/// What kinds of runs are killed; each leaves something else, were it left alone.
const RUNS: [&[&str]; 4] = [
    &[
        "run", "--transports", "fifo,unix,unix-abstract", "--placement", "free", "--patterns", "rr",
        "--epochs", "100000",
    ],
    &[
        "run", "--transports", "unix,tcp", "--placement", "free", "--patterns", "connect", "--concurrency",
        "3", "--epochs", "100000",
    ],
    &[
        "run", "--transports", "unix", "--placement", "free", "--patterns", "rr", "--concurrency", "3",
        "--option", "workers=processes", "--epochs", "100000",
    ],
    &["explain", "rr/tcp/64/c1", "--budget", "10min"],
];

#[test]
fn wherever_the_engine_is_killed_nothing_is_left_and_epochs_are_kept() {
    let namespaces = network_namespaces();
    let (next, complete) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let attempt = next.fetch_add(1, Ordering::Relaxed);
                    if attempt >= KILLS {
                        return;
                    }
                    complete.fetch_add(kill(attempt), Ordering::Relaxed);
                }
            });
        }
    });
    let complete = complete.load(Ordering::Relaxed);
    eprintln!("{KILLS} kills, {complete} epochs were complete and can be read");
    assert!(complete > 0);
    let left: Vec<_> = network_namespaces().difference(&namespaces).cloned().collect();
    // Others on the machine may make some; one of ours would belong to a process, of which none is left.
    eprintln!("network namespaces that are new: {left:?}");
}

/// One run killed at its moment; how many epochs of it can be read.
fn kill(attempt: u64) -> u64 {
    let place = Place::new();
    let run = RUNS[attempt as usize % RUNS.len()];
    let mut child = place.start(run);
    // Half of those that keep epochs are killed once there is one, however long that takes here.
    let keeps = run[0] == "run" && attempt as usize / RUNS.len() % 2 == 1;
    if keeps {
        place.wait_until("an epoch is complete", || {
            let samples = runs(&place).into_iter().next();
            samples.is_some_and(|samples| lines(&samples) > HEAD_LINES)
        });
    }
    // A walk over all moments with a step that shares no factor with their number.
    std::thread::sleep(Duration::from_millis(attempt * 367 % LATEST_MS));
    child.kill().unwrap();
    child.wait().unwrap();
    let left = || {
        let entries = std::fs::read_dir(place.tmp.path()).unwrap().flatten();
        (place.processes(), entries.map(|entry| entry.path()).collect::<Vec<_>>())
    };
    let deadline = Instant::now() + PATIENCE;
    while left() != (vec![], vec![]) {
        assert!(Instant::now() < deadline, "attempt {attempt} left behind {:?}", left());
        std::thread::sleep(Duration::from_millis(20));
    }
    let complete = readable(&place);
    assert!(!keeps || complete > 0, "attempt {attempt} has lost an epoch");
    complete
}

/// What a run has left among the saved ones.
fn runs(place: &Place) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place.data.path().join("runs")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Whatever a run has left among the saved ones is its samples file, and can be shown once an epoch is complete.
fn readable(place: &Place) -> u64 {
    let files = runs(place);
    let Some(file) = files.first() else { return 0 };
    assert!(files.len() == 1 && file.to_string_lossy().ends_with(".samples.jsonl"), "{files:?}");
    let listed: Value = serde_json::from_slice(&place.run(&["list", "--json"]).stdout).unwrap();
    let Some(run) = listed["runs"].as_array().unwrap().first() else {
        // Killed within the first line: there is nothing to know of it, and it says so.
        assert!(lines(file) == 0, "{listed}");
        return 0;
    };
    assert_eq!(run["state"], "unfinished");
    let epochs = run["epochs"].as_u64().unwrap();
    assert_eq!(epochs, lines(file).saturating_sub(HEAD_LINES), "every whole line counts");
    let shown = place.run(&["report", run["id"].as_str().unwrap(), "--json", "-"]);
    if epochs == 0 {
        assert_eq!(shown.status.code(), Some(2), "{}", text(&shown.stdout));
        return 0;
    }
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let document: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(document["schedule"]["epochs"], epochs);
    epochs
}

fn lines(file: &Path) -> u64 {
    std::fs::read(file).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count() as u64
}

/// The network namespaces that processes are in.
fn network_namespaces() -> BTreeSet<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let namespaces = processes.filter_map(|entry| std::fs::read_link(entry.path().join("ns/net")).ok());
    namespaces.map(|path| path.to_string_lossy().into_owned()).collect()
}

#[test]
fn what_engine_and_guard_killed_together_leave_the_next_start_removes() {
    let place = Place::new();
    let mut child = place.start(RUNS[0]);
    place.wait_for_peers(6);
    let guards: Vec<u32> = place
        .processes()
        .into_iter()
        .filter(|(_, words)| words.ends_with(" guard "))
        .map(|(id, _)| id)
        .collect();
    assert_eq!(guards.len(), 1);
    crate::common::signal(guards[0], "KILL");
    child.kill().unwrap();
    child.wait().unwrap();
    place.wait_until("the peers have noticed", || place.processes().is_empty());
    let left = || std::fs::read_dir(place.tmp.path()).unwrap().flatten().next().map(|entry| entry.path());
    let dir = left().expect("nobody could remove it");
    // A run that starts right afterwards cannot know whether someone is just beginning there.
    assert!(
        place.run(&["run", "--transports", "null", "--patterns", "rr", "--epochs", "1"]).status.success()
    );
    assert_eq!(left().as_deref(), Some(dir.as_path()));
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    std::fs::File::open(&dir).unwrap().set_modified(long_ago).unwrap();
    assert!(
        place.run(&["run", "--transports", "null", "--patterns", "rr", "--epochs", "1"]).status.success()
    );
    assert_eq!(left(), None);
}
