//! The scripts for Slurm, on a cluster with a controller and three nodes.

use std::fs;
use std::process::Command;

use crate::common::{Place, text};
use crate::deploy::{CLUSTER, CLUSTER_PROGRAMS, assert_documents, can_run, engines, with_fleet};

/// It becomes a file's name, in a directory that all nodes share.
#[test]
fn a_nodes_name_that_is_a_path_writes_nowhere() {
    let place = Place::new();
    fs::create_dir_all(place.file("a/results/doctor")).unwrap();
    for node in ["../../evil", ".hidden", "a/b", ""] {
        let mut batch = Command::new("sh");
        batch.arg(engines().join("slurm/ipcost.sbatch")).args(["true", "job.toml", "1"]);
        batch.arg(place.file("a/results")).env("SLURMD_NODENAME", node).env("TMPDIR", place.tmp.path());
        let output = batch.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{node:?}");
        assert!(text(&output.stderr).contains("a name that is none of a file"), "{node:?}");
    }
    assert_eq!(fs::read_dir(place.file("a/results/doctor")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(place.tmp.path()).unwrap().count(), 0);
}

const CELLS: &str = "[[cells]]\ntransport = [\"unix\", \"tcp\"]\nplacement = \"free\"\n";

#[test]
fn two_nodes_complete_while_the_third_goes_down_and_is_named() {
    if !can_run(&CLUSTER_PROGRAMS) {
        return;
    }
    let place = Place::new();
    place.write("job.toml", &format!("epochs = 2\n{CELLS}"));
    place.write("n3.toml", &format!("epochs = 100000\n{CELLS}"));
    let printed = with_fleet(&place, &[], &[CLUSTER, include_str!("deploy/slurm.sh")]);
    let says = |text: &str| assert!(printed.contains(text), "{text:?} is not in {printed}");

    says("\nn3: RUNNING\nearly: status 1\n");
    says("2 of 3 nodes sent a complete document\nn3: NODE_FAIL\nfirst: status 1\n");
    assert_documents(&place.file("first/documents"), &["n1", "n2"], 7);
    assert_eq!(fs::read_to_string(place.file("first/missing.txt")).unwrap(), "n3: NODE_FAIL\n");
    assert_eq!(fs::read_dir(place.file("first/doctor")).unwrap().count(), 3);

    says("2 of 2 nodes sent a complete document\nsecond: status 0\n");
    assert_documents(&place.file("second/documents"), &["n1", "n2"], 8);

    says("0 of 1 nodes sent a complete document\nn1: CANCELLED");
    assert_documents(&place.file("results/documents"), &[], 9);
    says("left on n1: \nleft on n2: \n");
}
