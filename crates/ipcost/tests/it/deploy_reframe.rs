//! The check for ReFrame, run by ReFrame here and on a cluster.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{Place, text};
use crate::deploy::{
    CLUSTER, CLUSTER_PROGRAMS, assert_documents, can_run, engines, python_programs, with_fleet,
};

const PACKAGE: &str = "ReFrame-HPC==4.10.4";
const JOB: &str = "epochs = 2\n[[cells]]\ntransport = [\"unix\", \"tcp\"]\nplacement = \"free\"\n";

/// Runs the check; whether it passed, and what ReFrame printed.
fn check(place: &Place, programs: &Path, settings: &[&str]) -> (bool, String) {
    let mut command = Command::new(programs.join("reframe"));
    command.args(["--nocolor", "--run", "--prefix"]).arg(place.file("reframe"));
    command.arg("--checkpath").arg(engines().join("reframe/ipcost_check.py"));
    let documents = format!("documents={}", place.file("documents").display());
    let job = format!("job_file={}", place.file("job.toml").display());
    let program = concat!("program=", env!("CARGO_BIN_EXE_ipcost"));
    for setting in [program, &job, &documents, "seed=7"].iter().chain(settings) {
        command.args(["--setvar", setting]);
    }
    command
        .env("HOME", place.files.path())
        .env("TMPDIR", place.files.path())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.current_dir(place.files.path()).stdin(Stdio::null()).output().unwrap();
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert!(printed.contains("Ran 1/1 test case(s)"), "{printed}");
    (output.status.success(), printed)
}

#[test]
fn a_run_passes_a_slower_one_fails_and_one_without_a_document_is_not_collected() {
    let Some(programs) = python_programs(PACKAGE) else { return };
    let place = Place::new();
    place.write("job.toml", JOB);

    let (passed, printed) = check(&place, &programs, &[]);
    assert!(passed, "{printed}");
    let entries = fs::read_dir(place.file("documents")).unwrap();
    let files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    let mut document: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(document["seed"], 7);
    let name = document["host"]["name"].as_str().unwrap();
    assert_eq!(file.file_name().unwrap().to_str().unwrap(), format!("{name}.json"));

    // Against a document of a machine on which everything costs a nanosecond.
    for cell in document["cells"].as_array_mut().unwrap() {
        let shown = format!("{}: {} ns", cell["id"].as_str().unwrap(), cell["wall_ns_per_op"]["median"]);
        assert!(printed.contains(&shown), "{shown:?} is not in {printed}");
        cell["wall_ns_per_op"]["median"] = 1.0.into();
    }
    let reference = place.write("reference.json", &document.to_string());
    let reference = format!("reference_document={}", reference.display());
    let (passed, printed) = check(&place, &programs, &[&reference]);
    assert!(!passed && printed.contains("performance error"), "{printed}");
    assert!(printed.contains("rr/unix/64/c1=") && printed.contains("expected 1.0 "), "{printed}");

    fs::remove_file(file).unwrap();
    let (passed, printed) = check(&place, &programs, &["program=false"]);
    assert!(!passed && printed.contains("sanity error: no document"), "{printed}");
    assert!(!file.exists());
}

#[test]
fn every_node_of_a_cluster_is_measured() {
    if !can_run(&CLUSTER_PROGRAMS) {
        return;
    }
    let Some(programs) = python_programs(PACKAGE) else { return };
    let place = Place::new();
    place.write("job.toml", JOB);
    let reframe = programs.join("reframe");
    let script = include_str!("deploy/reframe.sh");
    let printed = with_fleet(&place, &[("REFRAME", &reframe)], &[CLUSTER, script]);
    assert!(printed.contains("Ran 3/3 test case(s)"), "{printed}");
    assert_documents(&place.file("documents"), &["n1", "n2", "n3"], 7);
}
