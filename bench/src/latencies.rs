//! Times of single round trips against a plain loop that times each of its own, back to back and after pauses: docs/trust.md.

use std::path::Path;

use anyhow::Result;
use ipcost_model::Placement;
use ipcost_model::units::time_text;
use ipcost_stats::{Histogram, Random};

use crate::common::{
    BenchCells, BenchRecord, BenchSubject, build_ipcost, build_plain, interleave, ratio_text,
};

const ALPHA: f64 = 0.05;

fn cell(BenchSubject { transport, placement, pause_ns, .. }: &BenchSubject) -> String {
    let options = if *pause_ns > 0 { format!("options = {{ think = {pause_ns} }}\n") } else { String::new() };
    format!("[[cells]]\ntransport = \"{transport}\"\nplacement = \"{placement}\"\n{options}")
}

/// The times of the plain loop, nanoseconds. What comes first has the same pauses.
fn plain(subject: &BenchSubject, bare: &Path, offsets: &str) -> Result<Histogram> {
    let all = BenchSubject { lead_in: 0, ops: subject.lead_in + subject.ops, ..subject.clone() };
    let each = all.plain(bare, &[("OFFSETS", offsets)], &["latency"])?;
    let timed = each.into_iter().skip(subject.lead_in as usize);
    Ok(Histogram::of(timed.map(|ns| ns as u64).collect()))
}

/// Compares percentiles of round trips with those of a loop between two forked processes that makes the same calls.
pub fn percentiles(epochs: u32) -> Result<()> {
    let placed = |placement| {
        ["pipe", "unix", "tcp"].map(|transport| BenchSubject {
            lead_in: 2_000,
            ops: 4_000,
            ..BenchSubject::new("rr", transport, 64, placement)
        })
    };
    let subjects: Vec<BenchSubject> =
        [Placement::Together, Placement::Apart].into_iter().flat_map(placed).collect();
    let records = compared(&subjects, &[0.5, 0.99], epochs)?;
    println!("| round trip, 64 B | p50 over the plain loop's | p99 over the plain loop's |\n|---|---|---|");
    for (index, BenchSubject { transport, placement, .. }) in subjects.iter().enumerate() {
        let shown = |record| ratio(record, index, subjects.len() * records.len());
        println!("| {transport}, {placement} | {} | {} |", shown(&records[0]), shown(&records[1]));
    }
    Ok(())
}

/// Compares medians of round trips on one core, each after a pause.
pub fn pauses(epochs: u32) -> Result<()> {
    // Fewer of the longest pause.
    let paused = |transport| {
        [(1_000_000, 100), (10_000_000, 100), (100_000_000, 30)].map(|(pause_ns, ops)| BenchSubject {
            lead_in: 10,
            ops,
            pause_ns,
            ..BenchSubject::new("rr", transport, 64, Placement::Together)
        })
    };
    let subjects: Vec<BenchSubject> = ["unix", "tcp", "pipe"].into_iter().flat_map(paused).collect();
    let records = compared(&subjects, &[0.5], epochs)?;
    println!(
        "| round trip, 64 B, one core | p50 of the plain loop | p50 over the plain loop's |\n|---|---|---|"
    );
    for (index, BenchSubject { transport, pause_ns, .. }) in subjects.iter().enumerate() {
        let plain = records[0].cost(index, 0).map_or_else(String::new, |ns| time_text(ns as u64));
        let ratio = ratio(&records[0], index, subjects.len());
        println!("| {transport}, after {} | {plain} | {ratio} |", time_text(*pause_ns));
    }
    Ok(())
}

/// Each quantile of the plain loop (contender 0) and of this program (1), of all subjects in alternation.
fn compared(subjects: &[BenchSubject], quantiles: &[f64], epochs: u32) -> Result<Vec<BenchRecord>> {
    build_ipcost()?;
    let bare = build_plain("bare")?;
    let job = format!("epochs = 1\n{}", subjects.iter().map(cell).collect::<String>());
    let mut cells = BenchCells::new(&job, &[])?;
    let mut records: Vec<BenchRecord> = quantiles.iter().map(|_| BenchRecord::default()).collect();
    let mut random = Random::new(1);
    for epoch in 0..epochs as usize {
        cells.start_epoch()?;
        interleave(&vec![2; subjects.len()], &mut random, |index, contender| {
            let BenchSubject { lead_in, ops, pause_ns, .. } = &subjects[index];
            let latencies = match contender {
                0 => plain(&subjects[index], &bare, &cells.offsets(index))?,
                _ if *pause_ns > 0 => cells.paced(index, *lead_in, *ops)?,
                _ => cells.latencies(index, *lead_in, *ops)?,
            };
            for (record, quantile) in records.iter_mut().zip(quantiles) {
                record.add(index, contender, epoch, latencies.value_at(*quantile).max(1) as f64);
            }
            Ok(())
        })?;
        cells.end_epoch()?;
        eprint!("\rxtask: {} of {epochs} epochs", epoch + 1);
    }
    eprintln!();
    Ok(records)
}

/// What this program found over what the plain loop did, with an interval that shares alpha with so many.
fn ratio(record: &BenchRecord, index: usize, shared_by: usize) -> String {
    record.ratio(index, 1, 0, ALPHA / shared_by as f64).map_or_else(String::new, |found| {
        let (ratio, bounds) = ratio_text(&found);
        format!("{ratio} ({bounds})")
    })
}
