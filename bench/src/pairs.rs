//! How often two runs of one build differ by verdict, and how often a slowdown of everything over TCP is named: docs/trust.md.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ipcost_features::compare::{CellGroup, Comparison, GroupChange};
use ipcost_stats::{Verdict, clopper_pearson};

use crate::common::{build_ipcost, ipcost_json, ipcost_run};
use xtask::shell::path_text;

/// Runs on one side of a comparison.
const SET: usize = 3;
/// The extra work of the third run of each repetition in all cells over TCP, per cent.
const PLANTED: u64 = 20;
const BUDGET: &str = "45s";

/// The results of comparisons of one kind.
#[derive(Default)]
struct PairTally {
    comparisons: u64,
    /// Comparisons in which a group, everything or a cell was found different.
    different: u64,
    /// Comparisons in which TCP was named as slower relative to the rest.
    named: u64,
    /// Those in which nothing else was named at the level of groups.
    alone: u64,
}

/// Measures one job `times` times as A, as B and as B with a planted slowdown, alternating, and compares the runs one
/// by one and in sets of three.
pub fn bench(times: usize) -> Result<()> {
    build_ipcost()?;
    let scratch = tempfile::tempdir()?;
    let mut runs: [Vec<PathBuf>; 3] = Default::default();
    for repetition in 0..times {
        for (kind, runs) in runs.iter_mut().enumerate() {
            runs.push(measure(scratch.path(), kind, repetition)?);
        }
        eprintln!("xtask: {} of {times} done", repetition + 1);
    }
    let [a, b, planted] = &runs;
    let mut lines = Vec::new();
    for size in [1, SET] {
        let (mut equal, mut slower) = (PairTally::default(), PairTally::default());
        for ((a, b), planted) in
            a.chunks_exact(size).zip(b.chunks_exact(size)).zip(planted.chunks_exact(size))
        {
            equal.add(&compare(a, b)?);
            slower.add(&compare(a, planted)?);
        }
        lines.push((size, equal, slower));
    }
    show(&lines);
    Ok(())
}

impl PairTally {
    fn add(&mut self, comparison: &Comparison) {
        let found: Vec<&GroupChange> =
            comparison.groups.iter().filter(|group| group.found.is_some()).collect();
        let mut cells = comparison.costs.iter().chain(&comparison.relative);
        let cells = cells.any(|cell| matches!(cell.verdict, Verdict::Different | Verdict::Direction));
        let everything = comparison.everything.as_ref().is_some_and(|group| group.found.is_some());
        let tcp = CellGroup { transport: Some("tcp".to_owned()), ..CellGroup::default() };
        let named = found.iter().any(|group| group.group == tcp && group.ratio > 1.0);
        self.comparisons += 1;
        self.different += u64::from(!found.is_empty() || everything || cells);
        self.named += u64::from(named);
        self.alone += u64::from(named && found.len() == 1);
    }
}

/// One run; kind 2 has the slowdown.
fn measure(scratch: &Path, kind: usize, repetition: usize) -> Result<PathBuf> {
    let json = scratch.join(format!("{kind}-{repetition}.json"));
    std::fs::write(&json, ipcost_run(&job_text(kind == 2), &["--budget", BUDGET])?)?;
    Ok(json)
}

/// The default suite, with labels, so that a cell with extra work has the id of one without.
fn job_text(planted: bool) -> String {
    let mut job = String::from("baseline = \"tcp\"\n");
    let works: [(&str, u64, &[&str]); 5] = [
        ("connect", 64, &["unix", "tcp"]),
        ("rr", 64, &["pipe", "fifo", "unix", "tcp", "shm"]),
        ("rr", 16_384, &["pipe", "fifo", "unix", "tcp", "shm"]),
        ("stream", 64, &["pipe", "fifo", "unix", "tcp", "shm"]),
        ("stream", 65_536, &["pipe", "fifo", "unix", "tcp", "shm"]),
    ];
    for (pattern, size, transports) in works {
        for transport in transports {
            for placement in ["together", "apart"] {
                job.push_str(&format!(
                    "[[cells]]\nlabel = \"{pattern} {size} {transport} {placement}\"\npattern = \"{pattern}\"\n\
                     transport = \"{transport}\"\nsize = {size}\nplacement = \"{placement}\"\n"
                ));
                if planted && *transport == "tcp" {
                    job.push_str(&format!("options = {{ extra_work = {PLANTED} }}\n"));
                }
            }
        }
    }
    job
}

fn compare(a: &[PathBuf], b: &[PathBuf]) -> Result<Comparison> {
    let a = a.iter().map(|path| path_text(path));
    let b = b.iter().map(|path| path_text(path));
    let words: Vec<&str> = a.chain([Ok("--")]).chain(b).collect::<Result<_>>()?;
    serde_json::from_slice(&ipcost_json("compare", &words)?).context("compare --json - prints JSON")
}

fn show(lines: &[(usize, PairTally, PairTally)]) {
    let rate = |count: u64, of: u64| {
        let (lo, hi) = clopper_pearson(count, of.max(1), 0.9);
        format!("{count} of {of} ({:.1}–{:.1} %)", lo * 100.0, hi * 100.0)
    };
    println!("| runs a side | equal builds differ | TCP slower by {PLANTED} %: named | named alone |");
    println!("|---|---|---|---|");
    for (size, equal, slower) in lines {
        let different = rate(equal.different, equal.comparisons);
        let (named, alone) = (rate(slower.named, slower.comparisons), rate(slower.alone, slower.comparisons));
        println!("| {size} | {different} | {named} | {alone} |");
    }
}
