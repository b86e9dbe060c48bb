//! `ipcost replicate` as a user runs it, with real programs where they are installed.

use std::process::Command;

use crate::common::private_server::package_of;
use crate::common::{Place, answer, argument, assert_refused, assert_schema, missing, text};
use serde_json::{Value, json};

/// An experiment of the user's own, with nothing but the native peer: a cell that moves sixteen thousand times as much,
/// which no noise hides. It ends once all is decided.
pub const MINE: &str = r#"
id = "mine"
question = "Is a mebibyte dearer than 64 bytes?"
machine = "this one"
[method]
pattern = "rr"
[[runs]]
software = "native"
about = "the native peer"
budget = "10min"
[[runs.cells]]
label = "small"
transport = "socketpair"
placement = "together"
[[runs.cells]]
label = "large"
transport = "socketpair"
placement = "together"
size = "1MiB"
[[claims]]
text = "A mebibyte is dearer."
published = "2 x"
[[claims.tests]]
about = "large over small"
a = { label = "large" }
b = { label = "small" }
above = 1.2
[[claims]]
text = "A mebibyte is cheaper."
[[claims.tests]]
about = "large over small"
a = { label = "large" }
b = { label = "small" }
below = 1.0
[[claims]]
text = "It writes to disk."
[[claims.tests]]
about = "bytes written for one round trip"
measure = "disk_bytes_written"
a = { label = "small" }
above = 1.0
"#;

