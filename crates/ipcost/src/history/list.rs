//! `ipcost list`: the saved runs, newest first.

use std::io;
use std::process::ExitCode;

use anyhow::anyhow;
use std::time::{Duration, SystemTime};

use ipcost_features::history::{RUNS_SCHEMA, RunList, UnreadableRun, page};
use ipcost_report::page::Page;
use ipcost_report::words::escaped;

use super::store::Store;
use super::summary::Summaries;
use crate::args::ListArgs;
use crate::exit::{Problem, note, warn};
use crate::output::{print, room};
use crate::record_outputs;

/// How many runs are listed where nothing says how many.
const USUAL: usize = 20;
/// Lines of a terminal that are left to the titles, a note and the prompt.
const OTHER_LINES: usize = 4;
/// How many unreadable files are named one by one without being asked.
const MOST_UNASKED: usize = 3;

pub fn run(args: &ListArgs) -> Result<ExitCode, Problem> {
    if let Some(cell) = &args.trend.trend {
        return super::trend::run(cell, args);
    }
    if let Some(file) = &args.trend.otava {
        return super::otava::run(file, args);
    }
    if args.limit == Some(0) {
        return Err(Problem::usage(anyhow!("--limit 0 lists nothing; give at least 1")));
    }
    let files = args.files();
    record_outputs::check(&files).map_err(Problem::usage)?;
    let store = Store::of_user().map_err(Problem::failed)?;
    let all = Summaries::of(&store).map_err(Problem::failed)?;
    let total = all.runs.len();
    let is_file = files.all().next().is_some();
    let limit = args.limit.unwrap_or_else(|| if args.all || is_file { total } else { usual() });
    let (list, ages) = newest(&store, all, limit);
    if list.runs.is_empty() && !is_file {
        note(&format!("no saved runs in {}", store.runs().display()));
    } else {
        let whole = page(&list, &ages);
        // Who asks for a list at a prompt knows what it is.
        let terminal = || {
            let bare = Page { title: String::new(), about: Vec::new(), ..page(&list, &ages) };
            bare.terminal(false, room())
        };
        record_outputs::write_and_show(&list, &files, &whole, None, &terminal)?;
    }
    if total > limit && !is_file {
        note(&format!("{} older ones are not listed; --all lists them", total - limit));
    }
    warn_of_unreadable(&list.unreadable, args.verbose, &store);
    Ok(ExitCode::SUCCESS)
}

/// Shows the newest saved runs, for a choice.
pub fn list_newest(count: usize) -> Result<(), Problem> {
    let store = Store::of_user().map_err(Problem::failed)?;
    let all = Summaries::of(&store).map_err(Problem::failed)?;
    let (list, ages) = newest(&store, all, count);
    if list.runs.is_empty() {
        return Ok(());
    }
    let bare = Page { title: String::new(), about: Vec::new(), ..page(&list, &ages) };
    print(&bare.terminal(false, room())).map_err(Problem::failed)
}

fn newest(store: &Store, all: Summaries, count: usize) -> (RunList, Vec<Duration>) {
    let (total, unreadable, now) = (all.runs.len(), all.unreadable(), SystemTime::now());
    let (ages, runs): (Vec<Duration>, _) =
        all.runs.into_iter().take(count).map(|(file, summary)| (file.id.age(now), summary)).unzip();
    let (schema, directory) = (RUNS_SCHEMA.to_owned(), store.runs().display().to_string());
    (RunList { schema, directory, total: total as u64, runs, unreadable }, ages)
}

/// As many as a terminal shows at once.
fn usual() -> usize {
    let rows = terminal_size::terminal_size_of(io::stdout()).map(|(_, rows)| usize::from(rows.0));
    rows.map_or(USUAL, |rows| rows.saturating_sub(OTHER_LINES).max(1))
}

/// Warns of what cannot be read.
pub(super) fn warn_of_unreadable(unreadable: &[UnreadableRun], verbose: bool, store: &Store) {
    if verbose || unreadable.len() <= MOST_UNASKED {
        for file in unreadable {
            warn(&format!("{} is skipped: {}", escaped(&file.file), file.reason));
        }
    } else {
        warn(&format!(
            "{} files in {} are skipped, since they cannot be read as saved runs; --verbose names them",
            unreadable.len(),
            store.runs().display()
        ));
    }
}
