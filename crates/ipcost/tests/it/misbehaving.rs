//! Peers that break the protocol, lie or flood are stopped and named, and cost the engine no memory.

use std::process::{Command, Output, Stdio};

use crate::common::{Place, argument, text};
use serde_json::Value;

/// More than any run here needs, and far less than a flood would take.
const MOST_KIBIBYTES: u64 = 128 * 1024;

/// What is said of a peer whose messages lie unheard.
const MORE: &str = "sent more than it was asked for";

/// Runs its arguments, and tells the largest memory that it, or anything it waited for, ever had.
const MEASURED: &str = "import resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
open(sys.argv[1], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status)";

/// One cell whose peer `mine` is a script: `$1` is the program that is the native peer as `\"$1\" peer`.
fn run(place: &Place, role: &str, script: &str, more: &[&str]) -> Output {
    place.write("peer.sh", script);
    let program = env!("CARGO_BIN_EXE_ipcost");
    let (peer, role) = (format!("mine=sh peer.sh {program}"), format!("--{role}"));
    let mut args = vec![
        "run", "--transports", "unix", "--placement", "free", "--patterns", "rr", &role, "mine", "--peer",
        &peer,
    ];
    args.extend(["--timeout", "60s"]);
    args.extend(if more.contains(&"--epochs") { more.to_vec() } else { [&["--epochs", "1"], more].concat() });
    // What the place sets, around another program.
    let prepared = place.command(&args);
    let mut command = Command::new("python3");
    command.args(["-c", MEASURED, argument(&place.file("peak")), program]).args(prepared.get_args());
    command.envs(prepared.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(place.files.path()).stdin(Stdio::null()).output().unwrap()
}

fn peak_kibibytes(place: &Place) -> u64 {
    std::fs::read_to_string(place.file("peak")).unwrap().parse().unwrap()
}

/// Asserts that a peer is stopped with its name, its cell, the epoch and something to do; gives the error.
#[track_caller]
fn stopped(role: &str, script: &str, says: &str) -> String {
    stopped_with(role, script, &[says])
}

/// The same, where it depends on what is heard first.
#[track_caller]
fn stopped_with(role: &str, script: &str, says: &[&str]) -> String {
    let place = Place::new();
    let output = run(&place, role, script, &[]);
    let error = text(&output.stderr);
    let cell = match role {
        "server" => "rr/unix/64/c1/native→mine",
        _ => "rr/unix/64/c1/mine→native",
    };
    let line = error.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
    assert_eq!(output.status.code(), Some(1), "{script}: {error}");
    assert!(line.starts_with(&format!("error: {role} mine of {cell} in epoch ")), "{script}: {error}");
    assert!(says.iter().any(|says| line.contains(says)), "{says:?} is not in {error}");
    assert!(line.chars().count() < 1200, "no flood in an error: {}", line.len());
    let peak = peak_kibibytes(&place);
    assert!(peak < MOST_KIBIBYTES, "{script}: {peak} KiB");
    place.assert_clean();
    error
}

/// The native peer whose messages are edited.
fn says(edit: &str) -> String {
    format!("\"$1\" peer | LC_ALL=C sed -u '{edit}'")
}

/// The native peer until it is ready; then something else is said as well, or in its place.
fn then(script: &str) -> String {
    format!(
        "\"$1\" peer | {{ for i in 1 2; do IFS= read -r line && printf '%s\\n' \"$line\"; done && {script}; }}"
    )
}

#[test]
fn a_script_that_spoils_nothing_is_let_through() {
    for (role, script) in [("client", says("s/x/x/")), ("server", then("cat"))] {
        let place = Place::new();
        let output = run(&place, role, &script, &[]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(peak_kibibytes(&place) < MOST_KIBIBYTES, "{}", peak_kibibytes(&place));
        place.assert_clean();
    }
}

#[test]
fn floods() {
    for role in ["server", "client"] {
        // Whole lines; a line that never ends; standard error.
        stopped(role, &then("yes"), "not a message");
        stopped(role, &then("tr \"\\0\" x </dev/zero"), "prints a line without end");
        stopped(role, &then("{ yes >&2 & cat; }"), "floods its standard error: more than 1024 KiB");
    }
    stopped_with("client", &says(r#"/"done"/{:again;p;b again}"#), &[MORE, "batch 1"]);
    stopped_with("server", &says(r#"/"armed"/{:again;p;b again}"#), &[MORE, "armed for batch 1"]);
}

#[test]
fn one_that_floods_as_it_leaves_is_killed_and_the_run_goes_on() {
    for flood in ["yes", "yes >&2", "tr \"\\0\" x </dev/zero"] {
        let place = Place::new();
        let output = run(&place, "client", &format!("\"$1\" peer; {flood}"), &[]);
        assert!(output.status.success(), "{flood}: {}", text(&output.stderr));
        assert!(peak_kibibytes(&place) < MOST_KIBIBYTES, "{flood}: {}", peak_kibibytes(&place));
        place.assert_clean();
    }
}

#[test]
fn a_line_as_long_as_may_be_takes_little_memory() {
    // What is not known is skipped; stored, two million numbers would take 64 MB and more.
    let place = Place::new();
    let script = "\"$1\" peer | { IFS= read -r line; printf '%s,\"x\":[' \"${line%?}\"; yes 1, | head -n 2000000 | tr -d '\\n'; echo '1]}'; cat; }";
    let output = run(&place, "client", script, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let peak = peak_kibibytes(&place);
    assert!(peak < 64 * 1024, "{peak} KiB");
}

#[test]
fn answers_twice_or_out_of_turn() {
    // The second may be heard together with the first, or when the next is due.
    stopped_with("client", &says(r#"/"done"/p"#), &[MORE, "batch 1"]);
    stopped_with("server", &says(r#"/"armed"/p"#), &[MORE, "armed for batch 1"]);
    stopped("client", &says(r#"s/"done"/"armed"/"#), "spoke out of turn: expected done, got armed");
    stopped("server", &says(r#"s/"armed"/"ready"/"#), "expected armed, got ready");
    stopped("client", &says(r#"s/"id":1,/"id":2,/"#), "answered batch 2");
}

#[test]
fn lies_about_operations_and_time() {
    let lie = |key: &str, value: &str| says(&format!(r#"s/"{key}":[0-9]*/"{key}":{value}/"#));
    for role in ["server", "client"] {
        stopped(role, &lie("wall_ns", "99999999999999"), "took 99999.999999999s, while");
        stopped(role, &lie("wall_ns", "-5"), "invalid value: integer `-5`");
        stopped(role, &lie("wall_ns", "99999999999999999999"), "not a message");
        stopped(role, &lie("ops", "1"), "with 1 operations");
        stopped(role, &lie("user_ns", "99999999999999"), "of processor time for a batch");
        stopped(role, &lie("involuntary_switches", "18446744073709551615"), "switches for a batch");
        let advice = stopped(role, &lie("sys_ns", "18446744073709551615"), "of processor time");
        assert!(advice.contains("ipcost conformance examines the peer"), "{advice}");
    }
    stopped("client", &lie("wall_ns", "0"), "operations took no time");
}

#[test]
fn latencies_that_cannot_be() {
    let list = |values: &str| {
        format!(
            "list=$({values}); \"$1\" peer | sed -u 's/\"latency_ns\":\\[[0-9,]*\\]/\"latency_ns\":['$list']/'"
        )
    };
    stopped("client", &list("yes 1, | head -n 10000 | tr -d '\\n'; echo 1"), "10001 values");
    stopped("client", &list("echo 99999999999999"), "which it was not asked for");
    // Only where they were asked for, which is in the lead-in of an epoch.
    let long = "\"$1\" peer | sed -u 's/\"latency_ns\":\\[[0-9,]\\+\\]/\"latency_ns\":[99999999999999]/'";
    stopped("client", long, "the longest is 99999.999999999s");
    // Those of a tenth are not recorded, so one more would not be too many.
    let many = "\"$1\" peer | sed -u 's/\"latency_ns\":\\[\\([0-9,]\\+\\)\\]/\"latency_ns\":[\\1,\\1]/'";
    stopped("client", many, "latencies of");
}

#[test]
fn what_is_no_message() {
    let advice = "its standard output is for the protocol alone";
    stopped("client", &says(r#"s/"type":"done",/"type":"done",,/"#), advice);
    stopped("server", &says(r#"s/"type":"armed"/"x":"\xff","type":"armed"/"#), "not UTF-8");
    stopped("client", &says(r#"s/"type":"done"/"type":"shrug"/"#), "unknown variant `shrug`");
    stopped("client", &says(r#"s/"latency_ns"/"measures":{"\\u001b[2J":1},"latency_ns"/"#), "names have");
    stopped("server", &says(r#"s/"ready"/"ready","effective":{"x":[[]]}/"#), "does not allow");
}

#[test]
fn one_that_lies_later_spoils_no_earlier_epoch() {
    let place = Place::new();
    // Started to be met, for the calibration, for the first epoch, for the second.
    let script = "echo >>starts; edit=s/x/x/; \
                  if test $(wc -l <starts) -ge 4; then edit='s/\"wall_ns\":[0-9]*/\"wall_ns\":99999999999999/'; fi; \
                  \"$1\" peer | sed -u \"$edit\"";
    let file = place.file("document.json");
    let output = run(&place, "client", script, &["--epochs", "3", "--json", argument(&file)]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("client mine of rr/unix/64/c1/mine→native in epoch 2 claims"), "{error}");
    let document: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!((&document["stopped"], &document["schedule"]["epochs"]), (&"failed".into(), &1.into()));
    assert!(document["cells"][0]["wall_ns_per_op"]["median"].as_f64().unwrap() < 1e9);
    place.assert_clean();
}

#[test]
fn one_that_changes_its_version_is_noticed() {
    let place = Place::new();
    let script = "if test -e met; then version=2; else version=1; fi; >met; \
                  \"$1\" peer | sed -u 's/\"protocol\":1/\"protocol\":'$version'/'";
    let output = run(&place, "client", script, &[]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("in epoch 0 speaks version 2 of the control protocol"), "{error}");
    place.assert_clean();
}
