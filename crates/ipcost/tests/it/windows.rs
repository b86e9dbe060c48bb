//! The program on Windows, or what Wine makes of it: every transport that there is, from the command line to the
//! document, and what it leaves behind.

use std::process::{Child, Output, Stdio};

use crate::common::{Place, assert_refused, assert_schema, signal, stat_of, text, wait};
use crate::wine::{assert_passed, command, is_windows};
use serde_json::Value;

fn run(place: &Place, args: &[&str]) -> Output {
    command(place, args).stdin(Stdio::null()).output().unwrap()
}

fn start(place: &Place, args: &[&str]) -> Child {
    let mut command = command(place, args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn document(place: &Place, args: &[&str]) -> Value {
    let output = run(place, &[args, &["--json", "document.json"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&std::fs::read(place.file("document.json")).unwrap()).unwrap()
}

fn cell<'a>(document: &'a Value, id: &str) -> &'a Value {
    let cells = document["cells"].as_array().unwrap();
    cells.iter().find(|cell| cell["id"] == id).unwrap_or_else(|| panic!("no {id}"))
}

fn reason<'a>(document: &'a Value, id: &str) -> &'a str {
    assert_eq!(cell(document, id)["available"], false, "{id}");
    cell(document, id)["reason"].as_str().unwrap()
}

#[test]
fn the_default_suite_measures_what_there_is_and_says_what_there_is_not() {
    let place = Place::new();
    let document = document(&place, &["run", "--epochs", "1"]);
    assert_schema("document", &document);
    // On one core and on two, where there are two.
    let all = document["cells"].as_array().unwrap();
    let placed = |id: &str| {
        let both = format!("{id}/together");
        if all.iter().any(|cell| cell["id"] == both.as_str()) { both } else { id.to_owned() }
    };
    for id in
        ["connect/npipe/64/c1", "connect/tcp/64/c1", "rr/pipe/64/c1", "rr/npipe/16384/c1", "rr/tcp/64/c1"]
    {
        let cell = cell(&document, &placed(id));
        assert_eq!(cell["available"], true, "{cell}");
        assert!(cell["wall_ns_per_op"]["median"].as_f64().unwrap() > 0.0, "{cell}");
    }
    for id in ["stream/pipe/65536/c1", "stream/npipe/64/c1", "stream/tcp/65536/c1"] {
        assert!(cell(&document, &placed(id))["bytes_per_s"].as_f64().unwrap() > 0.0, "{id}");
    }
    let transports: Vec<&str> =
        document["cells"].as_array().unwrap().iter().filter_map(|cell| cell["transport"].as_str()).collect();
    assert!(!transports.contains(&"fifo") && !transports.contains(&"unix-abstract"), "{transports:?}");
    // Some millions of kernels could be told apart; at least it is none of Linux's.
    assert_eq!(document["host"]["os"], "windows");
    assert!(document["host"].get("cpu_quota").is_none_or(Value::is_null), "{}", document["host"]);
    place.assert_nothing_of_the_program_is_left();
}

#[test]
fn figures_of_wine_are_marked_as_such() {
    let place = Place::new();
    let document = document(
        &place,
        &["run", "--transports", "null", "--placement", "free", "--patterns", "rr", "--epochs", "1"],
    );
    let codes: Vec<&Value> = document["warnings"].as_array().unwrap().iter().map(|w| &w["code"]).collect();
    assert_eq!(document["host"]["wine"].is_string(), !is_windows(), "{}", document["host"]);
    assert_eq!(codes.contains(&&Value::from("wine")), !is_windows(), "{codes:?}");
}

#[test]
fn workers_share_pipes_ports_and_listeners() {
    let place = Place::new();
    let wide = ["run", "--concurrency", "3", "--placement", "free", "--sizes", "70000", "--epochs", "1"];
    let transports = ["--transports", "npipe,tcp", "--patterns", "connect,rr,stream"];
    let connected = document(&place, &[wide.as_slice(), &transports].concat());
    for id in ["connect/npipe/70000/c3", "connect/tcp/70000/c3", "rr/npipe/70000/c3", "stream/tcp/70000/c3"] {
        assert!(cell(&connected, id)["ops"].as_u64().unwrap() > 0, "{id}");
    }
    let transports = ["--transports", "pipe", "--patterns", "rr,stream", "--option", "pipe_size=64KiB,1MiB"];
    let piped = document(&place, &[wide.as_slice(), &transports].concat());
    let cells = piped["cells"].as_array().unwrap();
    assert_eq!(cells.iter().filter(|cell| cell["ops"].as_u64() > Some(0)).count(), 4, "{cells:?}");
    place.assert_nothing_of_the_program_is_left();
}

