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

/// The numbers of an engine's guard and of the engine.
fn guard_and_engine(place: &Place, engine: u32) -> Vec<u32> {
    let guards = place.processes().into_iter().filter(|(_, words)| words.ends_with(" guard "));
    guards.map(|(id, _)| id).chain([engine]).collect()
}

/// A run of two arms of which engine and guard are killed while the machine is changed.
fn killed_with_its_guard(place: &Place, setting: &Setting) {
    let mut child = place.start(&setting.with(&["--epochs", MANY]));
    place.wait_until("some epochs", || setting.entered().len() > 5);
    guard_and_engine(place, child.id()).into_iter().for_each(|process| signal(process, "KILL"));
    child.wait().unwrap();
    place.wait_until("nothing runs", || place.processes().is_empty());
    assert_ne!(setting.is(), "as it was");
}

const NEXT: [&str; 11] = [
    "run", "--transports", "null", "--placement", "free", "--patterns", "rr", "--epochs", "1", "--quiet",
    "--no-save",
];

fn journal(place: &Place) -> Option<PathBuf> {
    let entries = std::fs::read_dir(place.data.path().join("run")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "json"))
}

#[test]
fn what_engine_and_guard_killed_together_leave_changed_the_next_run_undoes() {
    let place = Place::new();
    let setting = Setting::new(&place);
    killed_with_its_guard(&place, &setting);
    let left = journal(&place).expect("it is on the disk");
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&left.metadata().unwrap()) & 0o777, 0o600);
    // What only shows or looks undoes nothing.
    let (whole, now) = (std::fs::read(&left).unwrap(), setting.is());
    let looks: [&[&str]; 4] =
        [&["list"], &["run", "--help"], &["report", "last"], &["doctor", "--look-only", "--json", "-"]];
    let said = looks.map(|args| text(&place.run(args).stdout).to_owned());
    assert!(said[3].contains("left-changed"), "{}", said[3]);
    assert!(said[3].contains("the next run that measures undoes that"), "{}", said[3]);
    assert_eq!((std::fs::read(&left).unwrap(), setting.is()), (whole, now));

    let next = place.run(&NEXT);
    assert!(next.status.success());
    let said = text(&next.stderr);
    assert!(said.contains("it is as it was before again"), "{said}");
    assert_eq!((setting.is().as_str(), journal(&place)), ("as it was", None));
    assert!(!text(&place.run(&NEXT).stderr).contains("killed"));
}

#[test]
fn a_journal_that_does_not_fit_what_is_there_is_not_used() {
    let place = Place::new();
    let setting = Setting::new(&place);
    killed_with_its_guard(&place, &setting);
    let left = journal(&place).unwrap();
    let now = setting.is();
    // Where a command was killed, it is not known what it has set, and all of it is undone.
    let mut entry: Value = serde_json::from_str(&read(&left)).unwrap();
    entry["entering"] = false.into();
    entry["set"].as_array_mut().unwrap().push([now.clone()].into());
    let written = entry.to_string();
    std::fs::write(&left, &written).unwrap();
    let refused = |says: &str| {
        let next = place.run(&NEXT);
        assert!(next.status.success());
        let said = text(&next.stderr);
        assert!(said.contains(says) && left.symlink_metadata().is_ok(), "{said}");
    };
    // Someone has set it since.
    std::fs::write(&setting.file, "by hand\n").unwrap();
    refused("which that run did not set; by hand: ");
    assert_eq!(setting.is(), "by hand");
    std::fs::write(&setting.file, &now).unwrap();
    // The machine was restarted.
    entry["boot"] = "0123456789ab".into();
    std::fs::write(&left, entry.to_string()).unwrap();
    refused("restarted since; by hand: ");
    // Others can write to it, or it is a link, or it is no journal.
    std::fs::write(&left, &written).unwrap();
    std::fs::set_permissions(&left, std::os::unix::fs::PermissionsExt::from_mode(0o622)).unwrap();
    refused("other users can write to it");
    std::fs::rename(&left, place.file("elsewhere")).unwrap();
    std::os::unix::fs::symlink(place.file("elsewhere"), &left).unwrap();
    refused("is not used");
    std::fs::remove_file(&left).unwrap();
    std::fs::write(&left, "{}").unwrap();
    refused("is not used");
    assert_eq!(setting.is(), now);
    // As long as it is there, no other run changes the machine.
    let another = place.run(&setting.with(&["--epochs", "2", "--quiet"]));
    assert_eq!(another.status.code(), Some(2));
    assert!(text(&another.stderr).contains("Then remove "), "{}", text(&another.stderr));
    // A directory of others counts for nothing.
    std::fs::write(&left, &written).unwrap();
    let dir = left.parent().unwrap();
    std::fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    refused("is not used");
    assert_eq!(setting.is(), now);
}

