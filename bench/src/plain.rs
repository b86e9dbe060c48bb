//! The articles' methods by programs that know nothing of ipcost: those in `bench/plain`, real socat, a real
//! redis-server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ipcost_model::{Cell, PlannedCell, Wait, choices};
use tempfile::TempDir;

use crate::common::build_plain;
use crate::processes::on_processor;
use crate::redis::PlainRedis;
use crate::socat::Transfer;
use xtask::shell::{path_text, root, run, target};

/// A program's figures per operation, by the names that tests use.
pub type PlainFigures = BTreeMap<String, f64>;

/// Programs that are ready to run.
pub struct PlainPrograms {
    dir: TempDir,
    /// The processors of client and server; the scheduler's choice if `None`.
    processors: Option<(usize, usize)>,
    redis: Option<PlainRedis>,
}

impl PlainPrograms {
    /// Builds the programs for the cells of one experiment.
    pub fn of(cells: &[PlannedCell], processors: Option<(usize, usize)>) -> Result<Self> {
        let client = |names: &[&str]| cells.iter().any(|cell| names.contains(&cell.client.as_str()));
        let dir = TempDir::new()?;
        let c =
            |is_stream: bool| cells.iter().any(|cell| cell.client == "c" && streams(&cell.cell) == is_stream);
        if c(true) {
            build_plain("stream")?;
        }
        if c(false) {
            build_plain("ipc")?;
        }
        if client(&["native"]) {
            let source = root().join("bench/plain/pingpong.rs");
            let program = built("plain-pingpong-rust");
            run(&["rustc", "--edition", "2024", "-O", "-o", path_text(&program)?, path_text(&source)?])?;
        }
        if client(&["go"]) {
            let source = root().join("bench/plain/pingpong.go");
            run(&["go", "build", "-o", path_text(&built("plain-pingpong"))?, path_text(&source)?])?;
        }
        let redis = if client(&["redis", "redis-resolve"]) {
            build_plain("incr")?;
            Some(PlainRedis::start(dir.path(), processors.map(|(_, server)| server))?)
        } else {
            None
        };
        Ok(Self { dir, processors, redis })
    }

    /// The share of the article's count that is run, in words.
    pub fn fraction(cell: &PlannedCell) -> String {
        let cell_ = &cell.cell;
        match cell.client.as_str() {
            "c" if streams(cell_) => format!("1/{}", 1_000_000 / messages(cell_)),
            "c" => format!("{} round trips", ipc(cell_).map_or(0, |(_, rounds)| rounds)),
            "ruby-celluloid" => "2/5".to_owned(),
            "socat" => format!("1/{}", 2_000_000_000 / bytes(cell_)),
            "redis" | "redis-resolve" if cell_.concurrency > 1 => format!("1/{}", 500_000 / REQUESTS_OF_MANY),
            "redis" | "redis-resolve" => format!("1/{}", 1_000_000 / REQUESTS_OF_ONE),
            "native" => format!("{} round trips", pingpong(cell_).map_or(0, |(_, rounds)| rounds)),
            _ => format!("{ROUND_TRIPS} round trips"),
        }
    }

    /// Runs a cell's experiment once; `None` if no program here is equivalent.
    pub fn run(&self, planned: &PlannedCell) -> Result<Option<PlainFigures>> {
        let cell = &planned.cell;
        let text = |name: &str| Ok::<_, anyhow::Error>(path_text(&built(name))?.to_owned());
        let words = |all: &[&dyn ToString]| all.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        let own = planned.server == planned.client || planned.client == "redis-resolve";
        Ok(match planned.client.as_str() {
            _ if !own => None,
            "c" if !streams(cell) => {
                let Some((kind, rounds)) = ipc(cell) else { return Ok(None) };
                Some(figures(self.processors, &text("plain-ipc")?, &words(&[&kind, &cell.size, &rounds]))?)
            }
            "c" => {
                let buffer = cell.options.recv_buffer().unwrap_or_default();
                let cpu = |cpu: Option<usize>| cpu.map_or(-1, |cpu| cpu as i64);
                let (client, server) = self.processors.unzip();
                let (client, server) = (cpu(client), cpu(server));
                let nodelay = u8::from(cell.options.sets_nodelay(cell.pattern));
                let asked: [&dyn ToString; 7] =
                    [&cell.transport, &cell.size, &messages(cell), &buffer, &nodelay, &client, &server];
                Some(figures(None, &text("plain-stream")?, &words(&asked))?)
            }
            "native" => {
                let Some((kind, rounds)) = pingpong(cell) else { return Ok(None) };
                let program = text("plain-pingpong-rust")?;
                Some(figures(self.processors, &program, &words(&[&kind, &rounds]))?)
            }
            "go" => {
                let buffer = cell.options.server_buffer().unwrap_or_default();
                Some(figures(
                    self.processors,
                    &text("plain-pingpong")?,
                    &words(&[&cell.transport, &cell.size, &buffer, &ROUND_TRIPS]),
                )?)
            }
            "ruby-celluloid" => {
                let script = root().join("bench/plain/connect.rb");
                let asked: [&dyn ToString; 4] =
                    [&script.display(), &cell.transport, &cell.concurrency, &CONNECTIONS];
                Some(figures(self.processors, "ruby", &words(&asked))?)
            }
            "socat" => {
                // As in the ledger, socat's start-up is not part of a block's time.
                let long = bytes(cell);
                let short = long / SHORTER;
                let more =
                    self.socat(cell, long)?.as_nanos() as f64 - self.socat(cell, short)?.as_nanos() as f64;
                let blocks = (long - short) as f64 / cell.size as f64;
                Some(PlainFigures::from([("wall".to_owned(), more / blocks)]))
            }
            "redis" | "redis-resolve" if cell.pattern == ipcost_model::Pattern::Connect => {
                Some(self.increments(cell, planned.client == "redis-resolve")?)
            }
            _ => None,
        })
    }

