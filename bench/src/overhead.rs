//! The measured loops against the bare system calls: docs/performance.md.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use ipcost_model::Placement;
use ipcost_stats::Random;

use crate::common::{
    BenchCells, BenchRecord, build_c_peer, build_ipcost, build_plain, interleave, numbers, processors,
    ratio_text,
};
use xtask::dist;
use xtask::shell::path_text;

/// The loops that are compared.
const LOOPS: [(&str, u64); 5] =
    [("rr", 64), ("rr", 16_384), ("stream", 64), ("stream", 65_536), ("connect", 64)];
const TRANSPORTS: [&str; 3] = ["pipe", "unix", "tcp"];
/// Loops that only the native peer has: the bare program's word and the options for it. The second is not measured on
/// one core, where the scheduler decides how long it spins.
const RINGS: [(&str, &str); 2] = [("shm", ""), ("shm-spin", "options = { wait = \"spin\" }\n")];
const PLACEMENTS: [Placement; 2] = [Placement::Together, Placement::Apart];
/// The upper end that no interval should exceed.
const AIM: f64 = 1.03;
/// The target lengths of a batch and its lead-in.
const BATCH: Duration = Duration::from_millis(25);
const LEAD_IN: Duration = Duration::from_millis(5);
/// Batches of each contender in an epoch.
const ROUNDS: usize = 2;
/// The probability that any of a column's intervals misses.
const ALPHA: f64 = 0.05;
const CONTENDERS: [&str; 3] = ["bare", "native", "c"];
/// The native peer of the packaged binary, in place of the C peer.
const STATIC: &str = "static";

/// One loop over one transport in one placement.
struct LoopSubject {
    name: String,
    words: [String; 3],
    placement: Placement,
    lead_in: u64,
    ops: u64,
    /// The peers to compare with the bare program.
    peers: &'static [&'static str],
}

impl LoopSubject {
    fn new(pattern: &str, transport: &str, size: u64, placement: Placement) -> Self {
        Self {
            name: format!("{pattern}/{transport}/{size}/{placement}"),
            words: [pattern.to_owned(), transport.to_owned(), size.to_string()],
            placement,
            lead_in: 1,
            ops: 1,
            // The C peer has no rings.
            peers: if transport.starts_with("shm") { &CONTENDERS[1..2] } else { &CONTENDERS[1..] },
        }
    }

    fn is_ring(&self) -> bool {
        self.words[1].starts_with("shm")
    }
}

/// Compares the loops of the native peer and of the C peer with a program that makes only the same system calls, in
/// two forked processes.
///
/// # Errors
/// If something cannot be built or measured. Missing the aim is not an error: it is a figure.
pub fn bench(epochs: usize, only: &[&str]) -> Result<()> {
    let (subjects, record) = measured(subjects(), epochs, only, false)?;
    show(&subjects, &record, &meets_aim);
    Ok(())
}

fn meets_aim((_, hi): (f64, f64)) -> &'static str {
    if hi <= AIM { "met" } else { "missed" }
}

/// Compares the native peer of the static binary that is packaged with that of the usual build, which takes its library
/// of C from the system.
pub fn packaged(epochs: usize, only: &[&str]) -> Result<()> {
    const PEERS: [&str; 2] = ["native", STATIC];
    let mut all = subjects();
    for subject in &mut all {
        subject.peers = &PEERS;
    }
    let (subjects, record) = measured(all, epochs, only, false)?;
    let alpha = ALPHA / subjects.len() as f64;
    println!("{:<28} {:>13}  {:<15} aim", "", "static/native", "interval");
    for (index, subject) in subjects.iter().enumerate() {
        let Some(found) = record.ratio(index, 2, 1, alpha) else { continue };
        let aim = found.bounds.map_or("open", |(lo, hi)| meets_aim((lo.exp(), hi.exp())));
        let (ratio, bounds) = ratio_text(&found);
        println!("{:<28} {ratio:>13}  {bounds:<15} {aim}", subject.name);
    }
    Ok(())
}

