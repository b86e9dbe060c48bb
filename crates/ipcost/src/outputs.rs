//! The outputs of a document: every command that has one writes them here.

use std::path::Path;

use anyhow::ensure;
use ipcost_features::answer::{Answer, whole};
use ipcost_model::Document;
use ipcost_report::page::Frame;
use ipcost_report::{benchfmt, csv, picture};

use crate::args::OutputArgs;
use crate::output::{at_most_one_on_standard_output, check_png, write_bytes, write_json, write_text};

/// What the arguments get wrong together with a command's own files, before anything is read or measured.
///
/// # Errors
/// Where several outputs are to go to standard output, or about a picture without a file for one.
pub fn check<'a>(args: &'a OutputArgs, own: impl IntoIterator<Item = &'a Path>) -> anyhow::Result<()> {
    at_most_one_on_standard_output(args.files().chain(own))?;
    let picture = args.svg.is_some() || args.png.is_some();
    let about_pictures = args.chart.is_some() || args.background.is_some();
    ensure!(
        picture || !about_pictures,
        "--chart and --background are about pictures; say where to write one with --svg FILE or --png FILE"
    );
    check_png(args.png.as_deref())
}

/// The pictures that were asked for, and where they go.
pub type Pictures<'a> = Vec<(&'a Path, Vec<u8>)>;

/// Draws the pictures that were asked for; all of them, before any is written.
pub fn draw<'a>(
    document: &Document,
    answer: Option<&dyn Answer>,
    args: &'a OutputArgs,
) -> anyhow::Result<Pictures<'a>> {
    let mut pictures: Pictures<'_> = Vec::new();
    if args.svg.is_none() && args.png.is_none() {
        return Ok(pictures);
    }
    let background = args.background.unwrap_or_default();
    // Answers have pictures of their own, unless another chart is asked for.
    let page = whole(document, answer);
    let figures = page.figures();
    let own = figures.into_iter().find(|figure| args.chart.is_none() || figure.chart == args.chart);
    let picture = match own {
        Some(own) => (own.draw)(Frame::File(background))?,
        None => picture::draw(document, args.chart.unwrap_or_default(), background)?,
    };
    if let Some(path) = &args.png {
        pictures.push((path, picture.png()?));
    }
    if let Some(path) = &args.svg {
        pictures.push((path, picture.svg().into_bytes()));
    }
    Ok(pictures)
}

/// The cells, or what an answer has instead of them.
fn cells(document: &Document, answer: Option<&dyn Answer>) -> String {
    let own = answer.filter(|answer| answer.has_own_data());
    own.map_or_else(|| csv::cells(document), |answer| answer.page(document).csv())
}

/// The answer, or the tables of a run without one.
fn in_markdown(document: &Document, answer: Option<&dyn Answer>) -> String {
    match answer.filter(|answer| !answer.needs_tables()) {
        Some(answer) => answer.page(document).markdown(),
        None => whole(document, answer).markdown(),
    }
}

type RenderText<'a> = &'a dyn Fn() -> String;

/// Writes every output that was asked for; one that fails does not keep the others from being written.
pub fn write(
    document: &Document,
    answer: Option<&dyn Answer>,
    args: &OutputArgs,
    pictures: Pictures<'_>,
) -> Vec<anyhow::Result<()>> {
    let mut did = Vec::new();
    if let Some(path) = &args.json {
        did.push(write_json(document, path));
    }
    if let Some(path) = &args.html {
        did.push(write_text(&whole(document, answer).html(), path));
    }
    did.extend(pictures.into_iter().map(|(path, picture)| write_bytes(&picture, path)));
    let in_csv = || if args.tables.samples { csv::samples(document) } else { cells(document, answer) };
    let tables: [(_, RenderText<'_>); 3] = [
        (&args.tables.csv, &in_csv),
        (&args.tables.markdown, &|| in_markdown(document, answer)),
        (&args.tables.benchfmt, &|| benchfmt::render(document)),
    ];
    let asked = tables.into_iter().filter_map(|(file, render)| Some((file.as_ref()?, render)));
    did.extend(asked.map(|(file, render)| write_text(&render(), file)));
    did
}
