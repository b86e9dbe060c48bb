//! `ipcost prune`: removing saved runs, by criteria that must all hold.

use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::anyhow;
use ipcost_features::history::RunSummary;
use ipcost_features::history::job;
use ipcost_model::RunState;
use ipcost_model::units::counted;
use ipcost_report::words::escaped;

use super::store::{RunFile, Store};
use super::summary::Summaries;
use crate::args::PruneArgs;
use crate::exit::Problem;
use crate::output::print;

/// Removes what all criteria hold for, and says what that was.
pub fn run(args: &PruneArgs) -> Result<ExitCode, Problem> {
    if args.keep.is_none() && args.older_than.is_none() && !args.damaged {
        return Err(Problem::usage(anyhow!(
            "choose what to remove: --keep N, --older-than 90d or --damaged; with --dry-run nothing is removed"
        )));
    }
    let store = Store::of_user().map_err(Problem::failed)?;
    let all = Summaries::of(&store).map_err(Problem::failed)?;
    let doomed = doomed(args, &store, &all, SystemTime::now());
    let mut out = String::new();
    let mut removed = (0_usize, 0);
    let mut failures = Vec::new();
    for (file, what) in &doomed {
        if !args.dry_run
            && let Err(error) = store.remove(file)
        {
            failures.push(format!("{}: {error}", file.id));
            continue;
        }
        removed = (removed.0 + 1, removed.1 + file.bytes);
        out.push_str(&format!("{}  {what}\n", file.id));
    }
    if !args.dry_run {
        store.sweep();
    }
    let verb = if args.dry_run { "would remove" } else { "removed" };
    out.push_str(&format!(
        "{verb} {} of {}, {}\n",
        removed.0,
        counted((all.runs.len() + all.damaged.len()) as u64, "saved run"),
        bytes(removed.1)
    ));
    print(&out).map_err(Problem::failed)?;
    match failures.first() {
        None => Ok(ExitCode::SUCCESS),
        Some(first) => Err(Problem::failed(anyhow!(
            "{} could not be removed; {first}",
            counted(failures.len() as u64, "saved run")
        ))),
    }
}

/// What goes, newest first, with a word on what it is. What cannot be read goes only if it was asked for.
fn doomed<'a>(
    args: &PruneArgs,
    store: &Store,
    all: &'a Summaries,
    now: SystemTime,
) -> Vec<(&'a RunFile, String)> {
    let old = |file: &RunFile| args.older_than.is_none_or(|limit| file.id.age(now) > limit);
    let mut doomed = Vec::new();
    if args.keep.is_some() || args.older_than.is_some() {
        // What is being measured is no one's to remove.
        let ended = all.runs.iter().filter(|(_, run)| run.state != RunState::Running);
        let may_go = ended.filter(|(_, run)| args.named || run.name.is_none());
        let kept = args.keep.unwrap_or(0);
        doomed
            .extend(may_go.skip(kept).filter(|(file, _)| old(file)).map(|(file, run)| (file, in_short(run))));
    }
    if args.damaged {
        let running = |file: &RunFile| file.is_samples && store.is_running(&file.id);
        let unreadable = all.damaged.iter().filter(|(file, _)| old(file) && !running(file));
        doomed.extend(unreadable.map(|(file, reason)| (file, format!("unreadable: {reason}"))));
    }
    doomed
}

fn in_short(run: &RunSummary) -> String {
    let name = run.name.as_deref().map_or(String::new(), |name| format!("{}: ", escaped(name)));
    format!("{name}{}", escaped(&job(run)))
}

/// Bytes for people, in powers of 1000, as `du --si` tells them.
fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}
