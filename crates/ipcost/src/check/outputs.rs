//! Where what was decided goes: the terminal, files, GitHub.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use ipcost_features::check::fleet::FleetCheck;
use ipcost_features::check::{Check, Questions, View, github, junit, page};
use ipcost_model::{Plan, escaped_lines};
use ipcost_report::plan as plan_text;
use serde::Serialize;

use crate::args::CheckArgs;
use crate::output::{is_standard_output, print, room, show_warnings, tell, write_pretty, write_text};

/// Warnings of the document that speak of its contrasts, where claims are what was asked.
const NOT_OF_CLAIMS: [&str; 2] = ["unresolved", "no-intervals"];

/// Shows and writes every output that was asked for.
///
/// # Errors
/// What cannot be written.
pub fn write(args: &CheckArgs, check: &Check) -> anyhow::Result<()> {
    let view = check.view();
    show(args, &view)?;
    if !args.quiet {
        let mut document = check.document.clone();
        document.warnings.retain(|warning| !NOT_OF_CLAIMS.contains(&warning.code.as_str()));
        show_warnings(&document, "--json FILE");
    }
    write_files(args, check, &view)
}

/// The same of what many hosts say.
///
/// # Errors
/// What cannot be written.
pub fn write_fleet(args: &CheckArgs, fleet: &FleetCheck) -> anyhow::Result<()> {
    let view = fleet.view();
    show(args, &view)?;
    write_files(args, fleet, &view)
}

/// Whether a file takes standard output.
fn is_taken(args: &CheckArgs) -> bool {
    [&args.json, &args.junit].into_iter().flatten().any(|path| is_standard_output(path))
}

fn show(args: &CheckArgs, view: &View<'_>) -> anyhow::Result<()> {
    if is_taken(args) { Ok(()) } else { print(&page(view).terminal(false, room())) }
}

fn write_files(args: &CheckArgs, record: &impl Serialize, view: &View<'_>) -> anyhow::Result<()> {
    if let Some(path) = &args.json {
        write_pretty(record, path)?;
    }
    if let Some(path) = &args.junit {
        write_text(&junit::render(view), path)?;
    }
    if on_github(args) {
        annotate(view, is_taken(args))?;
    }
    Ok(())
}

fn on_github(args: &CheckArgs) -> bool {
    let there = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    args.github || (there && !args.no_github)
}

fn annotate(check: &View<'_>, standard_output_is_taken: bool) -> anyhow::Result<()> {
    let annotations = github::annotations(check, &from_the_root(Path::new(check.file)));
    if standard_output_is_taken {
        // Workflow commands are understood on either.
        tell(&annotations);
    } else {
        print(&annotations)?;
    }
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let path = PathBuf::from(path);
    let context = || format!("cannot write the step's summary, {}", path.display());
    let mut file = OpenOptions::new().create(true).append(true).open(&path).with_context(context)?;
    file.write_all(escaped_lines(&page(check).markdown()).as_bytes()).with_context(context)
}

/// A path as GitHub names it: from the root of the repository, as far as that is known.
fn from_the_root(file: &Path) -> String {
    let root =
        std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from).and_then(|root| root.canonicalize().ok());
    let whole = file.canonicalize().ok();
    let within = root.zip(whole).and_then(|(root, whole)| Some(whole.strip_prefix(root).ok()?.to_owned()));
    within.as_deref().unwrap_or(file).display().to_string()
}

/// Says what was recorded.
///
/// # Errors
/// Where standard output cannot be written.
pub fn recorded(args: &CheckArgs, check: &Check, path: &Path) -> anyhow::Result<()> {
    if !args.quiet {
        show_warnings(&check.document, "--json FILE");
    }
    if is_standard_output(path) {
        return Ok(());
    }
    let cells = check.document.cells.iter().filter(|cell| cell.epochs > 0).count();
    print(&format!(
        "{}: {} epochs of {cells} cells, to compare with: baseline = \"…\"\n",
        path.display(),
        check.epochs
    ))
}

/// The claims, a line each.
pub fn list(questions: &Questions) -> String {
    let line = |(text, line, hopeless): (&str, usize, Option<&str>)| {
        let reason =
            hopeless.map_or_else(String::new, |reason| format!("  (cannot be decided here: {reason})"));
        format!("line {line}: {text}{reason}\n")
    };
    questions.list().map(line).collect()
}

/// The plan of the run, and the claims it is for.
pub fn plan(plan: &Plan, questions: &Questions) -> String {
    // The document's own contrasts have a level of their own.
    let epochs_needed = ipcost_lab::planning::epochs_for_contrasts(plan);
    format!(
        "{}\n{} intervals for claims share alpha {} ({:.5} each); the first finite ones come after {} epochs\n{}",
        plan_text::render(&Plan { epochs_needed, ..plan.clone() }),
        questions.intervals(),
        plan.alpha,
        questions.level(),
        plan.epochs_needed,
        list(questions)
    )
}
