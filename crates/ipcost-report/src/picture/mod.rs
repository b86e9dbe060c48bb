//! The document as a picture that stands for itself: in an article, in a README, in a chat.
//!
//! A picture says what was measured, how sure it is, and where it comes from; what is missing is named.

mod colours;
mod cost;
mod forest;
mod ink;
mod png;
mod rows;
mod scale;
mod size;
#[cfg(test)]
mod tests;
mod text;
mod throughput;

use std::str::FromStr;
use std::time::Duration;

use ipcost_model::units::duration_text;
use ipcost_model::{CellRecord, Document, Mode, Multiplicity, Stopped, unknown};
use thiserror::Error;

pub use png::render as png;

use crate::words;
use ink::{Anchor, Canvas, GUIDE, INK, QUIET};
use text::{Face, wrapped};

/// The width of every picture, in units of SVG, which are pixels at first.
const WIDTH: f64 = 840.0;
/// Where everything starts.
const LEFT: f64 = 24.0;
/// Where everything ends.
const RIGHT: f64 = WIDTH - 24.0;

const TITLE: Face = Face { size: 19.0, bold: true };
const LEAD: Face = Face { size: 12.0, bold: false };
const FOOT: Face = Face { size: 10.5, bold: false };
/// The most lines of a paragraph.
const MOST_LINES: usize = 8;
/// The longest reason that is given why a cell is missing, in letters.
const MOST_REASON: usize = 160;

/// Said where a picture shows modes.
const MODES: &str = "Diamonds: the epochs of a cell fall into two groups, with these costs and shares.";

/// What a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Chart {
    /// The cost of every cell with its interval, a panel a workload.
    #[default]
    Cost,
    /// Cost against the size of a message, a line a transport.
    Size,
    /// The ratios to the baseline with their intervals.
    Forest,
    /// Bits a second of streams, as bars.
    Throughput,
}

impl Chart {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Cost, Self::Size, Self::Forest, Self::Throughput];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cost => "cost",
            Self::Size => "size",
            Self::Forest => "forest",
            Self::Throughput => "throughput",
        }
    }
}

impl FromStr for Chart {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|chart| chart.name() == name);
        known.ok_or_else(|| unknown("chart", name, Self::ALL.map(Self::name)))
    }
}

/// What lies behind a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// White, so that it can be read on a page of any colour.
    #[default]
    White,
    /// The page; for pages that are light.
    Transparent,
}

impl FromStr for Background {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "white" => Ok(Self::White),
            "transparent" => Ok(Self::Transparent),
            other => Err(unknown("background", other, ["white", "transparent"])),
        }
    }
}

/// Why a document cannot be shown as a picture.
#[derive(Debug, Error)]
pub enum PictureError {
    /// No cell has a cost.
    #[error("nothing was measured, so there is nothing to draw")]
    NothingMeasured,
    /// No line would have two points.
    #[error(
        "chart size takes the same work in at least two sizes, and this document has none; measure with --sizes 64,4KiB,64KiB, or draw --chart cost"
    )]
    OneSize,
    /// No cell has a ratio.
    #[error(
        "chart forest takes cells that are compared with a baseline, and this document has none; measure two transports, or draw --chart cost"
    )]
    NothingCompared,
    /// No cell is of the pattern `stream`.
    #[error(
        "chart throughput takes measured cells of the pattern stream, and this document has none; measure with --patterns stream, or draw --chart cost"
    )]
    NoStreams,
    /// More cells than a bitmap has room for.
    #[error(
        "the picture would be {height} pixels tall, and at most {most} are drawn; take fewer cells, or SVG"
    )]
    TooTall {
        /// Of the picture.
        height: u64,
        /// Of any picture.
        most: u64,
    },
    /// The drawing cannot be read back as SVG; a defect.
    #[error("the picture cannot be turned into a bitmap: {0}")]
    Bitmap(String),
}

