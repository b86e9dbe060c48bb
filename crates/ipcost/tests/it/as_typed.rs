//! Command lines as people type them: taken where they can only mean one thing, else answered with the line that does.

use std::net::TcpListener;
use std::process::Stdio;

use crate::common::{Place, argument, assert_refused, text};

/// The plan of a line, which measures nothing.
#[track_caller]
fn planned(words: &[&str]) -> String {
    let output = Place::new().run(&[words, &["--plan"]].concat());
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[track_caller]
fn refused(words: &[&str], parts: &[&str]) {
    let place = Place::new();
    let output = place.run(words);
    assert_refused(&output, parts);
    place.assert_clean();
}

#[test]
fn transports_are_taken_by_the_names_that_people_have_for_them() {
    for words in [
        &["unix", "tcp"][..],
        &["unix,tcp"],
        &["run", "--transports", "unix", "tcp"],
        &["--transport", "uds", "localhost"],
        &["--transports", "AF_UNIX,loopback"],
    ] {
        let plan = planned(&[words, &["--pattern", "rr", "--size", "4k"]].concat());
        let cells = ["rr/unix/4096/c1/together", "rr/tcp/4096/c1/together", "rr/unix/4096/c1/apart"];
        assert!(cells.iter().all(|cell| plan.contains(cell)) && !plan.contains("pipe"), "{words:?}: {plan}");
    }
    let plan = planned(&["unix", "tcp", "--pattern", "rr", "--placement", "one-core", "--duration", "20s"]);
    assert!(plan.contains("/together") && !plan.contains("/apart") && plan.contains("in 20 s"), "{plan}");
}

#[test]
fn what_may_mean_two_things_is_refused_with_both() {
    refused(&["--sizes", "4KB"], &["\"4KB\" may be 4000 or 4096 bytes", "4000 or 4KiB"]);
    refused(&["--option", "nodelay=true"], &["did you mean \"tcp_nodelay\"?"]);
    refused(&["--placement", "one-cor"], &["did you mean \"one-core\"", "free, one-core, two-cores"]);
}

#[test]
fn a_server_is_measured_by_its_name_alone() {
    let place = Place::new();
    let output = place.run(&["redis", "--tcp", "192.0.2.1:6379"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("this is ipcost app redis") && said.contains("not a loopback address"), "{said}");
    let output = place.run(&["load", "redis", "--tcp", "192.0.2.1:6379"]);
    assert_refused(&output, &["not a loopback address"]);
    refused(&["app", "--unix", "/run/x.sock"], &["name the server first", "postgres"]);
}

#[test]
fn the_program_at_an_address_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    // This program listens, and its name is the test's.
    refused(&["app", "--tcp", &port], &["listens at", "name the server whose protocol it answers"]);
    drop(listener);
    // What listens here says nothing of another machine.
    refused(&["app", "--tcp", "192.0.2.1:22"], &["192.0.2.1 is not a loopback address"]);
    refused(&["app", "--tcp", "127.0.0.1:1"], &["no program that you may see listens there"]);
}

#[test]
fn a_comparison_without_runs_shows_the_choice() {
    let place = Place::new();
    assert_refused(&place.run(&["compare"]), &["ipcost compare last~1 last"]);
    let run = ["run", "--transports", "unix", "--patterns", "rr", "--sizes", "1", "--epochs", "1"];
    assert!(place.run(&[&run[..], &["--placement", "free", "--name", "mine"]].concat()).status.success());
    let output = place.run(&["compare"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).contains("mine"), "{}", text(&output.stdout));
}

#[test]
fn two_builds_and_two_servers_are_compared_by_a_line_that_is_shown() {
    refused(&["ab", "./a", "./b"], &["ipcost ab --a-peer ./a --b-peer ./b"]);
    refused(&["ab", "app", "http"], &["ipcost app http --tcp", "ipcost compare a b"]);
}

#[test]
fn watch_finds_a_process_a_program_and_a_port() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!(":{}", listener.local_addr().unwrap().port());
    let own = std::process::id().to_string();
    for what in [port.as_str(), &own, "no-such-program-at-all", "/run/no-such.sock"] {
        let output = place.run(&["watch", what, "--for", "100ms"]);
        assert!(output.status.success(), "{what}: {}", text(&output.stderr));
    }
    assert_refused(&place.run(&["watch", "--pid", "no"]), &["--pid"]);
}

