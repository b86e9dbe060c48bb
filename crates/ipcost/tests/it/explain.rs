//! `ipcost explain` as a user runs it: what it says of cells, and every cause planted in a real run.

use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::common::{Place, answer, assert_refused, in_own_process, missing, text};

/// Runs with `--json` and gives the explanation; `more` beside the cells, mostly a budget.
fn explained(place: &Place, args: &[&str]) -> Value {
    let output = place
        .run(&[&["explain", "--quiet", "--timeout", "2min", "--json", "explanation.json"], args].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    read(place)
}

fn read(place: &Place) -> Value {
    answer(&std::fs::read(place.file("explanation.json")).unwrap())
}

/// So few epochs give no intervals, which most causes do not need; and none needs a floor.
const SHORT: [&str; 3] = ["--epochs", "3", "--no-floor"];

fn codes(explanation: &Value) -> Vec<&str> {
    let causes = explanation["causes"].as_array().unwrap();
    causes.iter().map(|cause| cause["code"].as_str().unwrap()).collect()
}

#[track_caller]
fn assert_names(code: &str, explanation: &Value) {
    assert!(codes(explanation).contains(&code), "{code} is not among {}", explanation["causes"]);
}

#[track_caller]
fn assert_never_blames(code: &str, explanation: &Value) {
    assert!(!codes(explanation).contains(&code), "{code} is among {}", explanation["causes"]);
}

/// Runs a script in a network namespace of its own, which ends with `explain` and these arguments; `None` where that
/// may not be done.
fn in_namespace(place: &Place, script: &str, args: &str) -> Option<Output> {
    let allowed = Command::new("unshare").args(["--net", "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        missing("network-namespaces", "unshare --net fails");
        return None;
    }
    let script = format!(
        "set -e; ip link set lo up; {script}; exec {} explain --quiet --json explanation.json {args}",
        env!("CARGO_BIN_EXE_ipcost")
    );
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", &script]).current_dir(place.files.path());
    command.envs(place.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
    Some(command.output().unwrap())
}

/// A system call by name, of those that the operations make: what else a program does meanwhile, such as start, is told aside.
fn calls<'a>(cell: &'a Value, side: &str, name: &str) -> Option<&'a Value> {
    let mut of_operations =
        cell["sides"][side]["system_calls"].as_array()?.iter().filter(|call| call["aside"] != true);
    of_operations.find(|call| call["name"] == name)
}

#[test]
fn two_cells_are_told_apart_by_their_parts() {
    let place = Place::new();
    let output = place.run(&[
        "explain", "rr/tcp/64/c1/free", "rr/unix/64/c1", "--epochs", "3", "--seed", "7", "--details",
        "--json", "explanation.json",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for part in
        ["per round trip", "system time in the server", "waiting", "TCP calls for one operation", "seed 7"]
    {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    let explanation = read(&place);
    assert_eq!(explanation["schema"], "ipcost-explanation/1");
    let difference = &explanation["differences"][0];
    assert_eq!((&difference["a"], &difference["b"]), (&"rr/tcp/64/c1".into(), &"rr/unix/64/c1".into()));
    assert_eq!(difference["parts"].as_array().unwrap().len(), 5);
    for cell in explanation["cells"].as_array().unwrap() {
        assert_eq!(cell["division"], "turns");
        for side in ["client", "server"] {
            for name in ["write", "read"] {
                let call = calls(cell, side, name).unwrap_or_else(|| panic!("{name} in {cell}"));
                assert!((call["count"].as_f64().unwrap() - 1.0).abs() < 0.05, "{call}");
                assert_eq!(call["moved"].as_f64().map(f64::round), Some(64.0), "{call}");
            }
        }
    }
    // Each direction is a segment, in a network where no one else sends any.
    let tcp = &explanation["cells"][0];
    if tcp["alone"] == true {
        assert_eq!(tcp["network"]["segments"].as_f64().map(f64::round), Some(2.0), "{tcp}");
    }
    assert_eq!(explanation["cells"][1]["network"], serde_json::json!({}), "a Unix socket has no network");
    place.assert_clean();
}

/// Causes that lie in what a cell does, whatever the machine does meanwhile.
const OF_THE_CELL: [&str; 9] = [
    "nagle", "small-buffer", "small-reads", "backlog", "ports", "name-resolution", "runtime", "firewall",
    "cpu-quota",
];

#[test]
fn one_cell_is_divided_and_a_clean_one_is_blamed_for_nothing() {
    let place = Place::new();
    let cell = "rr/pipe/64/c1/together";
    let output = place.run(&["explain", cell, "--epochs", "3", "--json", "explanation.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.starts_with("Where the time goes: pipe\n"), "{shown}");
    assert!(shown.contains("\nOn one core pipe takes "), "{shown}");
    let explanation = read(&place);
    let cell = &explanation["cells"][0];
    // A floor that changed during the run is in the table alone.
    let told = shown.contains("of its floor (2 hand-overs");
    assert_eq!(told, cell["floor"]["steady"].as_bool().unwrap(), "{shown}");
    assert!(shown.contains("floor at the end"), "{shown}");
    // Parts of each batch add up to what it took (`ipcost-lab`); their medians nearly do.
    let parts = cell["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 5, "{cell}");
    let sum: f64 = parts.iter().map(|part| part["ns"]["median"].as_f64().unwrap()).sum();
    let wall = cell["wall_ns"]["median"].as_f64().unwrap();
    assert!((0.5..2.0).contains(&(sum / wall)), "{cell}");
    assert!(cell["floor"]["multiple"]["median"].as_f64().unwrap() > 0.0, "{cell}");
    let blamed: Vec<&str> =
        codes(&explanation).into_iter().filter(|code| OF_THE_CELL.contains(code)).collect();
    assert_eq!(blamed, [""; 0], "{}", explanation["causes"]);
}

#[test]
fn a_matrix_is_explained_against_its_baseline() {
    let place = Place::new();
    let explanation = explained(
        &place,
        &[
            "--transports", "pipe,unix,tcp", "--placement", "free", "--patterns", "stream", "--sizes", "64",
            "--baseline", "unix", "--epochs", "2", "--no-floor",
        ],
    );
    let pairs: Vec<(&str, &str)> = explanation["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|difference| (difference["a"].as_str().unwrap(), difference["b"].as_str().unwrap()))
        .collect();
    // No row is added to those that were asked for.
    assert_eq!(
        pairs,
        [("stream/pipe/64/c1", "stream/unix/64/c1"), ("stream/tcp/64/c1", "stream/unix/64/c1")]
    );
    assert!(explanation["cells"][0]["limited_by"].is_string(), "both sides of a stream work at once");
    let warnings = explanation["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning["code"] == "no-intervals"), "{warnings:?}");
}

#[test]
fn programs_that_a_peer_starts_are_seen_themselves() {
    let place = Place::new();
    for peer in ["socat-started", "socat"] {
        let cell = format!("stream/pipe/100000/c1/free/{peer}→{peer}");
        let explanation = explained(&place, &[&cell, "--epochs", "1", "--no-floor"]);
        let cell = &explanation["cells"][0];
        // What only socat does: it reads /dev/zero and waits with select or poll before it writes.
        let waits = ["pselect6", "select", "poll", "ppoll"];
        assert!(waits.iter().any(|name| calls(cell, "client", name).is_some()), "{cell}");
        let read = calls(cell, "client", "read").unwrap_or_else(|| panic!("{cell}"));
        assert_eq!(read["on"], "device", "{cell}");
        assert!((read["moved"].as_f64().unwrap() / 100_000.0 - 1.0).abs() < 0.1, "{read}");
        assert!(calls(cell, "server", "write").is_some(), "{cell}");
    }
}

#[test]
fn mistakes_are_told_before_anything_is_measured() {
    let place = Place::new();
    for (args, parts) in [
        (&["explain"][..], &["explain takes one cell or two"][..]),
        (&["explain", "rr/tpc/64/c1"], &["did you mean \"tcp\""]),
        (&["explain", "rr"], &["it has no"]),
        (
            &["explain", "rr/tcp/64/c1", "rr/tcp/64"],
            &["both ids name the same cell", "rr/tcp/64/c1/together"],
        ),
        (&["explain", "rr/tcp/64", "rr/unix/64", "rr/pipe/64"], &["rr/pipe/64"]),
        (&["explain", "job.toml"], &["job.toml", "cannot read"]),
        (&["explain", "job.toml", "rr/tcp/64"], &["a job stands alone"]),
        (&["explain", "rr/tcp/64", "--sizes", "64"], &["--sizes"]),
        (&["explain", "rr/tcp/64/c1/nobody→native"], &["nobody", "--peer"]),
        (&["explain", "rr/pipe/64/c1/tcp_nodelay=false"], &["tcp_nodelay", "acts on none"]),
        (&["explain", "rr/tcp/64", "--budget", "100ms"], &["--budget"]),
        (&["explain", "rr/tcp/64", "--epochs", "0"], &["--epochs 0"]),
    ] {
        assert_refused(&place.run(args), parts);
    }
}

/// Explains a cell in which a cause is planted whose evidence is counted, whatever the machine does meanwhile, and one without it.
#[track_caller]
fn assert_told_apart(code: &str, planted: &str, clean: &str) {
    let place = Place::new();
    let explain = |cell: &str| explained(&place, &[cell, "--epochs", "1", "--no-floor"]);
    assert_names(code, &explain(planted));
    assert_never_blames(code, &explain(clean));
}

#[test]
fn a_small_buffer() {
    assert_told_apart(
        "small-buffer",
        "stream/pipe/65536/c1/free/pipe_size=4096",
        // A round trip has at most one message in the pipe.
        "rr/pipe/64/c1/free",
    );
}

#[test]
fn small_reads() {
    assert_told_apart(
        "small-reads",
        "stream/unix/65536/c1/free/recv_buffer=512",
        "stream/unix/65536/c1/free/recv_buffer=65536",
    );
}

#[test]
fn a_full_backlog() {
    let place = Place::new();
    if in_namespace(&place, "true", "rr/pipe/64/c1/free --epochs 1 --no-floor").is_none() {
        return;
    }
    let script = "echo 1 > /proc/sys/net/core/somaxconn";
    // A server that is slower than those who come: else it may accept each before the next is there.
    let cell = "connect/tcp/64/c24/free/native→python --epochs 1 --timeout 5min --no-floor";
    let explain = || {
        let output = in_namespace(&place, script, cell).unwrap();
        // A connection that the full queue dropped may also be reset, which ends the run; then it says what to raise.
        let complained = text(&output.stderr);
        let is_named = complained.contains("raise the option backlog or net.core.somaxconn");
        assert!(output.status.success() || is_named, "{complained}");
        read(&place)
    };
    assert_names("backlog", &explain());
    let clean = in_namespace(&place, "true", cell);
    assert!(clean.unwrap().status.success());
    assert_never_blames("backlog", &read(&place));
}

const FEW_PORTS: &str =
    "echo '50000 50009' > /proc/sys/net/ipv4/ip_local_port_range; echo 0 > /proc/sys/net/ipv4/tcp_tw_reuse";

#[test]
fn ports_that_run_out() {
    let place = Place::new();
    let cell = "connect/tcp/64/c1/free/closes_first=client";
    let Some(output) = in_namespace(&place, FEW_PORTS, &format!("{cell} --epochs 3 --no-floor")) else {
        return;
    };
    assert!(output.status.success(), "{}", text(&output.stderr));
    let explanation = read(&place);
    assert_names("ports", &explanation);
    let connect = calls(&explanation["cells"][0], "client", "connect").unwrap();
    assert!(connect["failures"]["EADDRNOTAVAIL"].as_f64() > Some(0.0), "settings are kept: {connect}");
}

#[test]
fn a_run_that_fails_is_explained_too() {
    let place = Place::new();
    let cell = "connect/tcp/64/c1/free/closes_first=client,spread_sources=false";
    let Some(output) = in_namespace(&place, FEW_PORTS, &format!("{cell} --epochs 3 --no-floor")) else {
        return;
    };
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("- ports: "), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("no local port is left"), "{}", text(&output.stderr));
}

#[test]
fn name_resolution() {
    assert_told_apart(
        "name-resolution",
        "connect/tcp/64→13/c1/free/redis-resolve→redis-resolve",
        "connect/tcp/64→13/c1/free/redis→redis",
    );
}

/// The server that the documentation shows, with something of its own for each message.
fn server_that(place: &Place, does: &str) -> String {
    let page = include_str!("../../../../docs/reference/peers.md");
    let code = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let asks = "        request = receive";
    assert_eq!(code.matches(asks).count(), 1);
    let peer = place.write("slow.py", &code.replace(asks, &format!("        {does}\n{asks}")));
    format!("slow=python3 {}", peer.display())
}

#[test]
fn what_a_server_does_for_every_message_is_named_by_its_call() {
    let cases = [
        ("sleep", "time.sleep(0.0003)", "clock_nanosleep"),
        ("more-calls", "import os; [os.getppid() for _ in range(30)]", "getppid"),
        (
            "logging",
            "import builtins; builtins.log = getattr(builtins, 'log', None) or open('log', 'ab', 0); builtins.log.write(b'a line of a log')",
            "write",
        ),
    ];
    for (code, does, call) in cases {
        let place = Place::new();
        let peer = server_that(&place, does);
        let explanation =
            explained(&place, &[&["rr/unix/64/c1/free/native→slow", "--peer", &peer], &SHORT[..]].concat());
        if explanation["missing"].as_array().unwrap().iter().any(|missing| missing["what"] == "system calls")
        {
            missing("tracing", &explanation["missing"].to_string());
            return;
        }
        let causes = explanation["causes"].as_array().unwrap();
        let cause = causes.iter().find(|cause| cause["code"] == code && cause["subject"] == call);
        let cause = cause.unwrap_or_else(|| panic!("{code} of {call} is not in {}", explanation["causes"]));
        assert_eq!(cause["side"], "server", "{cause}");
        let account = explanation["twins"][0]["account"]["items"].as_array().unwrap();
        assert!(account.iter().any(|item| item["call"] == call), "{account:?}");
    }
}

#[test]
fn a_cell_that_says_no_place_is_examined_on_one_core_and_on_two() {
    let place = Place::new();
    let ids = ["rr/tcp/64/c1", "rr/unix/64/c1"];
    let output = place.run(
        &[&["explain", "--quiet", "--json", "explanation.json", "--seed", "1"], &ids[..], &SHORT[..]]
            .concat(),
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let explanation = read(&place);
    let places = ["", "/together", "/apart"];
    let differences = explanation["differences"].as_array().unwrap();
    for difference in differences {
        let place = |id: &Value, begin: &str| id.as_str().unwrap().strip_prefix(begin).unwrap().to_owned();
        let (a, b) = (place(&difference["a"], ids[0]), place(&difference["b"], ids[1]));
        assert!(a == b && places.contains(&a.as_str()), "{difference}");
    }
    assert!(matches!(differences.len(), 1 | 2), "{differences:?}");
}

#[test]
fn a_remedy_is_tried_and_a_flame_graph_drawn() {
    let place = Place::new();
    let cell = "stream/unix/65536/c1/free/recv_buffer=512";
    let explanation = explained(&place, &[&[cell, "--try", "--flame", "flame.svg"], &SHORT[..]].concat());
    let lacks: Vec<&str> = explanation["missing"]
        .as_array()
        .unwrap()
        .iter()
        .map(|missing| missing["what"].as_str().unwrap())
        .collect();
    if lacks.contains(&"system calls") {
        missing("tracing", &explanation["missing"].to_string());
    } else {
        let causes = explanation["causes"].as_array().unwrap();
        let tried = causes.iter().find(|cause| cause["code"] == "small-reads").map(|cause| &cause["tried"]);
        assert_eq!(tried.unwrap()["setting"], "recv_buffer=65536", "{causes:?}");
        // By how much it helps differs by machine; that it was measured is what counts.
        assert!(tried.unwrap()["ratio"]["median"].as_f64() > Some(0.0), "{causes:?}");
    }
    // Where perf is absent, or may not sample, the report says so and there is no picture.
    if lacks.contains(&"a flame graph") {
        assert!(!place.file("flame.svg").exists());
        let perf = Command::new("perf").arg("--version").stdout(Stdio::null()).status();
        missing(if perf.is_ok() { "sampling" } else { "linux-perf" }, &explanation["missing"].to_string());
    } else {
        let picture = std::fs::read_to_string(place.file("flame.svg")).unwrap();
        assert!(picture.contains("<svg") && picture.contains("server"), "{picture}");
    }
    place.assert_clean();
}

#[test]
fn a_runtime_of_its_own() {
    let place = Place::new();
    // Many times the work of the native peer.
    let peer = server_that(&place, "sum(range(100000))");
    let explanation =
        explained(&place, &[&["rr/unix/64/c1/free/native→slow", "--peer", &peer], &SHORT[..]].concat());
    let [asked, twin] = explanation["cells"].as_array().unwrap().as_slice() else { panic!("two cells") };
    assert_eq!((&asked["purpose"], &twin["purpose"]), (&"asked".into(), &"twin".into()));
    // What the cause is told from; that it is told where intervals say so has tests with planted ones.
    let own_ns = |cell: &Value| {
        let parts = cell["parts"].as_array().unwrap();
        let own = parts.iter().find(|part| part["part"] == "server-user").unwrap();
        own["ns"]["median"].as_f64().unwrap()
    };
    assert!(own_ns(asked) > 10.0 * own_ns(twin), "{asked} {twin}");
    let difference = &explanation["twins"][0];
    assert_eq!((&difference["a"], &difference["b"]), (&asked["id"], &twin["id"]));
    assert!(difference["ratio"]["median"].as_f64() > Some(10.0), "{difference}");
}

#[test]
fn one_core_for_both() {
    let place = Place::new();
    let explain = |cell: &str| explained(&place, &[cell, "--epochs", "1", "--no-floor"]);
    // What the cause is told from; that it is told where both fill the core has tests with planted shares.
    let planted = explain("stream/unix/4096/c1/together");
    let busy = &planted["cells"][0]["busy"];
    for side in ["client", "server"] {
        assert!(busy[side].as_f64() > Some(0.0) && busy[side].as_f64() <= Some(1.1), "{planted:#}");
    }
    let document: Value =
        serde_json::from_slice(&std::fs::read(place.file("explanation.json")).unwrap()).unwrap();
    if document["host"]["physical_cores"].as_u64() < Some(2) {
        return missing("two-cores", "there is another core only in the remedy");
    }
    assert_never_blames("one-core", &explain("stream/unix/4096/c1/apart"));
}

#[test]
fn a_firewall() {
    let place = Place::new();
    let script = "nft add table ip t; nft add chain ip t c '{ type filter hook input priority 0; }'; nft add rule ip t c ct state established counter";
    let Some(output) = in_namespace(&place, script, "rr/tcp/64/c1/free --epochs 3 --no-floor") else {
        return;
    };
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_names("firewall", &read(&place));
}

#[test]
fn a_quota() {
    // This process and so the program, until it is dropped.
    if !in_own_process("explain::a_quota") {
        return;
    }
    let place = Place::new();
    let quota = match ipcost_sys::quota::Quota::impose(0.1) {
        Ok(quota) => quota,
        Err(error) => {
            missing("quotas", &error.to_string());
            return;
        }
    };
    let explanation = explained(&place, &[&["rr/unix/64/c1/free"], &SHORT[..]].concat());
    drop(quota);
    assert_names("cpu-quota", &explanation);
}

/// A process that takes a processor until it is dropped, however the test ends.
struct Hog(Child);

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_busy_neighbour() {
    let place = Place::new();
    let hogs = [(); 2].map(|()| Hog(place.start(&["hog"])));
    let explanation = explained(&place, &[&["rr/unix/64/c1/free"], &SHORT[..]].concat());
    drop(hogs);
    assert_names("busy-neighbour", &explanation);
}
