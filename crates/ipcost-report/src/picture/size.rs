//! Cost against the size of a message, or against the place of a buffer within a page: a panel a pattern, a line a
//! transport, with its interval as a band.

use ipcost_model::units::{size_text, time_text};
use ipcost_model::{Document, Estimate, PAGE_BYTES};

use super::ink::{Anchor, Canvas, GUIDE, INK, Point, QUIET};
use super::scale::{Extent, Scale};
use super::text::{Face, clean, shortened, width};
use super::{Body, LEFT, PictureError, RIGHT};
use crate::figures::series::{Across, FloorLine, Line, MeasuredCell, NO_PAUSE_NS, SeriesPanel, panels};
use crate::figures::{texts, ticks};

const HEAD: Face = Face { size: 14.0, bold: true };
const NAME: Face = Face { size: 12.0, bold: false };
const SMALL: Face = Face { size: 11.0, bold: false };

/// What the names of ticks take on the left.
const TICKS: f64 = 58.0;
const LEAST_TALL: f64 = 300.0;
/// How far names of lines stand apart.
const NAME_ROOM: f64 = 15.0;
const MOST_NAME: f64 = 210.0;
/// From the end of an axis to the names of lines.
const GUTTER: f64 = 26.0;
/// How far apart places within a page have names, bytes.
const PLACES: usize = 512;
/// How far an unbounded interval is drawn from its point.
const STUB: f64 = 16.0;

/// Draws it from `top` down.
///
/// # Errors
/// Where no work was measured at two values of what lies across.
pub fn draw(
    document: &Document,
    across: Across,
    canvas: &mut Canvas,
    top: f64,
) -> Result<Body, PictureError> {
    let panels = panels(document, across);
    let (drawn, single): (Vec<SeriesPanel<'_>>, Vec<SeriesPanel<'_>>) =
        panels.into_iter().partition(|panel| panel.values().len() > 1);
    if drawn.is_empty() {
        return Err(match across {
            Across::Size => PictureError::OneSize,
            Across::Place => PictureError::OnePlace,
            Across::Pause => PictureError::OnePause,
        });
    }
    let mut bottom = top;
    for (index, panel) in drawn.iter().enumerate() {
        if index > 0 {
            bottom += 18.0;
        }
        if drawn.len() > 1 {
            canvas.text((LEFT, bottom + 18.0), Anchor::Start, HEAD, INK, &panel.title);
            bottom += 20.0;
        }
        bottom = draw_panel(canvas, panel, across, bottom);
    }
    let mut notes = Vec::new();
    let points = || drawn.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
    if points().any(|point| point.cost.lo.is_none() || point.cost.hi.is_none()) {
        notes.push(
            "Hollow points have no interval yet: their arrows stand for one without bounds.".to_owned(),
        );
    }
    if points().any(|point| !point.modes.is_empty()) {
        notes.push(
            "Diamonds: a cell with two modes, and the cost of each; a line through its median hides them."
                .to_owned(),
        );
    }
    if drawn.iter().any(|panel| !panel.floors().is_empty()) {
        notes.push(texts::FLOORS.to_owned());
    }
    let skipped = single.iter().filter(|panel| !panel.lines.is_empty());
    let once = match across {
        Across::Size => "in one size",
        Across::Place => "at one place",
        Across::Pause => "with one pause",
    };
    notes.extend(skipped.map(|panel| format!("Not shown: {}: measured {once} only.", panel.title)));
    Ok(Body { bottom, notes })
}

/// What the picture is about.
pub fn title(document: &Document, across: Across) -> String {
    let by = match across {
        Across::Size => "size of message",
        Across::Place => "place of the receive buffer",
        Across::Pause => "pause between operations",
    };
    let panels = panels(document, across);
    let mut drawn = panels.iter().filter(|panel| panel.values().len() > 1);
    match (drawn.next(), drawn.next()) {
        (Some(only), None) => format!("{}: cost by {by}", only.title),
        _ => format!("What one operation costs, by {by}"),
    }
}

impl Line<'_> {
    fn x(&self, point: &MeasuredCell<'_>, across: &Scale) -> f64 {
        across.place(point.at as f64) + self.beside
    }
}

