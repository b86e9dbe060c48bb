//! What the benches share: cells measured by ipcost, and plain programs that take turns with them.
//!
//! In every epoch there are fresh processes on both sides, in every round a fresh random order; the intervals are the tool's
//! own, over epochs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ipcost_lab::bench::{BatchKind, Bench};
use ipcost_lab::{PeerProgram, PlanSettings, ProcessBench, plan};
use ipcost_model::protocol::LatencyKind;
use ipcost_model::{Offers, Placement, expand, parse_job};
use ipcost_stats::{Histogram, Interval, Random, epoch_interval, median};
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::placement::Topology;
use ipcost_sys::transport;

use xtask::shell::{path_text, root, run, run_command, target};

/// Cells measured by ipcost's own method: by its peers, over the control protocol.
pub struct BenchCells {
    pub bench: ProcessBench,
    all: Vec<usize>,
    epoch: u32,
}

impl BenchCells {
    /// The cells of a job, with the command of every peer but the native one.
    pub fn new(job: &str, peers: &[(&str, Vec<String>)]) -> Result<Self> {
        let job = parse_job(job).map_err(|error| anyhow::anyhow!("{error}"))?;
        let transports = transport::states();
        let offers = Offers {
            transports: &transports,
            placements_unavailable: &[],
            peers: &[],
            lacks: Offers::LACKS_NOTHING,
        };
        let plan = plan(expand(&job, &offers)?, &PlanSettings::of(&job, 1))?;
        let ipcost = path_text(&ipcost())?.to_owned();
        let mut programs = vec![PeerProgram::new("native", vec![ipcost.clone(), "peer".to_owned()])];
        programs.extend(peers.iter().map(|(name, command)| PeerProgram::new(*name, command.clone())));
        let all = plan.measurable().collect();
        let guard = [ipcost, "guard".to_owned()];
        Ok(Self { bench: ProcessBench::new(&plan, programs, &guard, Interrupt::never()?)?, all, epoch: 0 })
    }

    /// Starts fresh processes for every cell.
    pub fn start_epoch(&mut self) -> Result<()> {
        self.epoch += 1;
        Ok(self.bench.start_epoch(self.epoch, &self.all)?)
    }

    /// The elapsed time of a batch after a lead-in, nanoseconds per operation.
    pub fn measure(&mut self, cell: usize, lead_in: u64, ops: u64) -> Result<f64> {
        self.bench.batch(cell, lead_in, BatchKind::Plain)?;
        Ok(self.bench.batch(cell, ops, BatchKind::Plain)?.wall_ns as f64 / ops as f64)
    }

    /// The latencies of a batch's operations, nanoseconds, after a warm-up batch.
    pub fn latencies(&mut self, cell: usize, warm: u64, ops: u64) -> Result<Histogram> {
        self.bench.batch(cell, warm, BatchKind::Plain)?;
        let mut latencies = self.bench.batch(cell, ops, BatchKind::Latency)?.latencies;
        latencies.remove(&LatencyKind::Latency).context("a batch told no latencies")
    }

    /// The same at the pace of the cell.
    pub fn paced(&mut self, cell: usize, warm: u64, ops: u64) -> Result<Histogram> {
        self.bench.batch(cell, warm, BatchKind::Paced(1))?;
        let mut latencies = self.bench.batch(cell, ops, BatchKind::Paced(2))?.latencies;
        latencies.remove(&LatencyKind::Latency).context("a batch told no latencies")
    }

    /// Where a cell's buffers begin in this epoch, as plain programs take it in `OFFSETS`.
    pub fn offsets(&self, cell: usize) -> String {
        let layout = self.bench.layout_of(cell).unwrap_or_default();
        let places = [layout.client, layout.server].map(|side| {
            side.map_or_else(|| "16 16".to_owned(), |at| format!("{} {}", at.send_offset, at.recv_offset))
        });
        format!("{} {} {}", places[0], places[1], layout.ring_offset.unwrap_or(0))
    }

    pub fn end_epoch(&mut self) -> Result<()> {
        Ok(self.bench.end_epoch()?)
    }
}

/// Logarithms of measurements, by subject and contender: for each epoch, those of its rounds.
#[derive(Default)]
pub struct BenchRecord(BTreeMap<(usize, usize), Vec<Vec<f64>>>);

impl BenchRecord {
    /// Opens the next epoch.
    pub fn add(&mut self, subject: usize, contender: usize, epoch: usize, cost: f64) {
        let epochs = self.0.entry((subject, contender)).or_default();
        epochs.resize(epoch + 1, Vec::new());
        epochs[epoch].push(cost.ln());
    }

    /// One contender's cost over another's, as logarithms: the difference in each round, its median in each epoch.
    pub fn ratio(&self, subject: usize, a: usize, b: usize, alpha: f64) -> Option<Interval> {
        Some(epoch_interval(&self.log_ratios(subject, a, b), alpha)?.interval)
    }

    /// The same, epoch by epoch.
    pub fn log_ratios(&self, subject: usize, a: usize, b: usize) -> Vec<f64> {
        let (Some(a), Some(b)) = (self.0.get(&(subject, a)), self.0.get(&(subject, b))) else {
            return Vec::new();
        };
        let of_epoch =
            |(a, b): (&Vec<f64>, &Vec<f64>)| median(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>());
        a.iter().zip(b).filter_map(of_epoch).collect()
    }

