//! Percentiles of latency against a plain loop that times each of its round trips: docs/performance.md.

use anyhow::Result;
use ipcost_model::Placement;
use ipcost_stats::{Histogram, Random};

use crate::common::{Cells, Record, build_ipcost, build_plain, interleave, numbers, processors, ratio_text};
use xtask::shell::path_text;

const TRANSPORTS: [&str; 3] = ["pipe", "unix", "tcp"];
const PLACEMENTS: [Placement; 2] = [Placement::Together, Placement::Apart];
/// Warm-up round trips, and those timed one by one.
const WARM: u64 = 2_000;
const OPS: u64 = 4_000;
const QUANTILES: [(&str, f64); 2] = [("p50", 0.5), ("p99", 0.99)];
const ALPHA: f64 = 0.05;

/// Compares the percentiles of round trips of 64 B with those of a loop between two forked processes that makes the
/// same calls.
///
/// # Errors
/// If something cannot be built or measured.
pub fn bench(epochs: u32) -> Result<()> {
    build_ipcost()?;
    let bare = build_plain("bare")?;
    let bare = path_text(&bare)?;
    let subjects: Vec<(&str, Placement)> = PLACEMENTS
        .iter()
        .flat_map(|placement| TRANSPORTS.iter().map(move |transport| (*transport, *placement)))
        .collect();
    let cell = |(transport, placement): &(&str, Placement)| {
        format!("[[cells]]\ntransport = \"{transport}\"\nplacement = \"{placement}\"\n")
    };
    let job = format!("epochs = 1\n{}", subjects.iter().map(cell).collect::<String>());
    let mut cells = Cells::new(&job, &[])?;
    let mut records = QUANTILES.map(|_| Record::default());
    let mut order: Vec<(usize, usize)> =
        (0..subjects.len()).flat_map(|subject| [(subject, 0), (subject, 1)]).collect();
    let mut random = Random::new(1);
    for epoch in 0..epochs as usize {
        cells.start_epoch()?;
        interleave(&mut order, &mut random, |index, contender| {
            let latencies = if contender == 0 {
                let (transport, placement) = subjects[index];
                let (client, server) = processors(placement)?;
                let counts = [WARM, OPS, client as u64, server as u64].map(|count| count.to_string());
                let mut words = vec![bare, "rr", transport, "64"];
                words.extend(counts.iter().map(String::as_str));
                words.push("latency");
                let each = numbers(&words, Some(&cells.offsets(index)))?;
                Histogram::of(each.into_iter().map(|ns| ns as u64).collect())
            } else {
                cells.latencies(index, WARM, OPS)?
            };
            for (record, (_, quantile)) in records.iter_mut().zip(QUANTILES) {
                record.add(index, contender, epoch, latencies.value_at(quantile).max(1) as f64);
            }
            Ok(())
        })?;
        cells.end_epoch()?;
        eprint!("\rxtask: {} of {epochs} epochs", epoch + 1);
    }
    eprintln!();
    let alpha = ALPHA / (subjects.len() * QUANTILES.len()) as f64;
    println!("| round trip, 64 B | p50 over the plain loop's | p99 over the plain loop's |\n|---|---|---|");
    for (index, (transport, placement)) in subjects.iter().enumerate() {
        let shown = |record: &Record| {
            record.ratio(index, 1, 0, alpha).map_or_else(String::new, |found| {
                let (ratio, bounds) = ratio_text(&found);
                format!("{ratio} ({bounds})")
            })
        };
        println!("| {transport}, {placement} | {} | {} |", shown(&records[0]), shown(&records[1]));
    }
    Ok(())
}
