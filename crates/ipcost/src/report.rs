//! `ipcost report`: render a document that was measured before.

use std::process::ExitCode;

use crate::args::ReportArgs;
use crate::documents;
use crate::exit::Problem;
use crate::output::{at_most_one_on_standard_output, show, write_html, write_json};

/// Writes every output that was asked for; without any, shows the document on the terminal.
///
/// # Errors
/// What is wrong with the document, or what cannot be written.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Problem> {
    at_most_one_on_standard_output(&[&args.json, &args.html]).map_err(Problem::usage)?;
    let document = documents::load(&args.run).map_err(Problem::usage)?;
    let mut written = false;
    if let Some(path) = &args.json {
        write_json(&document, path).map_err(Problem::failed)?;
        written = true;
    }
    if let Some(path) = &args.html {
        write_html(&document, path).map_err(Problem::failed)?;
        written = true;
    }
    if !written {
        show(&document, args.quiet).map_err(Problem::failed)?;
    }
    Ok(ExitCode::SUCCESS)
}