#[test]
fn flags_that_were_called_otherwise_are_still_taken() {
    let place = Place::new();
    let run =
        ["run", "--transports", "unix", "--patterns", "rr", "--sizes", "1", "--epochs", "1", "--no-save"];
    let file = place.file("one.json");
    let all = [&run[..], &["--placement", "together", "--wide", "--json", argument(&file)]].concat();
    assert!(place.run(&all).status.success());
    assert_refused(
        &place.run(&["show", argument(&file), "--warnings", "--csv", "-"]),
        &["--warnings", "--csv"],
    );
    for words in [["report", argument(&file), "--details"], ["show", argument(&file), "--wide"]] {
        let output = place.run(&words);
        assert!(output.status.success() && text(&output.stdout).contains("unix"), "{words:?}");
    }
}

/// Every command with a line that answers at once, its status, and a line that is refused before anything is measured.
const COMMANDS: [(&str, &[&str], i32, &[&str]); 21] = [
    ("run", &["--plan"], 0, &["none.toml"]),
    ("app", &[], 0, &["redis", "--tcp", "127.0.0.1:none"]),
    ("load", &["--help"], 0, &["--concurrency", "few"]),
    ("ab", &["--help"], 0, &["none.toml"]),
    ("sweep", &["size", "--help"], 0, &["size", "--transports", "tpc,unix"]),
    ("replicate", &["--list"], 0, &["none"]),
    ("watch", &["--for", "50ms"], 0, &["--port", "70000"]),
    ("explain", &["--help"], 0, &["no/such/cell"]),
    ("doctor", &["--look-only", "--json", "-"], 0, &["--json", "none/none.json"]),
    ("compare", &["one.json", "two.json"], 0, &["none.json", "one.json"]),
    ("check", &["--init"], 0, &["none.toml"]),
    ("show", &["one.json"], 0, &["none.json"]),
    ("list", &["--json", "-"], 0, &["--trend", "none"]),
    ("resume", &["--help"], 0, &["none"]),
    ("prune", &["--keep", "9", "--dry-run"], 0, &["--keep", "few"]),
    ("fleet", &["one.json"], 0, &["none.json"]),
    ("selftest", &["--help"], 0, &["--budget", "long"]),
    ("completions", &["bash"], 0, &["sh"]),
    ("conformance", &["--help"], 0, &["none"]),
    ("schema", &["fleet"], 0, &["none"]),
    ("help", &["transports"], 0, &["none"]),
];

#[test]
fn every_command_keeps_to_the_same_statuses_and_streams() {
    let place = Place::new();
    let run =
        ["run", "--transports", "unix,tcp", "--patterns", "rr", "--sizes", "1", "--epochs", "1", "--no-save"];
    for file in ["one.json", "two.json"] {
        assert!(place.run(&[&run[..], &["--json", file]].concat()).status.success());
    }
    for (command, works, status, refused) in COMMANDS {
        let forced = |words: &[&str]| {
            let mut command = place.command(&[&[command], words].concat());
            command.stdin(Stdio::null()).env("CLICOLOR_FORCE", "1");
            command
        };
        // NO_COLOR has the last word.
        let output = forced(works).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{command}: {}", text(&output.stderr));
        assert!(!output.stdout.is_empty(), "{command}");
        assert!(![&output.stdout, &output.stderr].iter().any(|out| out.contains(&0x1b)), "{command}");
        // A reader that has left is no error.
        let mut child = forced(works).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let left = child.wait_with_output().unwrap();
        assert_eq!(left.status.code(), Some(status), "{command}: {}", text(&left.stderr));
        assert!(!text(&left.stderr).contains("error"), "{command}: {}", text(&left.stderr));
        for wrong in [refused, &["--no-such-flag"]] {
            let output = forced(wrong).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{command} {wrong:?}: {}", text(&output.stderr));
            assert!(output.stdout.is_empty(), "{command} {wrong:?}: {}", text(&output.stdout));
            let said = text(&output.stderr);
            assert!(said.starts_with("error: ") && said.lines().count() == 1, "{command}: {said}");
            assert!(!said.contains('\u{1b}'), "{command}: {said}");
        }
        let output = place.run(&[command, "--help"]);
        assert!(output.status.success() && output.stderr.is_empty(), "{command}");
    }
    place.assert_clean();
}
