//! The document as a picture that stands for itself: in an article, in a README, in a chat.
//!
//! A picture says what was measured, how sure it is, and where it comes from; what is missing is named.

mod captions;
mod cheapest;
pub(crate) mod claims;
mod cost;
mod flame;
mod forest;
mod ink;
mod lanes;
mod lines;
mod plot;
#[cfg(feature = "png")]
mod png;
pub(crate) mod published;
mod ratios;
mod rows;
pub(crate) mod saving;
mod scale;
mod size;
mod svg;
#[cfg(test)]
mod tests;
mod text;
mod throughput;
mod timeline;
mod typeface;

use ipcost_model::{Document, typed};
use thiserror::Error;

use crate::figures::lines::by_percentile;
use crate::figures::series::Across;
pub use claims::{READING as CLAIMS_READING, draw as draw_claims, plain as plain_claim};
pub use flame::{Flame, FlameFrame, FrameKind, NARROWEST_FRAME, draw as draw_flame};
use ink::{Anchor, Canvas, GUIDE, INK, QUIET};
pub use lanes::{READING as LANES_READING, draw as draw_lanes, plain as plain_lanes};
pub use lines::{draw as draw_lines, plain as plain_lines};
pub use published::{
    body as plain_published, draw as draw_published, lead as published_reading, missing as not_measured,
};
pub use ratios::{draw as draw_forest, plain as plain_forest};
pub use saving::{draw as draw_saving, plain as plain_saving};
use text::{Face, wrapped};
pub use timeline::{READING as TIMELINE_READING, draw as draw_timeline, plain as plain_timeline};

/// The width of every picture but flame graphs, in units of SVG, which are pixels at first.
const WIDTH: f64 = 840.0;
const LEFT: f64 = 24.0;
const RIGHT: f64 = WIDTH - 24.0;

const TITLE: Face = Face { size: 19.0, bold: true };
const LEAD: Face = Face { size: 12.0, bold: false };
const FOOT: Face = Face { size: 10.5, bold: false };
/// The most lines of a paragraph.
const MOST_LINES: usize = 8;

/// Whether this build draws pictures as PNG, for which it takes the feature `png`.
pub const DRAWS_PNG: bool = cfg!(feature = "png");

typed! {
    /// What a picture shows.
    #[derive(Default)]
    Chart, "chart" {
        /// The cost of every cell with its interval, a panel a workload.
        #[default]
        Cost = "cost",
        /// Cost against the size of a message, a line a transport.
        Size = "size",
        /// The ratios to the baseline with their intervals.
        Forest = "forest",
        /// Bits a second of streams, as bars.
        Throughput = "throughput",
        /// Cost against the place of receive buffers within a page, a line a transport.
        Layout = "layout",
        /// Cost against the pause between operations, a line a transport.
        Pace = "pace",
        /// Latency by percentile, a panel a workload, a line a row.
        Latency = "latency",
        /// Latency against the rate that is offered, two lines a transport; drawn by [`draw_lines`].
        Load = "load",
        /// The cheapest transport of every workload, a column a size.
        Cheapest = "cheapest",
        /// The claims of an article, a panel a condition; drawn by [`draw_claims`].
        Claims = "claims",
        /// The share that a Unix socket saves of a request, over the server's work on it; drawn by [`draw_saving`].
        Saving = "saving",
    }
}

typed! {
    /// What lies behind a picture.
    #[derive(Default)]
    Background, "background" {
        /// White, so that it can be read on a page of any colour.
        #[default]
        White = "white",
        /// The page; for pages that are light.
        Transparent = "transparent",
    }
}

/// Why a document cannot be shown as a picture.
#[derive(Debug, Error)]
pub enum PictureError {
    /// The build is without the feature `png`.
    #[error(
        "this build draws no PNG; write the picture as SVG with --svg FILE, or build with --features png"
    )]
    NoPng,
    /// No cell has a cost.
    #[error("nothing was measured, so there is nothing to draw")]
    NothingMeasured,
    /// The document has nothing that the chart shows.
    #[error(
        "chart {chart} takes {takes}, and this document {} none; measure {measure}, or draw --chart cost",
        if *chart == Chart::Load { "is" } else { "has" }
    )]
    Lacks { chart: Chart, takes: &'static str, measure: &'static str },
    /// A figure of an article has neither published nor measured values.
    #[error("the figure of the experiment has no values, so there is nothing to draw")]
    NothingPublished,
    /// More cells than a bitmap has room for.
    #[error(
        "the picture would be {height} pixels tall, and at most {most} are drawn; take fewer cells, or SVG"
    )]
    TooTall { height: u64, most: u64 },
}

impl PictureError {
    /// A document that has nothing for a chart.
    pub fn lacks(chart: Chart) -> Self {
        let (takes, measure) = match chart {
            Chart::Cost => return Self::NothingMeasured,
            Chart::Size => ("the same work in at least two sizes", "with --sizes 64,4KiB,64KiB"),
            Chart::Layout => {
                ("the same work with receive buffers at two places at least", "with ipcost sweep layout")
            }
            Chart::Pace => ("the same work with at least two pauses", "with ipcost sweep pace"),
            Chart::Latency => ("cells whose operations were timed one by one", "with --latency inline"),
            Chart::Load => ("a saved ipcost load", "with ipcost load"),
            Chart::Forest => ("cells that are compared with a baseline", "two transports"),
            Chart::Cheapest => (
                "the same work in at least two sizes, over at least two transports",
                "with --transports unix,tcp --sizes 64,4KiB,64KiB",
            ),
            Chart::Throughput => ("measured cells of the pattern stream", "with --patterns stream"),
            Chart::Claims => {
                ("a saved ipcost replicate whose tests have values", "with ipcost replicate NAME")
            }
            Chart::Saving => (
                "a saved ipcost app that knows whether its least request costs less over either socket",
                "with ipcost app NAME and a longer --budget",
            ),
        };
        Self::Lacks { chart, takes, measure }
    }
}