    fn socat(&self, cell: &Cell, bytes: u64) -> Result<Duration> {
        Transfer {
            dir: self.dir.path(),
            processors: self.processors,
            transport: &cell.transport,
            block: cell.size,
            nodelay: cell.options.sets_nodelay(cell.pattern),
        }
        .run(bytes)
    }

    fn increments(&self, cell: &Cell, resolves: bool) -> Result<PlainFigures> {
        let redis = self.redis.as_ref().context("no redis-server")?;
        let kind = match (cell.transport.as_str(), resolves) {
            ("unix", _) => "unix",
            (_, true) => "resolve",
            _ => "tcp",
        };
        let place = if kind == "unix" { redis.path() } else { redis.port() };
        let each = if cell.concurrency > 1 { REQUESTS_OF_MANY } else { REQUESTS_OF_ONE };
        redis.ask(&["SET", "foo", "0"])?;
        redis.ask(&["CONFIG", "RESETSTAT"])?;
        let words = [kind.to_owned(), place.to_owned(), cell.concurrency.to_string(), each.to_string()];
        let mut found = figures(self.processors, path_text(&built("plain-incr"))?, &words)?;
        let counted: u64 = redis.ask(&["GET", "foo"])?.trim().parse()?;
        ensure!(counted == each * u64::from(cell.concurrency), "redis-server counted {counted} requests");
        let stats = redis.ask(&["INFO", "commandstats"])?;
        let incr =
            stats.lines().find(|line| line.starts_with("cmdstat_incr:")).context("no account of INCR")?;
        let usec = incr
            .split(',')
            .find_map(|word| word.strip_prefix("usec_per_call="))
            .context("no time of INCR")?;
        found.insert("incr_usec_per_call".to_owned(), usec.parse()?);
        Ok(found)
    }
}

/// Connections of each of the Ruby client's threads, of 10 000.
const CONNECTIONS: u64 = 4_000;
/// Round trips of the Go client; as many as `go test -bench` would take in a part of its second.
const ROUND_TRIPS: u64 = 4_000;
/// The same if both sides spin: a few tenths of a second.
const SPUN_ROUND_TRIPS: u64 = 1_000_000;
const REQUESTS_OF_ONE: u64 = 10_000;
const REQUESTS_OF_MANY: u64 = 1_000;

/// The Rust program's arguments: the transport and the number of rounds; `None` for cells not in the article.
fn pingpong(cell: &Cell) -> Option<(&'static str, u64)> {
    let spins = cell.wait() == Wait::Spin;
    Some(match cell.transport.as_str() {
        "shm-slot" if spins => ("shm", SPUN_ROUND_TRIPS),
        _ if spins => return None,
        "pipe" => ("pipe", ROUND_TRIPS),
        "udp" => ("udp", ROUND_TRIPS),
        "tcp" if cell.options.sets_nodelay(cell.pattern) => ("tcp-nodelay", ROUND_TRIPS),
        "tcp" => ("tcp", ROUND_TRIPS),
        _ => return None,
    })
}

/// Whether a cell is for the C program that streams, instead of the one that plays ping-pong.
fn streams(cell: &Cell) -> bool {
    cell.options.recv_buffer().is_some()
}

/// The arguments of the C program that plays ping-pong, as in [`pingpong`].
fn ipc(cell: &Cell) -> Option<(&str, u64)> {
    if cell.options.clock() != Some(choices::Clock::Each) {
        return None;
    }
    let with_signals = cell.options.pipe_calls() == Some(choices::PipeCalls::StdioSignals);
    match cell.transport.as_str() {
        "shm-slot" => (cell.wait() == Wait::Spin).then_some(("shm", SPUN_ROUND_TRIPS)),
        kind @ ("pipe" | "fifo") => with_signals.then_some((kind, ROUND_TRIPS)),
        kind => Some((kind, ROUND_TRIPS)),
    }
}

/// Messages of a stream: the published number of small ones, since buffers hold many, and a quarter of large ones.
fn messages(cell: &Cell) -> u64 {
    if cell.size < 16_384 { 1_000_000 } else { 250_000 }
}

/// The factor between the two socat streams.
const SHORTER: u64 = 10;

/// Bytes of a socat stream: about half a second, so that socat's start-up is a small part.
fn bytes(cell: &Cell) -> u64 {
    match cell.size {
        0..=100 => 40_000_000,
        101..=1_000 => 200_000_000,
        1_001..=10_000 => 1_000_000_000,
        _ => 2_000_000_000,
    }
}

fn built(name: &str) -> PathBuf {
    target().join(name)
}

/// A program's output: a name and a number per line.
fn figures(processors: Option<(usize, usize)>, program: &str, words: &[String]) -> Result<PlainFigures> {
    let (client, server) = processors.unzip();
    let mut command = on_processor(client, program);
    // Programs that start their own server place it there.
    command.env("SERVER_CPU", server.map_or_else(String::new, |cpu| cpu.to_string()));
    let output = command.args(words).output().with_context(|| format!("cannot start {program}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {}: {}", words.join(" "), complaint.trim());
    let line = |line: &str| {
        let (name, number) = line.split_once(' ')?;
        Some((name.to_owned(), number.trim().parse().ok()?))
    };
    let text = String::from_utf8(output.stdout)?;
    text.lines().map(line).collect::<Option<_>>().with_context(|| format!("{program} printed {text}"))
}
