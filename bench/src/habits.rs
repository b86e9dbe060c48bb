//! What ipcost's measured side does and a typical program does not, or the reverse, and what it changes: docs/settings.md.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use ipcost_model::Placement;
use ipcost_stats::{Random, epoch_interval};

use crate::common::{BenchRecord, build_plain, interleave, processors, ratio_text};
use xtask::shell::{command, path_text};

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

/// The same work over each transport.
struct HabitLoad {
    pattern: &'static str,
    size: u64,
    placement: Placement,
    ops: [u64; 2],
}

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
    let mut loads = Vec::new();
    for placement in PLACEMENTS {
        for (pattern, size) in PATTERNS.into_iter().flat_map(|pattern| SIZES.map(|size| (pattern, size))) {
            let mut load = HabitLoad { pattern, size, placement, ops: [1; 2] };
            for transport in 0..TRANSPORTS.len() {
                load.ops[transport] = calibrated(&bare, &load, transport)?;
            }
            loads.push(load);
        }
    }
    let each = TRANSPORTS.len();
    let mut order: Vec<(usize, usize)> = (0..loads.len() * each)
        .flat_map(|subject| (0..=habits.len()).map(move |habit| (subject, habit)))
        .collect();
    let (mut record, mut random) = (BenchRecord::default(), Random::new(1));
    for epoch in 0..epochs as usize {
        interleave(&mut order, &mut random, |subject, contender| {
            let habit = contender.checked_sub(1).map_or("", |habit| habits[habit].0);
            let load = &loads[subject / each];
            let ops = load.ops[subject % each];
            let took_ns = run(&bare, load, TRANSPORTS[subject % each], ops, habit)?;
            record.add(subject, contender, epoch, took_ns / ops as f64);
            Ok(())
        })?;
        eprint!("\rxtask: {} of {epochs} turns", epoch + 1);
    }
    eprintln!();
    show(&loads, &habits, &record);
    Ok(())
}

fn run(bare: &Path, load: &HabitLoad, transport: &str, ops: u64, habit: &str) -> Result<f64> {
    let (client, server) = processors(load.placement)?;
    let numbers =
        [load.size, (ops / 4).max(1), ops, client as u64, server as u64].map(|number| number.to_string());
    let mut words = vec![path_text(bare)?, load.pattern, transport];
    words.extend(numbers.iter().map(String::as_str));
    let mut program = command(&words);
    program.env("HABIT", habit);
    let output = program.output()?;
    if !output.status.success() {
        bail!("failed with HABIT={habit}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Operations that last as long as a batch, by programs without a habit.
fn calibrated(bare: &Path, load: &HabitLoad, transport: usize) -> Result<u64> {
    let mut ops = 50;
    for _ in 0..3 {
        let took_ns = run(bare, load, TRANSPORTS[transport], ops, "")?;
        ops = ((BATCH.as_nanos() as f64 / took_ns * ops as f64) as u64).max(10);
    }
    Ok(ops)
}

fn show(loads: &[HabitLoad], habits: &[(&str, &str)], record: &BenchRecord) {
    let alpha = ALPHA / loads.len() as f64;
    let each = TRANSPORTS.len();
    println!(
        "| what is done otherwise | load | cost, unix | cost, tcp | unix / tcp | |\n|---|---|---|---|---|---|"
    );
    for (habit, (_, words)) in habits.iter().enumerate() {
        for (index, load) in loads.iter().enumerate() {
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
            println!(
                "| {words} | {} {} B, {} | {} | {} | {ratio} ({bounds}) | {verdict} |",
                load.pattern,
                load.size,
                load.placement,
                shown(0),
                shown(1)
            );
        }
    }
}
