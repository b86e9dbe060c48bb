//! The table of many documents, which are read on all cores and held one at a time.

mod reading;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{anyhow, ensure};
use ipcost_model::first_few;
use ipcost_report::otava::{OtavaRow, render};
use ipcost_report::run_id::run_id;

use crate::args::ShowArgs;
use crate::exit::{Problem, note, warn};
use crate::output::write_text;
pub use reading::{GivenDocuments, each};

/// How many cells without a column are named.
const MOST_CELLS: usize = 4;

/// Writes it. In a directory, a file that cannot be read as a document is a warning.
pub fn write(args: &ShowArgs, file: &Path) -> Result<ExitCode, Problem> {
    check(args).map_err(Problem::usage)?;
    let mut rows = Vec::new();
    each(
        &GivenDocuments::all(&args.runs).map_err(Problem::usage)?,
        GivenDocuments::document,
        |given, document| {
            let document = match document {
                Ok(document) => document,
                Err(error) if given.is_found => {
                    warn(&format!("skipped: {error:#}"));
                    return Ok(());
                }
                Err(error) => return Err(Problem::usage(error)),
            };
            let document = args.redacting.apply_to_document(document)?;
            rows.push(OtavaRow::of(&document, &run_id(&document)));
            Ok(())
        },
    )?;
    if rows.is_empty() {
        return Err(Problem::usage(anyhow!("there is no document in {}", args.runs.join(", "))));
    }
    write_text(&table(rows, args.quiet), file).map_err(Problem::failed)?;
    Ok(ExitCode::SUCCESS)
}

fn check(args: &ShowArgs) -> anyhow::Result<()> {
    let others = args.outputs.files().next().is_some() || args.outputs.details || args.outputs.samples;
    ensure!(!others, "--otava goes with no other output: run ipcost show again for those");
    Ok(())
}

/// The rows as a table; names the cells without a column.
pub fn table(rows: Vec<OtavaRow>, quiet: bool) -> String {
    let (table, missing) = render(rows);
    if !missing.is_empty() && !quiet {
        note(&format!(
            "without a column, since not every run has a cost of it: {}",
            first_few(&missing, MOST_CELLS)
        ));
    }
    table
}
