//! `ipcost compare`: what changed between two sets of runs.

use std::process::ExitCode;

use anyhow::{anyhow, bail};
use ipcost_features::compare::{self, CompareSettings, ComparedBy, Comparison, DEFAULT_SPREAD, PastRuns};
use ipcost_model::Document;
use ipcost_report::numbers::ratio;

use crate::args::CompareArgs;
use crate::build::tool;
use crate::documents;
use crate::exit::{FAILED, Problem, complain};
use crate::history;
use crate::record_outputs;

/// How many runs are listed for a choice.
const LISTED: usize = 8;

/// Compares the sets of documents that the arguments name.
pub fn run(args: &CompareArgs) -> Result<ExitCode, Problem> {
    record_outputs::check(&args.files).map_err(Problem::usage)?;
    if args.a.is_empty() && args.b.is_empty() {
        history::list_newest(LISTED)?;
        return Err(Problem::usage(anyhow!("which runs? ipcost compare last~1 last compares the last two")));
    }
    let (a, b) = sides(args).map_err(Problem::usage)?;
    let assumed_spread = args.run_to_run.unwrap_or(DEFAULT_SPREAD);
    let settings = CompareSettings { metric: args.metric, margin: args.margin, assumed_spread };
    let past = match args.run_to_run {
        Some(_) => PastRuns::default(),
        None => {
            let by = [ComparedBy::Cost(args.metric)].into_iter().chain(ComparedBy::percentiles());
            history::past_runs(&a, &b, by)
        }
    };
    let comparison =
        compare::compare(&a, &b, &settings, &past, tool()).map_err(|error| Problem::usage(error.into()))?;
    let comparison = args.redacting.apply(comparison)?;
    let mut page = compare::page(&comparison);
    if args.quiet {
        page.hint = "";
    }
    record_outputs::write(&comparison, &args.files, &page, None, args.details)?;
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

/// A failure where a cell, a group or everything is known to cost more by more than `margin`.
fn status(comparison: &Comparison, margin: f64) -> ExitCode {
    let more = |lo: Option<f64>| lo.is_some_and(|lo| lo > 1.0 + margin);
    let groups = comparison.groups.iter().chain(&comparison.everything).filter(|group| more(group.lo));
    let groups = groups.map(|group| (group.group.words(), group.ratio));
    let cells = comparison.costs.iter().filter(|change| more(change.lo));
    let cells = cells.map(|change| (ipcost_report::words::escaped(&change.cell), change.ratio));
    let found: Vec<(String, f64)> = groups.chain(cells).collect();
    let Some((what, by)) = found.first() else { return ExitCode::SUCCESS };
    let more = match found.len() - 1 {
        0 => String::new(),
        count => format!(", and so do {count} more cells or groups"),
    };
    let (by, percent) = (ratio(*by), margin * 100.0);
    complain(&format!("{what}: {by} × the cost on side B, surely more than {percent} %{more}"));
    ExitCode::from(FAILED)
}
