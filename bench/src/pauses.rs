//! Round trips with pauses against a plain loop that sleeps as long before each of its own: docs/performance.md.

use anyhow::{Result, ensure};
use ipcost_model::Placement;
use ipcost_model::units::time_text;
use ipcost_stats::{Histogram, Random};

use crate::common::{Cells, Record, build_ipcost, build_plain, interleave, processors, ratio_text};
use xtask::shell::{command, path_text};

const TRANSPORTS: [&str; 3] = ["unix", "tcp", "pipe"];
const PAUSES_NS: [u64; 3] = [1_000_000, 10_000_000, 100_000_000];
/// Round trips that are not counted, and those that are: fewer of the longest pause.
const WARM: u64 = 10;
const OPS: [u64; 3] = [100, 100, 30];
const ALPHA: f64 = 0.05;

/// Compares medians of round trips of 64 B on one core, each after a pause.
///
/// # Errors
/// If something cannot be built or measured.
pub fn bench(epochs: u32) -> Result<()> {
    build_ipcost()?;
    let bare = build_plain("bare")?;
    let bare = path_text(&bare)?;
    let subjects: Vec<(&str, usize)> = TRANSPORTS
        .iter()
        .flat_map(|transport| (0..PAUSES_NS.len()).map(move |pause| (*transport, pause)))
        .collect();
    let cell = |(transport, pause): &(&str, usize)| {
        let think = PAUSES_NS[*pause];
        format!(
            "[[cells]]\ntransport = \"{transport}\"\nplacement = \"together\"\noptions = {{ think = {think} }}\n"
        )
    };
    let job = format!("epochs = 1\n{}", subjects.iter().map(cell).collect::<String>());
    let mut cells = Cells::new(&job, &[])?;
    let (client, server) = processors(Placement::Together)?;
    let mut record = Record::default();
    let mut order: Vec<(usize, usize)> =
        (0..subjects.len()).flat_map(|subject| [(subject, 0), (subject, 1)]).collect();
    let mut random = Random::new(1);
    for epoch in 0..epochs as usize {
        cells.start_epoch()?;
        interleave(&mut order, &mut random, |index, contender| {
            let (transport, pause) = subjects[index];
            let ops = OPS[pause];
            let latencies = if contender == 0 {
                let counts = [0, WARM + ops, client as u64, server as u64].map(|count| count.to_string());
                let mut words = vec![bare, "rr", transport, "64"];
                words.extend(counts.iter().map(String::as_str));
                words.push("latency");
                let mut program = command(&words);
                program.env("PAUSE_NS", PAUSES_NS[pause].to_string()).env("OFFSETS", cells.offsets(index));
                let output = program.output()?;
                ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                let told = String::from_utf8_lossy(&output.stdout);
                let each = told.lines().map(str::parse).collect::<Result<Vec<u64>, _>>()?;
                Histogram::of(each.into_iter().skip(WARM as usize).collect())
            } else {
                cells.paced(index, WARM, ops)?
            };
            record.add(index, contender, epoch, latencies.value_at(0.5).max(1) as f64);
            Ok(())
        })?;
        cells.end_epoch()?;
        eprint!("\rxtask: {} of {epochs} epochs", epoch + 1);
    }
    eprintln!();
    println!(
        "| round trip, 64 B, one core | p50 of the plain loop | p50 over the plain loop's |\n|---|---|---|"
    );
    for (index, (transport, pause)) in subjects.iter().enumerate() {
        let plain = record.cost(index, 0).map_or_else(String::new, |ns| time_text(ns as u64));
        let ratio = record.ratio(index, 1, 0, ALPHA / subjects.len() as f64).map(|found| ratio_text(&found));
        let ratio = ratio.map_or_else(String::new, |(ratio, bounds)| format!("{ratio} ({bounds})"));
        println!("| {transport}, after {} | {plain} | {ratio} |", time_text(PAUSES_NS[*pause]));
    }
    Ok(())
}
