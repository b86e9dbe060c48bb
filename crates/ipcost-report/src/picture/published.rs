//! The figures of a published experiment next to those measured here, in the article's own kind of picture: bars by group
//! or lines. What was published is outlined, what was measured is filled.

use ipcost_model::units::counted;
use ipcost_model::{
    Document, Estimate, FigureKind, FigurePanel, FigurePlace, FigureSeries, FigureUnit, FigureValue,
    PublishedFigure,
};

use super::ink::{Anchor, Canvas, CanvasPoint, INK, PAPER, QUIET};
use super::plot::{self, HEAD, NAME_ROOM, Name, SMALL, whiskers};
use super::scale::{Extent, Scale};
use super::text::{Face, clean, shortened, wrapped};
use super::{Background, LEAD, LEFT, Picture, PictureError, RIGHT, bare, framed, paragraph, paragraphs};
use crate::figures::colours::{PALETTE, slot_among};
use crate::figures::ticks::{self, percent};

const PLACE: Face = Face { size: 12.0, bold: true };
const UNDER: Face = Face { size: 10.5, bold: false };

/// What the names of ticks take on the left.
const TICKS: f64 = 64.0;
/// How tall the bars of a panel are drawn.
const BARS_TALL: f64 = 210.0;
const LINES_TALL: f64 = 320.0;
const WIDEST_BAR: f64 = 34.0;
/// The share of a group's room that lies between groups.
const BETWEEN_GROUPS: f64 = 0.14;
/// The share of a pair's room that its two bars take.
const OF_PAIR: f64 = 0.84;
const UNDER_LINE: f64 = 13.0;
const MOST_UNDER: usize = 3;
const MOST_NAME: f64 = 190.0;
const THIN: f64 = 1.5;
/// How little shines through a filled bar: enough for its interval to be seen.
const FILLED: f64 = 0.6;
/// The dashes of what was published.
const PUBLISHED: &str = "5 3";
/// The least logarithmic bar, as a factor from the bottom of the axis.
const LEAST_BAR: f64 = 2.0;

/// Draws a figure; `made` says where and with what its measured values were made.
pub fn draw(
    figure: &PublishedFigure,
    made: &Document,
    background: Background,
) -> Result<Picture, PictureError> {
    framed(&figure.title, provenance(figure, made), background, |canvas, y| {
        let y = paragraph(canvas, &lead(figure), LEAD, QUIET, y + 3.0) + 8.0;
        let y = panels(figure, canvas, y)? + 12.0;
        Ok(paragraphs(canvas, figure.note.iter().cloned().chain(missing(figure)), LEAD, INK, y) + 8.0)
    })
}

/// The panels alone, for a page that has the words.
pub fn body(figure: &PublishedFigure) -> Result<Picture, PictureError> {
    bare(&figure.title, |canvas, y| Ok(panels(figure, canvas, y)? + 8.0))
}

/// How to read it.
pub fn lead(figure: &PublishedFigure) -> String {
    let sure = percent(1.0 - figure.alpha);
    let (published, measured) = match figure.kind {
        FigureKind::Bars => ("Outlined bars", "Filled bars"),
        FigureKind::Lines => ("Dashed lines with hollow points", "Solid lines with filled points"),
    };
    let measured = match figure.values().any(|value| value.measured.is_some()) {
        true => format!(
            "{measured}: measured here with the article's software, medians over epochs; thin lines are intervals at {sure} %, each on its own."
        ),
        false => "Nothing was measured here with the article's software.".to_owned(),
    };
    match figure.values().any(|value| value.published.is_some()) {
        true => format!("{published}: as published. {measured}"),
        false => measured,
    }
}

/// What has no measured value, where others have one.
pub fn missing(figure: &PublishedFigure) -> Option<String> {
    let all = figure.values().filter(|value| value.published.is_some());
    let (with, without): (Vec<_>, Vec<_>) = all.partition(|value| value.measured.is_some());
    let published = counted(without.len() as u32, "published value");
    match (with.is_empty(), without.len()) {
        (true, _) | (_, 0) => None,
        (false, 1) => Some(format!("{published} was not measured in this run.")),
        (false, _) => Some(format!("{published} were not measured in this run.")),
    }
}

