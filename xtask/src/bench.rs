//! What the tool itself costs: the figures of docs/performance.md.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell::{path_text, root, run, run_command, target};

/// The loops that are compared.
const LOOPS: [(&str, u64); 5] =
    [("rr", 64), ("rr", 16_384), ("stream", 64), ("stream", 65_536), ("connect", 64)];
const TRANSPORTS: [&str; 3] = ["unix", "tcp", "pipe"];
/// The upper end that no interval should exceed.
const AIM: f64 = 1.02;

/// Pairs the native peer's loops with the barest C loops that make the same system calls, interleaved in one run.
///
/// Arguments are passed on to `ipcost run`: `--budget 10min` narrows the intervals.
///
/// # Errors
/// Where something cannot be built or measured. Missing the aim is no error: it is a figure.
pub fn overhead(rest: &[&str]) -> Result<()> {
    run(&["cargo", "build", "--release", "--quiet", "--package", "ipcost"])?;
    let bare = build_bare()?;
    let scratch = tempfile::tempdir()?;
    let job = scratch.path().join("overhead.toml");
    let json = scratch.path().join("overhead.json");
    std::fs::write(&job, job_text(&bare))?;
    let ipcost = target().join("release/ipcost");
    let words =
        [&[path_text(&ipcost)?, "run", path_text(&job)?, "--no-save", "--json", path_text(&json)?], rest]
            .concat();
    run_command(crate::shell::command(&words), &words)?;
    let document: Value = serde_json::from_slice(&std::fs::read(&json)?)?;
    show(&document)
}

/// The C peer, whose loops are as bare as C allows.
fn build_bare() -> Result<PathBuf> {
    let sources = root().join("peers/c");
    let bare = target().join("ipcost-peer-c");
    let script = format!("cc -std=c11 -O2 -pthread -o '{}' *.c", bare.display());
    let words = ["sh", "-c", &script];
    let mut command = crate::shell::command(&words);
    command.current_dir(sources);
    run_command(command, &words)?;
    Ok(bare)
}

/// Every loop over every transport, native against native and C against C, both sides of a pair apart.
fn job_text(bare: &Path) -> String {
    let mut job = String::from("baseline = \"bare\"\nlatency = \"off\"\n");
    for (pattern, size) in LOOPS {
        for transport in TRANSPORTS.iter().filter(|transport| pattern != "connect" || **transport != "pipe") {
            for peer in ["bare", "native"] {
                job.push_str(&format!(
                    "[[cells]]\npattern = \"{pattern}\"\ntransport = \"{transport}\"\nsize = {size}\nplacement = \"apart\"\nclient = \"{peer}\"\nserver = \"{peer}\"\n"
                ));
            }
        }
    }
    job.push_str(&format!("[peers.bare]\ncommand = ['{}']\n", bare.display()));
    job
}

/// A line a pair: native over C, with its interval.
fn show(document: &Value) -> Result<()> {
    let contrasts = document["contrasts"].as_array().context("a document has contrasts")?;
    let number = |value: &Value| value.as_f64().map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
    println!("\n{:<32} {:>8}  {:<15} {:<10} aim", "native against C", "ratio", "interval", "verdict");
    let mut compared = 0;
    for contrast in contrasts.iter().filter(|contrast| contrast["metric"] == "wall") {
        let id = contrast["a"].as_str().unwrap_or_default();
        // Of the C cells, all but the first are compared with each other; that is not the question here.
        let Some(id) = id.strip_suffix("/c1/apart") else { continue };
        compared += 1;
        let met =
            contrast["hi"].as_f64().map_or("no interval", |hi| if hi <= AIM { "met" } else { "missed" });
        println!(
            "{id:<32} {:>8}  {:<15} {:<10} {met}",
            number(&contrast["ratio"]),
            format!("{}–{}", number(&contrast["lo"]), number(&contrast["hi"])),
            contrast["verdict"].as_str().unwrap_or_default(),
        );
    }
    ensure!(compared > 0, "nothing was compared");
    Ok(())
}