    /// A contender's cost: the median over epochs of each epoch's median.
    pub fn cost(&self, subject: usize, contender: usize) -> Option<f64> {
        let epochs = self.0.get(&(subject, contender))?.iter();
        Some(median(&epochs.filter_map(|rounds| median(rounds)).collect::<Vec<_>>())?.exp())
    }
}

/// Some work over a transport, by plain programs and by peers.
#[derive(Clone)]
pub struct BenchSubject {
    pub pattern: &'static str,
    pub transport: &'static str,
    pub size: u64,
    pub placement: Placement,
    /// Operations that are not timed, before those that are.
    pub lead_in: u64,
    pub ops: u64,
    /// The pause before each operation; 0 for none.
    pub pause_ns: u64,
}

impl BenchSubject {
    /// One operation back to back, until it is calibrated.
    pub fn new(pattern: &'static str, transport: &'static str, size: u64, placement: Placement) -> Self {
        Self { pattern, transport, size, placement, lead_in: 1, ops: 1, pause_ns: 0 }
    }

    /// The numbers that a plain program of `bench/plain` prints of it, under these settings of its environment.
    pub fn plain(&self, program: &Path, settings: &[(&str, &str)], more: &[&str]) -> Result<Vec<f64>> {
        let (client, server) = processors(self.placement)?;
        let counts = [self.size, self.lead_in, self.ops, client as u64, server as u64];
        let counts = counts.map(|count| count.to_string());
        let mut words = vec![path_text(program)?, self.pattern, self.transport];
        words.extend(counts.iter().map(String::as_str).chain(more.iter().copied()));
        let mut program = xtask::shell::command(&words);
        program.env("PAUSE_NS", self.pause_ns.to_string()).envs(settings.iter().copied());
        let output = program.output().with_context(|| words.join(" "))?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "failed: {} with {settings:?}: {}",
            words.join(" "),
            complaint.trim()
        );
        let text = String::from_utf8(output.stdout)?;
        text.split_whitespace()
            .map(|word| word.parse().with_context(|| format!("not a number: {word}")))
            .collect()
    }
}

/// Lets every contender of every subject measure once per round, in a fresh random order.
pub fn interleave(
    contenders: &[usize],
    random: &mut Random,
    mut measure: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let all = contenders.iter().enumerate();
    let mut order: Vec<(usize, usize)> =
        all.flat_map(|(subject, count)| (0..*count).map(move |contender| (subject, contender))).collect();
    random.shuffle(&mut order);
    order.into_iter().try_for_each(|(subject, contender)| measure(subject, contender))
}

/// A ratio with its interval, from logarithms.
pub fn ratio_text(interval: &Interval) -> (String, String) {
    let bounds =
        interval.bounds.map_or_else(|| "–".to_owned(), |(lo, hi)| format!("{:.3}–{:.3}", lo.exp(), hi.exp()));
    (format!("{:.3}", interval.median.exp()), bounds)
}

/// The processors of client and server in a placement.
pub fn processors(placement: Placement) -> Result<(usize, usize)> {
    let pair = Topology::read().pair(placement)?;
    pair.context("the scheduler decides where free cells run")
}

/// The program as users build it.
pub fn ipcost() -> PathBuf {
    target().join("release/ipcost")
}

/// Builds the program as users do.
pub fn build_ipcost() -> Result<()> {
    run(&["cargo", "build", "--release", "--quiet", "--package", "ipcost"])
}

pub fn build_c_peer() -> Result<PathBuf> {
    let peer = target().join("ipcost-peer-c");
    let script = format!("cc -std=c11 -O2 -pthread -o '{}' *.c", peer.display());
    in_dir(&root().join("crates/ipcost-foreign/peers/c"), &["sh", "-c", &script])?;
    Ok(peer)
}

/// Builds a plain program of `bench/plain`.
pub fn build_plain(name: &str) -> Result<PathBuf> {
    let program = target().join(format!("plain-{name}"));
    let source = root().join(format!("bench/plain/{name}.c"));
    run(&["cc", "-O2", "-Wall", "-o", path_text(&program)?, path_text(&source)?])?;
    Ok(program)
}

fn in_dir(dir: &Path, words: &[&str]) -> Result<()> {
    let mut command = xtask::shell::command(words);
    command.current_dir(dir);
    run_command(command, words)
}

/// What the program prints as JSON. It knows nothing of the runs that the user has saved.
pub fn ipcost_json(command: &str, words: &[&str]) -> Result<Vec<u8>> {
    let (program, nothing_saved) = (ipcost(), tempfile::tempdir()?);
    let words = [&[path_text(&program)?, command, "--json", "-"], words].concat();
    let output = xtask::shell::command(&words).env("IPCOST_DATA_DIR", nothing_saved.path()).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(output.stdout)
}

/// Runs a job as a user does; gives the document as JSON.
pub fn ipcost_run(job: &str, options: &[&str]) -> Result<Vec<u8>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("job.toml");
    std::fs::write(&path, job)?;
    ipcost_json("run", &[&[path_text(&path)?, "--quiet", "--no-save"], options].concat())
}