/// Where both come from.
pub fn provenance(figure: &PublishedFigure, made: &Document) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(source) = &figure.source {
        let url = figure.url.iter().map(|url| format!(", {url}")).collect::<String>();
        lines.push(format!("Source: {source}{url}"));
    }
    lines.push(format!("Published on: {}", figure.published_on));
    lines.push(measured_on(made));
    lines
}

/// The machine and the program of the measured values.
pub fn measured_on(made: &Document) -> String {
    let Document { host, tool, started, .. } = made;
    format!(
        "Measured on: {}, {}, {} {}; {} {}; {started}",
        host.cpu,
        counted(host.cores, "core"),
        host.os,
        host.kernel,
        tool.name,
        tool.version
    )
}

/// A value that can be drawn.
fn drawable(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite() && *value > 0.0)
}

fn published_of(value: &FigureValue) -> Option<f64> {
    drawable(value.published?)
}

fn measured_of(value: &FigureValue) -> Option<Estimate> {
    let Estimate { median, lo, hi } = value.measured?;
    Some(Estimate {
        median: drawable(median)?,
        lo: lo.filter(|lo| lo.is_finite()),
        hi: hi.filter(|hi| hi.is_finite()),
    })
}

fn panels(figure: &PublishedFigure, canvas: &mut Canvas, top: f64) -> Result<f64, PictureError> {
    let is_drawn = |value: &FigureValue| published_of(value).is_some() || measured_of(value).is_some();
    if !figure.values().any(is_drawn) {
        return Err(PictureError::NothingPublished);
    }
    let has_values =
        |panel: &&FigurePanel| panel.series.iter().flat_map(|series| &series.values).any(is_drawn);
    let mut bottom = top;
    for (index, panel) in figure.panels.iter().filter(has_values).enumerate() {
        bottom += if index == 0 { 0.0 } else { 20.0 };
        if !panel.title.is_empty() {
            let title = shortened(&clean(&panel.title), RIGHT - LEFT, HEAD);
            canvas.text((LEFT, bottom + 16.0), Anchor::Start, HEAD, INK, &title);
            bottom += 20.0;
        }
        let scale = if figure.logarithmic { " (logarithmic)" } else { "" };
        // Ticks of times have their own units.
        let unit = match panel.unit {
            FigureUnit::Mbits | FigureUnit::Rate | FigureUnit::Requests => panel.unit.name(),
            FigureUnit::Nanoseconds | FigureUnit::Microseconds | FigureUnit::Seconds => "time",
        };
        let caption = format!("{unit}{scale}");
        canvas.text((LEFT, bottom + 14.0), Anchor::Start, SMALL, QUIET, &caption);
        let drawing = Drawing { figure, panel };
        bottom = match figure.kind {
            FigureKind::Bars => drawing.bars(canvas, bottom + 26.0),
            FigureKind::Lines => drawing.lines(canvas, bottom + 26.0),
        };
    }
    Ok(bottom)
}

/// A panel of a figure.
struct Drawing<'a> {
    figure: &'a PublishedFigure,
    panel: &'a FigurePanel,
}

