//! The outputs that the articles themselves printed.

use std::fmt::Write;

use ipcost_model::units::counted;
use ipcost_model::{Cell, Usage};

use crate::replicate::Output;

/// One repetition of a cell of a published experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Repetition {
    pub cell: Cell,
    pub ops: u64,
    /// Elapsed time, nanoseconds.
    pub wall_ns: u64,
    /// Elapsed time until the last send returned, nanoseconds.
    pub sent_ns: Option<u64>,
    /// What the client used.
    pub client: Usage,
    /// Microseconds that the server says a call took.
    pub incr_usec_per_call: Option<f64>,
}

/// Draws the repetitions as the article's own program did.
pub fn render(output: Output, repetitions: &[Repetition]) -> String {
    match output {
        Output::RubyBenchmark => ruby(repetitions),
        Output::GoBenchmark => go(repetitions),
        Output::BitsCsv => bits(repetitions),
        Output::MeanSeconds => mean_seconds(repetitions),
        Output::RedisTimes => redis(repetitions),
        Output::Rates => rates(repetitions),
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Ruby's `Benchmark.bm`.
fn ruby(repetitions: &[Repetition]) -> String {
    let mut out = format!("{:14}{:>11}{:>11}{:>11}{:>13}\n", "", "user", "system", "total", "real");
    for one in repetitions {
        // The article's own names: of a Unix socket in the file system, and of one with an abstract name.
        let name = match one.cell.transport.as_str() {
            "unix" => "ufs",
            "unix-abstract" => "uab",
            other => other,
        };
        let label = format!("{name}_{:_>2}", one.cell.concurrency);
        let (user, system) = (seconds(one.client.user_ns), seconds(one.client.sys_ns));
        let total = user + system;
        let _ =
            writeln!(out, "{label:14}{user:11.6}{system:11.6}{total:11.6} ({:11.6})", seconds(one.wall_ns));
    }
    out
}

/// Lines of `go test -bench`, for benchstat.
fn go(repetitions: &[Repetition]) -> String {
    let mut out = format!("goos: {}\ngoarch: {}\npkg: pingpong\n", ipcost_sys::OS, goarch());
    for one in repetitions {
        let buffer = one.cell.options.server_buffer().unwrap_or(0);
        let _ = writeln!(
            out,
            "BenchmarkPingPong/transport={}/size={}/buffer={buffer} \t{:>8}\t{:>12.1} ns/op",
            one.cell.transport,
            one.cell.size,
            one.ops,
            one.wall_ns as f64 / one.ops as f64
        );
    }
    out
}

fn goarch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// A file a method, and the means.
fn bits(repetitions: &[Repetition]) -> String {
    let mut out = String::new();
    let rate = |one: &Repetition| one.ops as f64 * one.cell.size as f64 * 8.0 / seconds(one.wall_ns);
    let (mut methods, mut sizes) = (Vec::new(), Vec::new());
    for one in repetitions {
        if !methods.contains(&one.cell.transport) {
            methods.push(one.cell.transport.clone());
        }
        if !sizes.contains(&one.cell.size) {
            sizes.push(one.cell.size);
        }
    }
    let of = |method: &str, size: u64| -> Vec<f64> {
        let mine = repetitions.iter().filter(|one| one.cell.transport == method && one.cell.size == size);
        mine.map(rate).collect()
    };
    for method in &methods {
        let _ = writeln!(out, "# {method}.csv\nN,BS,BITS/S");
        for size in &sizes {
            for (number, bits_per_s) in (1..).zip(of(method, *size)) {
                let _ = writeln!(out, "{number},{size},{bits_per_s:.0}");
            }
        }
    }
    let _ = write!(out, "# mean Mbit/s\nBS");
    methods.iter().for_each(|method| out.push_str(&format!(",{method}")));
    out.push('\n');
    for size in &sizes {
        let _ = write!(out, "{size}");
        for method in &methods {
            let all = of(method, *size);
            let _ = write!(out, ",{:.6}", all.iter().sum::<f64>() / all.len().max(1) as f64 / 1e6);
        }
        out.push('\n');
    }
    out
}

/// Mean seconds of the sender, by size.
fn mean_seconds(repetitions: &[Repetition]) -> String {
    let mut out = format!("{:>8} {:>12} {:>12}\n", "bytes", "transport", "seconds");
    let mut done: Vec<(&str, u64)> = Vec::new();
    for one in repetitions {
        let key = (one.cell.transport.as_str(), one.cell.size);
        if done.contains(&key) {
            continue;
        }
        done.push(key);
        let same = repetitions.iter().filter(|other| (other.cell.transport.as_str(), other.cell.size) == key);
        let times: Vec<f64> = same.map(|other| seconds(other.sent_ns.unwrap_or(other.wall_ns))).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let _ = writeln!(out, "{:>8} {:>12} {mean:>12.6}", key.1, key.0);
    }
    out
}

/// What a round trip took, and how many there were in a second.
fn rates(repetitions: &[Repetition]) -> String {
    let mut out =
        format!("{:>8} {:>12} {:>14} {:>14}  transport\n", "bytes", "messages", "µs each", "a second");
    for one in repetitions {
        let each = one.wall_ns as f64 / one.ops as f64;
        let options = one.cell.options.iter().map(|(name, value)| format!(" {name}={value}"));
        let _ = writeln!(
            out,
            "{:>8} {:>12} {:>14.4} {:>14.0}  {}{}",
            one.cell.size,
            one.ops,
            each / 1e3,
            1e9 / each,
            one.cell.transport,
            options.collect::<String>()
        );
    }
    out
}

/// What `time`, the counter and `INFO commandstats` said.
fn redis(repetitions: &[Repetition]) -> String {
    let mut out = String::new();
    for one in repetitions {
        let (user, system) = (seconds(one.client.user_ns), seconds(one.client.sys_ns));
        let _ = writeln!(
            out,
            "{}, {}: {user:.3}u {system:.3}s {:.2} wall seconds; the counter rose by {}, as many as requests{}",
            one.cell.transport,
            counted(one.cell.concurrency, "client"),
            seconds(one.wall_ns),
            one.ops,
            one.incr_usec_per_call
                .map_or_else(String::new, |usec| format!("; cmdstat_incr:usec_per_call={usec:.2}"))
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repetition(transport: &str, size: u64) -> Repetition {
        let cell = serde_json::json!({"pattern": "stream", "transport": transport, "size": size, "reply": 0,
            "concurrency": 1, "speaks_first": "client", "options": {}});
        Repetition {
            cell: serde_json::from_value(cell).unwrap(),
            ops: 1_000,
            wall_ns: 500_000_000,
            sent_ns: Some(400_000_000),
            client: Usage { user_ns: 100_000_000, sys_ns: 50_000_000, ..Usage::default() },
            incr_usec_per_call: Some(1.234),
        }
    }

    #[test]
    fn every_output() {
        let all = [repetition("unix", 100), repetition("unix", 100), repetition("tcp", 100)];
        let shown: Vec<String> =
            Output::ALL.iter().map(|output| format!("== {output}\n{}", render(*output, &all))).collect();
        let shown = shown.concat().replace(goarch(), "ARCH").replace(std::env::consts::OS, "OS");
        insta::assert_snapshot!(shown);
    }
}
