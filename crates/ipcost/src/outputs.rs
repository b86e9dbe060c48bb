//! The outputs of a document: every command that has one writes them here.

use std::path::Path;

use anyhow::ensure;
use ipcost_features::answer::{Answer, whole};
use ipcost_model::Document;
use ipcost_report::formats::Content;
use ipcost_report::page::Frame;
use ipcost_report::picture;

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
    did.extend(pictures.into_iter().map(|(path, picture)| write_bytes(&picture, path)));
    if args.formats.each().next().is_none() {
        return did;
    }
    let page = whole(document, answer);
    let own = answer.map(|answer| (answer, answer.page(document)));
    let that =
        |is: fn(&dyn Answer) -> bool| own.as_ref().filter(|(answer, _)| is(*answer)).map(|(_, page)| page);
    let content = Content {
        document: Some(document),
        page: &page,
        // The tables of a run are a part of an answer that needs them.
        answer: that(|answer| !answer.needs_tables()),
        data: that(|answer| answer.has_own_data()),
        samples: args.samples,
    };
    did.extend(args.formats.each().map(|(format, path)| write_text(&(format.render)(&content), path)));
    did
}
