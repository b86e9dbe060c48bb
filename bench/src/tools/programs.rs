//! Running the tools: servers of their own on free ports of loopback, client and server each on its processor of a pair.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::comparisons::ComparedFigure;
use crate::figures;
use crate::processes::{RunningChild, free_port, listens, on_processor, output_of, wait_for};
use crate::redis::PlainRedis;
use crate::socat::Transfer;
use xtask::shell::path_text;

/// Round trips of perf: about half a second on a quiet machine.
const ROUND_TRIPS: &str = "200000";
/// Requests of redis-benchmark, which times the whole in milliseconds.
const REQUESTS: &str = "100000";
/// Bytes of the long and of the short transfer by socat; the time is that of the difference, without socat's start.
const TRANSFERS: (u64, u64) = (2_000_000_000, 200_000_000);

/// A socket of sockperf.
pub enum SockperfSocket {
    Tcp,
    Udp,
    Unix,
}

/// The time of a round trip by `perf bench sched pipe`, both processes on the client's processor.
pub fn perf(place: (usize, usize)) -> Result<f64> {
    ensure!(place.0 == place.1, "perf does not place its two processes apart");
    figures::perf(&client(place, &["perf", "bench", "sched", "pipe", "-l", ROUND_TRIPS])?)
}

/// The time of a round trip by `sockperf pp`.
pub fn sockperf(
    place: (usize, usize),
    socket: SockperfSocket,
    size: u64,
    statistic: ComparedFigure,
) -> Result<f64> {
    let dir = TempDir::new()?;
    let path = dir.path().join("sockperf");
    let port = free_port()?;
    let port_text = port.to_string();
    let at = match socket {
        SockperfSocket::Tcp => vec!["--tcp", "--ip", "127.0.0.1", "--port", &port_text],
        SockperfSocket::Udp => vec!["--ip", "127.0.0.1", "--port", &port_text],
        SockperfSocket::Unix => vec!["--tcp", "--addr", path_text(&path)?],
    };
    let ready = || if matches!(socket, SockperfSocket::Unix) { path.exists() } else { listens(port) };
    let _server = server(place, &[&["sockperf", "sr"], at.as_slice()].concat(), ready)?;
    let size = size.to_string();
    let words = [&["sockperf", "pp"], at.as_slice(), &["-m", &size, "-t", "1", "--full-rtt"]].concat();
    let text = client(place, &words)?;
    match statistic {
        ComparedFigure::Mean => figures::sockperf_mean(&text),
        ComparedFigure::Median => figures::sockperf_median(&text),
    }
}

/// The time of a round trip by qperf's test `tcp_lat` or `udp_lat`.
pub fn qperf_latency(place: (usize, usize), test: &str, size: u64) -> Result<f64> {
    figures::qperf_latency(&qperf(place, test, size)?)
}

/// The time of a message by qperf's test `tcp_bw`.
pub fn qperf_stream(place: (usize, usize), size: u64) -> Result<f64> {
    figures::qperf_bandwidth(&qperf(place, "tcp_bw", size)?, size)
}

fn qperf(place: (usize, usize), test: &str, size: u64) -> Result<String> {
    let port = free_port()?;
    let (port_text, size) = (port.to_string(), size.to_string());
    let _server = server(place, &["qperf", "-lp", &port_text], || listens(port))?;
    // The unit is fixed with -uu, and six digits are printed.
    client(place, &["qperf", "127.0.0.1", "-lp", &port_text, "-t", "1", "-m", &size, "-e", "6", "-uu", test])
}

/// The time of a block by iperf3 over TCP, under a congestion control or the system's.
pub fn iperf3(place: (usize, usize), block: u64, congestion: Option<&str>) -> Result<f64> {
    let port = free_port()?;
    let (port_text, length) = (port.to_string(), block.to_string());
    let _server = server(place, &["iperf3", "-s", "-B", "127.0.0.1", "-p", &port_text], || listens(port))?;
    let mut words = vec!["iperf3", "-c", "127.0.0.1", "-p", &port_text, "-l", &length, "-t", "1", "-J"];
    words.extend(congestion.iter().flat_map(|name| ["-C", name]));
    figures::iperf3(&client(place, &words)?, block)
}

/// The time of a request by `redis-benchmark -t incr`. The counter begins at 1000000000, as in ipcost's cell.
pub fn redis_benchmark(place: (usize, usize), over_unix: bool) -> Result<f64> {
    let dir = TempDir::new()?;
    let redis = PlainRedis::start(dir.path(), Some(place.1))?;
    redis.ask(&["SET", "counter:__rand_int__", "1000000000"])?;
    let at = if over_unix { ["-s", redis.path()] } else { ["-p", redis.port()] };
    let words =
        [&["redis-benchmark"], &at[..], &["-c", "1", "-P", "1", "-n", REQUESTS, "-t", "incr", "--csv"]]
            .concat();
    figures::redis_benchmark(&client(place, &words)?)
}

/// The time that one more block takes two socats.
pub fn socat(place: (usize, usize), transport: &str, block: u64) -> Result<f64> {
    let dir = TempDir::new()?;
    let transfer = Transfer { dir: dir.path(), processors: Some(place), transport, block, nodelay: false };
    let (long, short) = TRANSFERS;
    let more = transfer.run(long)?.as_nanos() as f64 - transfer.run(short)?.as_nanos() as f64;
    Ok(more / ((long - short) as f64 / block as f64))
}

/// Starts a server on its processor and waits until it is ready.
fn server(place: (usize, usize), words: &[&str], ready: impl FnMut() -> bool) -> Result<RunningChild> {
    let mut command = on_processor(Some(place.1), words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null());
    let running = RunningChild::start(&mut command)?;
    wait_for(ready).with_context(|| words.join(" "))?;
    Ok(running)
}

/// Runs a client on its processor; the result is what it prints.
fn client(place: (usize, usize), words: &[&str]) -> Result<String> {
    output_of(Some(place.0), words)
}
