//! What lists need of a saved run: kept beside its document, and made from it again where that does not fit.

use anyhow::{anyhow, bail};
use ipcost_features::history::{RunSummary, SUMMARY_SCHEMA, UnreadableRun};
use ipcost_model::{RunState, read_record};
use serde::{Deserialize, Serialize};

use super::samples;
use super::store::{Contents, RunFile, Store};
use crate::documents;

/// What is kept. It is a cache: it holds for a file of that size, and that a file cannot be read holds for the
/// version that tried.
#[derive(Serialize, Deserialize)]
struct KeptSummary {
    schema: String,
    program: String,
    file_bytes: u64,
    #[serde(flatten)]
    found: StoredSummary,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredSummary {
    Run(Box<RunSummary>),
    Unreadable(String),
}

const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The summary of a saved run.
pub fn summary(store: &Store, file: &RunFile) -> anyhow::Result<RunSummary> {
    let kept = store.summary(&file.id).and_then(|bytes| read_record::<KeptSummary>(&bytes).ok());
    let fits = |kept: &KeptSummary| {
        let same_kind = match &kept.found {
            StoredSummary::Run(run) => (run.state != RunState::Finished) == file.is_samples,
            StoredSummary::Unreadable(_) => kept.program == PROGRAM,
        };
        kept.schema == SUMMARY_SCHEMA && kept.file_bytes == file.bytes && same_kind
    };
    let found = kept_or_made(store, file, kept.filter(fits).map(|kept| kept.found))?;
    // Whether it still runs is never kept.
    let running = file.is_samples && store.is_running(&file.id);
    Ok(if running { RunSummary { state: RunState::Running, ..found } } else { found })
}

fn kept_or_made(store: &Store, file: &RunFile, kept: Option<StoredSummary>) -> anyhow::Result<RunSummary> {
    match kept {
        // Whatever it says of itself, it belongs to the file it is named after.
        Some(StoredSummary::Run(summary)) if summary.id == file.id.as_str() => Ok(*summary),
        Some(StoredSummary::Unreadable(reason)) => bail!(reason),
        _ if file.is_samples => of_samples(store, file),
        _ => made_again(store, file),
    }
}

fn of_samples(store: &Store, file: &RunFile) -> anyhow::Result<RunSummary> {
    let open = store.open_samples(&file.id);
    let read = open.and_then(|open| samples::read(&store.samples_path(&file.id), open))?;
    let document = samples::document_of(read);
    let summary = RunSummary {
        state: RunState::Unfinished,
        ..RunSummary::of(&document, file.id.as_str(), &file.id.saved(), file.bytes)
    };
    keep_summary(store, file, &summary);
    Ok(summary)
}

fn made_again(store: &Store, file: &RunFile) -> anyhow::Result<RunSummary> {
    let from = store.open(&file.id)?;
    let bytes = documents::unpacked(from).map_err(|error| {
        // A lack of memory or a bad disk may pass; a file that ends too early stays so.
        let reason = format!("half-written or no saved run: {error}");
        if documents::is_content(&error) {
            keep(store, file, StoredSummary::Unreadable(reason.clone()));
        }
        anyhow!(reason)
    })?;
    match ipcost_model::read_document(&bytes) {
        Ok(document) => {
            let summary = RunSummary::of(&document, file.id.as_str(), &file.id.saved(), file.bytes);
            keep_summary(store, file, &summary);
            Ok(summary)
        }
        Err(error) => {
            let reason = error.to_string();
            keep(store, file, StoredSummary::Unreadable(reason.clone()));
            bail!(reason)
        }
    }
}

/// Keeps a summary for next time.
pub fn keep_summary(store: &Store, file: &RunFile, summary: &RunSummary) {
    keep(store, file, StoredSummary::Run(Box::new(summary.clone())));
}

fn keep(store: &Store, file: &RunFile, found: StoredSummary) {
    let kept = KeptSummary {
        schema: SUMMARY_SCHEMA.to_owned(),
        program: PROGRAM.to_owned(),
        file_bytes: file.bytes,
        found,
    };
    if let Ok(bytes) = serde_json::to_vec(&kept) {
        store.keep_summary(&file.id, &bytes);
    }
}

/// Every saved run, newest first, and what cannot be read as one.
#[derive(Debug, Default)]
pub struct Summaries {
    pub runs: Vec<(RunFile, RunSummary)>,
    pub damaged: Vec<(RunFile, String)>,
    /// Names of what no run was saved as.
    pub strangers: Vec<String>,
}

impl Summaries {
    /// Of all that is in the directory.
    pub fn of(store: &Store) -> anyhow::Result<Self> {
        let Contents { runs, strangers } = store.contents()?;
        let mut all = Self { strangers, ..Self::default() };
        for file in runs {
            match summary(store, &file) {
                Ok(summary) => all.runs.push((file, summary)),
                Err(reason) => all.damaged.push((file, format!("{reason:#}"))),
            }
        }
        Ok(all)
    }

    /// What cannot be read, as it is told.
    pub fn unreadable(&self) -> Vec<UnreadableRun> {
        let damaged = self
            .damaged
            .iter()
            .map(|(file, reason)| UnreadableRun { file: file.name(), reason: reason.clone() });
        let strangers = self.strangers.iter().map(|name| UnreadableRun {
            file: name.clone(),
            reason: "no run was saved under such a name; documents from elsewhere are read by their path"
                .to_owned(),
        });
        damaged.chain(strangers).collect()
    }
}
