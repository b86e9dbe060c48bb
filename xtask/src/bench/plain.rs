//! The articles' methods by programs that know nothing of ipcost: those in `xtask/plain`, real socat, a real
//! redis-server.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ipcost_model::{Cell, PlannedCell, Wait};
use tempfile::TempDir;

use super::build_plain;
use crate::shell::{path_text, root, run, target};

/// A program's figures per operation, by the names that tests use.
pub type Figures = BTreeMap<String, f64>;

/// How long to wait for a program to start listening.
const PATIENCE: Duration = Duration::from_secs(10);

/// Programs that are ready to run.
pub struct Programs {
    dir: TempDir,
    /// The processors of client and server; the scheduler's choice if `None`.
    processors: Option<(usize, usize)>,
    redis: Option<Redis>,
}

impl Programs {
    /// Builds the programs for the cells of one experiment.
    ///
    /// # Errors
    /// If something cannot be built or started.
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
            let source = root().join("xtask/plain/pingpong.rs");
            let program = built("plain-pingpong-rust");
            run(&["rustc", "--edition", "2024", "-O", "-o", path_text(&program)?, path_text(&source)?])?;
        }
        if client(&["go"]) {
            let source = root().join("xtask/plain/pingpong.go");
            run(&["go", "build", "-o", path_text(&built("plain-pingpong"))?, path_text(&source)?])?;
        }
        let redis = if client(&["redis", "redis-resolve"]) {
            build_plain("incr")?;
            Some(Redis::start(dir.path(), processors)?)
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
    ///
    /// # Errors
    /// If a program fails.
    pub fn run(&self, planned: &PlannedCell) -> Result<Option<Figures>> {
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
                let buffer = cell.options.int("recv_buffer").unwrap_or_default();
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
                let buffer = cell.options.int("server_buffer").unwrap_or_default();
                Some(figures(
                    self.processors,
                    &text("plain-pingpong")?,
                    &words(&[&cell.transport, &cell.size, &buffer, &ROUND_TRIPS]),
                )?)
            }
            "ruby-celluloid" => {
                let script = root().join("xtask/plain/connect.rb");
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
                Some(Figures::from([("wall".to_owned(), more / blocks)]))
            }
            "redis" | "redis-resolve" if cell.pattern == ipcost_model::Pattern::Connect => {
                let redis = self.redis.as_ref().context("no redis-server")?;
                Some(redis.increments(cell, planned.client == "redis-resolve")?)
            }
            _ => None,
        })
    }

    /// Two socat processes; the time is the sender's and then the receiver's.
    fn socat(&self, cell: &Cell, bytes: u64) -> Result<Duration> {
        let place = self.dir.path().join("socat");
        let place = path_text(&place)?;
        let _ = std::fs::remove_file(place);
        let port = free_port()?;
        let (from, to) = match cell.transport.as_str() {
            "pipe" => ("STDIN".to_owned(), "STDOUT".to_owned()),
            "fifo" => (format!("OPEN:{place},rdonly"), format!("OPEN:{place},wronly")),
            "unix" => (format!("UNIX-LISTEN:{place}"), format!("UNIX:{place}")),
            "tcp" => (format!("TCP-LISTEN:{port},reuseaddr,bind=127.0.0.1"), format!("TCP:127.0.0.1:{port}")),
            other => bail!("socat knows no {other}"),
        };
        let nodelay = if cell.options.sets_nodelay(cell.pattern) { ",nodelay" } else { "" };
        let block = cell.size.to_string();
        let (client, server) = self.processors.unzip();
        let socat = |cpu: Option<usize>, from: &str, to: &str| {
            let mut command = on_processor(cpu, "socat");
            command.args(["-u", "-b", &block, from, to]).stdin(Stdio::null());
            command
        };
        let source = format!("OPEN:/dev/zero,readbytes={bytes}");
        let mut sender = socat(client, &source, &format!("{to}{nodelay}"));
        let mut receiver = socat(server, &from, "OPEN:/dev/null,wronly");
        let (began, mut sender, mut receiver) = if cell.transport == "pipe" {
            let began = Instant::now();
            let mut sender = sender.stdout(Stdio::piped()).spawn().context("cannot start socat")?;
            let pipe = sender.stdout.take().context("no pipe")?;
            (began, sender, receiver.stdin(pipe).spawn()?)
        } else {
            if cell.transport == "fifo" {
                run_quietly(Command::new("mkfifo").arg(place))?;
            }
            let receiver = receiver.spawn().context("cannot start socat")?;
            match cell.transport.as_str() {
                "unix" => wait_for(|| Path::new(place).exists())?,
                "tcp" => wait_for(|| listens(port))?,
                _ => {}
            }
            let began = Instant::now();
            (began, sender.spawn()?, receiver)
        };
        // This process has closed its end of the pipe: only the receiver has it.
        let ended = [sender.wait()?, receiver.wait()?];
        let took = began.elapsed();
        ensure!(ended.iter().all(|status| status.success()), "socat failed over {}", cell.transport);
        Ok(took)
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
    cell.options.int("recv_buffer").is_some()
}

