//! A run whose engine is killed loses nothing that was complete, and goes on where it was.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::common::{Place, assert_refused, assert_schema, signal, text, wait};
use serde_json::Value;

/// More epochs than are complete when it is killed, and few enough to wait for.
const EPOCHS: &str = "30";
const RUN: [&str; 11] = [
    "run", "--transports", "null,unix", "--placement", "free", "--patterns", "rr", "--epochs", EPOCHS,
    "--name", "mine",
];

/// The samples file of a run, once it has so many lines.
fn samples_file(place: &Place, lines: usize) -> PathBuf {
    let runs = place.data.path().join("runs");
    let mut found = None;
    place.wait_until("epochs are complete", || {
        let entries = std::fs::read_dir(&runs).into_iter().flatten().flatten();
        found =
            entries.map(|entry| entry.path()).find(|path| path.to_string_lossy().ends_with(".samples.jsonl"));
        found.as_ref().is_some_and(|path| {
            std::fs::read(path).is_ok_and(|bytes| bytes.split(|byte| *byte == b'\n').count() > lines)
        })
    });
    found.unwrap()
}

fn id(path: &std::path::Path) -> String {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    name.strip_suffix(".samples.jsonl").unwrap().to_owned()
}

/// A run that was killed after at least two epochs: its samples file.
fn killed(place: &Place) -> PathBuf {
    killed_of(place, &RUN)
}

fn killed_of(place: &Place, args: &[&str]) -> PathBuf {
    let mut child = place.start(args);
    // The plan, the counts, two epochs.
    let path = samples_file(place, 4);
    child.kill().unwrap();
    child.wait().unwrap();
    place.assert_clean();
    path
}

fn list(place: &Place) -> Value {
    serde_json::from_slice(&place.run(&["list", "--json"]).stdout).unwrap()
}

