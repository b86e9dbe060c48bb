//! Tables of a document, each to a file of its own.

use ipcost_model::Document;
use ipcost_report::{benchfmt, csv, markdown, openmetrics};

use crate::args::TableArgs;
use crate::output::write_text;

/// Draws a table.
type Render = fn(&Document) -> String;

/// Writes the tables that were asked for, and tells whether there were any.
///
/// # Errors
/// Where one cannot be written.
pub fn write(document: &Document, tables: &TableArgs) -> anyhow::Result<bool> {
    let cells = if tables.samples { csv::samples } else { csv::cells };
    let outputs: [(_, Render); 4] = [
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