/// The arguments of the C program that plays ping-pong, as in [`pingpong`].
fn ipc(cell: &Cell) -> Option<(&str, u64)> {
    if cell.options.text("clock") != Some("each") {
        return None;
    }
    let with_signals = cell.options.text("pipe_calls") == Some("stdio-signals");
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

fn run_quietly(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// A program's output: a name and a number per line.
fn figures(processors: Option<(usize, usize)>, program: &str, words: &[String]) -> Result<Figures> {
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

/// A command that runs on one processor, or wherever the scheduler puts it.
fn on_processor(cpu: Option<usize>, program: &str) -> Command {
    match cpu {
        None => Command::new(program),
        Some(cpu) => {
            let mut command = Command::new("taskset");
            command.args(["-c", &cpu.to_string(), program]);
            command
        }
    }
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Whether a program listens on a loopback port, without a connection attempt.
fn listens(port: u16) -> bool {
    let wanted = format!(":{port:04X} 00000000:0000 0A");
    std::fs::read_to_string("/proc/net/tcp").is_ok_and(|text| text.contains(&wanted))
}

fn wait_for(mut is_so: impl FnMut() -> bool) -> Result<()> {
    let began = Instant::now();
    while !is_so() {
        ensure!(began.elapsed() < PATIENCE, "nothing listens after {} s", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// A private redis-server on a port and on a path.
struct Redis {
    processors: Option<(usize, usize)>,
    server: Child,
    path: String,
    port: String,
}

impl Redis {
    fn start(dir: &Path, processors: Option<(usize, usize)>) -> Result<Self> {
        let path = path_text(&dir.join("redis"))?.to_owned();
        let port = free_port()?.to_string();
        let server = on_processor(processors.map(|(_, server)| server), "redis-server")
            .args(["--port", &port, "--bind", "127.0.0.1", "--unixsocket", &path])
            .args(["--save", "", "--appendonly", "no", "--dir", path_text(dir)?])
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start redis-server")?;
        let redis = Self { processors, server, path, port };
        wait_for(|| redis.ask(&["PING"]).is_ok_and(|reply| reply.trim() == "PONG"))?;
        Ok(redis)
    }

    fn ask(&self, words: &[&str]) -> Result<String> {
        let output = Command::new("redis-cli").args(["-s", &self.path]).args(words).output()?;
        ensure!(output.status.success(), "redis-cli: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    fn increments(&self, cell: &Cell, resolves: bool) -> Result<Figures> {
        let kind = match (cell.transport.as_str(), resolves) {
            ("unix", _) => "unix",
            (_, true) => "resolve",
            _ => "tcp",
        };
        let place = if kind == "unix" { &self.path } else { &self.port };
        let each = if cell.concurrency > 1 { REQUESTS_OF_MANY } else { REQUESTS_OF_ONE };
        self.ask(&["SET", "foo", "0"])?;
        self.ask(&["CONFIG", "RESETSTAT"])?;
        let words = [kind.to_owned(), place.clone(), cell.concurrency.to_string(), each.to_string()];
        let mut found = figures(self.processors, path_text(&built("plain-incr"))?, &words)?;
        let counted: u64 = self.ask(&["GET", "foo"])?.trim().parse()?;
        ensure!(counted == each * u64::from(cell.concurrency), "redis-server counted {counted} requests");
        let stats = self.ask(&["INFO", "commandstats"])?;
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

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
