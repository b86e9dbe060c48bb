//! Every peer that travels along keeps to the control protocol, and the suite notices those that do not.

use std::process::Output;

use crate::common::{Place, missing, text};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ipcost");

fn examine(args: &[&str]) -> Output {
    let place = Place::new();
    let output = place.run(&[&["conformance", "--quiet"], args].concat());
    place.assert_clean();
    output
}

#[track_caller]
fn conforms(name: &str) {
    conforms_in(name, &[]);
}

#[track_caller]
fn conforms_in(name: &str, only: &[&str]) {
    let output = examine(&[&[name], only].concat());
    let error = text(&output.stderr);
    if error.starts_with(&format!("error: peer {name}: ")) {
        missing(&format!("peer-{name}"), &error);
        return;
    }
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown}{error}");
    assert!(shown.contains(" passed, 0 failed"), "{shown}");
}

#[test]
fn native() {
    conforms("native");
}

#[test]
fn c() {
    conforms("c");
}

#[test]
fn go() {
    conforms("go");
}

#[test]
fn python() {
    conforms("python");
}

#[test]
fn ruby() {
    conforms("ruby");
}

/// It takes half a second of processor time to start, twice for each check.
#[test]
#[ignore = "nightly: a minute of processor time to start processes"]
fn ruby_celluloid() {
    conforms("ruby-celluloid");
}

#[test]
fn ruby_celluloid_exchanges() {
    conforms_in("ruby-celluloid", &["--only", "exchange: "]);
}

#[test]
fn zeromq() {
    conforms("zeromq");
}

#[test]
fn nng() {
    conforms("nng");
}

#[test]
fn hyper() {
    conforms("hyper");
}

#[test]
fn tonic() {
    conforms("tonic");
}

#[test]
fn redis() {
    conforms("redis");
    conforms("redis-resolve");
}

#[test]
fn socat() {
    conforms("socat");
    conforms("socat-started");
}

#[test]
fn the_peer_that_the_documentation_shows() {
    let page = include_str!("../../../../docs/reference/peers.md");
    let code = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let place = Place::new();
    let file = place.write("mine.py", code);
    let output = place.run(&["conformance", "--quiet", &format!("mine=python3 {}", file.display())]);
    assert!(text(&output.stdout).contains(" passed, 0 failed"), "{}", text(&output.stdout));
}

#[test]
fn no_peer_that_travels_along_is_forgotten_here() {
    let tests = include_str!("conformance.rs");
    for peer in ipcost_foreign::all() {
        assert!(tests.contains(&format!("    conforms(\"{}\");", peer.name)), "{}", peer.name);
    }
}

#[test]
fn of_a_peer_that_leaves_the_status_and_the_last_words_are_told() {
    let output = Place::new().run(&["conformance", "--quiet", "mine=sh -c 'echo no memory >&2; exit 7'"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("has left with exit status: 7: no memory"), "{shown}");
}

/// The native peer behind a script that spoils it; what of `only` then fails.
fn failures(script: &str, only: &str) -> String {
    let command = format!("spoilt=sh -c '{}'", script.replace("PEER", &format!("{PROGRAM} peer")));
    // What the script leaves of its own where it is killed is no one's fault.
    let output = Place::new().run(&["conformance", "--quiet", &command, "--only", only]);
    let shown = text(&output.stdout);
    let failed = shown.lines().any(|line| line.starts_with("FAILED"));
    assert_eq!(output.status.code(), Some(i32::from(failed)), "{shown}{}", text(&output.stderr));
    shown.lines().filter(|line| line.starts_with("FAILED")).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn noticed(script: &str, only: &str, complaint: &str) {
    let failures = failures(script, only);
    assert!(failures.contains(complaint), "{script}: {failures}");
}

/// A script that edits what the peer hears, and otherwise leaves it alone.
fn hears(edit: &str) -> String {
    let edit = edit.replace('"', "\\\"");
    format!(
        "dir=$(mktemp -d); mkfifo $dir/in; exec 3<&0; PEER <$dir/in 3<&- & peer=$!; \
         sed -u \"{edit}\" <&3 >$dir/in & editor=$!; \
         wait $peer; status=$?; kill $editor 2>&-; wait $editor; rm -r $dir; exit $status"
    )
}

/// A script that edits what the peer says.
fn says(edit: &str) -> String {
    format!("PEER | sed -u \"{}\"", edit.replace('"', "\\\""))
}

const RR: &str = "exchange: rr over unix, concurrency 1";

#[test]
fn a_script_that_spoils_nothing_is_not_blamed() {
    for only in [RR, "unknown-option", "unknown-transport", "no-operations", "payload: rr"] {
        assert_eq!(failures(&hears("s/x/x/"), only), "");
    }
    assert_eq!(failures(&says("s/x/x/"), "exchange: stream over unix"), "");
}

#[test]
fn peers_that_break_the_protocol_are_noticed() {
    // Ignores what it should refuse.
    noticed(&hears(r#"s/"no_such_option":1//"#), "unknown-option", "should send");
    noticed(&hears(r#"s/"avian"/"unix"/"#), "unknown-transport", "should send");
    noticed(&hears(r#"s/"ops":0/"ops":6/"#), "no-operations-batch-server", "should send");
    // Does not look at what it receives.
    noticed(
        &hears(r#"s/"verify"/"batch"/"#),
        "payload: stream",
        "server notices a wrong byte: should send error",
    );
    noticed(
        &hears(r#"s/"verify"/"batch"/"#),
        "payload: rr",
        "client takes bytes one by one: breaks the exchange",
    );
    // Says what is not so, or not what it should.
    noticed(&says(r#"s/"wall_ns":[0-9]*/"wall_ns":0/"#), RR, "wall_ns: 0");
    noticed(&says(r#"s/"sent_ns":[0-9]*,//"#), "exchange: stream over unix", "sent_ns");
    noticed(&says(r#"s/"done","id":2/"done","id":3/"#), RR, "id: 3 is not 2");
    noticed(&says(r#"s/"protocol":1/"protocol":2/"#), RR, "speaks version 2");
    noticed("PEER; echo goodbye", RR, "sent more than it was asked for: goodbye");
    // Leaves as it should not.
    noticed("PEER; exit 0", "rubbish", "as if nothing had failed");
    noticed("PEER; exit 5", RR, "exit status: 5");
    noticed("sleep 1000 <&- >&- 2>&- & exec PEER", RR, "has left processes behind");
    noticed("PEER; true", "engine-dies: rr over unix, concurrency 1", "has left processes behind");
    noticed("PEER; sleep 1000", RR, "is still there");
    // Is none.
    noticed("echo hello", RR, "not a message");
    noticed("exit 1", RR, "has left");
}

#[test]
fn what_cannot_be_examined_is_said() {
    let refused = |args: &[&str], part: &str| {
        let output = examine(args);
        let error = text(&output.stderr);
        assert!(error.starts_with("error: ") && error.contains(part), "{error}");
        output.status.code()
    };
    assert_eq!(refused(&["rubi"], "did you mean \"ruby\"?"), Some(2));
    assert_eq!(refused(&["native=x"], "native=x: the name \"native\" is the built-in peer's"), Some(2));
    assert_eq!(refused(&["x="], "the command is empty"), Some(2));
}
