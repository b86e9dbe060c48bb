//! Tables of a document, each to a file of its own.

use std::path::Path;

use anyhow::ensure;
use ipcost_model::Document;
use ipcost_report::{benchfmt, csv, markdown, openmetrics};

use crate::args::TableArgs;
use crate::output::{is_standard_output, write_text};

/// Checks that at most one of these files is standard output.
///
/// # Errors
/// Where two are.
pub fn check_standard_output<'a>(files: impl Iterator<Item = &'a Path>) -> anyhow::Result<()> {
    let count = files.filter(|file| is_standard_output(file)).count();
    ensure!(count <= 1, "{count} outputs cannot share standard output; give all but one a file");
    Ok(())
}

/// Writes the tables that were asked for, and tells whether there were any.
///
/// # Errors
/// Where one cannot be written.
pub fn write(document: &Document, tables: &TableArgs) -> anyhow::Result<bool> {
    let cells = if tables.samples { csv::samples } else { csv::cells };
    let outputs: [(_, fn(&Document) -> String); 4] = [
        (&tables.csv, cells),
        (&tables.markdown, markdown::render),
        (&tables.benchfmt, benchfmt::render),
        (&tables.openmetrics, openmetrics::render),
    ];
    for (file, render) in outputs {
        if let Some(file) = file {
            write_text(&render(document), file)?;
        }
    }
    Ok(tables.files().next().is_some())
}