impl SeriesPanel<'_> {
    fn scales(&self, across: Across, top: f64) -> (Scale, Scale) {
        let floors = self.floors();
        let names = self.lines.iter().map(|line| line.label.to_owned());
        let names = names.chain(floors.iter().map(FloorLine::name));
        let names = names.map(|name| width(&clean(&name), NAME)).fold(0.0, f64::max);
        let (start, end) = (LEFT + TICKS, RIGHT - GUTTER - names.min(MOST_NAME));
        let tall = (NAME_ROOM * ((self.lines.len() + floors.len()) as f64 + 1.0)).max(LEAST_TALL);
        let (mut values, mut costs) = (Extent::default(), Extent::default());
        for point in self.lines.iter().flat_map(|line| &line.points) {
            values.add(point.at as f64);
            costs.add(point.cost.median);
            costs.add_bound(point.cost.lo);
            costs.add_bound(point.cost.hi);
            point.floor_ns.into_iter().for_each(|floor| costs.add(floor));
            point.modes.iter().for_each(|mode| costs.add_bound(Some(mode.wall_ns_per_op)));
        }
        let across = match across {
            Across::Size | Across::Pause => Scale::logarithmic(&values, start, end),
            Across::Place => Scale { logarithmic: false, from: 0.0, to: PAGE_BYTES as f64, start, end },
        };
        (across, Scale::logarithmic(&costs, top + tall, top))
    }
}

fn draw_panel(canvas: &mut Canvas, panel: &SeriesPanel<'_>, what: Across, top: f64) -> f64 {
    let caption = format!("elapsed time for one {} (logarithmic)", panel.operation);
    canvas.text((LEFT, top + 16.0), Anchor::Start, SMALL, QUIET, &caption);
    let (across, up) = panel.scales(what, top + 28.0);
    canvas.add(axes(panel, what, &across, &up));
    for line in &panel.lines {
        canvas.add(band(line, &across, &up));
    }
    for floor in panel.floors() {
        canvas.add(draw_floor(&floor, &across, &up));
    }
    for line in &panel.lines {
        canvas.add(draw_line(line, &across, &up));
    }
    canvas.add(names(panel, &across, &up));
    let middle = (across.start + across.end) / 2.0;
    canvas.text(
        (middle, up.start + 32.0),
        Anchor::Middle,
        SMALL,
        QUIET,
        match what {
            Across::Size => "size of a message (logarithmic; points of one size stand side by side)",
            Across::Place => "where receive buffers begin, bytes after a page",
            Across::Pause => "pause before each operation (logarithmic)",
        },
    );
    up.start + 36.0
}

fn axes(panel: &SeriesPanel<'_>, what: Across, across: &Scale, up: &Scale) -> Canvas {
    let mut canvas = Canvas::of("axis");
    for (name, value) in
        [("size-from", across.from), ("size-to", across.to), ("from", up.from), ("to", up.to)]
    {
        canvas.data(name, value);
    }
    for tick in up.ticks(8) {
        let y = up.place(tick);
        canvas.line((across.start, y), (across.end, y), GUIDE, 1.0);
        canvas.text((across.start - 8.0, y + 4.0), Anchor::End, SMALL, QUIET, &ticks::time(tick, None));
    }
    let mut free_from = f64::NEG_INFINITY;
    let named: Vec<(u64, String)> = match what {
        Across::Size => panel.values().into_iter().map(|size| (size, size_text(size))).collect(),
        Across::Place => (0..=PAGE_BYTES).step_by(PLACES).map(|place| (place, place.to_string())).collect(),
        Across::Pause => panel.values().into_iter().map(|ns| (ns, pause(ns))).collect(),
    };
    for (value, name) in named {
        let x = across.place(value as f64);
        canvas.line((x, up.end), (x, up.start + 4.0), GUIDE, 1.0);
        let half = width(&name, SMALL) / 2.0;
        // Every one has a line; it has a name where there is room.
        if x - half > free_from {
            canvas.text((x, up.start + 16.0), Anchor::Middle, SMALL, QUIET, &name);
            free_from = x + half + 4.0;
        }
    }
    canvas.line((across.start, up.start), (across.end, up.start), QUIET, 1.0);
    canvas
}

fn pause(ns: u64) -> String {
    if ns == NO_PAUSE_NS { "none".to_owned() } else { time_text(ns) }
}

/// The intervals of neighbouring points as one area; where one of them has none, there is a gap.
fn band(line: &Line<'_>, across: &Scale, up: &Scale) -> Canvas {
    let mut canvas = Canvas::of("band");
    let ends = |point: &MeasuredCell<'_>| {
        let x = line.x(point, across);
        Some([(x, up.place(point.cost.lo?)), (x, up.place(point.cost.hi?))])
    };
    for pair in line.points.windows(2) {
        if let (Some(left), Some(right)) = (ends(&pair[0]), ends(&pair[1])) {
            canvas.area(&[left[0], left[1], right[1], right[0]], line.colour, 0.13);
        }
    }
    canvas
}

