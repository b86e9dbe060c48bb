//! The role for Ansible, on machines with a real sshd each.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::common::{Place, text};
use crate::deploy::{assert_documents, can_run, engines, with_fleet};

/// A job that a machine completes in a few seconds.
const JOB: &str = "[[cells]]\ntransport = [\"unix\", \"tcp\"]\nplacement = \"free\"\n";

#[test]
fn a_hosts_name_that_is_a_path_writes_nowhere() {
    if !can_run(&["ansible-playbook"]) {
        return;
    }
    let place = Place::new();
    place.write("hosts", "../../evil ansible_connection=local\n");
    place.write("job.toml", JOB);
    let mut play = Command::new("ansible-playbook");
    play.args(["--inventory", "hosts"]).arg(engines().join("ansible/playbook.yml"));
    play.args([
        "--extra-vars",
        "ipcost_binary=/bin/true ipcost_job=job.toml ipcost_seed=1 ipcost_results=a/results",
    ]);
    play.current_dir(place.files.path())
        .env("HOME", place.files.path())
        .env("ANSIBLE_LOCAL_TEMP", place.tmp.path());
    let output = play.env("ANSIBLE_ROLES_PATH", engines().join("ansible/roles")).output().unwrap();
    let told = text(&output.stdout);
    assert!(!output.status.success() && told.contains("cannot be a file's name"), "{told}");
    assert!(!place.file("evil.json").exists() && !place.file("a/evil.json").exists());
}

#[test]
fn three_machines_complete_while_three_fail_and_only_a_lost_one_keeps_something() {
    let programs =
        ["unshare", "nsenter", "ip", "ansible-playbook", "ssh", "/usr/sbin/sshd", "pgrep", "strip"];
    if !can_run(&programs) {
        return;
    }
    let place = Place::new();
    place.write("job.toml", JOB);
    let printed = with_fleet(&place, &[], &[include_str!("deploy/ansible.sh")]);
    let play = fs::read_to_string(place.file("play.log")).unwrap();

    assert!(printed.contains("status 2\n"), "a missing machine fails the playbook: {printed}{play}");
    assert_documents(&place.file("first/documents"), &["one", "slow", "two"], 7);
    let missing = fs::read_to_string(place.file("first/missing.txt")).unwrap();
    let lines: Vec<&str> = missing.lines().collect();
    let [gone, killed, lost] = lines[..] else { panic!("{missing}{play}") };
    assert!(gone.starts_with("gone: Stay reachable during the run: "), "{missing}");
    assert!(gone.contains("; not removed: /var/tmp/ipcost-"), "{missing}");
    assert!(killed.starts_with("killed: Complete the run: ended by signal 9"), "{missing}");
    assert!(lost.starts_with("lost: Stay reachable during the run: "), "{missing}");
    assert!(!lost.contains("not removed"), "{missing}");
    assert!(play.contains("3 of 6 hosts sent a complete document; missing: gone, killed, lost"), "{play}");
    assert!(lines.iter().all(|line| play.contains(&line[..20])), "{missing}{play}");

    // They are hosts of their own, by name and machine id.
    let output = place.run(&["fleet", "first/documents", "--json", "-"]);
    let fleet: Value = serde_json::from_slice(&output.stdout).unwrap();
    let hosts = fleet["hosts"].as_array().unwrap();
    let ids: BTreeSet<&str> = hosts.iter().map(|host| host["machine"].as_str().unwrap()).collect();
    assert_eq!((hosts.len(), ids.len(), &fleet["skipped_files"]), (3, 3, &0.into()), "{fleet}");

    // Findings are kept even of those that failed later.
    assert_eq!(fs::read_dir(place.file("first/doctor")).unwrap().count(), 6);
    for machine in ["one", "two", "slow", "killed", "lost"] {
        assert!(printed.contains(&format!("left on {machine}: \n")), "{printed}");
    }
    assert!(printed.contains("left on gone: ipcost-"), "{printed}");

    let missing = fs::read_to_string(place.file("results/missing.txt")).unwrap();
    assert!(
        printed.contains("findings: status 0\n"),
        "a missing machine need not fail the playbook: {printed}"
    );
    assert!(missing.starts_with("one: Stop if something distorts results here: "), "{missing}");
    assert_eq!(missing.lines().count(), 1, "the others were not asked: {missing}");
    assert_documents(&place.file("results/documents"), &["slow", "two"], 7);
}