impl Drawing<'_> {
    fn colour(&self, transport: &str) -> &'static str {
        let all = self.figure.values().map(|value| value.transport.as_str());
        PALETTE[slot_among(all, transport)].light
    }

    /// The axis of values, the same for all panels with this unit.
    fn up(&self, start: f64, end: f64) -> Scale {
        let mut extent = Extent::default();
        let alike = self.figure.panels.iter().filter(|panel| panel.unit == self.panel.unit);
        for value in alike.flat_map(|panel| &panel.series).flat_map(|series| &series.values) {
            published_of(value).into_iter().for_each(|value| extent.add(value));
            if let Some(Estimate { median, lo, hi }) = measured_of(value) {
                extent.add(median);
                [lo, hi].into_iter().for_each(|bound| extent.add_bound(bound.and_then(drawable)));
            }
        }
        if !self.figure.logarithmic {
            return Scale::from_zero(&extent, start, end);
        }
        if self.figure.kind == FigureKind::Bars {
            // Bars start below the smallest value, so that it has a bar, too.
            extent.add_bound(extent.least().map(|least| least / LEAST_BAR));
        }
        Scale::logarithmic(&extent, start, end)
    }

    fn tick(&self, value: f64) -> String {
        match self.panel.unit {
            FigureUnit::Mbits | FigureUnit::Rate | FigureUnit::Requests => ticks::number(value),
            FigureUnit::Nanoseconds => ticks::time(value, None),
            FigureUnit::Microseconds => ticks::time(value * 1e3, None),
            FigureUnit::Seconds => ticks::time(value * 1e9, None),
        }
    }

    /// Lines across at round values.
    fn axis(&self, (start, end): (f64, f64), up: &Scale) -> Canvas {
        let mut canvas = Canvas::of("axis");
        canvas.ends(up);
        plot::values(&mut canvas, up, (start, end), 8, SMALL, |tick| self.tick(tick));
        canvas.line((start, up.start), (end, up.start), QUIET, 1.0);
        canvas
    }

    fn bars(&self, canvas: &mut Canvas, top: f64) -> f64 {
        let (start, end) = (LEFT + TICKS, RIGHT);
        let up = self.up(top + BARS_TALL, top);
        canvas.add(self.axis((start, end), &up));
        let room = (end - start) / self.panel.places.len().max(1) as f64;
        let inner = room * (1.0 - BETWEEN_GROUPS);
        let pair = inner / self.panel.series.len().max(1) as f64;
        let mut under = 0;
        for index in 0..self.panel.places.len() {
            let left = start + index as f64 * room + (room - inner) / 2.0;
            for (number, series) in self.panel.series.iter().enumerate() {
                let middle = left + (number as f64 + 0.5) * pair;
                if let Some(value) = series.values.get(index) {
                    canvas.add(self.pair(series, index, value, middle, pair, &up));
                }
                let mut lines = wrapped(&clean(&series.label), pair - 2.0, UNDER);
                lines.truncate(MOST_UNDER);
                under = under.max(lines.len());
                for (line, text) in lines.iter().enumerate() {
                    let at = (middle, up.start + 14.0 + line as f64 * UNDER_LINE);
                    canvas.text(at, Anchor::Middle, UNDER, QUIET, text);
                }
            }
        }
        let mut bottom = up.start + 6.0 + under as f64 * UNDER_LINE;
        if self.panel.places.iter().any(|place| !place.label.is_empty()) {
            for (index, place) in self.panel.places.iter().enumerate() {
                let middle = start + (index as f64 + 0.5) * room;
                let label = shortened(&clean(&place.label), room - 4.0, PLACE);
                canvas.text((middle, bottom + 14.0), Anchor::Middle, PLACE, INK, &label);
            }
            bottom += 18.0;
        }
        let middle = (start + end) / 2.0;
        let across = shortened(&clean(&self.figure.across), end - start, SMALL);
        canvas.text((middle, bottom + 16.0), Anchor::Middle, SMALL, QUIET, &across);
        bottom + 20.0
    }

    /// The published bar, outlined, and the measured one, filled, with its interval.
    fn pair(
        &self,
        series: &FigureSeries,
        index: usize,
        value: &FigureValue,
        middle: f64,
        pair: f64,
        up: &Scale,
    ) -> Canvas {
        let mut canvas = Canvas::of("pair");
        canvas.title(&self.said(series, index, value));
        let colour = self.colour(&value.transport);
        let bar = (pair * OF_PAIR / 2.0).min(WIDEST_BAR);
        let inset = THIN / 2.0;
        if let Some(published) = published_of(value) {
            let (left, right, y) = (middle - bar + inset, middle - 1.0, up.place(published));
            canvas.data("published", published);
            canvas.lines(&[(left, up.start), (left, y), (right, y), (right, up.start)], colour, THIN, "none");
        }
        if let Some(estimate) = measured_of(value) {
            let (left, right) = (middle + 1.0, middle + bar);
            canvas.data("measured", estimate.median);
            let (from, to) = ((left, up.place(estimate.median)), (right, up.start));
            // Guides do not shine through.
            canvas.rectangle(from, to, PAPER, 1.0);
            canvas.rectangle(from, to, colour, FILLED);
            canvas.add(whiskers(estimate, ((left + right) / 2.0, up.place(estimate.median)), up, INK));
        }
        canvas
    }

    /// A value in words, for readers who point at it or hear it.
    fn said(&self, series: &FigureSeries, index: usize, value: &FigureValue) -> String {
        let place = self.panel.places.get(index).map_or("", |place| place.label.as_str());
        let name = [place, &series.label].into_iter().filter(|part| !part.is_empty());
        let name = name.collect::<Vec<_>>().join(", ");
        let unit = self.panel.unit;
        let published = value.published.map_or("not known".to_owned(), |value| format!("{value} {unit}"));
        format!(
            "{name}: published {published}; measured {}",
            crate::figures::published::measured(value, unit)
        )
    }

    fn lines(&self, canvas: &mut Canvas, top: f64) -> f64 {
        let names = self.panel.series.iter().flat_map(|series| [named(series, true), named(series, false)]);
        let (start, end) = (LEFT + TICKS, plot::end(names, MOST_NAME));
        let tall = (NAME_ROOM * (2.0 * self.panel.series.len() as f64 + 1.0)).max(LINES_TALL);
        let up = self.up(top + tall, top);
        let across = self.across(start, end);
        canvas.add(self.axis((start, end), &up));
        let place = |(index, place): (usize, &FigurePlace)| {
            Some((across.place(self.at(index)?), clean(&place.label)))
        };
        let mut places = Canvas::of("places");
        plot::places(&mut places, &up, SMALL, self.panel.places.iter().enumerate().filter_map(place));
        canvas.add(places);
        let mut ends = Vec::new();
        for series in &self.panel.series {
            let transport = series.values.first().map_or("", |value| value.transport.as_str());
            let colour = self.colour(transport);
            let mut drawn = Canvas::of("series");
            drawn.title(&series.label);
            let places = |of: &dyn Fn(&FigureValue) -> Option<f64>| -> Vec<CanvasPoint> {
                let values = series.values.iter().enumerate();
                values
                    .filter_map(|(index, value)| Some((across.place(self.at(index)?), up.place(of(value)?))))
                    .collect()
            };
            let published = places(&published_of);
            drawn.lines(&published, colour, THIN, PUBLISHED);
            published.iter().for_each(|at| drawn.point(*at, 3.0, colour, true));
            let measured = places(&|value| Some(measured_of(value)?.median));
            drawn.lines(&measured, colour, 2.0, "none");
            for (index, value) in series.values.iter().enumerate() {
                if let Some((x, estimate)) = self.at(index).zip(measured_of(value)) {
                    drawn.add(whiskers(estimate, (across.place(x), up.place(estimate.median)), &up, colour));
                }
            }
            measured.iter().for_each(|at| drawn.point(*at, 3.5, colour, false));
            canvas.add(drawn);
            for (points, is_published) in [(&published, true), (&measured, false)] {
                let name = |end: &CanvasPoint| Name { text: named(series, is_published), colour, end: *end };
                ends.extend(points.last().map(name));
            }
        }
        plot::add_names(canvas, ends, &across, &up);
        let middle = (start + end) / 2.0;
        let caption = format!("{} (logarithmic)", self.figure.across);
        canvas.text(
            (middle, up.start + 32.0),
            Anchor::Middle,
            SMALL,
            QUIET,
            &shortened(&clean(&caption), end - start, SMALL),
        );
        up.start + 36.0
    }

    /// A place's number; its position if it has none.
    fn at(&self, index: usize) -> Option<f64> {
        let place = self.panel.places.get(index)?;
        Some(place.at.and_then(drawable).unwrap_or(index as f64 + 1.0))
    }

    fn across(&self, start: f64, end: f64) -> Scale {
        let mut extent = Extent::default();
        (0..self.panel.places.len()).filter_map(|index| self.at(index)).for_each(|at| extent.add(at));
        Scale::logarithmic(&extent, start, end)
    }
}

fn named(series: &FigureSeries, published: bool) -> String {
    format!("{}, {}", series.label, if published { "published" } else { "measured" })
}

#[cfg(test)]
pub(crate) mod tests;
