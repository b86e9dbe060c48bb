//! `ipcost list --otava`: saved runs that belong to one history, as a table for Apache Otava.

use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use ipcost_features::history::AlikeRuns;
use ipcost_model::Document;
use ipcost_report::otava::OtavaRow;

use super::ended;
use super::find::find;
use super::list::warn_of_unreadable;
use super::store::{RunFile, Store};
use super::summary::Summaries;
use crate::args::ListArgs;
use crate::exit::{Problem, note};
use crate::many::table;
use crate::output::write_text;

/// A saved run, as far as the table needs it.
struct OtavaCandidate {
    id: String,
    alike: AlikeRuns,
    row: OtavaRow,
}

/// Writes the runs that are like one of them: by default like the newest of a release build.
pub fn run(file: &Path, args: &ListArgs) -> Result<ExitCode, Problem> {
    let store = Store::of_user().map_err(Problem::failed)?;
    let all = Summaries::of(&store).map_err(Problem::failed)?;
    let like = args.trend.like.as_deref().map(|run| find(&store, run)).transpose();
    let like = like.map_err(Problem::usage)?.map(|file| file.id.to_string());
    let measured = ended(&store, &all, |summary| summary.epochs > 0);
    let runs: Vec<OtavaCandidate> = measured.map(|(file, _, document)| candidate(file, &document)).collect();
    let model = match &like {
        Some(id) => runs.iter().find(|run| run.id == *id),
        None => runs.iter().find(|run| !run.alike.debug).or(runs.first()),
    };
    let alike = model.map(|run| run.alike.clone()).ok_or_else(|| {
        Problem::usage(match like {
            Some(id) => {
                anyhow!("the run {id} has not ended, or measured nothing; ipcost list shows the others")
            }
            None => anyhow!("no saved runs in {} yet; run ipcost first", store.runs().display()),
        })
    })?;
    let total = runs.len();
    let rows: Vec<OtavaRow> =
        runs.into_iter().filter(|run| run.alike.is_like(&alike)).map(|run| run.row).collect();
    let others = total - rows.len();
    let limit = args.limit.unwrap_or(usize::MAX);
    let table = table(rows.into_iter().take(limit).collect(), false);
    write_text(&table, file).map_err(Problem::failed)?;
    if others > 0 {
        note(&format!(
            "{others} runs of another host, job, build or length of batches are left out; --like RUN follows those"
        ));
    }
    warn_of_unreadable(&all.unreadable(), args.verbose, &store);
    Ok(ExitCode::SUCCESS)
}

fn candidate(file: &RunFile, document: &Document) -> OtavaCandidate {
    let id = file.id.to_string();
    let row = OtavaRow::of(document, &id);
    OtavaCandidate { id, alike: AlikeRuns::of(document), row }
}
