//! `ipcost list --trend`: what a cell cost in each saved run, and when that changed.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::anyhow;
use ipcost_features::history::RunSummary;
use ipcost_features::trend::{TrendCellName, TrendError, TrendGathered, TrendRequest, page, trend};
use ipcost_model::{Document, RunState};

use super::find::find;
use super::list::warn_of_unreadable;
use super::store::Store;
use super::summary::Summaries;
use super::{ended, read};
use crate::args::ListArgs;
use crate::build::tool;
use crate::exit::Problem;
use crate::output::room;
use crate::record_outputs;
use crate::redact::Redacting;

/// If no run has the cell, the ids of so many of the newest are looked through for the nearest.
const MOST_SUGGESTING: usize = 10;
/// The lines of a screen, where there is none.
const USUAL_LINES: usize = 40;

/// Shows the trend of a cell.
pub fn run(cell: &str, args: &ListArgs) -> Result<ExitCode, Problem> {
    let files = args.files();
    record_outputs::check(&files).map_err(Problem::usage)?;
    if args.limit == Some(0) {
        return Err(Problem::usage(anyhow!("--limit 0 leaves no run; a trend takes 10 at least")));
    }
    let store = Store::of_user().map_err(Problem::failed)?;
    let all = Summaries::of(&store).map_err(Problem::failed)?;
    let against = args.trend.against.as_deref().map(TrendCellName::new);
    let asked = TrendRequest { cell: TrendCellName::new(cell), against, metric: args.trend.metric };
    let like = args.trend.like.as_deref().map(|run| find(&store, run)).transpose();
    let like = like.map_err(Problem::usage)?.map(|file| file.id.to_string());
    let runs = gathered(&store, &all, &asked);
    if runs.is_empty() {
        return Err(Problem::usage(nothing(&store, &all, &asked)));
    }
    let limit = args.limit.unwrap_or(usize::MAX);
    let found = trend(runs, &asked, like.as_deref(), limit, tool());
    let found = found.map_err(|error| Problem::usage(error.into()))?;
    let found = Redacting { redact: args.trend.redact }.apply(found)?;
    let terminal = || {
        let lines = if args.trend.details || args.all { usize::MAX } else { screen() };
        page(&found, lines).terminal(true, room())
    };
    record_outputs::write_and_show(&found, &files, &page(&found, usize::MAX), None, &terminal)?;
    warn_of_unreadable(&all.unreadable(), args.verbose, &store);
    Ok(ExitCode::SUCCESS)
}

/// What is asked of every run that has ended and has it, in the order of time.
fn gathered(store: &Store, all: &Summaries, asked: &TrendRequest) -> Vec<TrendGathered> {
    let may = |run: &RunSummary| asked.cells().all(|cell| cell.may_be_in(run));
    let of = |(_, summary, document): (_, _, Document)| TrendGathered::of(&document, summary, asked);
    ended(store, all, may).rev().filter_map(of).collect()
}

/// Why there is nothing, with the nearest cell that some run has.
fn nothing(store: &Store, all: &Summaries, asked: &TrendRequest) -> anyhow::Error {
    if all.runs.is_empty() {
        return anyhow!(
            "no saved runs in {} yet; run ipcost first: a trend takes at least 10 runs",
            store.runs().display()
        );
    }
    let ended = all.runs.iter().filter(|(_, summary)| summary.state == RunState::Finished);
    let documents = ended.take(MOST_SUGGESTING).filter_map(|(file, _)| read(store, file).ok());
    let known: BTreeSet<String> =
        documents.flat_map(|document| document.cells).map(|cell| cell.id.clone()).collect();
    TrendError::no_such_cell(asked, &Vec::from_iter(known)).into()
}

/// The lines of the terminal.
fn screen() -> usize {
    terminal_size::terminal_size_of(std::io::stdout()).map_or(USUAL_LINES, |(_, rows)| rows.0.into())
}
