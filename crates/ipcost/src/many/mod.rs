//! Outputs of many documents, which are read on all cores and held one at a time.

#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "without_parquet.rs"]
mod parquet;
mod reading;

use std::process::ExitCode;

use anyhow::{anyhow, ensure};
use ipcost_model::first_few;
use ipcost_report::otava::{OtavaRow, render};
use ipcost_report::run_id::run_id;

use crate::args::ReportArgs;
use crate::exit::{Problem, note, warn};
use crate::output::write_text;
use parquet::Dataset;
pub use reading::{Given, each};

/// How many cells without a column are named.
const MOST_CELLS: usize = 4;

/// Writes them. In a directory, a file that cannot be read as a document is a warning.
///
/// # Errors
/// That a RUN cannot be read, that there are none, or what cannot be written.
pub fn write(args: &ReportArgs) -> Result<ExitCode, Problem> {
    check(args).map_err(Problem::usage)?;
    let mut dataset = args.many.parquet.as_deref().map(Dataset::create).transpose()?;
    let mut rows = Vec::new();
    let mut count = 0;
    each(&Given::all(&args.runs).map_err(Problem::usage)?, Given::document, |given, document| {
        let document = match document {
            Ok(document) => document,
            Err(error) if given.is_found => {
                warn(&format!("skipped: {error:#}"));
                return Ok(());
            }
            Err(error) => return Err(Problem::usage(error)),
        };
        let document = args.redacting.apply_to_document(document)?;
        if let Some(dataset) = &mut dataset {
            dataset.add(&document).map_err(Problem::failed)?;
        }
        if args.many.otava.is_some() {
            rows.push(OtavaRow::of(&document, &run_id(&document)));
        }
        count += 1;
        Ok(())
    })?;
    if count == 0 {
        return Err(Problem::usage(anyhow!("there is no document in {}", args.runs.join(", "))));
    }
    if let Some(dataset) = dataset {
        dataset.finish().map_err(Problem::failed)?;
    }
    if let Some(file) = &args.many.otava {
        write_text(&table(rows, args.quiet), file).map_err(Problem::failed)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check(args: &ReportArgs) -> anyhow::Result<()> {
    let others = args.outputs.files().next().is_some() || args.outputs.wide || args.outputs.tables.samples;
    ensure!(
        !others,
        "--parquet and --otava go together, but not with other outputs: run ipcost report again for those"
    );
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