/// Streams of sizes at which layouts matter, against bare programs that draw where their buffers begin by themselves.
pub fn streams(epochs: usize, only: &[&str]) -> Result<()> {
    const SIZES: [u64; 7] = [4096, 4097, 16_385, 32_768, 32_769, 65_536, 1 << 20];
    const FARTHEST: (f64, f64) = (0.85, 1.15);
    let mut subjects = Vec::new();
    for placement in PLACEMENTS {
        for transport in ["unix", "tcp"] {
            subjects.extend(SIZES.map(|size| LoopSubject::new("stream", transport, size, placement)));
        }
    }
    let (subjects, record) = measured(subjects, epochs, only, true)?;
    let is_far = |(lo, hi): (f64, f64)| hi < FARTHEST.0 || lo > FARTHEST.1;
    let is_near = |(lo, hi): (f64, f64)| FARTHEST.0 <= lo && hi <= FARTHEST.1;
    show(&subjects, &record, &|bounds| match (is_far(bounds), is_near(bounds)) {
        (true, _) => "missed",
        (_, true) => "met",
        _ => "open",
    });
    let alpha = ALPHA / subjects.len() as f64;
    let far = |index: &usize| {
        let bounds = record.ratio(*index, 1, 0, alpha).and_then(|found| found.bounds);
        bounds.is_some_and(|(lo, hi)| is_far((lo.exp(), hi.exp())))
    };
    let wrong: Vec<&str> =
        (0..subjects.len()).filter(far).map(|index| subjects[index].name.as_str()).collect();
    ensure!(wrong.is_empty(), "over 15 % from the bare program: {}", wrong.join(", "));
    Ok(())
}

/// Measures the loops by turns; with `draws`, bare programs draw their layouts by themselves.
fn measured(
    mut subjects: Vec<LoopSubject>,
    epochs: usize,
    only: &[&str],
    draws: bool,
) -> Result<(Vec<LoopSubject>, BenchRecord)> {
    if cfg!(not(target_os = "linux")) {
        bail!("the bare program is written for Linux");
    }
    build_ipcost()?;
    let (bare, ring, c) = (build_plain("bare")?, build_plain("ring")?, build_c_peer()?);
    let of = |subject: &LoopSubject| if subject.is_ring() { &ring } else { &bare };
    subjects.retain(|subject| only.is_empty() || only.iter().any(|part| subject.name.contains(part)));
    ensure!(!subjects.is_empty(), "no loop is called {}", only.join(" or "));
    for subject in &mut subjects {
        calibrate(of(subject), subject)?;
    }
    let mut peers = vec![("c", vec![path_text(&c)?.to_owned()])];
    if subjects.iter().any(|subject| subject.peers.contains(&STATIC)) {
        peers = vec![(STATIC, vec![path_text(&dist::static_binary()?)?.to_owned(), "peer".to_owned()])];
    }
    let mut cells = BenchCells::new(&job(&subjects), &peers)?;
    let mut order: Vec<(usize, usize)> = (0..subjects.len())
        .flat_map(|subject| (0..=subjects[subject].peers.len()).map(move |contender| (subject, contender)))
        .collect();
    let first_cells: Vec<usize> = subjects
        .iter()
        .scan(0, |next, subject| {
            let first = *next;
            *next += subject.peers.len();
            Some(first)
        })
        .collect();
    let (mut record, mut random) = (BenchRecord::default(), Random::new(1));
    for epoch in 0..epochs {
        cells.start_epoch()?;
        for _ in 0..ROUNDS {
            interleave(&mut order, &mut random, |index, contender| {
                let subject = &subjects[index];
                let cost = match contender {
                    // The same layout for all, unless plain programs are to draw their own.
                    0 if draws => run_bare(of(subject), subject, None)?,
                    0 => run_bare(of(subject), subject, Some(&cells.offsets(first_cells[index])))?,
                    peer => cells.measure(first_cells[index] + peer - 1, subject.lead_in, subject.ops)?,
                };
                record.add(index, contender, epoch, cost);
                Ok(())
            })?;
        }
        cells.end_epoch()?;
        eprint!("\rxtask: {} of {epochs} epochs", epoch + 1);
    }
    eprintln!();
    Ok((subjects, record))
}

