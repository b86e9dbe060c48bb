//! `ipcost compare`: what changed between two sets of runs.

use std::process::ExitCode;

use anyhow::bail;
use ipcost_features::compare::{Change, CompareSettings, Comparison, compare, words as text};
use ipcost_model::Document;
use ipcost_report::numbers::ratio;

use crate::args::CompareArgs;
use crate::build::tool;
use crate::documents;
use crate::exit::{FAILED, Problem, complain};
use crate::output::{is_standard_output, print, room, write_pretty};

/// Compares the sets of documents that the arguments name.
///
/// # Errors
/// What is wrong with the documents, or what cannot be written.
pub fn run(args: &CompareArgs) -> Result<ExitCode, Problem> {
    let (a, b) = sides(args).map_err(Problem::usage)?;
    let settings =
        CompareSettings { metric: args.metric, margin: args.margin, assumed_spread: args.run_to_run };
    let comparison = compare(&a, &b, &settings, tool()).map_err(|error| Problem::usage(error.into()))?;
    let comparison = args.redacting.apply(comparison)?;
    if let Some(path) = &args.json {
        write_pretty(&comparison, path).map_err(Problem::failed)?;
    }
    if !args.json.as_deref().is_some_and(is_standard_output) {
        print(&text::render(&comparison, room())).map_err(Problem::failed)?;
    }
    Ok(args.fail_on.map_or(ExitCode::SUCCESS, |margin| status(&comparison, margin)))
}

fn sides(args: &CompareArgs) -> anyhow::Result<(Vec<Document>, Vec<Document>)> {
    let (a, b) = match (args.a.as_slice(), args.b.as_slice()) {
        ([a, b], []) => (std::slice::from_ref(a), std::slice::from_ref(b)),
        ([_], []) => bail!("compare takes two runs at least: ipcost compare A B"),
        (_, []) => bail!("which runs are side A, which side B? write ipcost compare A1 A2 A3 -- B1 B2 B3"),
        (a, b) => (a, b),
    };
    let all = |names: &[String]| -> anyhow::Result<Vec<Document>> {
        names.iter().map(|name| documents::load(name)).collect()
    };
    Ok((all(a)?, all(b)?))
}

/// A failure where a cell is known to cost more by more than `margin`.
fn status(comparison: &Comparison, margin: f64) -> ExitCode {
    let slower = |change: &&Change| change.lo.is_some_and(|lo| lo > 1.0 + margin);
    let found: Vec<&Change> = comparison.costs.iter().filter(slower).collect();
    let Some(first) = found.first() else { return ExitCode::SUCCESS };
    let more =
        if found.len() > 1 { format!(", and {} more cells do", found.len() - 1) } else { String::new() };
    complain(&format!(
        "{} costs {} × as much on side B, surely more than {} %{more}",
        ipcost_report::words::escaped(&first.cell),
        ratio(first.ratio),
        margin * 100.0
    ));
    ExitCode::from(FAILED)
}
