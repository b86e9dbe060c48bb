//! The measured loops against the bare system calls: docs/trust.md.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use ipcost_model::Placement;
use ipcost_stats::Random;

use crate::common::{
    BenchCells, BenchRecord, BenchSubject, build_c_peer, build_ipcost, build_plain, interleave, ratio_text,
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
/// The peers that are compared with the bare program.
const PEERS: [&str; 2] = ["native", "c"];
/// The same, with the native peer of the packaged binary in place of the C peer.
const PACKAGED: [&str; 2] = ["native", "static"];

fn name(subject: &BenchSubject) -> String {
    let BenchSubject { pattern, transport, size, placement, .. } = subject;
    format!("{pattern}/{transport}/{size}/{placement}")
}

fn is_ring(subject: &BenchSubject) -> bool {
    subject.transport.starts_with("shm")
}

/// The peers that can do it: the C peer has no rings.
fn peers_of<'a>(subject: &BenchSubject, peers: &'a [&'static str; 2]) -> &'a [&'static str] {
    if is_ring(subject) && *peers == PEERS { &peers[..1] } else { peers }
}

/// Compares the loops of the native peer and of the C peer with a program that makes only the same system calls, in
/// two forked processes.
///
/// # Errors
/// If something cannot be built or measured. Missing the aim is not an error: it is a figure.
pub fn bench(epochs: usize, only: &[&str]) -> Result<()> {
    let (subjects, record) = measured(subjects(), &PEERS, epochs, only, false)?;
    show(&subjects, &record, &meets_aim);
    Ok(())
}

fn meets_aim((_, hi): (f64, f64)) -> &'static str {
    if hi <= AIM { "met" } else { "missed" }
}

/// Compares the native peer of the static binary that is packaged with that of the usual build, which takes its library
/// of C from the system.
pub fn packaged(epochs: usize, only: &[&str]) -> Result<()> {
    let (subjects, record) = measured(subjects(), &PACKAGED, epochs, only, false)?;
    let alpha = ALPHA / subjects.len() as f64;
    println!("{:<28} {:>13}  {:<15} aim", "", "static/native", "interval");
    for (index, subject) in subjects.iter().enumerate() {
        let Some(found) = record.ratio(index, 2, 1, alpha) else { continue };
        let aim = found.bounds.map_or("open", |(lo, hi)| meets_aim((lo.exp(), hi.exp())));
        let (ratio, bounds) = ratio_text(&found);
        println!("{:<28} {ratio:>13}  {bounds:<15} {aim}", name(subject));
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
            subjects.extend(SIZES.map(|size| BenchSubject::new("stream", transport, size, placement)));
        }
    }
    let (subjects, record) = measured(subjects, &PEERS, epochs, only, true)?;
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
    let wrong: Vec<String> = (0..subjects.len()).filter(far).map(|index| name(&subjects[index])).collect();
    ensure!(wrong.is_empty(), "over 15 % from the bare program: {}", wrong.join(", "));
    Ok(())
}