/// What a chart drew.
struct Body {
    /// Where it ends.
    bottom: f64,
    /// What has to be said about it.
    notes: Vec<String>,
}

/// Draws the document as SVG, [`WIDTH`] wide and as tall as it takes.
///
/// # Errors
/// Where the document does not hold what the chart shows.
pub fn svg(document: &Document, chart: Chart, background: Background) -> Result<String, PictureError> {
    if document.cells.iter().all(|cell| cell.wall_ns_per_op.is_none()) {
        return Err(PictureError::NothingMeasured);
    }
    let mut canvas = Canvas::of("ipcost");
    let title = title(document, chart);
    let mut y = 20.0;
    y = paragraph(&mut canvas, &title, TITLE, INK, y);
    y = paragraph(&mut canvas, &lead(document, chart), LEAD, QUIET, y + 3.0) + 8.0;
    let body = match chart {
        Chart::Cost => cost::draw(document, &mut canvas, y),
        Chart::Size => size::draw(document, &mut canvas, y)?,
        Chart::Forest => forest::draw(document, &mut canvas, y)?,
        Chart::Throughput => throughput::draw(document, &mut canvas, y)?,
    };
    y = body.bottom + 12.0;
    for note in body.notes.into_iter().chain(missing(document)) {
        y = paragraph(&mut canvas, &note, LEAD, INK, y);
    }
    y += 8.0;
    canvas.line((LEFT, y), (RIGHT, y), GUIDE, 1.0);
    y += 6.0;
    for line in provenance(document) {
        y = paragraph(&mut canvas, &line, FOOT, QUIET, y);
    }
    Ok(canvas.document(WIDTH, (y + 14.0).ceil(), &title, background == Background::White))
}

/// Lines of text from `top` down; gives where they end.
fn paragraph(canvas: &mut Canvas, content: &str, face: Face, colour: &'static str, top: f64) -> f64 {
    let mut y = top;
    let mut lines = wrapped(&text::clean(content), RIGHT - LEFT, face);
    if lines.len() > MOST_LINES {
        // What comes from outside may be of any length; nobody reads on for longer than this.
        lines.truncate(MOST_LINES);
        lines.push("…".to_owned());
    }
    for line in lines {
        canvas.text((LEFT, y + face.size), Anchor::Start, face, colour, &line);
        y += (face.size * 1.4).round();
    }
    y
}

fn title(document: &Document, chart: Chart) -> String {
    let subject = match chart {
        Chart::Cost => "What one operation costs".to_owned(),
        Chart::Size => size::title(document),
        Chart::Forest => match forest::baseline(document) {
            Some(name) => format!("What one operation costs, compared with {name}"),
            None => "What one operation costs, compared with the baseline".to_owned(),
        },
        Chart::Throughput => "How much a stream carries, by size of message".to_owned(),
    };
    match (document.workloads.as_slice(), chart) {
        ([only], Chart::Cost | Chart::Forest) => {
            let subject = subject.replacen("What one operation costs", "what it costs", 1);
            format!("{}: {subject}", words::capitalised(&words::workload(only)))
        }
        _ => subject,
    }
}

/// How to read the picture.
fn lead(document: &Document, chart: Chart) -> String {
    let analysis = &document.analysis;
    let sure = format!("{} %", percent(1.0 - analysis.alpha));
    let each =
        "each on its own; whether two cells differ is told by their ratio, not by whether these overlap";
    match chart {
        Chart::Cost | Chart::Size => {
            let shape = if chart == Chart::Cost { "Lines" } else { "Bands" };
            format!("Points are medians over epochs. {shape} are intervals at {sure}, {each}.")
        }
        Chart::Throughput => {
            format!(
                "Bars end at the median over epochs of what was delivered. Lines are intervals at {sure}, {each}."
            )
        }
        Chart::Forest => {
            let promise = match analysis.multiplicity {
                Multiplicity::Headline => {
                    format!(
                        "lines are intervals, which hold together at {sure} ({} contrasts)",
                        analysis.family
                    )
                }
                Multiplicity::Explored => format!(
                    "lines are intervals of an explored grid: of those with a verdict, at most {} % are expected to be wrong",
                    percent(analysis.alpha)
                ),
            };
            let band = format!(
                "the band is ± {} %, below which a difference does not matter",
                percent(analysis.margin)
            );
            format!("Points are medians over epochs of ratios within rounds; {promise}; {band}.")
        }
    }
}

