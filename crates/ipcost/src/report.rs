//! `ipcost report`: render a document that was measured before.

use std::process::ExitCode;

use crate::args::ReportArgs;
use crate::documents;
use crate::exit::Problem;
use crate::output::{show, write_json};
use crate::tables::{self, check_standard_output};

/// Writes every output that was asked for; without any, shows the document on the terminal.
///
/// # Errors
/// What is wrong with the document, or what cannot be written.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Problem> {
    check_standard_output(args.json.as_deref().into_iter().chain(args.tables.files()))
        .map_err(Problem::usage)?;
    let document = documents::load(&args.run).map_err(Problem::usage)?;
    let mut written = tables::write(&document, &args.tables).map_err(Problem::failed)?;
    if let Some(path) = &args.json {
        write_json(&document, path).map_err(Problem::failed)?;
        written = true;
    }
    if !written {
        show(&document, args.quiet).map_err(Problem::failed)?;
    }
    Ok(ExitCode::SUCCESS)
}
