//! `ipcost doctor` as a user runs it, with and without privileges, and with facts that were planted.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::common::{Place, argument, assert_refused, copy_of_the_program, in_own_process, missing, text};

const SHORT: [&str; 3] = ["doctor", "--window", "100ms"];

fn examination(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stdout)))
}

fn finding(examination: &Value, code: &str) -> Value {
    let findings = examination["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["code"] == code).unwrap_or_else(|| panic!("{code}")).clone()
}

/// Runs a shell script in a network namespace of its own, with the program as `$0`; `None` where that may not be done.
fn in_namespace(place: &Place, script: &str) -> Option<Output> {
    let alone = Command::new("unshare").args(["--net", "true"]).status();
    if !alone.is_ok_and(|status| status.success()) {
        missing("network-namespaces", "unshare --net fails");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", script, env!("CARGO_BIN_EXE_ipcost")]);
    Some(command.env("XDG_CACHE_HOME", place.files.path()).stdin(Stdio::null()).output().unwrap())
}

#[test]
fn findings_are_shown_by_topic_and_summed_up() {
    let output = Place::new().run(&[&SHORT[..], &["--all"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for part in
        ["Processor\n", "Kernel limits\n", "Network\n", "Tools\n", "open-files: ", "peers: ", " passed.\n"]
    {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    assert!(!shown.contains('\u{1b}'), "no colours without a terminal");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn json_holds_every_finding_in_the_shape_that_is_documented() {
    let place = Place::new();
    let file = place.file("found.json");
    let output = place.run(&[&SHORT[..], &["--json", argument(&file)]].concat());
    assert!(text(&output.stdout).contains("Processor\n"), "shown as well: {}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(found["schema"], "ipcost-doctor/1");
    assert!(
        found["host"]["somaxconn"].as_u64().is_some() && found["watched_s"].as_f64() >= Some(0.1),
        "{found}"
    );
    for finding in found["findings"].as_array().unwrap() {
        let keys: Vec<&str> = finding.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected = ["code", "topic", "state", "found", "why", "command", "advice"];
        expected.sort_unstable();
        let mut keys = keys.clone();
        keys.sort_unstable();
        assert_eq!(keys, expected);
        let state = finding["state"].as_str().unwrap();
        assert!(["good", "note", "bends", "missing"].contains(&state), "{finding}");
    }
    let round: ipcost_features::doctor::Examination = serde_json::from_value(found.clone()).unwrap();
    assert_eq!(serde_json::to_value(round).unwrap(), found, "nothing is lost");
}

/// The program under another path.
fn program_at(path: &Path) -> PathBuf {
    let built = env!("CARGO_BIN_EXE_ipcost");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::hard_link(built, path).unwrap_or_else(|_| copy_of_the_program(path));
    path.canonicalize().unwrap()
}

#[test]
fn the_first_lines_name_the_build_and_how_it_was_installed() {
    let place = Place::new();
    let version = text(&place.run(&["--version"]).stdout);
    let venv = place.file("people/ann/venv");
    let program = program_at(&venv.join("bin/ipcost"));
    let venv = program.parent().unwrap().parent().unwrap();
    let package = venv.join("lib/python3.11/site-packages/ipcost-0.1.0.dist-info");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("INSTALLER"), "pip\n").unwrap();
    fs::write(venv.join("pyvenv.cfg"), "").unwrap();
    // Commands are found through links.
    let link = place.file("ipcost");
    std::os::unix::fs::symlink(&program, &link).unwrap();

    let run = |more: &[&str]| {
        let mut command = Command::new(&link);
        command.args(SHORT).args(more).stdin(Stdio::null());
        command
            .env("XDG_CACHE_HOME", place.files.path())
            .env("HOME", place.file("people/ann").canonicalize().unwrap());
        command.env("COLUMNS", "110").output().unwrap()
    };
    let installed = &examination(&run(&["--json", "-"]))["installed"];
    assert_eq!((&installed["by"], &installed["tool"]), (&"python".into(), &"pip".into()));
    assert_eq!(installed["environment"].as_str(), venv.to_str());
    assert_eq!(installed["path"].as_str(), program.to_str());

    let shown = text(&run(&["--redact"]).stdout);
    let (first, rest) = shown.split_once("\n\n").unwrap();
    assert_eq!(
        first,
        format!(
            "What distorts results on this machine\n{version}installed: pip, into the virtual environment [home]/venv"
        )
    );
    assert!(!rest.contains("installed: "), "{shown}");
    let redacted = examination(&run(&["--redact", "--json", "-"]));
    assert_eq!(redacted["installed"]["path"], "[home]/venv/bin/ipcost");
    assert_eq!(redacted["installed"]["environment"], "[home]/venv");
}

#[test]
fn it_looks_as_nobody_as_well() {
    let place = Place::new();
    if !is_root() {
        missing("root", "only root can become nobody");
        return;
    }
    // No one may not come into the directory of a checkout.
    let program = place.file("ipcost");
    copy_of_the_program(&program);
    std::fs::set_permissions(place.files.path(), std::os::unix::fs::PermissionsExt::from_mode(0o711))
        .unwrap();
    let mut command = Command::new(program);
    command.args(SHORT).args(["--json", "-"]);
    command.envs(place.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.uid(65_534).gid(65_534).env("XDG_CACHE_HOME", "/nonexistent").current_dir("/");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let found = examination(&output);
    let rules = finding(&found, "packet-rules");
    assert!(rules["found"].as_str().unwrap().contains("only root may list them"), "{rules}");
    assert_eq!(rules["command"], "sudo ipcost doctor");
    assert_eq!(finding(&found, "peer-cache")["state"], "missing");
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    text(&output.stdout).trim() == "0"
}

#[test]
fn without_loopback_tcp_is_unavailable_and_the_way_out_is_named() {
    let place = Place::new();
    let Some(output) = in_namespace(&place, "exec $0 doctor --window 100ms --json -") else { return };
    let found = examination(&output);
    let loopback = finding(&found, "loopback");
    assert_eq!((&loopback["state"], &loopback["command"]), (&"missing".into(), &"ip link set lo up".into()));
    let transports = finding(&found, "transports");
    assert!(
        transports["found"].as_str().unwrap().starts_with("tcp: IPv4 loopback cannot be used"),
        "{transports}"
    );
}

#[test]
fn what_is_planted_in_a_network_namespace_is_seen() {
    let place = Place::new();
    let script = "ip link set lo up mtu 1500 && echo '50000 50100' > /proc/sys/net/ipv4/ip_local_port_range && \
                  echo 16 > /proc/sys/net/core/somaxconn && ulimit -n 256 && exec $0 doctor --window 100ms --json -";
    let Some(output) = in_namespace(&place, script) else { return };
    let found = examination(&output);
    for (code, state, value) in [
        ("loopback-mtu", "bends", "1500"),
        ("local-ports", "bends", "101 ports"),
        ("listen-queue", "bends", "16"),
        ("open-files", "missing", "256"),
        ("loopback", "good", "up"),
    ] {
        let finding = finding(&found, code);
        assert_eq!(finding["state"], state, "{finding}");
        assert!(finding["found"].as_str().unwrap().contains(value), "{finding}");
    }
}

#[test]
fn a_queue_on_loopback_is_seen() {
    let place = Place::new();
    let script = "ip link set lo up && tc qdisc add dev lo root pfifo limit 100 2>&1 || exit 77; \
                  exec $0 doctor --window 100ms --json -";
    let Some(output) = in_namespace(&place, script) else { return };
    if output.status.code() == Some(77) {
        missing("network-queues", &text(&output.stdout));
        return;
    }
    let queue = finding(&examination(&output), "loopback-queue");
    assert_eq!((&queue["state"], &queue["found"]), (&"bends".into(), &"pfifo on lo".into()));
}

#[test]
fn a_cpu_quota_is_seen() {
    // The quota holds this whole test process, so it gets one of its own.
    let place = Place::new();
    if !in_own_process("doctor::a_cpu_quota_is_seen") {
        return;
    }
    let quota = match ipcost_sys::quota::Quota::impose(0.5) {
        Ok(quota) => quota,
        Err(error) => {
            missing("quotas", &error.to_string());
            return;
        }
    };
    let output = place.run(&[&SHORT[..], &["--json", "-"]].concat());
    drop(quota);
    let found = finding(&examination(&output), "cpu-quota");
    assert_eq!(found["state"], "bends", "{found}");
    let said = found["found"].as_str().unwrap();
    // On a machine that is busy otherwise, the quota may not be reached; it is told all the same.
    assert!(said.contains("CPU quota of 0.50 processors"), "{said}");
}

#[test]
fn mistakes_are_told() {
    let place = Place::new();
    for (args, part) in [
        (&["doctor", "--window", "soon"][..], "not a duration"),
        (&["doctor", "--window", "1ms"], "100ms or more"),
        (&["doctor", "--window", "1h"], "1min or less"),
        (&["doctor", "--al"], "--all"),
        (&["doctor", "everything"], "everything"),
    ] {
        assert_refused(&place.run(args), &[part]);
    }
    let output = place.run(&[&SHORT[..], &["--json", "/nonexistent/x.json"]].concat());
    assert_refused(&output, &["cannot write /nonexistent/x.json"]);
}

#[test]
fn a_runs_document_holds_the_same_facts() {
    let document = Place::new()
        .document(&["run", "--transports", "unix", "--patterns", "rr", "--epochs", "1", "--quiet"]);
    for name in ["open_files_limit", "tcp_rmem", "loopback_queue", "ip_local_port_range", "load_average"] {
        assert!(!document["host"][name].is_null(), "{name}: {}", document["host"]);
    }
}

#[test]
fn findings_are_written_for_a_bug_report_and_name_no_process_of_others() {
    let place = Place::new();
    let files = ["--html", "d.html", "--markdown", "d.md", "--csv", "d.csv"];
    let shown = place.run(&[&["doctor"], &SHORT[1..], &files].concat());
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let [html, markdown, csv] =
        ["d.html", "d.md", "d.csv"].map(|name| fs::read_to_string(place.file(name)).unwrap());
    assert!(html.contains("<h2 id=\"processor-title\">Processor</h2>"), "{html}");
    assert!(markdown.contains("### Processor") && markdown.contains("- ✓ "), "{markdown}");
    assert!(csv.starts_with("topic,code,state,found,why,command,advice\nprocessor,"), "{csv}");
    for written in [&html, &markdown, &csv] {
        assert!(!written.contains("(process "), "{written}");
    }
    assert!(text(&shown.stdout).contains(" note") || text(&shown.stdout).contains(" passed."));
}
