//! `ipcost report`: render a document that was measured before.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use ipcost_model::Document;
use ipcost_report::picture;

use crate::args::ReportArgs;
use crate::documents;
use crate::exit::Problem;
use crate::output::{
    at_most_one_on_standard_output, is_standard_output, show, write_bytes, write_html, write_json,
};
use crate::tables;

/// Writes every output that was asked for; without any, shows the document on the terminal.
///
/// # Errors
/// What is wrong with the document, or what cannot be written.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Problem> {
    check(args).map_err(Problem::usage)?;
    let document = documents::load(&args.run).map_err(Problem::usage)?;
    let document = args.redacting.apply_to_document(document)?;
    let pictures = draw(args, &document).map_err(Problem::usage)?;
    let mut written = tables::write(&document, &args.tables).map_err(Problem::failed)?;
    if let Some(path) = &args.json {
        write_json(&document, path).map_err(Problem::failed)?;
        written = true;
    }
    if let Some(path) = &args.html {
        write_html(&document, path).map_err(Problem::failed)?;
        written = true;
    }
    for (path, picture) in pictures {
        write_bytes(&picture, path).map_err(Problem::failed)?;
        written = true;
    }
    if !written {
        show(&document, args.quiet).map_err(Problem::failed)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the arguments get wrong together, before anything is read.
fn check(args: &ReportArgs) -> anyhow::Result<()> {
    let outputs = [&args.json, &args.html, &args.svg, &args.png];
    at_most_one_on_standard_output(
        outputs.into_iter().flatten().map(PathBuf::as_path).chain(args.tables.files()),
    )?;
    let picture = args.svg.is_some() || args.png.is_some();
    let about_pictures = args.chart.is_some() || args.background.is_some();
    ensure!(
        picture || !about_pictures,
        "--chart and --background are about pictures; say where to write one with --svg FILE or --png FILE"
    );
    let to_terminal = args.png.as_deref().is_some_and(is_standard_output) && std::io::stdout().is_terminal();
    ensure!(!to_terminal, "a PNG picture is not for a terminal; write it with --png FILE, or pipe it on");
    Ok(())
}

/// The pictures that were asked for, and where they go; all of them, before any is written.
fn draw<'a>(args: &'a ReportArgs, document: &Document) -> anyhow::Result<Vec<(&'a Path, Vec<u8>)>> {
    let mut pictures: Vec<(&Path, Vec<u8>)> = Vec::new();
    if args.svg.is_none() && args.png.is_none() {
        return Ok(pictures);
    }
    let picture =
        picture::draw(document, args.chart.unwrap_or_default(), args.background.unwrap_or_default())
            .with_context(|| args.run.clone())?;
    if let Some(path) = &args.png {
        pictures.push((path, picture.png()?));
    }
    if let Some(path) = &args.svg {
        pictures.push((path, picture.svg().into_bytes()));
    }
    Ok(pictures)
}
