//! `ipcost list --otava`: saved runs that belong to one history, as a table for Apache Otava.

use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use ipcost_features::history::{Alike, RunSummary};
use ipcost_model::RunState;
use ipcost_report::otava::Row;

use super::find::find;
use super::list::tell;
use super::read;
use super::store::{RunFile, Store};
use super::summary::Summaries;
use crate::args::ListArgs;
use crate::exit::{Problem, note, warn};
use crate::many::table;
use crate::output::write_text;

/// A saved run, as far as the table needs it.
struct Candidate {
    id: String,
    alike: Alike,
    row: Row,
}

/// Writes the runs that are like one of them: by default like the newest of a release build.
///
/// # Errors
/// That there are none, or that something cannot be read or written.
pub fn run(file: &Path, args: &ListArgs) -> Result<ExitCode, Problem> {
    let store = Store::of_user().map_err(Problem::failed)?;
    let all = Summaries::of(&store).map_err(Problem::failed)?;
    let like = args.trend.like.as_deref().map(|run| find(&store, run)).transpose();
    let like = like.map_err(Problem::usage)?.map(|file| file.id.to_string());
    let runs: Vec<Candidate> = all.runs.iter().filter_map(|run| candidate(&store, run)).collect();
    let model = match &like {
        Some(id) => runs.iter().find(|run| run.id == *id),
        None => runs.iter().find(|run| !run.alike.debug).or(runs.first()),
    };
    let alike = model.map(|run| run.alike.clone()).ok_or_else(|| {
        Problem::usage(match like {
            Some(id) => {
                anyhow!("the run {id} has not ended, or measured nothing; ipcost list shows the others")
            }
            None => anyhow!("no run is saved in {}; ipcost run saves every run", store.runs().display()),
        })
    })?;
    let total = runs.len();
    let rows: Vec<Row> = runs.into_iter().filter(|run| run.alike == alike).map(|run| run.row).collect();
    let others = total - rows.len();
    let limit = args.limit.unwrap_or(usize::MAX);
    let table = table(rows.into_iter().take(limit).collect(), false);
    write_text(&table, file).map_err(Problem::failed)?;
    if others > 0 {
        note(&format!("{others} runs of another host, job or build are left out; --like RUN follows those"));
    }
    tell(&all.unreadable(), args.verbose, &store);
    Ok(ExitCode::SUCCESS)
}

/// One that has ended and measured something.
fn candidate(store: &Store, (file, summary): &(RunFile, RunSummary)) -> Option<Candidate> {
    if summary.state != RunState::Finished || summary.epochs == 0 {
        return None;
    }
    match read(store, file) {
        Ok(document) => {
            let id = file.id.to_string();
            let row = Row::of(&document, &id);
            Some(Candidate { id, alike: Alike::of(&document), row })
        }
        Err(error) => {
            warn(&format!("{} is skipped: {error:#}", file.id));
            None
        }
    }
}