/// What a chart drew.
struct Body {
    bottom: f64,
    /// What has to be said about it.
    notes: Vec<String>,
}

/// A picture, as tall as it takes.
#[derive(Debug)]
pub struct Picture {
    title: String,
    width: f64,
    height: f64,
    background: Background,
    canvas: Canvas,
}

impl Picture {
    pub fn svg(&self) -> String {
        svg::render(self)
    }

    /// As an element of the page, in the page's colours.
    pub(crate) fn inline(&self) -> String {
        svg::render_inline(self)
    }

    /// As PNG, with two pixels for every unit, where this build [`DRAWS_PNG`].
    pub fn png(&self) -> Result<Vec<u8>, PictureError> {
        #[cfg(feature = "png")]
        return png::render(self);
        #[cfg(not(feature = "png"))]
        Err(PictureError::NoPng)
    }
}

pub fn draw(document: &Document, chart: Chart, background: Background) -> Result<Picture, PictureError> {
    framed(&captions::title(document, chart), captions::provenance(document), background, |canvas, y| {
        let y = paragraph(canvas, &captions::lead(document, chart), LEAD, QUIET, y + 3.0) + 8.0;
        let Body { bottom, notes } = body(document, chart, canvas, y)?;
        let notes = notes.into_iter().chain(captions::missing(document));
        Ok(paragraphs(canvas, notes, LEAD, INK, bottom + 12.0) + 8.0)
    })
}

/// Draws the document without a title and without where it comes from, for a page that has both in words.
pub fn plain(document: &Document, chart: Chart) -> Result<Picture, PictureError> {
    bare(&captions::title(document, chart), |canvas, y| {
        let Body { bottom, notes } = body(document, chart, canvas, y)?;
        let note = |y: f64, note: &String| paragraph(canvas, note, LEAD, INK, y + 6.0);
        Ok(notes.iter().fold(bottom, note) + 6.0)
    })
}

/// A picture that stands for itself: its title, what `draw` draws from there down, a rule, and what it rests on.
fn framed(
    title: &str,
    feet: impl IntoIterator<Item = String>,
    background: Background,
    draw: impl FnOnce(&mut Canvas, f64) -> Result<f64, PictureError>,
) -> Result<Picture, PictureError> {
    let mut canvas = Canvas::of("ipcost");
    let y = paragraph(&mut canvas, title, TITLE, INK, 20.0);
    let y = draw(&mut canvas, y)?;
    canvas.line((LEFT, y), (RIGHT, y), GUIDE, 1.0);
    let bottom = paragraphs(&mut canvas, feet, FOOT, QUIET, y + 6.0) + 14.0;
    Ok(Picture { title: text::clean(title), width: WIDTH, height: bottom.ceil(), background, canvas })
}

/// What `draw` draws, for a page that has the words.
fn bare(
    title: &str,
    draw: impl FnOnce(&mut Canvas, f64) -> Result<f64, PictureError>,
) -> Result<Picture, PictureError> {
    let mut canvas = Canvas::of("ipcost");
    let height = draw(&mut canvas, 4.0)?.ceil();
    let background = Background::Transparent;
    Ok(Picture { title: text::clean(title), width: WIDTH, height, background, canvas })
}

fn body(document: &Document, chart: Chart, canvas: &mut Canvas, top: f64) -> Result<Body, PictureError> {
    if document.cells.iter().all(|cell| cell.wall_ns_per_op.is_none()) {
        return Err(PictureError::NothingMeasured);
    }
    let drawn = match chart {
        Chart::Cost => Some(cost::draw(document, canvas, top)),
        Chart::Size => size::draw(document, Across::Size, canvas, top),
        Chart::Layout => size::draw(document, Across::Place, canvas, top),
        Chart::Pace => size::draw(document, Across::Pause, canvas, top),
        Chart::Latency => lines::body(&by_percentile(document), canvas, top),
        Chart::Forest => forest::draw(document, canvas, top),
        Chart::Throughput => throughput::draw(document, canvas, top),
        Chart::Cheapest => cheapest::draw(document, canvas, top),
        // Those of an answer.
        Chart::Claims | Chart::Saving | Chart::Load => None,
    };
    drawn.ok_or_else(|| PictureError::lacks(chart))
}

/// A paragraph each, from `top` down; gives where they end.
fn paragraphs(
    canvas: &mut Canvas,
    contents: impl IntoIterator<Item = String>,
    face: Face,
    colour: &'static str,
    top: f64,
) -> f64 {
    contents.into_iter().fold(top, |y, content| paragraph(canvas, &content, face, colour, y))
}

/// Lines of text from `top` down; gives where they end.
fn paragraph(canvas: &mut Canvas, content: &str, face: Face, colour: &'static str, top: f64) -> f64 {
    let mut y = top;
    let mut lines = wrapped(&text::clean(content), RIGHT - LEFT, face);
    if lines.len() > MOST_LINES {
        // What comes from outside may be of any length; no one reads on for longer than this.
        lines.truncate(MOST_LINES);
        lines.push("…".to_owned());
    }
    for line in lines {
        canvas.text((LEFT, y + face.size), Anchor::Start, face, colour, &line);
        y += (face.size * 1.4).round();
    }
    y
}
