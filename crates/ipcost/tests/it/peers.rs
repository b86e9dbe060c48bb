//! Peers that travel along: used by name, built once, unavailable where something is missing.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{Place, argument, assert_refused, missing, signal, text, wait};
use serde_json::Value;

const ONCE: [&str; 9] =
    ["run", "--transports", "unix", "--placement", "free", "--patterns", "rr", "--epochs", "1"];

/// Runs with a cache of its own, an environment, and `--json`; the document is nothing where it failed.
fn run(place: &Place, cache: &Path, args: &[&str], environment: &[(&str, &str)]) -> (Output, Value) {
    let file = place.file("document.json");
    let args = [&ONCE, args, &["--json", argument(&file)]].concat();
    let mut command = place.command(&args);
    command.env("XDG_CACHE_HOME", cache).envs(environment.iter().copied());
    let output = command.output().unwrap();
    let document = std::fs::read(file).map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).unwrap());
    place.assert_clean();
    (output, document)
}

fn entries(cache: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(cache.join("ipcost/peers")).unwrap().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn every_pairing_of_languages_measures() {
    let place = Place::new();
    let peers = "c,go,python,ruby";
    let args = ["--client", peers, "--server", peers, "--quiet"];
    let document = place.document(&[ONCE.as_slice(), &args].concat());
    let cells = document["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 16);
    for cell in cells {
        if cell["available"] == false {
            assert!(cell["reason"].as_str().unwrap().contains("not installed"), "{cell}");
            continue;
        }
        assert_eq!(cell["epochs"], 1, "{}", cell["id"]);
        assert!(cell["wall_ns_per_op"]["median"].as_f64().unwrap() > 0.0, "{}", cell["id"]);
    }
    place.assert_clean();
}

#[test]
fn real_programs_measure() {
    let place = Place::new();
    for args in [
        [
            "--patterns", "rr,connect", "--sizes", "64", "--replies", "13", "--client", "redis", "--server",
            "redis",
        ],
        [
            "--patterns", "stream", "--sizes", "4KiB", "--replies", "1", "--client", "socat", "--server",
            "socat",
        ],
    ] {
        let settings = ["run", "--transports", "unix,tcp", "--placement", "free", "--epochs", "1", "--quiet"];
        let output = place.run(&[settings.as_slice(), &args].concat());
        let error = text(&output.stderr);
        assert!(output.status.success() || error.contains("not installed"), "{error}");
    }
    place.assert_clean();
}

#[test]
fn nothing_is_left_when_the_engine_is_killed() {
    for peer in ["c", "go", "python", "ruby"] {
        let place = Place::new();
        // Built first, so that what is waited for below is peers at work.
        if !place.run(&[ONCE.as_slice(), &["--server", peer]].concat()).status.success() {
            continue;
        }
        let args = [
            "run", "--transports", "unix", "--placement", "free", "--patterns", "rr,connect",
            "--concurrency", "2",
        ];
        let more = ["--client", peer, "--server", peer, "--epochs", "100000"];
        let mut child = place.start(&[args.as_slice(), &more].concat());
        let at_work =
            || place.processes().iter().filter(|(_, words)| words.contains("/ipcost/peers/")).count();
        place.wait_until("peers run", || at_work() >= 4);
        child.kill().unwrap();
        child.wait().unwrap();
        place.assert_clean();
    }
}

#[test]
fn a_peer_is_built_once_and_again_when_it_was_tampered_with() {
    let (place, cache) = (Place::new(), tempfile::tempdir().unwrap());
    let built = || {
        let (output, document) = run(&place, cache.path(), &["--server", "c"], &[]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(document["cells"][0]["epochs"], 1);
        text(&output.stderr).contains("building the peer c")
    };
    assert!(built());
    assert!(!built(), "it is kept");
    let entry = cache.path().join("ipcost/peers").join(&entries(cache.path())[0]);
    std::fs::write(entry.join("ipcost-peer-c"), "#!/bin/sh\necho tampered with\n").unwrap();
    assert!(built());
    assert!(!built());
    assert_eq!(entries(cache.path()).len(), 1);
}

#[test]
fn two_runs_that_build_at_once_both_measure() {
    let (place, cache) = (Place::new(), tempfile::tempdir().unwrap());
    let start = || {
        let args = [ONCE.as_slice(), &["--server", "c"]].concat();
        let mut command = place.command(&args);
        command.env("XDG_CACHE_HOME", cache.path()).stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    for output in [start(), start(), start()].map(wait) {
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert_eq!(entries(cache.path()).len(), 1, "{:?}", entries(cache.path()));
    place.assert_clean();
}

#[test]
fn an_interrupted_build_does_no_harm() {
    let (place, cache) = (Place::new(), tempfile::tempdir().unwrap());
    let compiler = place.write_program(
        "cc",
        "#!/bin/sh\nif test \"$1\" = --version; then echo slow 1; else exec sleep 1000; fi\n",
    );
    let args = [ONCE.as_slice(), &["--server", "c"]].concat();
    let mut command = place.command(&args);
    command.env("XDG_CACHE_HOME", cache.path()).env("CC", &compiler);
    let child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let compilers = || -> Vec<u32> {
        let all = place.processes().into_iter();
        all.filter(|(_, words)| words.starts_with("sleep 1000")).map(|(process, _)| process).collect()
    };
    place.wait_until("the compiler runs", || !compilers().is_empty());
    // As from a terminal: both are told to end.
    let running = compilers();
    signal(child.id(), "INT");
    running.iter().for_each(|process| signal(*process, "TERM"));
    assert!(!wait(child).status.success());
    let (output, _) = run(&place, cache.path(), &["--server", "c"], &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn what_is_missing_takes_its_own_cells_only() {
    let place = Place::new();
    let compiler = place.write_program(
        "cc",
        "#!/bin/sh\ntest \"$1\" = --version && exit\necho 'main.c:1: error: out of cheese' >&2\nexit 4\n",
    );
    let broken = argument(&compiler);
    for (peer, environment, parts) in [
        ("c", ("PATH", "/none"), ["peer c: cc is not installed", "apt-get install gcc"]),
        ("go", ("PATH", "/none"), ["go is not installed", "apt-get install golang-go"]),
        ("python", ("PATH", "/none"), ["python3 is not installed", "apt-get install python3"]),
        ("ruby", ("PATH", "/none"), ["ruby is not installed", "apt-get install ruby"]),
        ("c", ("CC", "/none/cc -x"), ["the C compiler that CC names", "/none/cc -x"]),
        ("c", ("CC", broken), ["cannot be built", "exit status: 4): main.c:1: error: out of cheese"]),
        (
            "c",
            ("XDG_CACHE_HOME", "/dev/null"),
            ["cannot make /dev/null", "XDG_CACHE_HOME sets another place"],
        ),
    ] {
        let cache = tempfile::tempdir().unwrap();
        let server = format!("native,{peer}");
        let (output, document) = run(&place, cache.path(), &["--server", &server], &[environment]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let (native, missing) = (&document["cells"][0], &document["cells"][1]);
        assert_eq!((&native["available"], &missing["available"]), (&true.into(), &false.into()));
        for part in parts {
            assert!(missing["reason"].as_str().unwrap().contains(part), "{part}: {missing}");
        }
        let warnings = place.run(&["show", "document.json", "--warnings"]);
        assert!(
            text(&warnings.stdout).contains("cannot be measured here: peer "),
            "{}",
            text(&warnings.stdout)
        );
        let (alone, _) = run(&place, cache.path(), &["--server", peer, "--quiet"], &[environment]);
        assert_refused(&alone, &["none of the cells can be measured here", parts[0]]);
    }
}

#[test]
fn a_cache_that_others_can_write_to_is_not_used() {
    let (place, cache) = (Place::new(), tempfile::tempdir().unwrap());
    let own = cache.path().join("ipcost");
    std::fs::create_dir(&own).unwrap();
    std::fs::set_permissions(&own, PermissionsExt::from_mode(0o777)).unwrap();
    let (output, _) = run(&place, cache.path(), &["--server", "c", "--quiet"], &[]);
    assert_refused(&output, &["other users can write to it", "chmod go-w"]);
    assert_eq!(std::fs::read_dir(&own).unwrap().count(), 0);
}

#[test]
fn there_must_be_a_home() {
    let place = Place::new();
    let args = [ONCE.as_slice(), &["--server", "c"]].concat();
    let output = place.command(&args).env_remove("XDG_CACHE_HOME").env_remove("HOME").output().unwrap();
    assert_refused(&output, &["neither XDG_CACHE_HOME nor HOME"]);
}

#[test]
fn the_users_own_peer_goes_before_a_built_in_one() {
    let place = Place::new();
    let own = format!("ruby={} peer", env!("CARGO_BIN_EXE_ipcost"));
    // The built-in one has no streams.
    let document = place.document(&[
        "run", "--transports", "unix", "--placement", "free", "--patterns", "stream", "--server", "ruby",
        "--peer", &own, "--epochs", "1", "--quiet",
    ]);
    assert_eq!(document["cells"][0]["epochs"], 1);
    place.write("job.toml", &format!(
        "epochs = 1\n[[cells]]\npattern = \"stream\"\ntransport = \"unix\"\nplacement = \"free\"\nclient = \"go\"\n[peers.go]\ncommand = [\"{}\", \"peer\"]\n",
        env!("CARGO_BIN_EXE_ipcost")
    ));
    assert_eq!(place.document(&["run", "job.toml", "--quiet"])["cells"][0]["epochs"], 1);
}

#[test]
fn names_and_abilities_are_checked_before_anything_is_measured() {
    let place = Place::new();
    let run = |server: &str, patterns: &str| {
        place.run(&[
            "run", "--transports", "unix", "--placement", "free", "--patterns", patterns, "--server", server,
            "--quiet",
        ])
    };
    assert_refused(
        &run("pyton", "rr"),
        &["unknown peer \"pyton\"", "did you mean \"python\"", "--peer NAME=COMMAND"],
    );
    let streams = run("ruby", "stream");
    if !text(&streams.stderr).contains("not installed") {
        assert_refused(&streams, &["peer \"ruby\" lacks pattern stream", "it has connect, rr"]);
    }
}

#[test]
fn a_server_that_was_there_keeps_nothing_of_a_peer_that_was_killed() {
    let place = Place::new();
    let socket = place.file("redis");
    let started = Command::new("redis-server")
        .args(["--port", "0", "--save", "", "--unixsocket", argument(&socket)])
        .current_dir(place.files.path())
        .stdout(Stdio::null())
        .spawn();
    let mut server = match started {
        Ok(server) => server,
        Err(error) => {
            missing("redis-server", &error.to_string());
            return;
        }
    };
    place.wait_until("redis-server listens", || UnixStream::connect(&socket).is_ok());
    let keys = || {
        let mut connection = UnixStream::connect(&socket).unwrap();
        connection.write_all(b"DBSIZE\r\n").unwrap();
        let mut reply = String::new();
        BufReader::new(connection).read_line(&mut reply).unwrap();
        reply
    };
    let mut peer = place.command(&["peer", "redis", "--unix", argument(&socket)]);
    let mut peer = peer.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let prepare = r#"{"type":"prepare","role":"server","cell":{"pattern":"rr","transport":"unix","size":64,"reply":13,"concurrency":1,"speaks_first":"client","options":{}},"address":{}}"#;
    writeln!(peer.stdin.as_mut().unwrap(), "{prepare}").unwrap();
    let said = BufReader::new(peer.stdout.take().unwrap()).lines().nth(1).unwrap().unwrap();
    assert!(said.contains("ready"), "{said}");
    assert_eq!(keys(), ":1\r\n");
    peer.kill().unwrap();
    peer.wait().unwrap();
    place.wait_until("its key is gone", || keys() == ":0\r\n");
    server.kill().unwrap();
    server.wait().unwrap();
    place.assert_clean();
}
