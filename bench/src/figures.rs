//! The figures that tools print, as nanoseconds of one operation.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// `perf bench sched pipe`: the time of a round trip.
pub fn perf(text: &str) -> Result<f64> {
    let figure = text.lines().find_map(|line| line.trim().strip_suffix("usecs/op"));
    Ok(number(figure.with_context(|| odd("time", text))?)? * 1e3)
}

/// `sockperf pp --full-rtt`: the mean round trip.
pub fn sockperf_mean(text: &str) -> Result<f64> {
    sockperf(text, "Summary: Round trip is ", " usec")
}

/// `sockperf pp --full-rtt`: the median round trip.
pub fn sockperf_median(text: &str) -> Result<f64> {
    sockperf(text, "percentile 50.000 =", "")
}

fn sockperf(text: &str, before: &str, after: &str) -> Result<f64> {
    let found = text.lines().find_map(|line| line.split_once(before)?.1.strip_suffix(after));
    Ok(number(found.with_context(|| odd("round trip", text))?)? * 1e3)
}

/// `qperf -uu tcp_lat` or `udp_lat`: the round trip, of which qperf shows half.
pub fn qperf_latency(text: &str) -> Result<f64> {
    Ok(qperf(text, "latency", "ns")? * 2.0)
}

/// `qperf -uu tcp_bw`: the time of one message.
pub fn qperf_bandwidth(text: &str, size: u64) -> Result<f64> {
    Ok(size as f64 / qperf(text, "bw", "bytes/sec")? * 1e9)
}

fn qperf(text: &str, name: &str, unit: &str) -> Result<f64> {
    let found = text.lines().find_map(|line| {
        let (before, figure) = line.split_once('=')?;
        (before.trim() == name).then_some(figure.trim())
    });
    let figure = found.with_context(|| odd(name, text))?;
    let digits = figure.strip_suffix(unit);
    number(digits.with_context(|| format!("the {name} is not in {unit}: {figure}"))?)
}

/// `iperf3 -J`: the time of one block, at the receiver.
pub fn iperf3(text: &str, block: u64) -> Result<f64> {
    let document: Value = serde_json::from_str(text).with_context(|| odd("JSON", text))?;
    if let Some(error) = document["error"].as_str() {
        bail!("{error}");
    }
    let received = &document["end"]["sum_received"];
    let figure = |name: &str| received[name].as_f64().with_context(|| format!("no {name} received"));
    let bytes = figure("bytes")?;
    ensure!(bytes > 0.0, "nothing was received");
    Ok(figure("seconds")? * 1e9 / (bytes / block as f64))
}

/// `redis-benchmark --csv` with one test: the time of one request.
pub fn redis_benchmark(text: &str) -> Result<f64> {
    // The header is a line of the same form.
    let rate = text.lines().skip(1).find_map(|line| line.strip_prefix('"')?.split("\",\"").nth(1));
    per_second(rate.with_context(|| odd("rate", text))?)
}

/// `pgbench`: the time of one transaction, with that of its connection under `-C`.
pub fn pgbench(text: &str) -> Result<f64> {
    let rate = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next());
    per_second(rate.with_context(|| odd("tps", text))?)
}

/// `h2load`: the time of one request, if all succeeded.
pub fn h2load(text: &str) -> Result<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("finished in "));
    let rate = line.and_then(|line| line.split(", ").find_map(|part| part.strip_suffix(" req/s")));
    let succeeded = text.contains(" 0 failed, 0 errored, 0 timeout");
    ensure!(succeeded, "requests failed: {}", odd("success", text));
    per_second(rate.with_context(|| odd("rate", text))?)
}

/// `sysbench`: the time of one event of a script.
pub fn sysbench(text: &str) -> Result<f64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("transactions:"));
    let rate = line.and_then(|line| line.split_once('(')?.1.split(' ').next());
    per_second(rate.with_context(|| odd("rate of transactions", text))?)
}

fn per_second(rate: &str) -> Result<f64> {
    Ok(1e9 / number(rate)?)
}

fn number(text: &str) -> Result<f64> {
    text.trim().parse().with_context(|| format!("not a number: {text}"))
}