fn json(place: &Place, run: &str) -> Value {
    let output = place.run(&["report", run, "--json", "-"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_was_complete_is_listed_shown_and_gone_on_with() {
    let place = Place::new();
    let path = killed(&place);
    let id = id(&path);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

    let listed = &list(&place)["runs"][0];
    assert_eq!((&listed["id"], &listed["state"]), (&id.as_str().into(), &"unfinished".into()));
    assert!(listed["epochs"].as_u64().unwrap() >= 2);
    assert!(text(&place.run(&["list"]).stdout).contains("unfinished: "));
    for run in [id.as_str(), &id[16..], "mine", "last", crate::common::argument(&path)] {
        let shown = place.run(&["show", run]);
        assert!(text(&shown.stdout).contains("64 B round trip"), "{run}: {}", text(&shown.stderr));
    }
    let before = json(&place, &id);
    assert_eq!(before["stopped"], "interrupted");
    assert_schema("document", &before);
    let html = place.run(&["report", &id, "--html", "-"]);
    assert!(html.status.success() && text(&html.stdout).contains("epochs of"));

    let resumed = place.run(&["resume", &id, "--json", "resumed.json"]);
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    let told = text(&resumed.stderr);
    assert!(told.contains(&format!("run {id} goes on after epoch ")), "{told}");
    assert!(told.contains(&format!("saved as {id}; ipcost show mine")), "{told}");
    let answer = text(&resumed.stdout);
    let words: Vec<&str> = answer.split_whitespace().collect();
    assert!(words.join(" ").contains("killed and resumed after epoch "), "{answer}");
    assert!(!path.exists(), "the document holds the samples");

    let after: Value = serde_json::from_slice(&std::fs::read(place.file("resumed.json")).unwrap()).unwrap();
    assert_schema("document", &after);
    assert_eq!(after, json(&place, &id), "it is saved under the identifier that the run has");
    assert_eq!(after["schedule"]["epochs"].to_string(), EPOCHS);
    assert_eq!((&after["seed"], &after["started"]), (&before["seed"], &before["started"]));
    let (old, new) = (before["samples"].as_array().unwrap(), after["samples"].as_array().unwrap());
    assert_eq!(&new[..old.len()], &old[..], "nothing is measured twice, nothing is lost");
    assert_eq!(after["resumed"][0]["after_epoch"], before["schedule"]["epochs"]);
    assert!(after["resumed"][0]["at"].as_str().is_some_and(|at| at.ends_with('Z')));
    // The operation counts are those of the run that was killed.
    let ops = |samples: &[Value], cell: u64| {
        samples.iter().find(|sample| sample["cell"] == cell).unwrap()["ops"].as_u64().unwrap()
    };
    assert!([0, 1].into_iter().all(|cell| ops(&new[old.len()..], cell) == ops(old, cell)));
    assert_eq!(list(&place)["runs"][0]["state"], "finished");
    assert!(
        text(&place.run(&["report", &id, "--html", "-"]).stdout).contains("killed and resumed after epoch")
    );
    assert_refused(&place.run(&["resume", &id]), &["has ended", "ipcost show"]);
    assert_refused(&place.run(&["resume"]), &["no run was killed"]);
    place.assert_clean();
}

#[test]
fn on_another_machine_it_does_not_go_on_and_says_what_differs() {
    let place = Place::new();
    let path = killed(&place);
    let bytes = std::fs::read_to_string(&path).unwrap();
    let (first, rest) = bytes.split_once('\n').unwrap();
    let mut begun: Value = serde_json::from_str(first).unwrap();
    begun["begun"]["host"]["kernel"] = "9.9.9-other".into();
    begun["begun"]["host"]["cpu"] = "Another processor".into();
    begun["begun"]["tool"]["version"] = "0.0.1".into();
    std::fs::write(&path, format!("{begun}\n{rest}")).unwrap();
    let parts = [
        "cannot go on",
        "kernel \"9.9.9-other\" then",
        "processor \"Another processor\"",
        "ipcost \"0.0.1 (",
    ];
    assert_refused(&place.run(&["resume"]), &parts);
    assert!(place.run(&["show", "mine"]).status.success(), "it is shown all the same");
}

#[test]
fn samples_of_another_machine_or_boot_are_not_gone_on_with() {
    let place = Place::new();
    let path = killed(&place);
    let whole = std::fs::read_to_string(&path).unwrap();
    let (first, rest) = whole.split_once('\n').unwrap();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut begun: Value = serde_json::from_str(first).unwrap();
        change(&mut begun["begun"]);
        std::fs::write(&path, format!("{begun}\n{rest}")).unwrap();
        place.run(&["resume"])
    };
    let what_to_do = "ipcost run begins another";
    // A copy of the image: the same kernel and processor, under another name or id.
    let named = with(&|begun| begun["host"]["name"] = "another-node".into());
    assert_refused(&named, &["name \"another-node\" then", what_to_do]);
    let machine = with(&|begun| begun["host"]["machine"] = "0123456789ab".into());
    if std::fs::read_to_string("/etc/machine-id").is_ok_and(|id| !id.trim().is_empty()) {
        assert_refused(&machine, &["machine \"0123456789ab\" then", what_to_do]);
    }
    let restarted = with(&|begun| begun["boot"] = "0123456789ab".into());
    assert_refused(&restarted, &["the machine has been restarted since", what_to_do]);
    // An older program wrote no boot.
    let older = with(&|begun| drop(begun.as_object_mut().unwrap().remove("boot")));
    assert!(older.status.success(), "{}", text(&older.stderr));
}

#[test]
fn a_run_that_is_being_measured_is_left_alone() {
    let place = Place::new();
    let child = place.start(&[
        "run", "--transports", "null", "--placement", "free", "--patterns", "rr", "--epochs", "100000",
    ]);
    let path = samples_file(&place, 3);
    let id = id(&path);
    assert_eq!(list(&place)["runs"][0]["state"], "running");
    assert!(text(&place.run(&["list"]).stdout).contains("running: "));
    assert!(place.run(&["show", &id]).status.success(), "what is complete so far");
    assert_refused(&place.run(&["resume", &id]), &["is being measured by another program"]);
    assert_refused(&place.run(&["resume"]), &["no run was killed"]);
    let pruned = place.run(&["prune", "--keep", "0"]);
    assert!(text(&pruned.stdout).contains("removed 0 of 1"), "{}", text(&pruned.stdout));
    assert!(path.exists());
    signal(child.id(), "INT");
    let output = wait(child);
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).contains(&format!("saved as {id}")), "{}", text(&output.stderr));
    assert!(!path.exists());
}

