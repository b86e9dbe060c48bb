//! How often two runs of one build differ by verdict, and how often a planted slowdown is found: docs/trust.md.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ipcost_stats::clopper_pearson;
use serde_json::Value;

use crate::shell::{command, path_text, run, target};

/// Runs on one side of a comparison.
const SET: usize = 3;
/// The extra work of the third run of each repetition in one cell, per cent.
const PLANTED: u64 = 50;
const EPOCHS: &str = "30";

/// The results of comparisons of one kind.
#[derive(Default)]
struct Tally {
    comparisons: u64,
    /// Comparisons in which any cell, or any ratio to a baseline, was found different.
    told: u64,
    /// Comparisons in which the planted cell was found dearer.
    found: u64,
}

/// Measures one job `times` times as A, as B and as B with a planted slowdown, alternating, and compares the runs one
/// by one and in sets of three.
///
/// # Errors
/// If something cannot be built or run.
pub fn bench(times: usize) -> Result<()> {
    run(&["cargo", "build", "--release", "--quiet", "--package", "ipcost"])?;
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
        let (mut equal, mut slower) = (Tally::default(), Tally::default());
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

impl Tally {
    fn add(&mut self, comparison: &Value) {
        let changes = ["costs", "relative"].iter().flat_map(|key| comparison[key].as_array()).flatten();
        let told = |change: &&Value| matches!(change["verdict"].as_str(), Some("different" | "direction"));
        let all: Vec<&Value> = changes.filter(told).collect();
        self.comparisons += 1;
        self.told += u64::from(!all.is_empty());
        let planted = |change: &&&Value| {
            change["cell"] == "unix" && change["baseline"].is_null() && change["ratio"].as_f64() > Some(1.0)
        };
        self.found += u64::from(all.iter().any(|change| planted(&change)));
    }
}

/// One run; kind 2 has the slowdown.
fn measure(scratch: &Path, kind: usize, repetition: usize) -> Result<PathBuf> {
    let (job, json) = (scratch.join("job.toml"), scratch.join(format!("{kind}-{repetition}.json")));
    std::fs::write(&job, job_text(kind == 2))?;
    let ipcost = target().join("release/ipcost");
    let words = [
        path_text(&ipcost)?,
        "run",
        path_text(&job)?,
        "--quiet",
        "--epochs",
        EPOCHS,
        "--json",
        path_text(&json)?,
    ];
    let output = command(&words).env("IPCOST_DATA_DIR", scratch).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(json)
}

fn job_text(planted: bool) -> String {
    let mut job = String::from("baseline = \"tcp\"\n");
    for (label, transport) in [("unix", "unix"), ("pipe", "pipe"), ("tcp", "tcp")] {
        job.push_str(&format!(
            "[[cells]]\nlabel = \"{label}\"\npattern = \"rr\"\ntransport = \"{transport}\"\nsize = 64\n"
        ));
        if planted && label == "unix" {
            job.push_str(&format!("options = {{ extra_work = {PLANTED} }}\n"));
        }
    }
    for transport in ["unix", "pipe", "tcp"] {
        job.push_str(&format!(
            "[[cells]]\nlabel = \"{transport} bulk\"\npattern = \"stream\"\ntransport = \"{transport}\"\nsize = 65536\n"
        ));
    }
    job
}

fn compare(a: &[PathBuf], b: &[PathBuf]) -> Result<Value> {
    let ipcost = target().join("release/ipcost");
    let texts = |paths: &'_ [PathBuf]| -> Result<Vec<String>> {
        paths.iter().map(|path| Ok(path_text(path)?.to_owned())).collect()
    };
    let (a, b) = (texts(a)?, texts(b)?);
    let mut words = vec![path_text(&ipcost)?, "compare", "--json", "-"];
    words.extend(a.iter().map(String::as_str));
    words.push("--");
    words.extend(b.iter().map(String::as_str));
    let output = command(&words).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).context("compare --json - prints JSON")
}

fn show(lines: &[(usize, Tally, Tally)]) {
    let rate = |count: u64, of: u64| {
        let (lo, hi) = clopper_pearson(count, of.max(1), 0.9);
        format!("{count} of {of} ({:.1}–{:.1} %)", lo * 100.0, hi * 100.0)
    };
    println!("| runs a side | equal builds differ | slowdown of {PLANTED} % in one of six cells found |");
    println!("|---|---|---|");
    for (size, equal, slower) in lines {
        let (told, found) = (rate(equal.told, equal.comparisons), rate(slower.found, slower.comparisons));
        println!("| {size} | {told} | {found} |");
    }
}
