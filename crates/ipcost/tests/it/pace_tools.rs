//! The open loop next to tools that know nothing of ipcost, by turns: sockperf, which sends at a rate, and cyclictest, which sleeps
//! until a moment.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::{Place, missing, text};

const ROUNDS: usize = 3;
/// The tools do other work between operations, and the machine does more at times: that moves a median, but never this far.
const FARTHEST: f64 = 2.5;

/// Two processors that this process may use, as text; `None` if it may use one.
fn two_processors() -> Option<[String; 2]> {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let numbers = allowed.trim().split(',').flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        first.parse::<usize>().unwrap()..=last.parse().unwrap()
    });
    let found: Vec<String> = numbers.take(2).map(|number| number.to_string()).collect();
    found.try_into().ok()
}

/// What a tool prints, with these processors; `None` if it may be missing, and is.
fn printed(processors: &str, words: &[&str], package: &str) -> Option<String> {
    let output = on(processors, words).stdin(Stdio::null()).output().unwrap();
    if output.status.code() == Some(127) {
        missing(package, &format!("{} is not installed", words[0]));
        return None;
    }
    let told = text(&output.stdout);
    assert!(output.status.success(), "{words:?}: {}{told}", text(&output.stderr));
    Some(told)
}

fn on(processors: &str, words: &[&str]) -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", processors]).args(words);
    command
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The medians over rounds of each figure.
fn over_rounds<const N: usize>(rounds: &[[f64; N]]) -> [f64; N] {
    std::array::from_fn(|at| median(rounds.iter().map(|round| round[at]).collect()))
}

#[track_caller]
fn assert_near(what: &str, ours: f64, theirs: f64) {
    let quotient = ours / theirs;
    assert!(quotient.max(1.0 / quotient) < FARTHEST, "{what}: ipcost {ours:.1} µs, the tool {theirs:.1} µs");
}

/// A cell of a run of one epoch of half a second, both sides on a processor of their own.
fn cell(place: &Place, transport: &str, options: &[&str]) -> Value {
    let mut words = vec!["run", "--transports", transport, "--patterns", "rr", "--sizes", "64"];
    words.extend(["--placement", "apart", "--epochs", "1", "--batch", "500ms"]);
    words.extend(options.iter().flat_map(|option| ["--option", option]));
    let document = place.document(&words);
    let cell = document["cells"][0].clone();
    assert_eq!(cell["available"], true, "{cell:#}");
    cell
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

/// A median and a 99th percentile, microseconds.
fn summary(found: &Value) -> [f64; 2] {
    ["p50", "p99"].map(|name| found[name].as_f64().unwrap_or_else(|| panic!("{found}")) / 1e3)
}

/// A server of sockperf, until it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    fn start(place: &Place, processor: &str) -> (Self, String) {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let words = ["sockperf", "sr", "--tcp", "--ip", "127.0.0.1", "--port", &port.to_string()];
        let mut command = on(processor, &words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Self(command.spawn().unwrap());
        let row = format!(" 0100007F:{port:04X} 00000000:0000 0A ");
        place.wait_until("sockperf listens", || fs::read_to_string("/proc/net/tcp").unwrap().contains(&row));
        (server, port.to_string())
    }
}

/// A percentile that sockperf prints, microseconds.
fn sockperf_percentile(told: &str, percentile: &str) -> f64 {
    let mark = format!("percentile {percentile} =");
    let found = told.lines().find_map(|line| line.split(&mark).nth(1)?.trim().parse().ok());
    found.unwrap_or_else(|| panic!("no {mark} in {told}"))
}

