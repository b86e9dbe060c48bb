//! `ipcost app` beside the load tools of the servers themselves: both ask one server for the same, by turns on one processor.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::private_server::Server;
use crate::common::{Place, missing, on_one_processor, text};

const ROUNDS: usize = 5;
/// The tools wait otherwise than ipcost's client, and pay for what they do besides: that moves a ratio, but never this far.
const FARTHEST_RATIO: f64 = 1.6;
const FARTHEST_TIME: f64 = 2.5;

/// The nanoseconds of a request by ipcost: over the Unix socket, over TCP, and the ratio.
fn by_ipcost(place: &Place, server: &Server, arguments: &[&str], request: &str) -> [f64; 3] {
    let tcp = format!("127.0.0.1:{}", server.port);
    let at = ["--unix", &server.unix, "--tcp", &tcp, "--epochs", "1", "--concurrency", "1", "--no-save"];
    let words = [&["app"], arguments, &at, &["--quiet", "--json", "-"]].concat();
    let mut command = place.command(&words);
    passwords(&server.secret).iter().for_each(|(name, value)| {
        command.env(name, value);
    });
    let output = on_one_processor(&command).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let savings = document["answer"]["savings"].as_array().unwrap();
    let is_kept = |it: &&Value| it["request"] == request && it["pattern"] == "rr" && it["pipeline"] == 1;
    let saving = savings.iter().find(is_kept).unwrap();
    [&saving["unix_ns"], &saving["tcp_ns"], &saving["ratio"]["median"]].map(|it| it.as_f64().unwrap())
}

/// The variables from which clients take the password of a private server.
fn passwords(secret: &str) -> [(&str, &str); 2] {
    [("PGPASSWORD", secret), ("REDISCLI_AUTH", secret)]
}

/// The rate that a tool prints; `None` if it may be missing, and is.
fn rate(server: &Server, words: &[&str], of: impl Fn(&str) -> Option<&str>) -> Option<f64> {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).envs(passwords(&server.secret));
    let output = on_one_processor(&command).stdin(Stdio::null()).output().unwrap();
    let printed = text(&output.stdout);
    if output.status.code() == Some(127) {
        let package = if words[0] == "pgbench" { "postgresql" } else { "redis-tools" };
        missing(package, &format!("{} is not installed", words[0]));
        return None;
    }
    assert!(output.status.success(), "{}{printed}", text(&output.stderr));
    let found = printed.lines().find_map(of);
    Some(found.and_then(|rate| rate.parse().ok()).unwrap_or_else(|| panic!("no rate in {printed}")))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Asserts that both say the same of one server, in `theirs` over the Unix socket if asked so, in nanoseconds.
fn assert_agree(
    place: &Place,
    server: &Server,
    arguments: &[&str],
    request: &str,
    theirs: impl Fn(bool) -> Option<f64>,
) {
    let (mut tools, mut ours) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let unix_first = round % 2 == 0;
        let Some(first) = theirs(unix_first) else { return };
        ours.push(by_ipcost(place, server, arguments, request));
        let second = theirs(!unix_first).unwrap();
        tools.push(if unix_first { [first, second] } else { [second, first] });
    }
    let over = |all: &[[f64; 3]], at: usize| median(all.iter().map(|it| it[at]).collect());
    let tools: Vec<[f64; 3]> = tools.into_iter().map(|[unix, tcp]| [unix, tcp, unix / tcp]).collect();
    let [by_tool, by_ipcost] = [&tools, &ours].map(|all| [over(all, 0), over(all, 1), over(all, 2)]);
    let said = format!("{request} over unix, over tcp, ratio: the tool {by_tool:?}, ipcost {by_ipcost:?}");
    let is_within = |at: usize, farthest: f64| {
        let quotient: f64 = by_ipcost[at] / by_tool[at];
        quotient.max(1.0 / quotient) < farthest
    };
    assert!(by_tool[2] < 1.1, "a Unix socket costs no more: {said}");
    assert!(is_within(2, FARTHEST_RATIO), "the ratios differ: {said}");
    assert!(is_within(0, FARTHEST_TIME) && is_within(1, FARTHEST_TIME), "the times differ: {said}");
}

#[test]
#[ignore = "alone: compares times with other tools"]
fn redis_benchmark_and_app_say_the_same_of_redis() {
    let place = Place::new();
    let Some(server) = Server::start(&place, "redis") else { return };
    let port = server.port.to_string();
    let theirs = |over_unix| {
        let at = if over_unix { ["-s", &server.unix] } else { ["-p", &port] };
        let words = [
            &["redis-benchmark"],
            &at[..],
            &["--user", "ipcost", "-a", &server.secret, "-c", "1", "-n", "20000", "--csv", "PING"],
        ]
        .concat();
        rate(&server, &words, |line| line.strip_prefix("\"PING\",\"")?.split('"').next())
            .map(|rate| 1e9 / rate)
    };
    assert_agree(&place, &server, &["redis", "--command", "PING", "--user", "ipcost"], "PING", theirs);
    drop(server);
    place.assert_clean();
}

#[test]
#[ignore = "alone: compares times with other tools"]
fn pgbench_and_app_say_the_same_of_postgresql() {
    let place = Place::new();
    let Some(server) = Server::start(&place, "postgres") else { return };
    let script = place.write("select.sql", "SELECT 1");
    let dir = Path::new(&server.unix).parent().unwrap().to_str().unwrap();
    let theirs = |over_unix| {
        let host = if over_unix { dir } else { "127.0.0.1" };
        let at = format!(
            "host={host} port={} user=ipcost dbname=postgres sslmode=disable gssencmode=disable",
            server.port
        );
        let words =
            ["pgbench", "-n", "-M", "simple", "-c", "1", "-t", "10000", "-f", script.to_str().unwrap(), &at];
        rate(&server, &words, |line| line.strip_prefix("tps = ")?.split(' ').next()).map(|rate| 1e9 / rate)
    };
    let arguments = ["postgres", "--query", "SELECT 1", "--user", "ipcost", "--database", "postgres"];
    assert_agree(&place, &server, &arguments, "SELECT 1", theirs);
    drop(server);
    place.assert_clean();
}