/// The complaint about output without the figure: its last line says most.
fn odd(what: &str, text: &str) -> String {
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    format!("it printed no {what}: {}", last.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    // What the tools printed, shortened: perf 6.1, sockperf 3.7, qperf 0.4.11, iperf3 3.12, redis-benchmark 7.0,
    // pgbench 15.18, sysbench 1.0.20, h2load 1.52.

    #[test]
    fn perf_prints_microseconds_of_a_round_trip() {
        let text = "# Running 'sched/pipe' benchmark:\n# Executed 100000 pipe operations between two processes\n\n     \
                    Total time: 1.156 [sec]\n\n      11.565280 usecs/op\n          86465 ops/sec\n";
        let round_trip_ns = perf(text).unwrap();
        assert!((round_trip_ns - 11_565.28).abs() < 1e-6, "{round_trip_ns}");
    }

    #[test]
    fn sockperf_prints_microseconds_of_mean_and_percentiles() {
        let text = "sockperf: \u{1b}[2;35m====> avg-rtt=21437.911 (std-dev=52550.186)\u{1b}[0m\n\
                    sockperf: Summary: Round trip is 21437.911 usec\n\
                    sockperf: ---> percentile 75.000 = 6494.264\n\
                    sockperf: ---> percentile 50.000 = 3520.701\n\
                    sockperf: ---> percentile 25.000 =  245.171\n";
        assert_eq!(sockperf_mean(text).unwrap(), 21_437_911.0);
        assert_eq!(sockperf_median(text).unwrap(), 3_520_701.0);
    }

    #[test]
    fn sockperf_without_a_figure_is_an_error_with_its_words() {
        let text = "sockperf: ========= Printing statistics for Server No: 0\n\
                    sockperf: No valid observations found. Try tune parameters: --time/--mps/--reply-every\n";
        let error = sockperf_mean(text).unwrap_err().to_string();
        assert!(error.contains("No valid observations found"), "{error}");
    }

    #[test]
    fn qperf_prints_half_a_round_trip() {
        assert_eq!(qperf_latency("tcp_lat:\n    latency  =  41166.6 ns\n").unwrap(), 82_333.2);
    }

    #[test]
    fn qperf_prints_bytes_in_a_second() {
        let text = "tcp_bw:\n    bw  =  19065018 bytes/sec\n";
        let each = qperf_bandwidth(text, 65_536).unwrap();
        assert!((each - 3_437_500.4).abs() < 1.0, "{each}");
    }

    #[test]
    fn qperf_in_another_unit_is_an_error() {
        let error = qperf_latency("tcp_lat:\n    latency   =    3.72 ms\n").unwrap_err().to_string();
        assert!(error.contains("not in ns: 3.72 ms"), "{error}");
    }

    #[test]
    fn iperf3_counts_what_was_received() {
        let text = r#"{"end": {"sum_sent": {"start": 0, "end": 1.202198, "seconds": 1.202198, "bytes": 83230720},
            "sum_received": {"start": 0, "end": 1.202824, "seconds": 1.202824, "bytes": 83230720}}}"#;
        let each = iperf3(text, 65_536).unwrap();
        assert!((each - 947_105.0).abs() < 1.0, "{each}");
    }

    #[test]
    fn iperf3_tells_what_failed() {
        let text = r#"{"start": {}, "error": "unable to connect to server: Connection refused"}"#;
        assert!(iperf3(text, 65_536).unwrap_err().to_string().contains("Connection refused"));
    }

    #[test]
    fn redis_benchmark_prints_requests_in_a_second() {
        let text = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\"\n\
                    \"INCR\",\"1675.04\",\"0.574\",\"0.024\",\"0.039\"\n";
        let each = redis_benchmark(text).unwrap();
        assert!((each - 597_000.7).abs() < 1.0, "{each}");
    }

    #[test]
    fn a_command_of_several_words_has_a_rate_too() {
        let text = "\"test\",\"rps\"\n\"GET ipcost:typical\",\"72254.34\",\"0.012\"\n";
        let each = redis_benchmark(text).unwrap();
        assert!((each - 13_840.0).abs() < 1.0, "{each}");
        assert!(redis_benchmark("\"test\",\"rps\"\n").unwrap_err().to_string().contains("printed no rate"));
    }

    #[test]
    fn pgbench_prints_transactions_in_a_second() {
        let text = "latency average = 2.922 ms\naverage connection time = 2.690 ms\n\
                    tps = 342.225883 (including reconnection times)\n";
        let each = pgbench(text).unwrap();
        assert!((each - 2_922_046.9).abs() < 1.0, "{each}");
    }

    #[test]
    fn h2load_prints_requests_in_a_second_and_what_failed() {
        let text = "finished in 450.88ms, 44358.00 req/s, 183.47MB/s\n\
                    requests: 20000 total, 20000 started, 20000 done, 20000 succeeded, 0 failed, 0 errored, 0 timeout\n";
        let each = h2load(text).unwrap();
        assert!((each - 22_543.8).abs() < 1.0, "{each}");
        let failed = text.replace("0 errored", "3 errored");
        assert!(h2load(&failed).unwrap_err().to_string().contains("3 errored"));
    }

    #[test]
    fn sysbench_prints_transactions_in_a_second() {
        let text = "SQL statistics:\n    transactions:                        20000  (60832.39 per sec.)\n\
                    \x20   queries:                             20000  (60832.39 per sec.)\n";
        let each = sysbench(text).unwrap();
        assert!((each - 16_438.6).abs() < 1.0, "{each}");
    }
}
