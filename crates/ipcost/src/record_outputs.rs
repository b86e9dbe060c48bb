//! The outputs of a record that is not a document of its own: what many hosts say, and what changed.

use anyhow::Context;
use ipcost_report::formats::Content;
use ipcost_report::page::{Frame, Page, PageFigure};
use ipcost_report::picture::{Background, Picture};
use serde::Serialize;

use crate::args::RecordFiles;
use crate::exit::{Problem, ended};
use crate::output::{
    check_files, check_png, is_standard_output, print, room, write_picture, write_pretty, write_text,
};

/// What the arguments get wrong together, before anything is read.
pub fn check(files: &RecordFiles) -> anyhow::Result<()> {
    check_files(files.all())?;
    check_png(files.png.as_deref())
}

/// Writes every file that was asked for, and shows the page unless one of them takes standard output. `picture` is drawn in place of the
/// page's first one.
///
/// # Errors
/// That there is nothing to draw, or what cannot be written; the others are told by then.
pub fn write(
    record: &impl Serialize,
    files: &RecordFiles,
    page: &Page<'_>,
    picture: Option<&PageFigure<'_>>,
    details: bool,
) -> Result<(), Problem> {
    write_and_show(record, files, page, picture, &|| page.terminal(details, room()))
}

/// The same where a terminal shows something else than files hold.
pub fn write_and_show(
    record: &impl Serialize,
    files: &RecordFiles,
    page: &Page<'_>,
    picture: Option<&PageFigure<'_>>,
    terminal: &dyn Fn() -> String,
) -> Result<(), Problem> {
    // Drawn before anything is written, so that nothing is left half done.
    let draw = || -> anyhow::Result<Picture> {
        let figure =
            picture.or_else(|| page.figures().into_iter().next()).context("there is nothing to draw")?;
        Ok((figure.draw)(Frame::File(Background::default()))?)
    };
    let picture = files.draws().then(draw).transpose().map_err(Problem::usage)?;
    let mut did = Vec::new();
    if let Some(path) = &files.texts.json {
        did.push(write_pretty(record, path));
    }
    if let Some(picture) = picture {
        did.push(write_picture(&picture, files.svg.as_deref(), files.png.as_deref()));
    }
    let content = Content::of_record(&page);
    did.extend(files.texts.formats.each().map(|(format, path)| write_text(&(format.render)(&content), path)));
    if !files.all().any(is_standard_output) {
        did.push(print(&terminal()));
    }
    ended(did.into_iter().filter_map(Result::err).map(Problem::failed).collect()).map(|_| ())
}
