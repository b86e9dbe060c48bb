//! `ipcost ab`: two arms in one run, and a machine that is as it was before, however the run ends.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Place, assert_refused, assert_schema, scripted, signal, text, wait};

/// One cell, in both arms.
const CELL: [&str; 8] = ["--transports", "unix", "--patterns", "rr", "--sizes", "64", "--placement", "free"];
/// More epochs than pass before a run is killed.
const MANY: &str = "400";

/// A file that stands for a setting, and the flags for two commands that write it and note the arm.
struct Setting {
    file: PathBuf,
    log: PathBuf,
    flags: Vec<String>,
}

impl Setting {
    fn new(place: &Place) -> Self {
        let (file, log) = (place.write("setting", "as it was\n"), place.file("log"));
        let command = |arm: &str| format!("echo {arm} > {}; echo {arm} >> {}", file.display(), log.display());
        let flags = ["ab", "--a", &command("first"), "--b", &command("second"), "--keep"];
        let mut flags: Vec<String> = flags.map(str::to_owned).to_vec();
        flags.push(file.display().to_string());
        flags.extend(CELL.map(str::to_owned));
        Self { file, log, flags }
    }

    fn with<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        self.flags.iter().map(String::as_str).chain(more.iter().copied()).collect()
    }

    fn is(&self) -> String {
        std::fs::read_to_string(&self.file).unwrap().trim().to_owned()
    }

    /// The arms in the order in which they were entered.
    fn entered(&self) -> Vec<String> {
        read(&self.log).lines().map(str::to_owned).collect()
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn arms_take_turns_and_the_setting_is_put_back() {
    let place = Place::new();
    let setting = Setting::new(&place);
    let document = place.document(&setting.with(&["--epochs", "20", "--seed", "3"]));
    assert_schema("document", &document);
    assert_eq!(setting.is(), "as it was");
    let ids: Vec<&str> =
        document["cells"].as_array().unwrap().iter().map(|cell| cell["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["rr/unix/64/c1/arm=a", "rr/unix/64/c1/arm=b"]);
    let entered = setting.entered();
    let of = |arm: &str| entered.iter().filter(|entered| *entered == arm).count();
    assert!(of("first") == of("second") && of("first") > 20, "{entered:?}");
    // In random order: both come first in some epochs.
    let first = entered.chunks(2).filter(|pair| pair[0] == "first").count();
    assert!(first > 0 && first < entered.len() / 2, "{entered:?}");
    let settings = &document["arms"]["settings"][0];
    assert_eq!((&settings["before"], &settings["a"]), (&"as it was".into(), &"first".into()));
    assert_eq!((&settings["b"], &document["arms"]["restored"]), (&"second".into(), &true.into()));
    assert_eq!(document["answer"]["schema"], "ipcost-comparison/1");
    assert_eq!(document["answer"]["costs"][0]["cell"], "rr/unix/64/c1");

    // Shown again, listed and drawn like every run.
    let shown = text(&place.run(&["show", "last"]).stdout);
    assert!(
        shown.contains("Both in each of 20 epochs") && shown.contains("Settings, as read back"),
        "{shown}"
    );
    let listed = text(&place.run(&["list"]).stdout);
    assert!(listed.contains("ab, rr"), "{listed}");
    let html = text(&place.run(&["report", "last", "--html", "-"]).stdout);
    assert!(html.contains("round trip over unix") && html.contains("Both in each of 20 epochs"));
}

#[test]
fn what_slows_one_arm_is_found() {
    let place = Place::new();
    let peer = format!("planted={}", scripted::command(&["1000"]).join(" "));
    let flags = ["ab", "--b-env", "SCRIPTED_FACTOR=1.5", "--epochs", "20", "--seed", "3", "--peer", &peer];
    let both = ["--client", "planted", "--server", "planted"];
    let document = place.document(&[&flags[..], &both, &CELL].concat());
    let change = &document["answer"]["costs"][0];
    assert_eq!(change["verdict"], "different", "{change}");
    assert!((change["ratio"].as_f64().unwrap() - 1.5).abs() < 0.02, "{change}");
    assert!(change["lo"].as_f64().unwrap() > 1.45 && change["hi"].as_f64().unwrap() < 1.55, "{change}");
    assert!(document["answer"]["differences"].as_array().unwrap().is_empty());
}

#[test]
fn arms_have_their_own_environment_program_and_peer() {
    let place = Place::new();
    let script =
        place.write("start.sh", "#!/bin/sh\necho \"$1 ${WORD:-none}\" >> seen\nshift\nexec \"$@\"\n");
    let exec = |arm: &str| format!("sh {} {arm}", script.display());
    let (a, b) = (exec("a"), exec("b"));
    let own = format!("{} peer", env!("CARGO_BIN_EXE_ipcost"));
    let flags =
        ["ab", "--a-exec", &a, "--b-exec", &b, "--b-env", "WORD=set", "--b-peer", &own, "--epochs", "2"];
    let document = place.document(&[&flags[..], &CELL].concat());
    let seen = read(&place.file("seen"));
    assert!(seen.contains("a none\n") && seen.contains("b set\n"), "{seen}");
    assert!(!seen.contains("a set") && !seen.contains("b none"), "{seen}");
    assert_eq!(document["job"]["ab"]["b"]["env"]["WORD"], "set");
    assert_eq!(document["job"]["ab"]["b"]["peers"]["native"][1], "peer");
    assert!(document["arms"].is_null(), "no command changed the machine");
}

#[test]
fn a_run_that_is_killed_leaves_the_machine_as_it_was_and_can_be_resumed() {
    let place = Place::new();
    let setting = Setting::new(&place);
    let mut child = place.start(&setting.with(&["--epochs", MANY]));
    place.wait_until("some epochs", || setting.entered().len() > 20);
    child.kill().unwrap();
    child.wait().unwrap();
    place.wait_until("the guard puts it back", || setting.is() == "as it was");
    place.assert_clean();

    let unfinished: Value = serde_json::from_slice(&place.run(&["list", "--json"]).stdout).unwrap();
    assert_eq!(unfinished["runs"][0]["state"], "unfinished");
    let before = setting.entered().len();
    let child = place.start(&["resume", "last"]);
    place.wait_until("it goes on", || setting.entered().len() > before + 4);
    // Asked to stop, it shows what it has.
    signal(child.id(), "INT");
    let output = wait(child);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("rr/unix/64/c1"), "{}", text(&output.stdout));
    assert_eq!(setting.is(), "as it was");
}

#[test]
fn a_machine_that_is_not_put_back_is_said_loudly_with_the_command() {
    let place = Place::new();
    let flags =
        ["ab", "--a", ": one", "--b", ": two", "--restore", "echo broken >&2; false", "--epochs", "2"];
    let output = place.run(&[&flags[..], &CELL].concat());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("THE MACHINE WAS NOT PUT BACK") && said.contains("by hand: echo broken >&2; false"),
        "{said}"
    );
    assert!(text(&output.stdout).contains("rr/unix/64/c1"), "what was measured is shown");
}

#[test]
fn commands_that_cannot_work_leave_nothing_changed() {
    let place = Place::new();
    let setting = Setting::new(&place);
    let file = setting.file.display().to_string();
    let keep = |a: &str, b: &str| {
        let args = ["ab", "--a", a, "--b", b, "--keep", &file, "--epochs", "2"];
        let output = place.run(&[&args[..], &CELL].concat());
        assert_eq!(setting.is(), "as it was", "{a}, {b}");
        assert_eq!(output.status.code(), Some(2), "{a}, {b}: {}", text(&output.stdout));
        text(&output.stderr)
    };
    let write = |word: &str| format!("echo {word} > {file}");
    let failed = keep(&write("one"), "echo no such setting >&2; exit 7");
    assert!(failed.contains("arm B") && failed.contains("no such setting"), "{failed}");
    let same = keep(&write("one"), &format!("{}; true", write("one")));
    assert!(same.contains("both arms leave the machine in one state"), "{same}");
    let slow = place.run(
        &[&["ab", "--b", "sleep 60", "--restore", "true", "--command-timeout", "50ms"][..], &CELL].concat(),
    );
    assert!(text(&slow.stderr).contains("--command-timeout"), "{}", text(&slow.stderr));
    place.assert_clean();
}

#[test]
fn arms_that_make_no_sense_are_refused_in_one_line() {
    let place = Place::new();
    let cases: [(&[&str], &str); 9] = [
        (&["ab"], "nothing distinguishes the two arms"),
        (&["ab", "--a", "true", "--b", "true"], "the two arms are the same"),
        (&["ab", "--a", "modprobe a"], "--restore"),
        (&["ab", "--b", " ", "--restore", "true"], "empty command"),
        (&["ab", "--b-env", "WORD"], "NAME=VALUE"),
        (&["ab", "--b-exec", "'x"], "unfinished quotation"),
        (&["ab", "--b-peer", "mine=./x"], "no cell has the peer mine"),
        (&["ab", "--b-env", "A=1", "--baseline", "tcp"], "no other baseline"),
        (&["ab", "--b-env", "A=1", "--keep", "/nowhere"], "nothing to put back"),
    ];
    for (args, says) in cases {
        assert_refused(&place.run(&[args, &CELL].concat()), &[says]);
    }
}
