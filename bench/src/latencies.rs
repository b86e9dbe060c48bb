//! Times of single round trips against a plain loop that times each of its own, back to back and after pauses: docs/performance.md.

use anyhow::Result;
use ipcost_model::Placement;
use ipcost_model::units::time_text;
use ipcost_stats::{Histogram, Random};

use crate::common::{
    BenchCells, BenchRecord, build_ipcost, build_plain, interleave, numbers, processors, ratio_text,
};
use xtask::shell::path_text;

const ALPHA: f64 = 0.05;

/// Round trips of 64 B that are compared.
struct RoundTripSubject {
    transport: &'static str,
    placement: Placement,
    /// The pause before each, nanoseconds; 0 for none.
    pause_ns: u64,
    /// How many are not counted, and how many are.
    warm: u64,
    ops: u64,
}

impl RoundTripSubject {
    fn cell(&self) -> String {
        let Self { transport, placement, pause_ns, .. } = self;
        let options =
            if *pause_ns > 0 { format!("options = {{ think = {pause_ns} }}\n") } else { String::new() };
        format!("[[cells]]\ntransport = \"{transport}\"\nplacement = \"{placement}\"\n{options}")
    }

    /// The times of the plain loop, nanoseconds. What comes first has the same pauses.
    fn plain(&self, bare: &str, offsets: &str) -> Result<Histogram> {
        let (client, server) = processors(self.placement)?;
        let counts = [0, self.warm + self.ops, client as u64, server as u64].map(|count| count.to_string());
        let pause = format!("PAUSE_NS={}", self.pause_ns);
        let mut words = vec!["env", &pause, bare, "rr", self.transport, "64"];
        words.extend(counts.iter().map(String::as_str));
        words.push("latency");
        let each = numbers(&words, Some(offsets))?;
        Ok(Histogram::of(each.into_iter().skip(self.warm as usize).map(|ns| ns as u64).collect()))
    }
}

/// Compares percentiles of round trips with those of a loop between two forked processes that makes the same calls.
pub fn percentiles(epochs: u32) -> Result<()> {
    let placed = |placement| {
        ["pipe", "unix", "tcp"].map(|transport| RoundTripSubject {
            transport,
            placement,
            pause_ns: 0,
            warm: 2_000,
            ops: 4_000,
        })
    };
    let subjects: Vec<RoundTripSubject> =
        [Placement::Together, Placement::Apart].into_iter().flat_map(placed).collect();
    let records = compared(&subjects, &[0.5, 0.99], epochs)?;
    println!("| round trip, 64 B | p50 over the plain loop's | p99 over the plain loop's |\n|---|---|---|");
    for (index, RoundTripSubject { transport, placement, .. }) in subjects.iter().enumerate() {
        let shown = |record| ratio(record, index, subjects.len() * records.len());
        println!("| {transport}, {placement} | {} | {} |", shown(&records[0]), shown(&records[1]));
    }
    Ok(())
}

/// Compares medians of round trips on one core, each after a pause.
pub fn pauses(epochs: u32) -> Result<()> {
    // Fewer of the longest pause.
    let paused = |transport| {
        [(1_000_000, 100), (10_000_000, 100), (100_000_000, 30)].map(|(pause_ns, ops)| RoundTripSubject {
            transport,
            placement: Placement::Together,
            pause_ns,
            warm: 10,
            ops,
        })
    };
    let subjects: Vec<RoundTripSubject> = ["unix", "tcp", "pipe"].into_iter().flat_map(paused).collect();
    let records = compared(&subjects, &[0.5], epochs)?;
    println!(
        "| round trip, 64 B, one core | p50 of the plain loop | p50 over the plain loop's |\n|---|---|---|"
    );
    for (index, RoundTripSubject { transport, pause_ns, .. }) in subjects.iter().enumerate() {
        let plain = records[0].cost(index, 0).map_or_else(String::new, |ns| time_text(ns as u64));
        let ratio = ratio(&records[0], index, subjects.len());
        println!("| {transport}, after {} | {plain} | {ratio} |", time_text(*pause_ns));
    }
    Ok(())
}

/// Each quantile of the plain loop (contender 0) and of this program (1), of all subjects in alternation.
fn compared(subjects: &[RoundTripSubject], quantiles: &[f64], epochs: u32) -> Result<Vec<BenchRecord>> {
    build_ipcost()?;
    let bare = build_plain("bare")?;
    let bare = path_text(&bare)?;
    let job = format!("epochs = 1\n{}", subjects.iter().map(RoundTripSubject::cell).collect::<String>());
    let mut cells = BenchCells::new(&job, &[])?;
    let mut records: Vec<BenchRecord> = quantiles.iter().map(|_| BenchRecord::default()).collect();
    let mut order: Vec<(usize, usize)> =
        (0..subjects.len()).flat_map(|subject| [(subject, 0), (subject, 1)]).collect();
    let mut random = Random::new(1);
    for epoch in 0..epochs as usize {
        cells.start_epoch()?;
        interleave(&mut order, &mut random, |index, contender| {
            let subject = &subjects[index];
            let latencies = match contender {
                0 => subject.plain(bare, &cells.offsets(index))?,
                _ if subject.pause_ns > 0 => cells.paced(index, subject.warm, subject.ops)?,
                _ => cells.latencies(index, subject.warm, subject.ops)?,
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
