//! The docs' figures, measured: `cargo xtask bench`, `figures`, `glyphs` and `tables`.

mod apps;
mod book;
mod common;
mod figures;
mod glyphs;
mod habits;
mod latencies;
mod overhead;
mod pairs;
mod processes;
mod redis;
mod socat;
mod table;
mod tables;
mod time_to_verdict;
mod tools;
mod verdict;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<()> {
    let (bench, rest) = match words {
        ["figures", rest @ ..] => return book::run(rest),
        ["glyphs"] => return glyphs::write(),
        ["tables"] => {
            tables::print();
            return Ok(());
        }
        ["bench", bench, rest @ ..] => (*bench, rest),
        _ => bail!("cargo xtask --help lists the benches"),
    };
    match bench {
        "overhead" => {
            let (epochs, only) = count_and_names(rest, 60);
            overhead::bench(epochs as usize, only)
        }
        "packaged" => {
            let (epochs, only) = count_and_names(rest, 60);
            overhead::packaged(epochs as usize, only)
        }
        "streams" => {
            let (epochs, only) = count_and_names(rest, 40);
            overhead::streams(epochs as usize, only)
        }
        "habits" => {
            let (epochs, only) = count_and_names(rest, 30);
            habits::bench(epochs, only)
        }
        "percentiles" => latencies::percentiles(count(rest, 40)?),
        "pauses" => latencies::pauses(count(rest, 12)?),
        "verdict" => time_to_verdict::bench(count(rest, 10)?),
        "pairs" => pairs::bench(count(rest, 40)? as usize),
        "tools" => {
            let (turns, words) = count_and_names(rest, 10);
            tools::bench(turns, words)
        }
        "apps" => {
            let (turns, words) = count_and_names(rest, 10);
            apps::bench(turns, words)
        }
        other => bail!("there is no bench {other}; cargo xtask --help lists them"),
    }
}

/// A count, if the words begin with one, and the names that follow.
fn count_and_names<'a, 'b>(words: &'a [&'b str], usual: u32) -> (u32, &'a [&'b str]) {
    match words.split_first().map(|(first, rest)| (first.parse(), rest)) {
        Some((Ok(count), rest)) => (count, rest),
        _ => (usual, words),
    }
}

/// A count, which is all that a bench takes.
fn count(words: &[&str], usual: u32) -> Result<u32> {
    match words {
        [] => Ok(usual),
        [text] => text.parse().with_context(|| format!("this takes a number of repetitions, not {text}")),
        [_, other, ..] => bail!("this takes a number of repetitions, and nothing else: {other}"),
    }
}