fn draw_floor(floor: &FloorLine, across: &Scale, up: &Scale) -> Canvas {
    let mut canvas = Canvas::of("floor");
    canvas.title(&floor.name());
    let places: Vec<Point> =
        floor.points.iter().map(|(at, ns)| (across.place(*at as f64), up.place(*ns))).collect();
    canvas.lines(&places, INK, 1.5, "5 3");
    canvas
}

fn draw_line(line: &Line<'_>, across: &Scale, up: &Scale) -> Canvas {
    let mut canvas = Canvas::of("line");
    canvas.title(line.label);
    let place = |point: &MeasuredCell<'_>| (line.x(point, across), up.place(point.cost.median));
    let places: Vec<Point> = line.points.iter().map(place).collect();
    canvas.lines(&places, line.colour, 2.0, line.dashes);
    for (point, at) in line.points.iter().zip(&places) {
        for mode in point.modes {
            canvas.diamond((at.0, up.place(mode.wall_ns_per_op)), 3.5, line.colour);
        }
        canvas.add(whiskers(point.cost, *at, up, line.colour));
        canvas.point(*at, 3.5, line.colour, point.cost.lo.is_none() || point.cost.hi.is_none());
    }
    canvas
}

/// The interval of a point: solid where it is known, a stub of dashes with an arrow where it is unbounded.
pub(super) fn whiskers(cost: Estimate, (x, y): Point, up: &Scale, colour: &'static str) -> Canvas {
    let Estimate { lo, hi, .. } = cost;
    let mut canvas = Canvas::of(if lo.is_none() || hi.is_none() { "interval unbounded" } else { "interval" });
    for (end, towards) in [(lo, 1.0), (hi, -1.0)] {
        match end {
            Some(value) => {
                let to = up.place(value);
                canvas.line((x, y), (x, to), colour, 1.25);
                if up.holds(value) {
                    canvas.line((x - 3.0, to), (x + 3.0, to), colour, 1.25);
                } else {
                    canvas.arrow_head((x, to), (0.0, towards), colour);
                }
            }
            None => {
                canvas.dashes((x, y), (x, y + towards * STUB), colour, 1.25);
                canvas.arrow_head((x, y + towards * STUB), (0.0, towards), colour);
            }
        }
    }
    canvas
}

/// What stands at the right end of a line.
struct Name {
    text: String,
    colour: &'static str,
    end: Point,
}

/// The names of the lines and floors at their right ends, moved apart where they would hide each other.
fn names(panel: &SeriesPanel<'_>, across: &Scale, up: &Scale) -> Canvas {
    let mut canvas = Canvas::of("names");
    let of_line = |line: &Line<'_>| {
        let point = line.points.last()?;
        let end = (line.x(point, across), up.place(point.cost.median));
        Some(Name { text: line.label.to_owned(), colour: line.colour, end })
    };
    let of_floor = |floor: FloorLine| {
        let (at, ns) = floor.points.last()?;
        Some(Name { text: floor.name(), colour: INK, end: (across.place(*at as f64), up.place(*ns)) })
    };
    let mut names: Vec<Name> = panel.lines.iter().filter_map(of_line).collect();
    names.extend(panel.floors().into_iter().filter_map(of_floor));
    names.sort_by(|a, b| a.end.1.total_cmp(&b.end.1));
    let wanted: Vec<f64> = names.iter().map(|name| name.end.1).collect();
    let start = across.end + GUTTER;
    for (name, y) in names.iter().zip(apart(&wanted, NAME_ROOM, up.end + 6.0, up.start - 2.0)) {
        let (x, end) = name.end;
        canvas.lines(&[(x + 5.0, end), (across.end + 4.0, end), (start - 4.0, y)], name.colour, 0.75, "none");
        let text = shortened(&clean(&name.text), RIGHT - start, NAME);
        canvas.text((start, y + 4.0), Anchor::Start, NAME, INK, &text);
    }
    canvas
}

/// Places near the wanted ones, which rise, at least `room` apart, and between the limits as far as there is room.
pub(super) fn apart(wanted: &[f64], room: f64, least: f64, most: f64) -> Vec<f64> {
    let mut places: Vec<f64> = Vec::with_capacity(wanted.len());
    for want in wanted {
        let after = places.last().map_or(least, |last| last + room);
        places.push(want.max(after));
    }
    let mut limit = most;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - room;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_apart_and_keep_their_order() {
        let places = apart(&[10.0, 11.0, 50.0, 98.0, 99.0], 15.0, 0.0, 100.0);
        assert_eq!(places, [10.0, 25.0, 50.0, 85.0, 100.0]);
        assert_eq!(apart(&[5.0], 15.0, 0.0, 100.0), [5.0]);
    }
}
