//! Finding the saved run that a user means.

use std::path::Path;

use anyhow::bail;
use ipcost_model::{RunState, nearest};

use super::id::RunId;
use super::store::{RunFile, Store};
use super::summary::{Summaries, summary};
use crate::exit::warn;

const LAST: &str = "last";
/// How many of several runs are named in an error.
const MOST_NAMED: usize = 3;

/// Whether something can only be meant as a path.
pub fn is_path(text: &str) -> bool {
    let ends = |end: &str| Path::new(text).extension().is_some_and(|found| found == end);
    text.contains('/') || text == "." || text == ".." || ends("json") || ends("gz") || ends("toml")
}

/// The saved run by its identifier, or an unmistakable beginning or the end of it; by its name, of which the newest
/// counts; or `last`. After the latter two, `~N` goes N runs back.
pub fn find(store: &Store, text: &str) -> anyhow::Result<RunFile> {
    let files = store.contents()?.runs;
    if files.is_empty() {
        bail!("no saved runs in {} yet; run ipcost first", store.runs().display());
    }
    let (word, back) = split(text)?;
    if word == LAST {
        return at(store, &files, word, back, |_| true);
    }
    if back.is_none() {
        let begins: Vec<&RunFile> = files.iter().filter(|file| file.id.as_str().starts_with(word)).collect();
        if let Some(found) = only(word, &begins)? {
            return Ok(found);
        }
    }
    if word.starts_with(char::is_alphabetic) && is_name(store, &files, word) {
        return at(store, &files, word, back, |name| name == Some(word));
    }
    if back.is_none() {
        let ends: Vec<&RunFile> = files.iter().filter(|file| file.id.end() == word).collect();
        if let Some(found) = only(word, &ends)? {
            return Ok(found);
        }
    }
    Err(missed(store, text, word, back.is_some()))
}

/// The run to go on with: the newest that was killed for `last`, else as [`find`] finds it.
pub fn find_unfinished(store: &Store, text: &str) -> anyhow::Result<RunFile> {
    if text == LAST {
        let files = store.contents()?.runs.into_iter();
        let newest = files.filter(|file| file.is_samples).find(|file| !store.is_running(&file.id));
        return newest.ok_or_else(|| {
            anyhow::anyhow!("no run was killed that could go on; ipcost list shows what is saved")
        });
    }
    let file = find(store, text)?;
    if !file.is_samples {
        bail!("run {0} has ended, so there is nothing to go on with; ipcost show {0} shows it", file.id);
    }
    Ok(file)
}

/// A word, and how many runs to go back from there: `last~2`.
fn split(text: &str) -> anyhow::Result<(&str, Option<usize>)> {
    match text.split_once('~') {
        None => Ok((text, None)),
        Some((word, "")) => Ok((word, Some(1))),
        Some((word, number)) => match number.parse() {
            Ok(back) => Ok((word, Some(back))),
            Err(_) => bail!("{text:?}: after ~ comes how many runs to go back, such as {word}~1"),
        },
    }
}

/// The only one, if there is any.
fn only(word: &str, found: &[&RunFile]) -> anyhow::Result<Option<RunFile>> {
    match found {
        [] => Ok(None),
        [one] => Ok(Some((*one).clone())),
        several => {
            let named: Vec<&str> = several.iter().take(MOST_NAMED).map(|file| file.id.as_str()).collect();
            let more = if several.len() > MOST_NAMED { ", …" } else { "" };
            bail!(
                "{word:?} fits {} saved runs: {}{more}; give more of the identifier",
                several.len(),
                named.join(", ")
            )
        }
    }
}

fn is_name(store: &Store, files: &[RunFile], name: &str) -> bool {
    files.iter().any(|file| summary(store, file).is_ok_and(|run| run.name.as_deref() == Some(name)))
}

/// The run that is so many runs back among those whose name fits.
fn at(
    store: &Store,
    files: &[RunFile],
    word: &str,
    back: Option<usize>,
    fits: impl Fn(Option<&str>) -> bool,
) -> anyhow::Result<RunFile> {
    let back = back.unwrap_or(0);
    let mut passed = Vec::new();
    let mut seen = Vec::new();
    let mut hidden = 0;
    for file in files {
        match summary(store, file) {
            // One that is being measured, or has nothing to show yet, is found by its identifier.
            Ok(run) if run.state == RunState::Running || (file.is_samples && run.epochs == 0) => {
                hidden += usize::from(fits(run.name.as_deref()));
            }
            Ok(run) if fits(run.name.as_deref()) => seen.push(file),
            Ok(_) => {}
            Err(reason) => passed.push((file, reason)),
        }
        if seen.len() > back {
            // What is newer might have been meant; that it is passed over must not stay unknown.
            for (file, reason) in passed {
                warn(&format!("{} is passed over: {reason:#}", file.name()));
            }
            return Ok(seen[back].clone());
        }
    }
    match seen.last() {
        None if hidden > 0 => bail!(
            "{word:?} is a run that has not ended; ipcost list tells its identifier, and ipcost resume goes on with one that was killed"
        ),
        None => bail!("none of the {} saved runs can be read; ipcost list tells why", files.len()),
        Some(oldest) => bail!(
            "{word}~{back} does not go back so far: {word}~{} is the oldest such run, {}",
            seen.len() - 1,
            oldest.id
        ),
    }
}

/// That there is no such run, with what is nearest.
fn missed(store: &Store, text: &str, word: &str, positions: bool) -> anyhow::Error {
    let all = Summaries::of(store).unwrap_or_default();
    let names = all.runs.iter().filter_map(|(_, run)| run.name.as_deref());
    let ids = all.runs.iter().map(|(file, _)| file.id.as_str());
    let is_id = word.starts_with(|c: char| c.is_ascii_digit());
    if positions && RunId::parse(word).is_some() {
        return anyhow::anyhow!("{text:?}: only from last and from names one can go back");
    }
    let near = if is_id { nearest(word, ids) } else { nearest(word, names.chain([LAST])) };
    let hint = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
    anyhow::anyhow!("{text:?} is neither a file nor a saved run{hint} (ipcost list shows them)")
}
