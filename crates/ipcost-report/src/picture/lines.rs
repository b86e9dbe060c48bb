//! Lines on two logarithmic axes: latency against load, and latency by percentile.

use ipcost_model::units::time_text;
use ipcost_model::{Document, Estimate};

use super::ink::{Anchor, Canvas, CanvasPoint, INK, QUIET};
use super::plot::{self, HEAD, Name, SMALL, whiskers};
use super::scale::{Extent, Scale};
use super::{Background, Body, Chart, LEAD, LEFT, Picture, PictureError, bare, framed, paragraph, published};
use crate::figures::lines::{LinePoint, Lines, LinesPanel, NamedLine};

/// Draws them; `made` says where, when and with what they were measured.
pub fn draw(lines: &Lines, made: &Document, background: Background) -> Result<Picture, PictureError> {
    framed(&lines.title, [published::measured_on(made)], background, |canvas, y| {
        let y = paragraph(canvas, &lines.reading, LEAD, QUIET, y + 3.0) + 8.0;
        Ok(load(lines, canvas, y)?.bottom + 20.0)
    })
}

/// The panels alone, for a page that has the words.
pub fn plain(lines: &Lines) -> Result<Picture, PictureError> {
    bare(&lines.title, |canvas, y| Ok(load(lines, canvas, y)?.bottom + 6.0))
}

fn load(lines: &Lines, canvas: &mut Canvas, top: f64) -> Result<Body, PictureError> {
    body(lines, canvas, top).ok_or_else(|| PictureError::lacks(Chart::Load))
}

/// The panels, one below the other.
pub(super) fn body(lines: &Lines, canvas: &mut Canvas, top: f64) -> Option<Body> {
    let has_points = |panel: &&LinesPanel| panel.lines.iter().any(|line| !line.points.is_empty());
    let panels: Vec<&LinesPanel> = lines.panels.iter().filter(has_points).collect();
    if panels.is_empty() {
        return None;
    }
    let mut bottom = top;
    for (index, panel) in panels.iter().enumerate() {
        if index > 0 {
            bottom += 18.0;
        }
        if panels.len() > 1 && !panel.title.is_empty() {
            canvas.text((LEFT, bottom + 18.0), Anchor::Start, HEAD, INK, &panel.title);
            bottom += 20.0;
        }
        bottom = draw_panel(canvas, lines, panel, bottom);
    }
    Some(Body { bottom, notes: Vec::new() })
}

fn draw_panel(canvas: &mut Canvas, lines: &Lines, panel: &LinesPanel, top: f64) -> f64 {
    canvas.text((LEFT, top + 16.0), Anchor::Start, SMALL, QUIET, "latency of an operation (logarithmic)");
    let (across, up) = scales(lines, panel, top + 28.0);
    canvas.add(axes(lines, &across, &up));
    for line in &panel.lines {
        canvas.add(band(line, &across, &up));
    }
    for line in &panel.lines {
        canvas.add(draw_line(line, &across, &up));
    }
    let name = |line: &NamedLine| {
        let point = line.points.last()?;
        let end = (across.place(point.x), up.place(point.ns));
        Some(Name { text: line.name.clone(), colour: line.colour, end })
    };
    canvas.add(plot::names(panel.lines.iter().filter_map(name).collect(), &across, &up));
    let middle = (across.start + across.end) / 2.0;
    canvas.text((middle, up.start + 32.0), Anchor::Middle, SMALL, QUIET, lines.across.caption());
    up.start + 36.0
}

fn scales(lines: &Lines, panel: &LinesPanel, top: f64) -> (Scale, Scale) {
    let (start, end) =
        (LEFT + plot::TICKS, plot::end(panel.lines.iter().map(|line| &line.name), plot::MOST_NAME));
    let tall = plot::tall(panel.lines.len());
    let (mut values, mut times) = (Extent::default(), Extent::default());
    for point in panel.lines.iter().flat_map(|line| &line.points) {
        values.add(point.x);
        times
            .add_within(point.ns, [point.bounds.map(|bounds| bounds.0), point.bounds.map(|bounds| bounds.1)]);
    }
    if let Some(limit) = lines.limit_ns {
        times.add_bound(Some(limit as f64));
    }
    (Scale::logarithmic(&values, start, end), Scale::logarithmic(&times, top + tall, top))
}