/// What could not be measured, and why.
fn missing(document: &Document) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for cell in document.cells.iter().filter(|cell| !cell.available) {
        let reason: String =
            cell.reason.as_deref().unwrap_or("no reason is given").chars().take(MOST_REASON).collect();
        let note = format!("Unavailable: {}: {}.", cell.label, reason.trim_end_matches('.'));
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// Why a cell has no value, in a word or two.
fn why_missing(cell: &CellRecord) -> &'static str {
    if cell.available { "not measured" } else { "unavailable" }
}

/// The share of the epochs that a mode has.
fn share(mode: &Mode) -> String {
    format!("{:.0} % of epochs", mode.share * 100.0)
}

/// Where the figures come from: enough to tell two pictures apart, and to measure again.
fn provenance(document: &Document) -> Vec<String> {
    let schedule = &document.schedule;
    let why = match document.stopped {
        Stopped::Resolved => "every question answered",
        Stopped::Budget => "budget spent",
        Stopped::Interrupted => "interrupted",
        Stopped::Failed => "failed before its end",
    };
    let how = format!(
        "{} epochs of {} of {} ms in {}, {why}; seed {}",
        schedule.epochs,
        words::rounds(schedule.rounds),
        plain(schedule.batch_ms),
        duration_text(Duration::try_from_secs_f64(document.elapsed_s).unwrap_or_default()),
        document.seed,
    );
    let host = &document.host;
    let cores = if host.cores == 1 { "core" } else { "cores" };
    let what = format!(
        "{} {} on {}, {} {cores}, {} {}; {}",
        document.tool.name,
        document.tool.version,
        host.cpu,
        host.cores,
        host.os,
        host.kernel,
        document.started
    );
    let mut lines = vec![what, how];
    if !document.warnings.is_empty() {
        lines.push(format!("warnings: {}", warnings(document)));
    }
    lines
}

/// The codes of the warnings, each once with how often.
fn warnings(document: &Document) -> String {
    let mut codes: Vec<(&str, u32)> = Vec::new();
    for warning in &document.warnings {
        match codes.iter_mut().find(|(code, _)| *code == warning.code) {
            Some((_, count)) => *count += 1,
            None => codes.push((&warning.code, 1)),
        }
    }
    let said = |(code, count): &(&str, u32)| match count {
        1 => (*code).to_owned(),
        _ => format!("{code} × {count}"),
    };
    codes.iter().map(said).collect::<Vec<_>>().join(", ")
}

/// A share in per cent, as short as it can be said.
fn percent(share: f64) -> String {
    plain(share * 100.0)
}

/// A tick of a ratio or a rate.
fn tick_number(value: f64) -> String {
    plain(value)
}

/// A tick of a time from nanoseconds, in the unit of `like` where there is one.
fn tick_time(value: f64, like: Option<f64>) -> String {
    const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    if value == 0.0 {
        return "0".to_owned();
    }
    let fits = |unit: &&(f64, &str)| like.unwrap_or(value) / unit.0 >= 0.9995;
    let (factor, name) = UNITS.iter().find(fits).unwrap_or(&UNITS[3]);
    format!("{} {name}", plain(value / factor))
}

/// At most four significant digits, and no zeros at the end of a fraction.
fn plain(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor();
    if !(-6.0..9.0).contains(&magnitude) {
        return format!("{value:.0e}");
    }
    let places = (3.0 - magnitude).max(0.0) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