/// Measures the loops by turns; with `draws`, bare programs draw their layouts by themselves.
fn measured(
    mut subjects: Vec<BenchSubject>,
    peers: &[&'static str; 2],
    epochs: usize,
    only: &[&str],
    draws: bool,
) -> Result<(Vec<BenchSubject>, BenchRecord)> {
    if cfg!(not(target_os = "linux")) {
        bail!("the bare program is written for Linux");
    }
    build_ipcost()?;
    let (bare, ring, c) = (build_plain("bare")?, build_plain("ring")?, build_c_peer()?);
    let of = |subject: &BenchSubject| if is_ring(subject) { &ring } else { &bare };
    subjects.retain(|subject| only.is_empty() || only.iter().any(|part| name(subject).contains(part)));
    ensure!(!subjects.is_empty(), "no loop is called {}", only.join(" or "));
    for subject in &mut subjects {
        calibrate(of(subject), subject)?;
    }
    let command = match *peers {
        PACKAGED => vec![path_text(&dist::static_binary()?)?.to_owned(), "peer".to_owned()],
        _ => vec![path_text(&c)?.to_owned()],
    };
    let mut cells = BenchCells::new(&job(&subjects, peers), &[(peers[1], command)])?;
    let contenders: Vec<usize> = subjects.iter().map(|subject| 1 + peers_of(subject, peers).len()).collect();
    // Each peer has a cell; the bare program has none.
    let first_cell = |index: usize| contenders[..index].iter().map(|count| count - 1).sum::<usize>();
    let (mut record, mut random) = (BenchRecord::default(), Random::new(1));
    for epoch in 0..epochs {
        cells.start_epoch()?;
        for _ in 0..ROUNDS {
            interleave(&contenders, &mut random, |index, contender| {
                let subject = &subjects[index];
                let cost = match contender {
                    // The same layout for all, unless plain programs are to draw their own.
                    0 if draws => run_bare(of(subject), subject, None)?,
                    0 => run_bare(of(subject), subject, Some(&cells.offsets(first_cell(index))))?,
                    peer => cells.measure(first_cell(index) + peer - 1, subject.lead_in, subject.ops)?,
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

fn subjects() -> Vec<BenchSubject> {
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
                all.push(BenchSubject::new(pattern, transport, size, placement));
            }
        }
    }
    all
}

/// A cell for each subject and peer. Sources are not spread: that is a call of ours, with a separate cost. Streams
/// turn Nagle's algorithm off, like the bare program: at the end of a batch it would wait for a delayed
/// acknowledgement.
fn job(subjects: &[BenchSubject], peers: &[&'static str; 2]) -> String {
    let mut job = String::from("latency = \"off\"\nepochs = 1\n");
    for subject in subjects {
        let BenchSubject { pattern, transport, size, placement, .. } = subject;
        let ring = RINGS.iter().find(|(name, _)| name == transport);
        let options = match (*pattern, *transport) {
            ("connect", "tcp") => "options = { spread_sources = false }\n",
            ("stream", "tcp") => "options = { tcp_nodelay = true }\n",
            _ => ring.map_or("", |(_, options)| options),
        };
        let transport = transport.trim_end_matches("-spin");
        for peer in peers_of(subject, peers) {
            job.push_str(&format!(
                "[[cells]]\npattern = \"{pattern}\"\ntransport = \"{transport}\"\nsize = {size}\nplacement = \"{placement}\"\nclient = \"{peer}\"\nserver = \"{peer}\"\n{options}"
            ));
        }
    }
    if subjects.iter().any(|subject| peers_of(subject, peers).len() > 1) {
        job.push_str(&format!("[peers.{0}]\ncommand = ['{0}']\n", peers[1]));
    }
    job
}

/// The program draws where its buffers begin, unless it is told.
fn run_bare(bare: &Path, subject: &BenchSubject, offsets: Option<&str>) -> Result<f64> {
    let settings: Vec<(&str, &str)> = offsets.map(|offsets| ("OFFSETS", offsets)).into_iter().collect();
    let took_ns = subject.plain(bare, &settings, &[])?;
    Ok(took_ns.first().copied().unwrap_or(f64::NAN) / subject.ops as f64)
}

/// The same operation counts for all contenders.
fn calibrate(bare: &Path, subject: &mut BenchSubject) -> Result<()> {
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
fn show(subjects: &[BenchSubject], record: &BenchRecord, aim: &dyn Fn((f64, f64)) -> &'static str) {
    let alpha = ALPHA / subjects.len() as f64;
    println!("{:<28} {:>12}  {:<15} {:<7} {:>12}  interval", "", "native/bare", "interval", "aim", "C/bare");
    for (index, subject) in subjects.iter().enumerate() {
        let [native, c] = [1, 2].map(|contender| record.ratio(index, contender, 0, alpha));
        let Some(native) = native else { continue };
        let aim = native.bounds.map_or("open", |(lo, hi)| aim((lo.exp(), hi.exp())));
        let ((ratio, bounds), (ratio_c, bounds_c)) =
            (ratio_text(&native), c.as_ref().map(ratio_text).unwrap_or_default());
        println!("{:<28} {ratio:>12}  {bounds:<15} {aim:<7} {ratio_c:>12}  {bounds_c}", name(subject));
    }
}