#[test]
fn a_sweep_goes_on_and_answers_what_it_was_asked() {
    let place = Place::new();
    let sweep = ["sweep", "work", "--transports", "pipe,unix", "--work", "0,10us", "--epochs", EPOCHS];
    let path = killed_of(&place, &sweep);
    let shown = place.run(&["show", "last"]);
    assert!(text(&shown.stdout).contains("by how long the server works"), "{}", text(&shown.stderr));
    let resumed = place.run(&["resume", &id(&path), "--json", "resumed.json"]);
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    assert!(text(&resumed.stdout).contains("by how long the server works"), "{}", text(&resumed.stdout));
    let document: Value =
        serde_json::from_slice(&std::fs::read(place.file("resumed.json")).unwrap()).unwrap();
    assert_eq!(document["schedule"]["epochs"].to_string(), EPOCHS);
    assert_eq!(document["answer"]["schema"], "ipcost-sweep-option/1");
}

#[test]
fn what_a_server_was_asked_goes_on_with_a_server_that_is_started_again() {
    let place = Place::new();
    // The server has rights of its own, and passes the directory.
    std::fs::set_permissions(place.tmp.path(), PermissionsExt::from_mode(0o711)).unwrap();
    let app = ["app", "redis", "--command", "GET key", "--burst", "4", "--epochs", "6"];
    let path = killed_of(&place, &app);
    // What is written there may have been changed by hand.
    let whole = std::fs::read_to_string(&path).unwrap();
    let asked = r#""requests":["PING","GET key"]"#;
    assert!(whole.contains(asked), "{whole}");
    for (changed, says) in [
        (r#""requests":[]"#, "names no request"),
        (r#""requests":7"#, "what the run was asked cannot be read"),
    ] {
        std::fs::write(&path, whole.replace(asked, changed)).unwrap();
        assert_refused(&place.run(&["resume", &id(&path)]), &[says]);
    }
    std::fs::write(&path, &whole).unwrap();
    let resumed = place.run(&["resume", &id(&path), "--json", "resumed.json"]);
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    assert!(text(&resumed.stdout).contains("Cost per request"), "{}", text(&resumed.stdout));
    let document: Value =
        serde_json::from_slice(&std::fs::read(place.file("resumed.json")).unwrap()).unwrap();
    assert_eq!(document["schedule"]["epochs"], 6);
    let answer = &document["answer"];
    assert_eq!((&answer["schema"], &answer["server"]), (&"ipcost-app/1".into(), &"redis".into()));
    assert_eq!(answer["burst"]["clients"], 4);
    let commands: Vec<&str> =
        answer["requests"].as_array().unwrap().iter().map(|one| one["request"].as_str().unwrap()).collect();
    assert_eq!(commands, ["PING", "GET key"]);
}

#[test]
fn killed_before_the_first_epoch_it_begins_again() {
    let place = Place::new();
    let path = killed(&place);
    let bytes = std::fs::read(&path).unwrap();
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at).collect();
    for (cut, epochs) in [(ends[0] + 9, 0), (ends[1] + 1, 0), (ends[2] + 100, 1)] {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let listed = &list(&place)["runs"][0];
        assert_eq!((listed["epochs"].as_u64(), listed["state"].as_str()), (Some(epochs), Some("unfinished")));
        if epochs == 0 {
            assert_refused(
                &place.run(&["show", "mine"]),
                &["\"mine\" is a run that has not ended", "ipcost resume"],
            );
            assert_refused(&place.run(&["show", &id(&path)]), &["no complete epoch", "ipcost resume"]);
        }
    }
    // Torn within the second epoch, and once more within the next record.
    std::fs::write(&path, &bytes[..ends[0] + 9]).unwrap();
    let resumed = place.run(&["resume", "--json", "resumed.json"]);
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    let document: Value =
        serde_json::from_slice(&std::fs::read(place.file("resumed.json")).unwrap()).unwrap();
    assert_eq!(document["schedule"]["epochs"].to_string(), EPOCHS);
    assert_eq!(document["resumed"][0]["after_epoch"], 0);
}

#[test]
fn what_is_not_to_be_saved_leaves_no_samples() {
    let place = Place::new();
    let mut child = place.start(&[
        "run", "--transports", "null", "--placement", "free", "--patterns", "rr", "--epochs", "100000",
        "--no-save",
    ]);
    place.wait_for_peers(2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!place.data.path().join("runs").exists());
    place.assert_clean();
}

#[test]
fn pruned_with_the_rest() {
    let place = Place::new();
    let path = killed(&place);
    let kept = place.run(&["prune", "--keep", "0"]);
    assert!(text(&kept.stdout).contains("removed 0 of 1"), "it has a name");
    let pruned = place.run(&["prune", "--keep", "0", "--named"]);
    assert!(text(&pruned.stdout).contains("removed 1 of 1"), "{}", text(&pruned.stdout));
    assert!(!path.exists());
}