#[test]
#[ignore = "nightly: compares times with other tools"]
fn sockperf_and_an_offered_rate_give_the_same_round_trips() {
    let place = Place::new();
    let Some([client, server]) = two_processors() else {
        missing("two-cores", "this process may use one processor");
        return;
    };
    if printed(&client, &["sockperf", "--version"], "sockperf").is_none() {
        return;
    }
    let (served, port) = Server::start(&place, &server);
    // Far below what a connection carries.
    const RATE: u32 = 1_000;
    let (mps, offered) = (format!("--mps={RATE}"), format!("rate={RATE}"));
    let theirs = |mode: &[&str]| {
        let at = ["--tcp", "--ip", "127.0.0.1", "--port", &port, "-m", "64", "-t", "1", "--full-rtt", &mps];
        let told = printed(&client, &[&["sockperf"], mode, &at].concat(), "sockperf").unwrap();
        ["50.000", "99.000"].map(|percentile| sockperf_percentile(&told, percentile))
    };
    let (mut ping_pong, mut under_load, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ping_pong.push(theirs(&["pp"]));
        // A spinning sender shares its core with whatever else computes there.
        let options = [offered.as_str(), "arrivals=constant", "pacer=sleep", "io=send"];
        let cell = cell(&place, "tcp", &options);
        let ([p50, p99], [late, _]) = (summary(&cell["latency_ns"]), summary(&cell["pace"]["late_ns"]));
        ours.push([p50, p99, p50 - late]);
        under_load.push(theirs(&["ul", "--reply-every=1"]));
    }
    let [of_ping_pong, of_under_load] =
        [&ping_pong, &under_load].map(|rounds| least(rounds.iter().map(|round| round[0])));
    let (ping_pong, under_load) = (over_rounds(&ping_pong), over_rounds(&under_load));
    let [p50, p99, since_sent] = over_rounds(&ours);
    println!("TCP, 64 B, {RATE}/s, µs    p50    p99");
    for (name, [p50, p99]) in
        [("ping-pong", ping_pong), ("under-load", under_load), ("ipcost, from due", [p50, p99])]
    {
        println!("{name:20}{p50:8.1}{p99:7.0}");
    }
    println!("{:20}{since_sent:8.1}", "ipcost, from sent");
    // sockperf counts from when it has sent, however late that was. What else the machine does makes a round slower, so the fastest of each
    // are compared.
    let ours = least(ours.iter().map(|round| round[2]));
    for (name, theirs) in [("ping-pong", of_ping_pong), ("under-load", of_under_load)] {
        assert_near(name, ours, theirs);
    }
    drop(served);
    place.assert_clean();
}

/// A median and a 99th percentile of a histogram in whole microseconds, each line a value and its count.
fn cyclictest_summary(told: &str) -> [f64; 2] {
    let rows = told.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (value, count) = line.split_once(char::is_whitespace)?;
        Some((value.trim().parse::<f64>().ok()?, count.trim().parse::<u64>().ok()?))
    });
    let rows: Vec<(f64, u64)> = rows.collect();
    let all: u64 = rows.iter().map(|(_, count)| count).sum();
    assert!(all > 100, "{told}");
    [0.5, 0.99].map(|share| {
        let mut left = (share * all as f64).ceil() as u64;
        let found = rows.iter().find(|(_, count)| {
            let is_it = left <= *count;
            left = left.saturating_sub(*count);
            is_it
        });
        found.unwrap().0
    })
}

#[test]
#[ignore = "nightly: compares times with other tools"]
fn cyclictest_and_a_sleeping_sender_wake_equally_late() {
    let place = Place::new();
    let Some([client, _]) = two_processors() else {
        missing("two-cores", "this process may use one processor");
        return;
    };
    // A histogram of 100 ms, so that none is left out; it leaves the machine's power management and the timer slack of 50 µs.
    let words =
        ["cyclictest", "-q", "-i", "2000", "-l", "500", "-h", "100000", "--default-system", "-a", &client];
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let Some(told) = printed(&client, &words, "rt-tests") else { return };
        theirs.push(cyclictest_summary(&told));
        let options = ["rate=500", "arrivals=constant", "pacer=sleep", "timer_slack=50us"];
        ours.push(summary(&cell(&place, "unix", &options)["pace"]["late_ns"]));
    }
    let [theirs, ours] = [theirs, ours].map(|rounds| over_rounds(&rounds));
    println!("late, µs        p50    p99");
    for (name, [p50, p99]) in [("cyclictest", theirs), ("ipcost", ours)] {
        println!("{name:12}{p50:7.1}{p99:7.0}");
    }
    assert_near("how late it is woken", ours[0], theirs[0]);
    place.assert_clean();
}
