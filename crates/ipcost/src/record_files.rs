//! The outputs of a record that is not a document of its own: what many hosts say, and what changed.

use ipcost_report::forest::Forest;
use ipcost_report::html::site::Page;
use ipcost_report::picture::{Background, Picture, draw_forest};
use serde::Serialize;

use crate::args::RecordFiles;
use crate::exit::Problem;
use crate::output::{
    at_most_one_on_standard_output, is_standard_output, no_picture_on_terminal, print, room, write_picture,
    write_pretty, write_text,
};

/// What the arguments get wrong together, before anything is read.
///
/// # Errors
/// Where several outputs are to go to standard output, or a picture to a terminal.
pub fn check(files: &RecordFiles) -> anyhow::Result<()> {
    at_most_one_on_standard_output(files.all())?;
    no_picture_on_terminal(files.png.as_deref())
}

/// How a record is drawn.
pub struct Drawn<'a> {
    /// As text for a terminal, in so many columns.
    pub text: &'a dyn Fn(usize) -> String,
    /// As a page.
    pub page: &'a dyn Fn() -> Page,
    /// As comma-separated values.
    pub csv: &'a dyn Fn() -> String,
    /// As Markdown.
    pub markdown: &'a dyn Fn() -> String,
    /// As a picture.
    pub forest: &'a dyn Fn() -> anyhow::Result<Forest>,
}

/// Writes every file that was asked for, and shows the record unless one of them takes standard output.
///
/// # Errors
/// That there is nothing to draw, or what cannot be written.
pub fn write(record: &impl Serialize, files: &RecordFiles, drawn: &Drawn<'_>) -> Result<(), Problem> {
    // Drawn before anything is written, so that a wrong name leaves nothing half done.
    let picture = files.draws().then(|| picture(drawn)).transpose().map_err(Problem::usage)?;
    if let Some(path) = &files.json {
        write_pretty(record, path).map_err(Problem::failed)?;
    }
    write_drawn(files, picture, drawn).map_err(Problem::failed)
}

fn picture(drawn: &Drawn<'_>) -> anyhow::Result<Picture> {
    Ok(draw_forest(&(drawn.forest)()?, Background::default())?)
}

fn write_drawn(files: &RecordFiles, picture: Option<Picture>, drawn: &Drawn<'_>) -> anyhow::Result<()> {
    if let Some(picture) = picture {
        write_picture(&picture, files.svg.as_deref(), files.png.as_deref())?;
    }
    if let Some(path) = &files.html {
        write_text(&(drawn.page)().render(), path)?;
    }
    if let Some(path) = &files.csv {
        write_text(&(drawn.csv)(), path)?;
    }
    if let Some(path) = &files.markdown {
        write_text(&(drawn.markdown)(), path)?;
    }
    if !files.all().any(is_standard_output) {
        print(&(drawn.text)(room()))?;
    }
    Ok(())
}
