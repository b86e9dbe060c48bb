//! What ipcost's measured side does and a typical program does not, or the reverse, and what it changes: docs/reference/settings.md.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ipcost_model::Placement;
use ipcost_stats::{Random, epoch_interval};

use crate::common::{BenchRecord, BenchSubject, build_plain, interleave, ratio_text};

/// Habits of `bench/plain/bare.c`, in words: what it does otherwise than the measured side.
const HABITS: [(&str, &str); 9] = [
    ("touch", "every byte is written and read"),
    ("fresh", "messages come from 64 MiB, not from a cache"),
    ("thread", "a second, sleeping thread shares the descriptor table"),
    ("session", "a session of its own"),
    ("limits", "the limit of descriptors is raised"),
    ("unpinned", "the scheduler places the processes"),
    ("cold", "no lead-in"),
    ("rested", "a pause of 5 ms before the batch"),
    ("no-huge", "no huge pages behind buffers"),
];
const PATTERNS: [&str; 2] = ["rr", "stream"];
const SIZES: [u64; 2] = [64, 32 * 1024 + 1];
/// A contrast is the first over the second.
const TRANSPORTS: [&str; 2] = ["unix", "tcp"];
const PLACEMENTS: [Placement; 2] = [Placement::Together, Placement::Apart];
const BATCH: Duration = Duration::from_millis(20);
/// A change of the contrast that matters, as a logarithm of 1.05.
const MARGIN: f64 = 0.048_790_164;
/// The probability that any interval of a habit misses.
const ALPHA: f64 = 0.05;

/// Runs plain programs with each habit and without, by turns, and shows what a habit changes: each transport's cost, and their
/// ratio.
pub fn bench(epochs: u32, only: &[&str]) -> Result<()> {
    let bare = build_plain("bare")?;
    let known = HABITS.map(|(name, _)| name);
    if let Some(unknown) = only.iter().find(|name| !known.contains(name)) {
        bail!("there is no habit {unknown}; known: {}", known.join(", "));
    }
    let habits: Vec<(&str, &str)> =
        HABITS.into_iter().filter(|(name, _)| only.is_empty() || only.contains(name)).collect();
    let mut subjects = Vec::new();
    for placement in PLACEMENTS {
        for (pattern, size) in PATTERNS.into_iter().flat_map(|pattern| SIZES.map(|size| (pattern, size))) {
            for transport in TRANSPORTS {
                let subject = BenchSubject::new(pattern, transport, size, placement);
                subjects.push(calibrated(&bare, subject)?);
            }
        }
    }
    let contenders = vec![1 + habits.len(); subjects.len()];
    let (mut record, mut random) = (BenchRecord::default(), Random::new(1));
    for epoch in 0..epochs as usize {
        interleave(&contenders, &mut random, |index, contender| {
            let habit = contender.checked_sub(1).map_or("", |habit| habits[habit].0);
            let subject = &subjects[index];
            record.add(index, contender, epoch, run(&bare, subject, habit)? / subject.ops as f64);
            Ok(())
        })?;
        eprint!("\rxtask: {} of {epochs} turns", epoch + 1);
    }
    eprintln!();
    show(&subjects, &habits, &record);
    Ok(())
}

fn run(bare: &Path, subject: &BenchSubject, habit: &str) -> Result<f64> {
    subject.plain(bare, &[("HABIT", habit)], &[])?.first().copied().context("it printed no time")
}

/// With operations that last as long as a batch, by programs without a habit.
fn calibrated(bare: &Path, mut subject: BenchSubject) -> Result<BenchSubject> {
    subject.ops = 50;
    for _ in 0..3 {
        subject.lead_in = (subject.ops / 4).max(1);
        let took_ns = run(bare, &subject, "")?;
        subject.ops = ((BATCH.as_nanos() as f64 / took_ns * subject.ops as f64) as u64).max(10);
    }
    subject.lead_in = (subject.ops / 4).max(1);
    Ok(subject)
}

/// Subjects are loads, each over every transport.
fn show(subjects: &[BenchSubject], habits: &[(&str, &str)], record: &BenchRecord) {
    let each = TRANSPORTS.len();
    let alpha = ALPHA / (subjects.len() / each) as f64;
    println!(
        "| what is done otherwise | load | cost, unix | cost, tcp | unix / tcp | |\n|---|---|---|---|---|---|"
    );
    for (habit, (_, words)) in habits.iter().enumerate() {
        for (index, BenchSubject { pattern, size, placement, .. }) in
            subjects.iter().step_by(each).enumerate()
        {
            let shown = |transport: usize| {
                let found = record.ratio(index * each + transport, habit + 1, 0, alpha);
                found.map_or_else(|| "–".to_owned(), |found| ratio_text(&found).0)
            };
            let changes = |transport: usize| record.log_ratios(index * each + transport, habit + 1, 0);
            let contrast: Vec<f64> =
                changes(0).into_iter().zip(changes(1)).map(|(unix, tcp)| unix - tcp).collect();
            let Some(found) = epoch_interval(&contrast, alpha).map(|found| found.interval) else { continue };
            let (ratio, bounds) = ratio_text(&found);
            let verdict = match found.bounds {
                Some((lo, hi)) if lo > MARGIN || hi < -MARGIN => "**moves it**",
                Some((lo, hi)) if lo > -MARGIN && hi < MARGIN => "does not",
                _ => "open",
            };
            let (unix, tcp) = (shown(0), shown(1));
            println!(
                "| {words} | {pattern} {size} B, {placement} | {unix} | {tcp} | {ratio} ({bounds}) | {verdict} |"
            );
        }
    }
}