fn axes(lines: &Lines, across: &Scale, up: &Scale) -> Canvas {
    let mut canvas = Canvas::of("axis");
    let round = || across.ticks(10).into_iter().map(|value| (value, lines.across.name(value))).collect();
    let named = lines.across.named().unwrap_or_else(round).into_iter();
    plot::ticks(&mut canvas, (across, up), named.filter(|(value, _)| across.holds(*value)));
    if let Some(limit) = lines.limit_ns.filter(|limit| up.holds(*limit as f64)) {
        let y = up.place(limit as f64);
        canvas.dashes((across.start, y), (across.end, y), INK, 1.25);
        let name = format!("limit, {}", time_text(limit));
        canvas.text((across.start + 4.0, y - 4.0), Anchor::Start, SMALL, INK, &name);
    }
    canvas
}

fn band(line: &NamedLine, across: &Scale, up: &Scale) -> Canvas {
    let ends = |point: &LinePoint| {
        let (lo, hi) = point.bounds?;
        let x = across.place(point.x);
        Some([(x, up.place(lo)), (x, up.place(hi))])
    };
    let intervals: Vec<_> = line.points.iter().map(ends).collect();
    plot::band(&intervals, line.colour, 0.1)
}

fn draw_line(line: &NamedLine, across: &Scale, up: &Scale) -> Canvas {
    let mut canvas = Canvas::of("line");
    canvas.title(&line.name);
    let places: Vec<CanvasPoint> =
        line.points.iter().map(|point| (across.place(point.x), up.place(point.ns))).collect();
    canvas.lines(&places, line.colour, 2.0, line.dashes);
    for (point, at) in line.points.iter().zip(&places) {
        if let Some((lo, hi)) = point.bounds {
            let known = Estimate { median: point.ns, lo: Some(lo), hi: Some(hi) };
            canvas.add(whiskers(known, *at, up, line.colour));
        }
        canvas.point(*at, 3.5, line.colour, point.bounds.is_none());
    }
    canvas
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::lines::AcrossLines;
    use crate::fixture::document as made;

    #[test]
    fn every_line_has_its_points_its_name_and_its_intervals() {
        let place = |x, ns| LinePoint { x, ns, bounds: Some((ns * 0.9, ns * 1.1)) };
        let line = |name: &str, dashes, points| NamedLine {
            name: name.to_owned(),
            colour: "#d55e00",
            dashes,
            points,
        };
        let mut lines = Lines {
            title: "Latency against load".to_owned(),
            reading: "Read it so.".to_owned(),
            across: AcrossLines::Rate,
            limit_ns: Some(1_000_000),
            panels: vec![LinesPanel {
                title: String::new(),
                lines: vec![
                    line("unix, p99", "none", vec![place(1_000.0, 50_000.0), place(20_000.0, 2_000_000.0)]),
                    line("unix, p50", "7 3", vec![LinePoint { x: 1_000.0, ns: 20_000.0, bounds: None }]),
                ],
            }],
        };
        let svg = draw(&lines, &made(), Background::White).unwrap().svg();
        for text in ["unix, p99", "unix, p50", "limit, 1 ms", "10k/s", "Measured on: ", "Read it so."] {
            assert!(svg.contains(text), "{text} is missing in {svg}");
        }
        assert_eq!(svg.matches("class=\"interval\"").count(), 2);
        lines.panels[0].lines.clear();
        assert!(matches!(plain(&lines), Err(PictureError::Lacks { chart: Chart::Load, .. })));
    }
}
