//! Where what was decided goes: the terminal, files, GitHub.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use ipcost_features::answers::answer_as;
use ipcost_features::check::fleet::FleetCheck;
use ipcost_features::check::{Check, Questions, View, github, junit, page};
use ipcost_model::units::counted;
use ipcost_model::{Document, Plan, escaped_lines};
use ipcost_report::plan as plan_text;
use ipcost_sys::file_writer::open_to_append;

use crate::args::{CheckArgs, RecordFiles};
use crate::exit::{Problem, ended};
use crate::finish::OwnOutput;
use crate::output::{is_standard_output, print, print_error, write_text};
use crate::record_outputs;

/// The outputs that only claims have.
pub fn own<'a>(args: &'a CheckArgs) -> Vec<OwnOutput<'a>> {
    let mut own = Vec::new();
    if let Some(path) = args.junit.as_deref() {
        let write = |document: &Document| write_junit(&check_of(document)?.view(document), path);
        own.push(OwnOutput {
            path: Some(path),
            write: Box::new(move |document| write(document).map_err(Problem::failed)),
        });
    }
    if on_github(args) {
        let write = |document: &Document| annotate(&check_of(document)?.view(document), is_taken(args));
        own.push(OwnOutput {
            path: None,
            write: Box::new(move |document| write(document).map_err(Problem::failed)),
        });
    }
    own
}

/// What a document says of claims.
pub fn check_of(document: &Document) -> anyhow::Result<Box<Check>> {
    answer_as(document)?.context("there are no claims")
}

/// Shows and writes what many hosts say.
pub fn write_fleet(args: &CheckArgs, fleet: &FleetCheck, files: &RecordFiles) -> Result<(), Problem> {
    let view = fleet.view();
    let shown = record_outputs::write(fleet, files, &page(&view), None, args.common.outputs.details);
    let junit = args.junit.as_deref().map_or(Ok(()), |path| write_junit(&view, path));
    let github = if on_github(args) { annotate(&view, is_taken(args)) } else { Ok(()) };
    let own = [junit, github].map(|written| written.map_err(Problem::failed));
    ended([shown].into_iter().chain(own).filter_map(Result::err).collect()).map(|_| ())
}

fn write_junit(view: &View<'_>, path: &Path) -> anyhow::Result<()> {
    write_text(&junit::render(view), path)
}

/// Whether a file takes standard output.
fn is_taken(args: &CheckArgs) -> bool {
    args.common.outputs.files().chain(args.junit.as_deref()).any(is_standard_output)
}

fn on_github(args: &CheckArgs) -> bool {
    let there = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    args.github || (there && !args.no_github)
}

fn annotate(check: &View<'_>, standard_output_is_taken: bool) -> anyhow::Result<()> {
    let annotations = github::annotations(check, &from_the_root(Path::new(check.file)));
    if standard_output_is_taken {
        // Workflow commands are understood on either.
        print_error(&annotations);
    } else {
        print(&annotations)?;
    }
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let path = PathBuf::from(path);
    let context = || format!("cannot write the step's summary, {}", path.display());
    let mut file = open_to_append(&path).with_context(context)?;
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

/// Says what was recorded; nothing where that takes standard output.
pub fn recorded(document: &Document, path: &Path) -> String {
    if is_standard_output(path) {
        return String::new();
    }
    let cells = document.cells.iter().filter(|cell| cell.epochs > 0).count();
    format!(
        "{}: {} epochs of {cells} cells, to compare with: baseline = \"…\"\n",
        path.display(),
        document.schedule.epochs
    )
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
        "{}\n{} decide the claims, in epoch {} at the earliest\n{}",
        plan_text::render(&Plan { epochs_needed, ..plan.clone() }),
        counted(questions.intervals() as u64, "test"),
        plan.epochs_needed,
        list(questions)
    )
}
