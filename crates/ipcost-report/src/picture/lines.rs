//! Lines through measured values: cost by size, place or pause, latency against load, and latency by percentile.

use ipcost_model::units::time_text;
use ipcost_model::{Document, Estimate, PAGE_BYTES};

use super::ink::{Anchor, Canvas, CanvasPoint, INK, QUIET};
use super::plot::{self, HEAD, Name, SMALL, whiskers};
use super::scale::{Extent, Scale};
use super::{Background, Body, Chart, LEAD, LEFT, Picture, PictureError, bare, framed, paragraph, published};
use crate::figures::lines::{AcrossLines, LinePoint, Lines, LinesPanel, NamedLine};
use crate::figures::series::Across;

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
    let caption = match lines.across {
        AcrossLines::Cells(_) => format!("elapsed time for one {} (logarithmic)", panel.operation),
        AcrossLines::Rate | AcrossLines::Percentile => "latency of an operation (logarithmic)".to_owned(),
    };
    canvas.text((LEFT, top + 16.0), Anchor::Start, SMALL, QUIET, &caption);
    let (across, up) = scales(lines, panel, top + 28.0);
    canvas.add(axes(lines, panel, &across, &up));
    let opacity = if matches!(lines.across, AcrossLines::Cells(_)) { 0.13 } else { 0.1 };
    for line in &panel.lines {
        canvas.add(band(line, opacity, &across, &up));
    }
    let floor_place = |(x, ns): &(f64, f64)| (across.place(*x), up.place(*ns));
    for (name, points) in &panel.floors {
        let mut floor = Canvas::of("floor");
        floor.title(name);
        floor.lines(&points.iter().map(floor_place).collect::<Vec<_>>(), INK, 1.5, "5 3");
        canvas.add(floor);
    }
    for line in &panel.lines {
        canvas.add(draw_line(line, &across, &up));
    }
    let of_line = |line: &NamedLine| {
        let end = place(line, line.points.last()?, &across, &up);
        Some(Name { text: line.name.clone(), colour: line.colour, end })
    };
    let of_floor = |(name, points): &(String, Vec<(f64, f64)>)| {
        Some(Name { text: name.clone(), colour: INK, end: floor_place(points.last()?) })
    };
    let names = panel.lines.iter().filter_map(of_line).chain(panel.floors.iter().filter_map(of_floor));
    canvas.add(plot::names(names.collect(), &across, &up));
    let middle = (across.start + across.end) / 2.0;
    canvas.text((middle, up.start + 32.0), Anchor::Middle, SMALL, QUIET, lines.across.caption());
    up.start + 36.0
}

fn place(line: &NamedLine, point: &LinePoint, across: &Scale, up: &Scale) -> CanvasPoint {
    (across.place(point.x) + line.beside, up.place(point.ns))
}

fn scales(lines: &Lines, panel: &LinesPanel, top: f64) -> (Scale, Scale) {
    let names = panel.lines.iter().map(|line| &line.name).chain(panel.floors.iter().map(|(name, _)| name));
    let (start, end) = (LEFT + plot::TICKS, plot::end(names, plot::MOST_NAME));
    let tall = plot::tall(panel.lines.len() + panel.floors.len());
    let (mut values, mut times) = (Extent::default(), Extent::default());
    for point in panel.lines.iter().flat_map(|line| &line.points) {
        values.add(point.x);
        times.add_within(point.ns, point.ends.unwrap_or_default());
        point.modes.iter().for_each(|mode| times.add_bound(Some(*mode)));
    }
    panel.floors.iter().flat_map(|(_, points)| points).for_each(|(_, ns)| times.add(*ns));
    if let Some(limit) = lines.limit_ns {
        times.add_bound(Some(limit as f64));
    }
    let across = match lines.across {
        AcrossLines::Cells(Across::Place) => {
            Scale { logarithmic: false, from: 0.0, to: PAGE_BYTES as f64, start, end }
        }
        _ => Scale::logarithmic(&values, start, end),
    };
    (across, Scale::logarithmic(&times, top + tall, top))
}

fn axes(lines: &Lines, panel: &LinesPanel, across: &Scale, up: &Scale) -> Canvas {
    let mut canvas = Canvas::of("axis");
    if matches!(lines.across, AcrossLines::Cells(_)) {
        for (name, value) in
            [("size-from", across.from), ("size-to", across.to), ("from", up.from), ("to", up.to)]
        {
            canvas.data(name, value);
        }
    }
    let round = || across.ticks(10).into_iter().map(|value| (value, lines.across.name(value))).collect();
    let named = lines.across.named(panel).unwrap_or_else(round).into_iter();
    plot::ticks(&mut canvas, (across, up), named.filter(|(value, _)| across.holds(*value)));
    if let Some(limit) = lines.limit_ns.filter(|limit| up.holds(*limit as f64)) {
        let y = up.place(limit as f64);
        canvas.dashes((across.start, y), (across.end, y), INK, 1.25);
        let name = format!("limit, {}", time_text(limit));
        canvas.text((across.start + 4.0, y - 4.0), Anchor::Start, SMALL, INK, &name);
    }
    canvas
}

fn band(line: &NamedLine, opacity: f64, across: &Scale, up: &Scale) -> Canvas {
    let ends = |point: &LinePoint| {
        let [lo, hi] = point.ends?;
        let (x, _) = place(line, point, across, up);
        Some([(x, up.place(lo?)), (x, up.place(hi?))])
    };
    let intervals: Vec<_> = line.points.iter().map(ends).collect();
    plot::band(&intervals, line.colour, opacity)
}

fn draw_line(line: &NamedLine, across: &Scale, up: &Scale) -> Canvas {
    let mut canvas = Canvas::of("line");
    canvas.title(&line.name);
    let places: Vec<CanvasPoint> = line.points.iter().map(|point| place(line, point, across, up)).collect();
    canvas.lines(&places, line.colour, 2.0, line.dashes);
    for (point, at) in line.points.iter().zip(&places) {
        for mode in &point.modes {
            canvas.diamond((at.0, up.place(*mode)), 3.5, line.colour);
        }
        if let Some([lo, hi]) = point.ends {
            canvas.add(whiskers(Estimate { median: point.ns, lo, hi }, *at, up, line.colour));
        }
        canvas.point(*at, 3.5, line.colour, point.ends.is_none_or(|ends| ends.contains(&None)));
    }
    canvas
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::document as made;

    #[test]
    fn every_line_has_its_points_its_name_and_its_intervals() {
        let place = |x, ns| {
            let ends = Some([Some(ns * 0.9), Some(ns * 1.1)]);
            LinePoint { x, ns, ends, modes: Vec::new() }
        };
        let line = |name: &str, dashes, points| NamedLine {
            name: name.to_owned(),
            colour: "#d55e00",
            dashes,
            beside: 0.0,
            points,
        };
        let mut lines = Lines {
            title: "Latency against load".to_owned(),
            reading: "Read it so.".to_owned(),
            across: AcrossLines::Rate,
            limit_ns: Some(1_000_000),
            panels: vec![LinesPanel {
                title: String::new(),
                operation: "",
                floors: Vec::new(),
                lines: vec![
                    line("unix, p99", "none", vec![place(1_000.0, 50_000.0), place(20_000.0, 2_000_000.0)]),
                    line(
                        "unix, p50",
                        "7 3",
                        vec![LinePoint { x: 1_000.0, ns: 20_000.0, ..LinePoint::default() }],
                    ),
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
