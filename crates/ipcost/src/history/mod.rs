//! Saved runs: `ipcost run` keeps every document, and whatever takes a RUN finds it again.
//!
//! A saved run is one file, the document as it is, packed. Everything else (summaries for lists) is a cache.

mod find;
mod id;
mod list;
mod otava;
mod prune;
mod samples;
mod store;
mod summary;
mod trend;

use std::fs::File;
use std::path::Path;

use anyhow::Context;
use ipcost_features::compare::{ComparedBy, PastRuns};
use ipcost_features::history::{AlikeRuns, RunSummary};
use ipcost_lab::About;
use ipcost_model::{Document, Plan, Purpose, RunState, Samples, escaped, read_document};

pub use list::{list_newest, run as list};
pub use prune::run as prune;
pub use samples::{SamplesFile, check_same, is_samples_path};

use store::{RunFile, Store};
use summary::Summaries;

use crate::documents;
use crate::exit::warn;

/// The newest so many saved runs tell how much runs differ: more take time to read, and are of older days.
const MOST_PAST_RUNS: usize = 30;

/// Begins the samples file of a run. That it cannot be written is a warning: the run goes on without.
pub fn begin(about: &About, name: Option<&str>, plan: &Plan, purpose: Purpose) -> Option<SamplesFile> {
    let begun = Store::of_user().and_then(|store| SamplesFile::begin(&store, about, name, plan, purpose));
    begun.inspect_err(|error| {
        warn(&format!(
            "samples are not kept while they are measured: {error:#}; should the run be killed they are lost; IPCOST_DATA_DIR sets another place"
        ));
    })
    .ok()
}

/// Opens the samples file of a run that was killed, to go on with it.
///
/// # Errors
/// That there is no such run, that it has ended or is being measured, or why it cannot be read.
pub fn reopen(text: &str) -> anyhow::Result<(SamplesFile, Samples)> {
    let store = Store::of_user()?;
    let file = find::find_unfinished(&store, text)?;
    SamplesFile::reopen(&store, &file)
}

/// Saves a document; its samples file is then gone. What tells where it is, for the end; that it cannot be saved is a warning.
pub fn keep(document: &Document, samples: Option<SamplesFile>) -> Option<String> {
    let saved = Store::of_user().and_then(|store| {
        let file = store.save(document, samples.as_ref().map(SamplesFile::id))?;
        let summary = RunSummary::of(document, file.id.as_str(), &file.id.saved(), file.bytes);
        summary::keep_summary(&store, &file, &summary);
        Ok(file)
    });
    match saved {
        Ok(file) => {
            let handle = document.name.as_deref().unwrap_or("last");
            samples.into_iter().for_each(SamplesFile::remove);
            Some(format!("saved as {}; ipcost show {}\n", file.id, escaped(handle)))
        }
        Err(error) => {
            let whole = samples.filter(SamplesFile::is_whole);
            let kept = whole.map_or(String::new(), |samples| {
                format!("; its samples are in {}, which ipcost show reads", samples.path().display())
            });
            warn(&format!(
                "the run could not be saved: {error:#}; IPCOST_DATA_DIR sets another place, --json FILE writes it to a file, --no-save asks for none{kept}"
            ));
            None
        }
    }
}

/// Saved runs of the same job on the same host as all of these, and of neither side; none if the sides differ in that, or if
/// nothing is saved.
pub fn past_runs(a: &[Document], b: &[Document], by: impl IntoIterator<Item = ComparedBy>) -> PastRuns {
    past(a, b, PastRuns::new(by), |kind| kind)
}

/// The same of the job of claims, of none of these baselines: a recorded baseline and a check measure alike.
pub fn past_checks(baselines: &[Document], by: impl IntoIterator<Item = ComparedBy>) -> PastRuns {
    past(baselines, &[], PastRuns::new(by), |kind| kind.filter(|kind| kind != "check"))
}

fn past(
    a: &[Document],
    b: &[Document],
    mut past: PastRuns,
    alike_kind: impl Fn(Option<String>) -> Option<String>,
) -> PastRuns {
    let Some(first) = a.first() else { return past };
    let of = |run: &Document| {
        let mut alike = AlikeRuns::of(run);
        alike.job.0 = alike_kind(alike.job.0);
        alike
    };
    let alike = of(first);
    let is_like = |run: &Document| of(run).is_like(&alike);
    let Some(store) = Store::of_user().ok().filter(|_| a.iter().chain(b).all(is_like)) else { return past };
    let Ok(all) = Summaries::of(&store) else { return past };
    let compared = |run: &Document| {
        a.iter().chain(b).any(|other| (&other.started, other.seed) == (&run.started, run.seed))
    };
    let in_short = RunSummary::of(first, "", "", 0);
    let may = |summary: &RunSummary| {
        summary.state == RunState::Finished
            && alike_kind(summary.kind.clone()) == alike_kind(in_short.kind.clone())
            && (&summary.host, summary.cells) == (&in_short.host, in_short.cells)
    };
    let runs = all.runs.iter().filter(|(_, summary)| may(summary));
    let documents = runs.filter_map(|(file, _)| read(&store, file).ok());
    let documents = documents.filter(|run| is_like(run) && !compared(run) && run.schedule.epochs > 0);
    documents.take(MOST_PAST_RUNS).for_each(|run| past.add(&run));
    past
}

/// Whether a text is meant as a saved run rather than as a path that leads nowhere.
pub fn is_run(text: &str) -> bool {
    !text.is_empty() && !find::is_path(text)
}

/// The document of a saved run.
pub fn load(text: &str) -> anyhow::Result<Document> {
    let store = Store::of_user()?;
    let file = find::find(&store, text)?;
    if file.is_samples {
        let path = store.samples_path(&file.id);
        return load_samples(&path, store.open_samples(&file.id)?);
    }
    read(&store, &file)
}

/// Reads the document of a run that has ended.
fn read(store: &Store, file: &RunFile) -> anyhow::Result<Document> {
    let path = store.path(&file.id);
    let bytes = store
        .open(&file.id)
        .and_then(documents::unpacked)
        .with_context(|| format!("cannot read the saved run {}", path.display()))?;
    read_document(&bytes).with_context(|| format!("saved run {}", file.id))
}

/// The documents of runs that have ended and may be wanted, newest first. One that cannot be read is skipped with a warning.
fn ended<'a>(
    store: &'a Store,
    all: &'a Summaries,
    may: impl Fn(&RunSummary) -> bool + 'a,
) -> impl DoubleEndedIterator<Item = (&'a RunFile, &'a RunSummary, Document)> {
    let wanted = move |summary: &RunSummary| summary.state == RunState::Finished && may(summary);
    let runs = all.runs.iter().filter(move |(_, summary)| wanted(summary));
    runs.filter_map(|(file, summary)| match read(store, file) {
        Ok(document) => Some((file, summary, document)),
        Err(error) => {
            warn(&format!("{} is skipped: {error:#}", file.id));
            None
        }
    })
}

/// The document of what is complete in a samples file.
pub fn load_samples(path: &Path, file: File) -> anyhow::Result<Document> {
    samples::shown(samples::read(path, file)?)
}
