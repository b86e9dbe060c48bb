//! Cost against the size of a message, or against the place of a buffer within a page: a panel a pattern, a line a
//! transport, with its interval as a band.

use ipcost_model::units::{size_text, time_text};
use ipcost_model::{Document, PAGE_BYTES};

use super::ink::{Anchor, Canvas, CanvasPoint, INK, QUIET};
use super::plot::{self, HEAD, Name, SMALL, whiskers};
use super::scale::{Extent, Scale};
use super::{Body, LEFT};
use crate::figures::series::{Across, CellLine, FloorLine, MeasuredCell, NO_PAUSE_NS, SeriesPanel, panels};
use crate::figures::texts;

/// How far apart places within a page have names, bytes.
const PLACES: usize = 512;

/// Draws it from `top` down.
pub fn draw(document: &Document, across: Across, canvas: &mut Canvas, top: f64) -> Option<Body> {
    let panels = panels(document, across);
    let (drawn, single): (Vec<SeriesPanel<'_>>, Vec<SeriesPanel<'_>>) =
        panels.into_iter().partition(|panel| panel.values().len() > 1);
    if drawn.is_empty() {
        return None;
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
    Some(Body { bottom, notes })
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

impl CellLine<'_> {
    fn x(&self, point: &MeasuredCell<'_>, across: &Scale) -> f64 {
        across.place(point.at as f64) + self.beside
    }
}

impl SeriesPanel<'_> {
    fn scales(&self, across: Across, top: f64) -> (Scale, Scale) {
        let floors = self.floors();
        let names = self.lines.iter().map(|line| line.label.to_owned());
        let names = names.chain(floors.iter().map(FloorLine::name));
        let (start, end) = (LEFT + plot::TICKS, plot::end(names, plot::MOST_NAME));
        let tall = plot::tall(self.lines.len() + floors.len());
        let (mut values, mut costs) = (Extent::default(), Extent::default());
        for point in self.lines.iter().flat_map(|line| &line.points) {
            values.add(point.at as f64);
            costs.add_within(point.cost.median, [point.cost.lo, point.cost.hi]);
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
    canvas.add(plot::names(names(panel, &across, &up), &across, &up));
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
    let named: Vec<(u64, String)> = match what {
        Across::Size => panel.values().into_iter().map(|size| (size, size_text(size))).collect(),
        Across::Place => (0..=PAGE_BYTES).step_by(PLACES).map(|place| (place, place.to_string())).collect(),
        Across::Pause => panel.values().into_iter().map(|ns| (ns, pause(ns))).collect(),
    };
    let named = named.into_iter().map(|(value, name)| (value as f64, name));
    plot::ticks(&mut canvas, (across, up), named);
    canvas
}

fn pause(ns: u64) -> String {
    if ns == NO_PAUSE_NS { "none".to_owned() } else { time_text(ns) }
}

fn band(line: &CellLine<'_>, across: &Scale, up: &Scale) -> Canvas {
    let ends = |point: &MeasuredCell<'_>| {
        let x = line.x(point, across);
        Some([(x, up.place(point.cost.lo?)), (x, up.place(point.cost.hi?))])
    };
    let intervals: Vec<_> = line.points.iter().map(ends).collect();
    plot::band(&intervals, line.colour, 0.13)
}

fn draw_floor(floor: &FloorLine, across: &Scale, up: &Scale) -> Canvas {
    let mut canvas = Canvas::of("floor");
    canvas.title(&floor.name());
    let places: Vec<CanvasPoint> =
        floor.points.iter().map(|(at, ns)| (across.place(*at as f64), up.place(*ns))).collect();
    canvas.lines(&places, INK, 1.5, "5 3");
    canvas
}

fn draw_line(line: &CellLine<'_>, across: &Scale, up: &Scale) -> Canvas {
    let mut canvas = Canvas::of("line");
    canvas.title(line.label);
    let place = |point: &MeasuredCell<'_>| (line.x(point, across), up.place(point.cost.median));
    let places: Vec<CanvasPoint> = line.points.iter().map(place).collect();
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

/// The names of the lines and floors.
fn names(panel: &SeriesPanel<'_>, across: &Scale, up: &Scale) -> Vec<Name> {
    let of_line = |line: &CellLine<'_>| {
        let point = line.points.last()?;
        let end = (line.x(point, across), up.place(point.cost.median));
        Some(Name { text: line.label.to_owned(), colour: line.colour, end })
    };
    let of_floor = |floor: FloorLine| {
        let (at, ns) = floor.points.last()?;
        Some(Name { text: floor.name(), colour: INK, end: (across.place(*at as f64), up.place(*ns)) })
    };
    let lines = panel.lines.iter().filter_map(of_line);
    lines.chain(panel.floors().into_iter().filter_map(of_floor)).collect()
}
