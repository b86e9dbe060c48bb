//! What other users, planted files and documents from elsewhere cannot do; see `docs/security.md`.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{Place, argument, assert_refused, missing, signal, text, wait};

/// A short run of one cell.
const SHORT: [&str; 10] =
    ["run", "--transports", "unix", "--placement", "free", "--patterns", "rr", "--epochs", "1", "--no-save"];

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn entries(dir: &Path) -> Vec<std::path::PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[test]
fn a_directory_that_others_could_rename_in_is_not_used() {
    let place = Place::new();
    let open = place.file("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    let output = place.command(&SHORT).env("TMPDIR", &open).output().unwrap();
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("can be written to by others") && error.contains("set TMPDIR to"), "{error}");
    assert_eq!(entries(&open).len(), 0);
}

#[test]
fn sockets_and_fifos_lie_where_nobody_else_can_enter() {
    let place = Place::new();
    let args = [
        "run", "--transports", "unix,fifo", "--placement", "free", "--patterns", "rr", "--epochs", "1000",
        "--no-save",
    ];
    let child = place.start(&args);
    let mut kinds = (false, false);
    place.wait_until("a socket and a FIFO are there", || {
        for dir in entries(place.tmp.path()) {
            let name = dir.file_name().unwrap().to_string_lossy().into_owned();
            assert!(name.starts_with("ipcost-"), "{name}");
            assert_eq!(mode(&dir), 0o700);
            for entry in entries(&dir) {
                let Ok(about) = fs::symlink_metadata(&entry) else { continue };
                kinds.0 |= about.file_type().is_socket();
                kinds.1 |= about.file_type().is_fifo();
                assert!(!about.file_type().is_symlink());
            }
        }
        kinds == (true, true)
    });
    signal(child.id(), "INT");
    wait(child);
    place.assert_clean();
}

#[test]
fn saved_runs_are_for_their_user_alone() {
    let place = Place::new();
    let data = place.file("not/there/yet");
    let run = |more: &[&str]| {
        let args = [&SHORT[..9], more].concat();
        place.command(&args).env("IPCOST_DATA_DIR", &data).output().unwrap()
    };
    assert!(run(&[]).status.success());
    for dir in ["runs", "summaries"] {
        assert_eq!(mode(&data.join(dir)), 0o700, "{dir}");
        let files = entries(&data.join(dir));
        assert_eq!(files.len(), 1);
        assert_eq!(mode(&files[0]), 0o600, "{files:?}");
    }
    fs::set_permissions(data.join("runs"), Permissions::from_mode(0o777)).unwrap();
    let output = run(&[]);
    let warning = text(&output.stderr);
    assert!(warning.contains("could not be saved") && warning.contains("chmod go-w"), "{warning}");
    assert_eq!(entries(&data.join("runs")).len(), 1);
}

