//! The outputs of a document: on the terminal, and in every file that was asked for.

use std::cell::LazyCell;
use std::path::Path;

use anyhow::ensure;
use ipcost_features::answer::{Answer, whole};
use ipcost_model::{Document, Warning};
use ipcost_report::formats::Content;
use ipcost_report::page::{Frame, Page};
use ipcost_report::{json, picture, run_page};

use crate::args::OutputArgs;
use crate::output::{
    MOST_ROOM, check_files, check_png, print, print_error, room, room_on_standard_error, write_bytes,
    write_text, write_whole,
};

/// What the arguments get wrong together with a command's own files, before anything is read or measured.
pub fn check<'a>(args: &'a OutputArgs, own: impl IntoIterator<Item = &'a Path>) -> anyhow::Result<()> {
    check_files(args.files().chain(own))?;
    let picture = args.svg.is_some() || args.png.is_some();
    let about_pictures = args.chart.is_some() || args.background.is_some();
    ensure!(
        picture || !about_pictures,
        "--chart and --background are about pictures; say where to write one with --svg FILE or --png FILE"
    );
    check_png(args.png.as_deref())
}

/// What weakens a document's answer, or a run without one.
pub fn warnings_of(document: &Document, answer: Option<&dyn Answer>) -> Vec<Warning> {
    answer.map_or_else(|| document.warnings.clone(), |answer| answer.warnings(document))
}

/// How a document is shown on the terminal.
#[derive(Debug, Clone, Copy)]
pub struct Showing<'a> {
    /// Show rates, processor time and percentiles, too.
    pub details: bool,
    pub quiet: bool,
    /// What shows the text of its warnings, such as `ipcost show last --warnings`.
    pub texts: &'a str,
}

/// The pictures that were asked for, and where they go.
pub type Pictures<'a> = Vec<(&'a Path, Vec<u8>)>;

/// A page that is made when the first output needs it: it takes time.
type LazyPage<'a> = LazyCell<Page<'a>, Box<dyn FnOnce() -> Page<'a> + 'a>>;

/// What outputs of a document are made from.
pub struct DocumentOutputs<'a> {
    document: &'a Document,
    answer: Option<&'a dyn Answer>,
    page: LazyPage<'a>,
}

impl<'a> DocumentOutputs<'a> {
    pub fn new(document: &'a Document, answer: Option<&'a dyn Answer>) -> Self {
        Self { document, answer, page: LazyCell::new(Box::new(move || whole(document, answer))) }
    }

    /// Shows the document on standard output, and its warnings on standard error.
    pub fn show(&self, showing: Showing<'_>) -> anyhow::Result<()> {
        let Self { document, answer, page } = self;
        let room = |most: usize| if showing.details { room() } else { room().min(most) };
        // Who has just measured knows on what.
        let text = match answer {
            Some(_) => page.terminal(showing.details, room(usize::MAX)),
            None => Page { title: String::new(), about: Vec::new(), ..run_page::page(document) }
                .terminal(showing.details, room(MOST_ROOM)),
        };
        print(&text)?;
        if !showing.quiet {
            let warnings = warnings_of(document, *answer);
            print_error(&run_page::warnings(&warnings, showing.texts, room_on_standard_error()));
        }
        Ok(())
    }

    /// Draws the pictures that were asked for; all of them, before any is written.
    pub fn draw<'f>(&self, args: &'f OutputArgs) -> anyhow::Result<Pictures<'f>> {
        let mut pictures: Pictures<'_> = Vec::new();
        if args.svg.is_none() && args.png.is_none() {
            return Ok(pictures);
        }
        let background = args.background.unwrap_or_default();
        // Answers have pictures of their own, unless another chart is asked for.
        let figures = self.page.figures();
        let own = figures.into_iter().find(|figure| args.chart.is_none() || figure.chart == args.chart);
        let picture = match own {
            Some(own) => (own.draw)(Frame::File(background))?,
            None => picture::draw(self.document, args.chart.unwrap_or_default(), background)?,
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
    pub fn write(&self, args: &OutputArgs, pictures: Pictures<'_>) -> Vec<anyhow::Result<()>> {
        let Self { document, answer, page } = self;
        let mut did = Vec::new();
        if let Some(path) = &args.json {
            did.push(write_whole(path, |out| json::write(document, out)));
        }
        did.extend(pictures.into_iter().map(|(path, picture)| write_bytes(&picture, path)));
        let own: Option<(_, LazyPage<'_>)> =
            answer.map(|answer| (answer, LazyCell::new(Box::new(|| answer.page(document)) as Box<_>)));
        let that = |is: fn(&dyn Answer) -> bool| {
            own.as_ref().filter(|(answer, _)| is(*answer)).map(|(_, page)| page as _)
        };
        let content = Content {
            document: Some(document),
            page,
            // The tables of a run are a part of an answer that needs them.
            answer: that(|answer| !answer.needs_tables()),
            data: that(|answer| answer.has_own_data()),
            samples: args.samples,
        };
        did.extend(args.formats.each().map(|(format, path)| write_text(&(format.render)(&content), path)));
        did
    }
}