#[test]
fn one_run_at_a_time_changes_the_machine() {
    let place = Place::new();
    let setting = Setting::new(&place);
    let child = place.start(&setting.with(&["--epochs", MANY]));
    place.wait_until("some epochs", || setting.entered().len() > 5);
    let second = place.run(&setting.with(&["--epochs", "2", "--quiet"]));
    let holder = format!("another run changes this machine (process {} of ", child.id());
    assert_refused(&second, &[&holder, " since 20", "--wait"]);
    // What changes nothing is not held up.
    assert!(place.run(&NEXT).status.success());
    signal(child.id(), "INT");
    wait(child);
    assert_eq!(setting.is(), "as it was");
    let third = place.run(&setting.with(&["--epochs", "2", "--quiet"]));
    assert!(third.status.success(), "{}", text(&third.stderr));
}

#[test]
fn what_a_command_leaves_running_ends_with_it() {
    let place = Place::new();
    let setting = Setting::new(&place);
    let (file, ready) = (setting.file.display().to_string(), place.file("ready"));
    let late = format!(
        "echo first > {file}; setsid sh -c 'touch {0}; sleep 1; echo late > {file}' & until test -e {0}; do sleep 0.01; done",
        ready.display()
    );
    let second = format!("echo second > {file}");
    let flags = ["ab", "--a", &late, "--b", &second, "--keep", &file, "--epochs", "2"];
    let output = place.run(&[&flags[..], &CELL].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Nothing runs that could still write.
    assert_eq!((place.processes(), setting.is()), (vec![], "as it was".to_owned()));
}

#[test]
fn every_part_of_a_restoration_is_tried() {
    let place = Place::new();
    let setting = Setting::new(&place);
    let (file, log) = (setting.file.display().to_string(), setting.log.display().to_string());
    let write = |word: &str| format!("echo {word} > {file}; echo {word} >> {log}");
    let (a, b) = (write("one"), write("two"));
    // The command fails, the first file is gone by then, and the second is still put back.
    let gone = place.write("a-gone", "x\n").display().to_string();
    let restore = format!("rm {gone}; mkdir {gone}; false");
    let flags = ["ab", "--a", &a, "--b", &b, "--restore", &restore, "--keep", &gone, "--keep", &file];
    let output = place.run(&[&flags[..], &["--epochs", "2"], &CELL].concat());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&restore) && said.contains(&format!("{gone}: ")), "{said}");
    assert_eq!(setting.is(), "as it was");
}

#[test]
fn a_command_that_is_understood_in_part_is_refused() {
    let place = Place::new();
    let command = "sysctl -qw net.ipv4.ip_default_ttl=65; ip link set lo mtu 1500";
    let output = place.run(&[&["ab", "--a", command], &CELL[..]].concat());
    assert_refused(&output, &["cannot tell how to undo", "ip link set lo mtu 1500", "--restore"]);
}

/// As users run it: what others measure matters.
fn with_others(place: &Place, args: &[&str]) -> std::process::Command {
    let mut command = place.command(args);
    command.env_remove("IPCOST_IGNORE_OTHERS").stdin(std::process::Stdio::null());
    command
}

#[test]
#[ignore = "alone: waits for other runs"]
fn another_run_that_measures_is_told_recorded_and_waited_for() {
    let place = Place::new();
    let long = [
        "run", "--transports", "unix", "--placement", "free", "--patterns", "rr", "--epochs", "100000",
        "--quiet", "--no-save",
    ];
    let first = with_others(&place, &long).spawn().unwrap();
    place.wait_for_peers(2);
    let file = place.file("document.json");
    let short =
        ["run", "--transports", "null", "--placement", "free", "--patterns", "rr", "--epochs", "2", "--json"];
    let second =
        with_others(&place, &[&short[..], &[crate::common::argument(&file)]].concat()).output().unwrap();
    let (said, number) = (text(&second.stderr), first.id().to_string());
    assert!(second.status.success(), "{said}");
    assert!(said.contains("another ipcost measures on this machine") && said.contains(&number), "{said}");
    let document: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_schema("document", &document);
    let warnings = document["warnings"].as_array().unwrap();
    let warning =
        warnings.iter().find(|warning| warning["code"] == "another-ipcost").expect("it is recorded");
    assert!(warning["message"].as_str().unwrap().contains(&number), "{warning}");

    // Two wait; one is asked to stop, and the other measures once the first has ended.
    let waiting = || {
        let command = [&short[..], &["-", "--wait"]].concat();
        let mut command = with_others(&place, &command);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let is_named =
        |process: u32, name: &str| read(Path::new(&format!("/proc/{process}/comm"))).trim() == name;
    let (third, fourth) = (waiting(), waiting());
    place.wait_until("both wait", || {
        [&third, &fourth].iter().all(|child| is_named(child.id(), "ipcost-waits"))
    });
    signal(third.id(), "INT");
    assert_eq!(wait(third).status.code(), Some(130));
    assert!(is_named(fourth.id(), "ipcost-waits"));
    signal(first.id(), "INT");
    wait(first);
    let fourth = wait(fourth);
    let said = text(&fourth.stderr);
    assert!(fourth.status.success() && said.contains("waiting until no other ipcost measures"), "{said}");
    assert!(!text(&fourth.stdout).contains("another-ipcost"), "it measured alone");
}