fn subjects() -> Vec<LoopSubject> {
    let mut all = Vec::new();
    for placement in PLACEMENTS {
        for (pattern, size) in LOOPS {
            let rings = RINGS.iter().map(|(name, _)| name);
            let can = |name: &&&str| match (pattern, **name) {
                ("connect", name) => !["pipe", "shm", "shm-spin"].contains(&name),
                (_, "shm-spin") => placement == Placement::Apart,
                _ => true,
            };
            for transport in TRANSPORTS.iter().chain(rings).filter(can) {
                all.push(LoopSubject::new(pattern, transport, size, placement));
            }
        }
    }
    all
}

/// A cell for each subject and peer. Sources are not spread: that is a call of ours, with a separate cost. Streams
/// turn Nagle's algorithm off, like the bare program: at the end of a batch it would wait for a delayed
/// acknowledgement.
fn job(subjects: &[LoopSubject]) -> String {
    let mut job = String::from("latency = \"off\"\nepochs = 1\n");
    for subject in subjects {
        let LoopSubject { words: [pattern, transport, size], placement, peers, .. } = subject;
        let ring = RINGS.iter().find(|(name, _)| name == transport);
        let options = match (pattern.as_str(), transport.as_str()) {
            ("connect", "tcp") => "options = { spread_sources = false }\n",
            ("stream", "tcp") => "options = { tcp_nodelay = true }\n",
            _ => ring.map_or("", |(_, options)| options),
        };
        let transport = transport.trim_end_matches("-spin");
        for peer in *peers {
            job.push_str(&format!(
                "[[cells]]\npattern = \"{pattern}\"\ntransport = \"{transport}\"\nsize = {size}\nplacement = \"{placement}\"\nclient = \"{peer}\"\nserver = \"{peer}\"\n{options}"
            ));
        }
    }
    let others = subjects.iter().flat_map(|subject| subject.peers).filter(|peer| **peer != "native");
    for peer in others.collect::<std::collections::BTreeSet<_>>() {
        job.push_str(&format!("[peers.{peer}]\ncommand = ['{peer}']\n"));
    }
    job
}

fn run_bare(bare: &Path, subject: &LoopSubject, offsets: Option<&str>) -> Result<f64> {
    let (client, server) = processors(subject.placement)?;
    let counts = [subject.lead_in, subject.ops, client as u64, server as u64].map(|count| count.to_string());
    let words: Vec<&str> = [path_text(bare)?]
        .into_iter()
        .chain(subject.words.iter().map(String::as_str))
        .chain(counts.iter().map(String::as_str))
        .collect();
    Ok(numbers(&words, offsets)?.first().copied().unwrap_or(f64::NAN) / subject.ops as f64)
}

/// The same operation counts for all contenders.
fn calibrate(bare: &Path, subject: &mut LoopSubject) -> Result<()> {
    let mut each = f64::NAN;
    for ops in [100, 1_000, 5_000] {
        (subject.lead_in, subject.ops) = (ops / 10, ops);
        each = run_bare(bare, subject, None)?;
    }
    let lasting = |time: Duration| (time.as_nanos() as f64 / each).round().max(1.0) as u64;
    (subject.lead_in, subject.ops) = (lasting(LEAD_IN), lasting(BATCH));
    Ok(())
}

/// A row for each subject; `aim` says what an interval of the native peer means.
fn show(subjects: &[LoopSubject], record: &BenchRecord, aim: &dyn Fn((f64, f64)) -> &'static str) {
    let alpha = ALPHA / subjects.len() as f64;
    println!("{:<28} {:>12}  {:<15} {:<7} {:>12}  interval", "", "native/bare", "interval", "aim", "C/bare");
    for (index, subject) in subjects.iter().enumerate() {
        let [native, c] = [1, 2].map(|contender| record.ratio(index, contender, 0, alpha));
        let Some(native) = native else { continue };
        let aim = native.bounds.map_or("open", |(lo, hi)| aim((lo.exp(), hi.exp())));
        let ((ratio, bounds), (ratio_c, bounds_c)) =
            (ratio_text(&native), c.as_ref().map(ratio_text).unwrap_or_default());
        println!("{:<28} {ratio:>12}  {bounds:<15} {aim:<7} {ratio_c:>12}  {bounds_c}", subject.name);
    }
}