#[test]
fn a_link_that_was_planted_for_an_output_is_not_followed() {
    let place = Place::new();
    let victim = place.write("victim", "mine");
    let out = place.file("out.json");
    symlink(&victim, &out).unwrap();
    let output = place.run(&[&SHORT[..], &["--json", argument(&out)]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(victim).unwrap(), "mine");
    assert!(fs::symlink_metadata(&out).unwrap().is_file());
}

#[test]
fn names_of_standard_output_are_that_and_stay_links() {
    let place = Place::new();
    symlink("/dev/stdout", place.file("link")).unwrap();
    for name in ["/dev/stdout", "/proc/self/fd/1", argument(&place.file("link"))] {
        let before = fs::symlink_metadata(name).unwrap().file_type();
        // Standard output is a file here: as a device it would not be replaced anyway.
        let file = fs::File::create(place.file("out")).unwrap();
        let status = place.command(&[&SHORT[..], &["--json", name]].concat()).stdout(file).status().unwrap();
        assert!(status.success());
        assert_eq!(fs::symlink_metadata(name).unwrap().file_type(), before, "{name}");
        let document: serde_json::Value =
            serde_json::from_slice(&fs::read(place.file("out")).unwrap()).unwrap();
        assert_eq!(document["schema"], "ipcost/1");
    }
}

#[test]
fn nothing_of_what_a_descriptor_held_is_left_behind_the_output() {
    let place = Place::new();
    place.write("out", &"old ".repeat(100_000));
    let script = "exec 3<>out; exec \"$0\" \"$@\" --json /dev/fd/3";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_ipcost")]).args(SHORT).current_dir(place.files.path());
    command.env("TMPDIR", place.tmp.path()).env("HOME", place.files.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&fs::read(place.file("out")).unwrap()).unwrap();
    assert_eq!(document["schema"], "ipcost/1");
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode() {
    let place = Place::new();
    let out = place.write("out.json", "old");
    fs::set_permissions(&out, Permissions::from_mode(0o600)).unwrap();
    assert!(place.run(&[&SHORT[..], &["--json", argument(&out)]].concat()).status.success());
    assert_eq!(mode(&out), 0o600);
    assert_ne!(fs::read_to_string(&out).unwrap(), "old");
}

/// A peer of one's own whose command holds what should not be passed on.
fn with_secrets(place: &Place, args: &[&str]) -> Output {
    let command =
        format!("annemarie17=sh -c 'exec \"$0\" peer' {} --password hunter2", env!("CARGO_BIN_EXE_ipcost"));
    let label =
        ["--peer", &command, "--client", "annemarie17", "--html", "page.html", "--json", "document.json"];
    let mut prepared = place.command(&[&SHORT[..9], &label, args].concat());
    prepared.env("USER", "annemarie17").env("HOME", "/home/annemarie17").output().unwrap()
}

#[test]
fn what_is_redacted_tells_neither_who_nor_where() {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    let place = Place::new();
    let read = |name: &str| fs::read_to_string(place.file(name)).unwrap();
    let telling = |text: &str| {
        let word = |name: &str| {
            let bound = |c: Option<char>| c.is_none_or(|c| !(c.is_alphanumeric() || c == '-' || c == '_'));
            let mut found = text.match_indices(name);
            found.any(|(at, _)| {
                bound(text[..at].chars().next_back()) && bound(text[at + name.len()..].chars().next())
            })
        };
        let home = env!("CARGO_BIN_EXE_ipcost");
        // A short name is a word of some script in the page, too.
        let hidden = host.len() < 5 || host == "localhost" || !word(&host);
        (word("hunter2") || word("annemarie17") || text.contains(home)) || !hidden
    };
    let output = with_secrets(&place, &["--name", "plain"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(telling(&read("document.json")), "without the flag everything is told");
    let plain = ["report", "plain", "--redact", "--json", "again.json", "--markdown", "again.md"];
    let output = place.command(&plain).env("USER", "annemarie17").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));

    let output = with_secrets(&place, &["--name", "hidden", "--redact"]);
    let shown = text(&output.stdout);
    assert!(output.status.success() && !telling(&shown), "{}{shown}", text(&output.stderr));
    let output = place.run(&["report", "hidden", "--json", "saved.json", "--csv", "saved.csv"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for name in ["document.json", "page.html", "again.json", "again.md", "saved.json", "saved.csv"] {
        assert!(!telling(&read(name)), "{name}");
    }
    let document: serde_json::Value = serde_json::from_str(&read("document.json")).unwrap();
    assert_eq!(document["job"]["peers"]["[user]"]["command"], serde_json::json!(["[command]"]));
    assert_eq!(document["cells"][0]["client"], "[user]");
    assert_eq!(document["host"]["name"].as_str().unwrap() == "[host]", host.len() > 1 && host != "localhost");
}

#[test]
fn a_document_runs_nothing_and_a_plan_starts_no_peer() {
    let place = Place::new();
    let job = "[[cells]]\ntransport = [\"unix\", \"tcp\"]\nclient = \"evil\"\n[peers.evil]\ncommand = [\"touch\", \"started\"]\n";
    place.write("job.toml", job);
    assert!(place.run(&["run", "job.toml", "--plan"]).status.success());
    assert!(!place.file("started").exists(), "a plan starts nothing");
    let refused = place.run(&["run", "job.toml", "--epochs", "1"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert!(place.file("started").exists(), "a job's peers are what it is for");
    fs::remove_file(place.file("started")).unwrap();

    let mut document = place.document(&SHORT);
    document["job"]["peers"] = serde_json::json!({"evil": {"command": ["touch", "started"]}});
    document["cells"][0]["client"] = "evil".into();
    place.write("evil.json", &document.to_string());
    document["started"] = "2026-01-01T00:00:00Z".into();
    place.write("other.json", &document.to_string());
    for args in [
        &["report", "evil.json", "--html", "x.html", "--svg", "x.svg", "--markdown", "x.md"][..],
        &["show", "evil.json"],
        &["compare", "evil.json", "other.json"],
    ] {
        let output = place.run(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        assert!(!place.file("started").exists(), "{args:?}");
    }
}

/// A job and claims that start a program, which leaves a file.
const STARTING: &str = "[[cells]]\ntransport = [\"unix\", \"tcp\"]\nclient = \"evil\"\n[peers.evil]\ncommand = [\"touch\", \"started\"]\n";

#[test]
fn commands_of_a_file_that_others_can_write_to_are_shown_and_not_started() {
    let place = Place::new();
    let claims = format!("{STARTING}[[claims]]\ncell = \"unix\"\nagainst = \"tcp\"\nat_most = 50\n");
    for (name, text) in [("job.toml", STARTING), ("claims.toml", &claims)] {
        place.write(name, text);
    }
    let started = || fs::remove_file(place.file("started")).is_ok();
    let asked: [&[&str]; 4] = [
        &["run", "job.toml", "--epochs", "1"],
        &["explain", "job.toml"],
        &["ab", "--b-env", "X=1", "job.toml", "--epochs", "1"],
        &["check", "claims.toml"],
    ];
    let modes = |dir: u32, file: u32| {
        fs::set_permissions(place.files.path(), fs::Permissions::from_mode(dir)).unwrap();
        for name in ["job.toml", "claims.toml"] {
            fs::set_permissions(place.file(name), fs::Permissions::from_mode(file)).unwrap();
        }
    };
    for (dir, file) in [(0o777, 0o644), (0o1777, 0o644), (0o755, 0o666)] {
        modes(dir, file);
        for args in asked {
            let output = place.run(args);
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
            assert!(told.contains("peer evil: touch started"), "{args:?}: {told}");
            assert!(told.contains("others can write") && told.contains("--yes"), "{args:?}: {told}");
            assert!(!started(), "{args:?}");
        }
        // Who says so has them started.
        place.run(&["run", "job.toml", "--epochs", "1", "--yes"]);
        assert!(started());
    }
    // The user's own need no word.
    modes(0o755, 0o644);
    place.run(&["run", "job.toml", "--epochs", "1"]);
    assert!(started());
    // Someone else's does, also where only they can write to it.
    if std::os::unix::fs::chown(place.file("job.toml"), Some(65534), None).is_ok() {
        let output = place.run(&["run", "job.toml", "--epochs", "1"]);
        assert!(text(&output.stderr).contains("belongs to user 65534"), "{}", text(&output.stderr));
        assert!(!started());
    }
}

#[test]
fn on_a_terminal_the_user_is_asked_before_a_files_commands_start() {
    let place = Place::new();
    place.write("job.toml", STARTING);
    for (answer, starts) in [("n\n", false), ("\n", false), ("y\n", true)] {
        let told = place.on_a_terminal(&["run", "job.toml", "--epochs", "1"], answer);
        assert!(told.contains("peer evil: touch started") && told.contains("[y/N]"), "{told}");
        assert_eq!(fs::remove_file(place.file("started")).is_ok(), starts, "{answer:?}: {told}");
    }
}

#[test]
fn nobody_is_asked_about_more_than_can_be_read_at_once() {
    let place = Place::new();
    let peers: String = (0..40).map(|n| format!("[peers.p{n}]\ncommand = [\"true\"]\n")).collect();
    let long = format!("[peers.long]\ncommand = [\"true\", \"{}\"]\n", "x".repeat(10_000));
    for more in [peers, long] {
        place.write("job.toml", &format!("{STARTING}{more}"));
        let told = place.on_a_terminal(&["run", "job.toml", "--epochs", "1"], "y\n");
        assert!(told.contains("more than can be read at once") && told.contains("--yes"), "{told}");
        assert!(!told.contains("[y/N]") && !place.file("started").exists(), "{told}");
    }
}

#[test]
fn a_server_of_the_users_own_is_not_loaded_unasked() {
    let place = Place::new();
    let listener = std::os::unix::net::UnixListener::bind(place.file("own")).unwrap();
    listener.set_nonblocking(true).unwrap();
    let commands: [&[&str]; 3] = [
        &["load", "app", "redis", "--unix", "own"],
        &["app", "redis", "--unix", "own", "--rate", "1000/s"],
        &["app", "redis", "--unix", "own", "--burst", "100"],
    ];
    for (args, what) in
        commands.into_iter().zip(["as it carries", "1000 requests a second", "100 connections"])
    {
        assert_refused(&place.run(args), &["the server at own", what, "give --yes"]);
        let told = place.on_a_terminal(args, "n\n");
        assert!(told.contains("Go on? [y/N]") && told.contains("nothing was sent"), "{told}");
        assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "nothing came");
    }
}

#[test]
fn a_built_peer_that_was_tampered_with_is_built_anew() {
    let place = Place::new();
    let cache = place.file("cache");
    let run = || {
        let args = [&SHORT[..], &["--client", "c"]].concat();
        let output = place.command(&args).env("XDG_CACHE_HOME", &cache).output().unwrap();
        (output.status.success(), text(&output.stderr))
    };
    let (done, error) = run();
    if error.contains("peer c: ") {
        missing("peer-c", &error);
        return;
    }
    assert!(done && error.contains("building the peer c"), "{error}");
    let place_of_peer = entries(&cache.join("ipcost/peers")).pop().unwrap();
    let program = place_of_peer.join("ipcost-peer-c");
    let honest = fs::read(&program).unwrap();
    let planted = place.file("planted");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", planted.display())).unwrap();
    let (done, error) = run();
    assert!(done && error.contains("building the peer c"), "{error}");
    assert!(!planted.exists(), "what was planted never ran");
    assert_eq!(fs::read(&program).unwrap().len(), honest.len());
    let (done, error) = run();
    assert!(done && !error.contains("building"), "{error}");
}

#[test]
fn where_servers_of_two_users_listen_at_localhost_neither_is_sent_anything() {
    let place = Place::new();
    let hosts = place.file("hosts");
    fs::write(&hosts, "::1 localhost\n127.0.0.1 localhost\n").unwrap();
    fs::set_permissions(place.tmp.path(), Permissions::from_mode(0o755)).unwrap();
    let Ok(other) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        return missing("ipv6", "there is no address ::1 here");
    };
    let port = other.local_addr().unwrap().port();
    drop(other);
    let mut listens = Command::new("setpriv");
    listens
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c"])
        .current_dir("/");
    listens.arg(format!(
        "import socket; s = socket.create_server(('::1', {port}), family=socket.AF_INET6); print(flush=True); [print(s.accept()[0].recv(99), flush=True) for _ in 'ab']"
    ));
    let mut listens = listens.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut heard = BufReader::new(listens.stdout.take().unwrap());
    if heard.read_line(&mut String::new()).unwrap() == 0 {
        listens.wait().unwrap();
        return missing("root", "only root may start a program as another user, and it needs python3");
    }
    let own = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    let mut command = place.command(&["app", "redis", "--budget", "5s", "--tcp"]);
    command.arg(format!("localhost:{port}")).env("REDISCLI_AUTH", "a secret");
    let script = format!("mount --bind {} /etc/hosts && exec \"$@\"", argument(&hosts));
    let mut inside = Command::new("unshare");
    inside.args(["--mount", "sh", "-c", &script, "sh"]).arg(command.get_program()).args(command.get_args());
    inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = inside.output().unwrap();
    assert_refused(
        &output,
        &["two servers of different users", &format!("[::1]:{port} and 127.0.0.1:{port}")],
    );
    drop(own);
    // It was looked at, and sent nothing: the next thing it hears is from here.
    TcpStream::connect((Ipv6Addr::LOCALHOST, port)).unwrap().write_all(b"hello").unwrap();
    let mut said = String::new();
    heard.read_to_string(&mut said).unwrap();
    assert_eq!(said, "b''\nb'hello'\n");
    listens.wait().unwrap();
}