#[test]
fn claims_are_decided_by_what_is_measured() {
    let place = Place::new();
    place.write("mine.toml", MINE);
    let output = place.run(&["replicate", "mine.toml", "--json", "ledger.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let record = answer(&std::fs::read(place.file("ledger.json")).unwrap());
    assert_eq!(record["schema"], "ipcost-replication/1");
    assert_schema("replication", &record);
    let words: Vec<&str> =
        record["claims"].as_array().unwrap().iter().map(|claim| claim["word"].as_str().unwrap()).collect();
    assert_eq!(words, ["holds", "fails", "fails"], "{}", text(&output.stdout));
    let test = &record["claims"][0]["tests"][0];
    let (lo, value, hi) = (&test["lo"], &test["value"], &test["hi"]);
    assert!(
        lo.as_f64() <= value.as_f64() && value.as_f64() <= hi.as_f64() && lo.as_f64() > Some(1.2),
        "{test}"
    );
    let shown = text(&output.stdout);
    assert!(
        shown.contains("1. “A mebibyte is dearer.”\n  holds\n") && shown.contains("published: 2 x"),
        "{shown}"
    );
    place.assert_clean();
}

#[test]
fn several_experiments_are_told_in_a_line_each_and_shown_again_from_their_file() {
    let place = Place::new();
    place.write("mine.toml", MINE);
    place.write("yours.toml", &MINE.replace("id = \"mine\"", "id = \"yours\""));
    let files = ["--json", "two.json", "--html", "two.html", "--markdown", "two.md"];
    let output = place.run(&[&["replicate", "mine.toml", "yours.toml", "--quiet"][..], &files].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = |shown: &str| -> Vec<String> {
        let is_of_a_claim = |line: &&str| line.starts_with("mine ") || line.starts_with("yours ");
        shown.lines().filter(is_of_a_claim).map(str::to_owned).collect()
    };
    let told = lines(&text(&output.stdout));
    assert_eq!(told.len(), 6, "{}", text(&output.stdout));
    assert!(told[0].starts_with("mine 1   holds") && told[4].starts_with("yours 2  fails"), "{told:?}");
    assert!(told.iter().all(|line| line.chars().count() <= 100 && !line.contains('…')), "{told:?}");
    let again = place.run(&["show", "two.json"]);
    assert_eq!(lines(&text(&again.stdout)), told, "{}", text(&again.stderr));
    let details = place.run(&["show", "two.json", "--details"]);
    assert!(text(&details.stdout).contains("2. “A mebibyte is cheaper.”"), "{}", text(&details.stdout));
    let report = place.run(&["report", "two.json", "--html", "again.html", "--markdown", "again.md"]);
    assert!(report.status.success(), "{}", text(&report.stderr));
    for file in ["two.html", "again.html", "two.md", "again.md"] {
        let page = std::fs::read_to_string(place.file(file)).unwrap();
        assert!(page.contains("Claim by claim") && page.contains("yours 3"), "{file}: {page}");
    }
    assert_refused(
        &place.run(&["replicate", "mine.toml", "yours.toml", "--svg", "x.svg"]),
        &["one experiment at a time"],
    );
    place.assert_clean();
}

#[test]
fn a_budget_in_which_nothing_can_be_measured_is_an_error_that_says_what_would_do() {
    let place = Place::new();
    place.write("mine.toml", MINE);
    let args =
        ["replicate", "mine.toml", "--budget", "1ms", "--quiet", "--svg", "mine.svg", "--json", "mine.json"];
    let output = place.run(&args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("mine: nothing was measured") && said.contains("give --budget "), "{said}");
    assert!(!place.file("mine.svg").exists(), "there is nothing to draw");
    let record = answer(&std::fs::read(place.file("mine.json")).unwrap());
    assert_eq!(record["claims"][0]["word"], "not tested");
    place.assert_clean();
}

#[test]
fn claims_are_decided_under_each_condition_too() {
    let place = Place::new();
    let conditions = "[[strata]]\nname = \"on one core\"\nplacement = \"together\"\n[[strata]]\nname = \"with a small buffer\"\n\
                  placement = \"together\"\noptions = { so_sndbuf = 4096 }\n[[runs]]\n";
    let mine = MINE
        .replace("software = \"native\"", "software = \"original\"")
        .replace("placement = \"together\"", "placement = \"free\"")
        .replacen("[[runs]]\n", conditions, 1);
    place.write("mine.toml", &mine);
    let output = place.run(&["replicate", "mine.toml", "--quiet", "--json", "ledger.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let record = answer(&std::fs::read(place.file("ledger.json")).unwrap());
    assert_schema("replication", &record);
    let names = |list: &Value| -> Vec<Value> {
        list.as_array().unwrap().iter().map(|one| one["stratum"].clone()).collect()
    };
    let all = [Value::Null, json!("on one core"), json!("with a small buffer")];
    assert_eq!(names(&record["runs"]), all);
    let claims = record["claims"].as_array().unwrap();
    for (claim, word) in claims.iter().zip(["holds", "fails", "fails"]) {
        assert_eq!(claim["word"], word, "{claim}");
        assert_eq!(names(&claim["conditions"]), all, "{claim}");
    }
    assert!(claims[0]["sentence"].as_str().unwrap().starts_with("large "), "{}", claims[0]);
    assert_eq!(record["runs"][2]["sets"], json!({"placement": "together", "so_sndbuf": "4096"}), "{record}");
    let page = place.run(&["report", "last", "--html", "page.html"]);
    assert!(page.status.success(), "{}", text(&page.stderr));
    for (from, to, part) in [
        ("placement = \"together\"\noptions", "options", "\"with a small buffer\" changes no cell"),
        ("so_sndbuf", "so_sndbuff", "did you mean \"so_sndbuf\""),
        ("with a small buffer", "on one core", "two conditions are named \"on one core\""),
        ("placement = \"together\"\n[[strata]]", "[[strata]]", "sets neither a placement nor an option"),
    ] {
        let broken = mine.replace("socketpair", "pipe").replacen(from, to, 1);
        place.write("broken.toml", &broken);
        let output = place.run(&["replicate", "broken.toml"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(part) && said.trim_end().lines().count() == 1, "{said}");
    }
}

#[test]
fn what_the_articles_own_method_contradicts_decides_nothing_and_ends_the_run() {
    let place = Place::new();
    let claims = MINE.find("[[claims]]").unwrap();
    let open = "[[claims]]\ntext = \"A mebibyte is dearer.\"\n[[claims.tests]]\nabout = \"large over small\"\na = { label = \"large\" }\n\
                b = { label = \"small\" }\nabove = 1.2\ncontradicted = \"1.1 (1.0–1.2) in 20 turns\"\n";
    place.write("mine.toml", &format!("{}{open}", &MINE[..claims]));
    let output = place.run(&["replicate", "mine.toml", "--details", "--json", "ledger.json"]);
    let record = answer(&std::fs::read(place.file("ledger.json")).unwrap());
    let claim = &record["claims"][0];
    assert_eq!((&claim["word"], &claim["tests"][0]["word"]), (&json!("open"), &json!("open")));
    assert!(claim["tests"][0]["lo"].as_f64() > Some(1.2), "it is measured and shown: {claim}");
    let shown = text(&output.stdout);
    assert!(shown.contains("says otherwise, 1.1 (1.0–1.2) in 20 turns"), "{shown}");
}

#[test]
fn system_calls_are_compared_by_name_and_number() {
    let place = Place::new();
    let test = |text: &str, pattern: &str| {
        format!(
            "[[claims]]\ntext = \"{text}\"\n[[claims.tests]]\nabout = \"{text}\"\na = {{ pattern = \"rr\", transport = \"unix\" }}\nb = {{ pattern = \"{pattern}\", transport = \"tcp\" }}\nsame_system_calls = true\n"
        )
    };
    let cells = "[[runs.cells]]\npattern = [\"rr\", \"stream\"]\ntransport = [\"unix\", \"tcp\"]\n";
    let head = &MINE[..MINE.find("[[runs.cells]]").unwrap()];
    place.write(
        "calls.toml",
        &format!("{head}{cells}{}{}", test("as in tcp", "rr"), test("as in a stream", "stream")),
    );
    let output = place.run(&["replicate", "calls.toml", "--quiet", "--json", "-"]);
    let record = answer(&output.stdout);
    let claims = record["claims"].as_array().unwrap();
    assert_eq!((&claims[0]["word"], &claims[1]["word"]), (&"holds".into(), &"fails".into()), "{record}");
    // A round trip is a send and a receive.
    assert!(
        claims[0]["tests"][0]["detail"].as_str().unwrap().contains("(2.0 an operation)"),
        "{}",
        claims[0]
    );
    place.assert_clean();
}

/// The question of `redis-incr` alone.
const REDIS: &str = r#"
id = "redis"
question = "Is a Unix socket faster?"
machine = "this one"
[method]
pattern = "rr"
[[runs]]
software = "original"
about = "redis-server, INCR"
budget = "10min"
[[runs.cells]]
pattern = "rr"
transport = ["unix", "tcp"]
size = 64
reply = 13
client = "redis"
server = "redis"
[[claims]]
text = "A Unix socket is faster."
[[claims.tests]]
about = "unix over tcp"
a = { transport = "unix" }
b = { transport = "tcp" }
below = 1.0
"#;

#[test]
fn what_this_machine_cannot_place_is_missing_and_decides_nothing() {
    let place = Place::new();
    let head = &MINE[..MINE.find("[[runs.cells]]").unwrap()];
    let cells = "[[runs.cells]]\ntransport = \"socketpair\"\nplacement = [\"together\", \"apart\"]\n";
    let claim = |name: &str, a: &str| {
        format!(
            "[[claims]]\ntext = \"{name}\"\n[[claims.tests]]\nabout = \"{name}\"\na = {{ placement = \"{a}\" }}\nb = {{ placement = \"together\" }}\nabove = 0.001\n"
        )
    };
    let itself = claim("a cell costs what it costs", "together");
    place.write("apart.toml", &format!("{head}{cells}{}{itself}", claim("apart costs something", "apart")));
    let output = place.run_on_one_processor(&["replicate", "apart.toml", "--quiet", "--json", "-"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let record = answer(&output.stdout);
    assert_schema("replication", &record);
    let (run, claims) = (&record["runs"][0], &record["claims"]);
    assert_eq!(
        run["missing"],
        json!([
            "placement two-cores needs two physical cores; this machine offers one (rr/socketpair/64/c1/apart)"
        ])
    );
    assert_eq!((&claims[0]["word"], &claims[0]["conditions"]), (&json!("not tested"), &json!([])));
    assert_eq!(claims[0]["tests"][0]["value"], Value::Null, "nothing was measured for it");
    assert_eq!(claims[1]["word"], "holds", "what can be measured is");
    // The article's own counts take all of its cells.
    let published = "[as_published]\nrepetitions = 1\noutput = \"mean-seconds\"\n[[as_published.cells]]\nops_per_worker = 10\n[as_published.cells.cell]\ntransport = \"socketpair\"\nplacement = \"apart\"\n";
    place.write("published.toml", &format!("{head}{cells}{itself}{published}"));
    let output = place.run_on_one_processor(&["replicate", "published.toml", "--as-published", "--quiet"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("needs two physical cores"), "{}", text(&output.stderr));
    place.assert_clean();
}

#[test]
fn what_the_system_has_no_room_for_is_missing_with_the_remedy() {
    let place = Place::new();
    let head = &MINE[..MINE.find("[[runs.cells]]").unwrap()];
    let cells = "[[runs.cells]]\ntransport = \"socketpair\"\nconcurrency = [1, 100000]\n";
    let claim = "[[claims]]\ntext = \"many\"\n[[claims.tests]]\nabout = \"many\"\na = { concurrency = 100000 }\nb = { concurrency = 1 }\nabove = 0.001\n";
    place.write("many.toml", &format!("{head}{cells}{claim}"));
    let program = env!("CARGO_BIN_EXE_ipcost");
    let line = format!("ulimit -n 1024 && exec {program} replicate many.toml --quiet --json -");
    let mut command = Command::new("sh");
    for (name, value) in place.command(&[]).get_envs() {
        value.map(|value| command.env(name, value));
    }
    let output = command.args(["-c", &line]).current_dir(place.files.path()).output().unwrap();
    let record = answer(&output.stdout);
    assert_schema("replication", &record);
    let missing = record["runs"][0]["missing"][0].as_str().unwrap();
    assert!(missing.contains("open descriptors, and the limit is 1024"), "{missing}");
    assert_eq!(record["claims"][0]["word"], "not tested");
    place.assert_clean();
}

#[test]
fn a_redis_that_cannot_be_used_is_named_in_one_line() {
    let place = Place::new();
    place.write("redis.toml", REDIS);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for (address, part) in [("192.0.2.1:6379", "loopback"), (closed.as_str(), "no server listens")] {
        let args = ["replicate", "redis.toml", "--redis-tcp", address, "--redis-unix", "/nonexistent/socket"];
        let output = place.run(&[&args[..], &["--quiet"]].concat());
        let shown = text(&output.stdout);
        let missing: Vec<&str> = shown.lines().filter(|line| line.contains("missing:")).collect();
        assert!(missing.len() == 1 && missing[0].contains(part), "{address}: {shown}");
    }
    place.assert_clean();
}

#[test]
fn mistakes_are_one_clear_line() {
    let place = Place::new();
    place.write(
        "no-cell.toml",
        &MINE.replace("b = { label = \"small\" }\nabove", "b = { label = \"thrice\" }\nabove"),
    );
    place.write(
        "two-cells.toml",
        &MINE.replace(
            "a = { label = \"large\" }\nb = { label = \"small\" }\nabove",
            "a = {}\nb = { label = \"small\" }\nabove",
        ),
    );
    place.write("no-bound.toml", &MINE.replace("above = 1.2\n", ""));
    place.write("wrong-key.toml", &MINE.replace("question =", "qestion ="));
    place.write("no-toml.toml", "id = ");
    for (args, parts) in [
        (&["replicate", "socat-bluk"][..], &["socat-bulk"][..]),
        (&["replicate"], &["--all", "--list", "such as ipcost replicate c-stream", "http-proxy-unix"]),
        (&["replicate", "--list", "socat-bluk"], &["socat-bulk"]),
        (&["replicate", "gone.toml"], &["cannot read gone.toml"]),
        (&["replicate", "no-cell.toml"], &["A mebibyte is dearer.", "no cell of the run is label thrice"]),
        (&["replicate", "two-cells.toml"], &["are both anything", "say more"]),
        (&["replicate", "no-bound.toml"], &["neither below nor above"]),
        (&["replicate", "wrong-key.toml"], &["wrong-key.toml:3", "qestion"]),
        (&["replicate", "no-toml.toml"], &["no-toml.toml:1"]),
        (&["replicate", "--divide", "3", "c-stream"], &["--as-published"]),
    ] {
        assert_refused(&place.run(args), parts);
    }
    place.assert_clean();
}

#[test]
fn the_experiments_are_listed() {
    let output = Place::new().run(&["replicate", "--list"]);
    let shown = text(&output.stdout);
    for name in [
        "celluloid-connect", "c-stream", "go-pingpong", "socat-bulk", "redis-incr", "ipc-bench-pingpong",
        "rust-pingpong",
    ] {
        assert!(shown.contains(name), "{shown}");
    }
    assert!(shown.lines().any(|line| line.starts_with("c-stream ") && line.contains("from C")), "{shown}");
    let one = Place::new().run(&["replicate", "--list", "c-stream"]);
    let described = text(&one.stdout);
    assert!(described.contains("PF_UNIX") && !described.contains("socat-bulk"), "{described}");
    let (_, of_servers) = shown.split_once("Real servers (--apps)").unwrap();
    for name in ["mysql-point-select", "postgres-select", "redis-unix", "php-fpm-unix", "http-proxy-unix"] {
        assert!(of_servers.contains(name), "{shown}");
    }
}

/// An experiment with a server, and its load tool or one in front of it; what is missing here is named.
fn with_servers(app: &str, tool: &str, settings: &str, pattern: &str, request: &str) -> String {
    let cell = format!(
        "pattern = \"{pattern}\"\ntransport = [\"unix\", \"tcp\"]\nplacement = \"free\"\nrequest = \"{request}\"\n"
    );
    format!(
        r#"
id = "mine"
question = "Do both sockets answer?"
machine = "this one"
[method]
pattern = "{pattern}"
[[runs]]
software = "original"
about = "a server and its load tool"
budget = "5min"
batch = "20ms"
[runs.peers]
server = {{ app = "{app}", lasts = "run"{settings} }}
tool = {{ app = "{app}", tool = "{tool}" }}
[[runs.cells]]
{cell}client = "tool"
server = "server"
concurrency = 4
[[runs.cells]]
{cell}client = "server"
server = "server"
[[claims]]
text = "TCP does not take ten times as long."
[[claims.tests]]
about = "tcp over unix"
a = {{ transport = "tcp", client = "tool" }}
b = {{ transport = "unix", client = "tool" }}
below = 10.0
[[claims.tests]]
about = "tcp over unix by the tool compared with this program"
a = {{ transport = "tcp", client = "tool" }}
b = {{ transport = "unix", client = "tool" }}
below = 10.0
[claims.tests.than]
a = {{ transport = "tcp", client = "server" }}
b = {{ transport = "unix", client = "server" }}
[[claims]]
text = "There are bad replies."
[[claims.tests]]
about = "bad replies a request"
measure = "bad_replies"
a = {{ transport = "unix", client = "tool" }}
above = 0.5
"#
    )
}

#[test]
fn servers_are_loaded_by_their_own_tools_and_leave_nothing() {
    let place = Place::new();
    std::fs::set_permissions(place.tmp.path(), std::os::unix::fs::PermissionsExt::from_mode(0o711)).unwrap();
    let file = place.file("servers.toml");
    for (app, tool, settings, pattern, request) in [
        ("redis", "redis-benchmark", "", "rr", "PING"),
        ("postgres", "pgbench", ", tls = true", "rr", "SELECT 1"),
        ("mariadb", "sysbench", ", rows = 1000", "rr", "oltp_point_select"),
        ("nginx-php", "ab", ", backlog = 64", "connect", "GET /least.php"),
        ("h2o-nginx", "ab", "", "rr", "GET /typical"),
    ] {
        let mut text_of = with_servers(app, tool, settings, pattern, request);
        if app == "mariadb" {
            // This program asks in SQL.
            let (tools, own) = text_of.rsplit_once("request = \"oltp_point_select\"").unwrap();
            text_of = format!("{tools}request = \"SELECT 1\"{own}");
        }
        std::fs::write(&file, text_of).unwrap();
        let output = place.run(&["replicate", argument(&file), "--quiet", "--json", "-"]);
        // Where nothing could be measured, the ledger stands alone.
        let record: Value = match output.status.success() {
            true => answer(&output.stdout),
            false => {
                serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
            }
        };
        let run = &record["runs"][0];
        if run["missing"].to_string().contains("is not installed") {
            missing(package_of(app), &run["missing"].to_string());
            continue;
        }
        assert_eq!(run["missing"], json!([]), "{app}");
        let words: Vec<&str> =
            record["claims"].as_array().unwrap().iter().map(|it| it["word"].as_str().unwrap()).collect();
        assert_eq!(words, ["holds", "fails"], "{app}: {record}");
        place.assert_clean();
    }
}

#[test]
fn without_the_original_software_the_native_peer_decides_what_it_can() {
    let place = Place::new();
    let mut command =
        place.command(&["replicate", "celluloid-connect", "--budget", "1min", "--quiet", "--json", "-"]);
    let output =
        command.env("PATH", "/nonexistent").env("XDG_CACHE_HOME", place.files.path()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let record = answer(&output.stdout);
    let runs = record["runs"].as_array().unwrap();
    assert_eq!((&runs[0]["software"], &runs[0]["epochs"]), (&"original".into(), &0.into()));
    assert!(runs[0]["missing"].to_string().contains("apt-get install ruby"), "{}", runs[0]);
    let claims = record["claims"].as_array().unwrap();
    let software = |claim: &Value| claim["conditions"][0]["software"].clone();
    assert!(claims.iter().all(|claim| software(claim) == "native"), "{record}");
    place.assert_clean();
}

/// Runs an experiment with its own counts divided, and gives what it printed.
fn as_published(name: &str, divide: &str) -> String {
    let place = Place::new();
    let output = place.run(&["replicate", name, "--as-published", "--divide", divide, "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(" times each: about "), "{}", text(&output.stderr));
    place.assert_clean();
    text(&output.stdout)
}

#[test]
fn outputs_are_the_articles_own() {
    let shown = as_published("c-stream", "1000");
    assert_eq!(
        shown.lines().filter(|line| line.contains(" unix ") || line.contains(" tcp ")).count(),
        10,
        "{shown}"
    );

    let shown = as_published("go-pingpong", "500");
    let lines: Vec<&str> = shown.lines().filter(|line| line.starts_with("BenchmarkPingPong/")).collect();
    assert_eq!(lines.len(), 3 * 13 * 2, "{shown}");
    assert!(lines.iter().all(|line| line.ends_with(" ns/op")), "{shown}");

    let shown = as_published("redis-incr", "10000");
    assert!(shown.contains("the counter rose by 100, as many as requests"), "{shown}");
    assert!(shown.contains("the counter rose by 1000, as many as requests"), "{shown}");
    assert!(shown.contains("cmdstat_incr:usec_per_call="), "{shown}");

    let shown = as_published("celluloid-connect", "500");
    assert!(shown.contains("      user     system      total         real"), "{shown}");
    let labels: Vec<&str> = shown.lines().skip(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(
        labels,
        ["tcp__1", "tcp__5", "tcp_10", "ufs__1", "uab__1", "ufs__5", "uab__5", "ufs_10", "uab_10"],
        "{shown}"
    );

    let shown = as_published("socat-bulk", "2000");
    assert!(shown.contains("# pipe.csv\nN,BS,BITS/S\n1,100,"), "{shown}");
    let means = shown.split("# mean Mbit/s\n").nth(1).unwrap();
    assert_eq!(means.lines().next(), Some("BS,pipe,fifo,unix,tcp"), "{shown}");
    assert_eq!(means.lines().count(), 5, "{shown}");
}