#[test]
fn what_windows_lacks_is_unavailable_with_the_reason() {
    let place = Place::new();
    let list = "fifo,unix-abstract,socketpair,null,shm,mq,eventfd,udp,udp6";
    let document = document(
        &place,
        &["run", "--transports", list, "--placement", "free", "--patterns", "rr", "--epochs", "1"],
    );
    assert!(reason(&document, "rr/fifo/64/c1").contains("npipe"));
    assert!(reason(&document, "rr/unix-abstract/64/c1").contains("Linux only"));
    assert!(reason(&document, "rr/socketpair/64/c1").contains("Windows has no"));
    for id in ["rr/shm/64/c1", "rr/mq/64/c1", "rr/eventfd/64/c1"] {
        assert!(!reason(&document, id).is_empty());
    }
    for id in ["rr/null/64/c1", "rr/udp/64/c1", "rr/udp6/64/c1"] {
        assert_eq!(cell(&document, id)["available"], true, "{id}");
    }
    let forked = [
        "run", "--transports", "tcp", "--placement", "free", "--patterns", "rr", "--option",
        "workers=processes",
    ];
    let output = run(&place, &[forked.as_slice(), &["--concurrency", "2", "--epochs", "1"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("leave out workers=processes"), "{}", text(&output.stderr));
    place.assert_nothing_of_the_program_is_left();
}

#[test]
fn bad_input_is_refused_as_everywhere() {
    let place = Place::new();
    assert_refused(&run(&place, &["run", "--transports", "carrier-pigeon"]), &["unknown transport", "npipe"]);
    assert_refused(&run(&place, &["run", "nowhere.toml"]), &["nowhere.toml"]);
    let peer = ["run", "--peer", "mine=no-such-program", "--server", "mine", "--transports", "tcp"];
    let output = run(&place, &[peer.as_slice(), &["--patterns", "rr", "--epochs", "1"]].concat());
    assert!(!output.status.success() && text(&output.stderr).contains("no-such-program"));
}

#[test]
fn floors_that_there_are_are_measured() {
    let place = Place::new();
    let document = document(
        &place,
        &["run", "--placement", "free", "--patterns", "floor", "--sizes", "64", "--epochs", "1"],
    );
    let ids = |available: bool| -> Vec<&str> {
        let cells = document["cells"].as_array().unwrap().iter();
        cells
            .filter(|cell| cell["available"] == available)
            .filter_map(|cell| cell["transport"].as_str())
            .collect()
    };
    assert!(ids(true).contains(&"memcpy"), "{:?}", ids(true));
    assert!(ids(true).contains(&"cacheline"), "{:?}", ids(true));
}

#[test]
fn colours_come_when_asked_for_and_never_into_a_file() {
    let place = Place::new();
    let args = [
        "run", "--transports", "null", "--placement", "free", "--patterns", "rr", "--epochs", "1", "--quiet",
    ];
    let plain = command(&place, &args).stdin(Stdio::null()).output().unwrap();
    assert!(plain.status.success() && !plain.stdout.contains(&0x1b), "{}", text(&plain.stdout));
    let mut forced = command(&place, &args);
    let forced =
        forced.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1").stdin(Stdio::null()).output().unwrap();
    assert!(forced.stdout.contains(&0x1b), "{}", text(&forced.stdout));
}

#[test]
fn saved_runs_are_found_again() {
    let place = Place::new();
    let args = [
        "run", "--transports", "null", "--placement", "free", "--patterns", "rr", "--epochs", "1", "--name",
        "first",
    ];
    assert!(run(&place, &args).status.success());
    let list = run(&place, &["list"]);
    assert!(text(&list.stdout).contains("first"), "{}", text(&list.stdout));
    assert!(run(&place, &["show", "first"]).status.success());
}

#[test]
fn the_native_peer_conforms() {
    let place = Place::new();
    let said = assert_passed(&run(&place, &["conformance", "native"]));
    assert!(said.contains("over npipe") && said.contains("over pipe"), "{said}");
    place.assert_nothing_of_the_program_is_left();
}

/// Whether a process has used processor time, in its own code or for system calls.
fn has_run(process: u32) -> bool {
    stat_of(process).is_some_and(|stat| stat[11..13].iter().any(|ticks| ticks != "0"))
}

/// A long run, on its way; it is killed where a test gives up on it.
struct Running(Option<Child>);

impl Running {
    fn start(place: &Place) -> Self {
        let args =
            ["run", "--transports", "tcp,npipe,pipe", "--placement", "free", "--patterns", "rr", "--no-save"];
        // Building it may take long, and waiting for peers must not.
        crate::wine::program();
        let long = ["--epochs", "100000", "--budget", "1h"];
        let running = Self(Some(start(place, &[args.as_slice(), &long].concat())));
        // Where a process dies while Wine makes another one for it, Wine's server waits for that one for ever.
        let own = |(process, words): &(u32, String)| words.trim_end().ends_with(" peer") && has_run(*process);
        let peers = || place.processes().iter().filter(|it| own(it)).count();
        place.wait_until("peers have run", || is_windows() || peers() >= 6);
        running
    }

    fn signal(mut self, name: &str) -> Output {
        let engine = self.0.take().unwrap();
        signal(engine.id(), name);
        wait(engine)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(engine) = &mut self.0 {
            let _ = engine.kill();
        }
    }
}

#[test]
fn an_engine_that_is_killed_takes_its_peers_along() {
    // There are no signals on Windows.
    if is_windows() {
        return;
    }
    let place = Place::new();
    assert!(!Running::start(&place).signal("KILL").status.success());
    place.assert_nothing_of_the_program_is_left();
}

#[test]
fn an_interrupted_run_says_so_and_cleans_up() {
    // As above; Wine makes Ctrl-C of SIGINT.
    if is_windows() {
        return;
    }
    let place = Place::new();
    let output = Running::start(&place).signal("INT");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    place.assert_nothing_of_the_program_is_left();
}
