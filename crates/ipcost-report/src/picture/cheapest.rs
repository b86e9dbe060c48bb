//! The cheapest transport of every workload: fields in rows, a column a size.

use ipcost_model::Document;

use super::ink::{Anchor, Canvas, CanvasPoint, GUIDE, INK, QUIET};
use super::text::{Face, clean, shortened, width, wrapped};
use super::{Body, LEFT, RIGHT};
use crate::figures::cheapest::{Among, CheapestField, CheapestRow, Map, Standing, map};
use crate::figures::colours::PALETTE;

const HEAD: Face = Face { size: 14.0, bold: true };
const LABEL: Face = Face { size: 12.5, bold: false };
const NAME: Face = Face { size: 12.5, bold: true };
const SMALL: Face = Face { size: 11.0, bold: false };
const TINY: Face = Face { size: 10.5, bold: false };

/// The height of a row, and that of a row with two names.
const TALL: f64 = 40.0;
const LOW: f64 = 22.0;
const GAP: f64 = 3.0;
/// What lies between the rows of one placement and the next.
const BETWEEN: f64 = 5.0;
const GUTTER: f64 = 12.0;
const INDENT: f64 = 12.0;
const MOST_LABEL: f64 = 150.0;
const MOST_WIDE: f64 = 150.0;
/// What a field keeps free on either side of its text.
const PADDING: f64 = 3.0;
/// How strong colours are behind text.
const TINT: f64 = 0.3;
/// The strip of full colour beneath the text of a field, over its height.
const STRIP: f64 = 0.1;
/// How far lines of a hatching stand apart, about.
const HATCH: f64 = 10.0;

#[derive(Clone, Copy)]
struct SizeColumns {
    start: f64,
    wide: f64,
}

impl SizeColumns {
    fn of(map: &Map) -> Self {
        let labels = map.groups.iter().flat_map(|group| &group.rows).map(|row| {
            let (indent, face, label) = label(row);
            indent + width(&clean(label), face)
        });
        let start = LEFT + labels.fold(90.0, f64::max).min(MOST_LABEL) + GUTTER;
        Self { start, wide: ((RIGHT - start) / map.sizes.len() as f64).min(MOST_WIDE) }
    }

    fn left(self, column: usize) -> f64 {
        self.start + column as f64 * self.wide
    }
}

/// Draws it from `top` down.
pub fn draw(document: &Document, canvas: &mut Canvas, top: f64) -> Option<Body> {
    let map = map(document)?;
    let columns = SizeColumns::of(&map);
    canvas.add(sizes(&map, columns, top));
    let mut y = top + 22.0;
    for group in &map.groups {
        canvas.text((LEFT, y + 18.0), Anchor::Start, HEAD, INK, &group.title);
        y += 26.0;
        for (index, row) in group.rows.iter().enumerate() {
            if index > 0 && row.among == Among::All {
                y += BETWEEN;
            }
            let (indent, face, label) = label(row);
            let room = columns.start - GUTTER - LEFT - indent;
            let label = shortened(&clean(label), room, face);
            let (colour, tall) = (if row.among == Among::All { INK } else { QUIET }, height(row));
            canvas.text((LEFT + indent, y + tall / 2.0 + 3.0), Anchor::Start, face, colour, &label);
            for (column, field) in row.fields.iter().enumerate() {
                if let Some(field) = field {
                    let left = columns.left(column);
                    let corners = ((left, y), (left + columns.wide - GAP, y + tall - GAP));
                    canvas.add(draw_field(field, row, corners));
                }
            }
            y += tall;
        }
        y += 8.0;
    }
    Some(Body { bottom: y, notes: map.notes })
}

/// A row's indentation and name: where it runs, or, beneath that, what it is about.
fn label(row: &CheapestRow) -> (f64, Face, &str) {
    match &row.among {
        Among::All => (0.0, LABEL, row.name()),
        Among::Sleeping | Among::Two(_) => (INDENT, SMALL, row.name()),
    }
}

fn height(row: &CheapestRow) -> f64 {
    if matches!(row.among, Among::Two(_)) { LOW } else { TALL }
}

fn sizes(map: &Map, columns: SizeColumns, top: f64) -> Canvas {
    let mut canvas = Canvas::of("axis");
    canvas.text((LEFT, top + 16.0), Anchor::Start, SMALL, QUIET, "size of a message");
    for (column, size) in map.sizes.iter().enumerate() {
        let middle = columns.left(column) + (columns.wide - GAP) / 2.0;
        let size = shortened(size, columns.wide, LABEL);
        canvas.text((middle, top + 16.0), Anchor::Middle, LABEL, INK, &size);
    }
    canvas
}

fn draw_field(field: &CheapestField, row: &CheapestRow, (from, to): (CanvasPoint, CanvasPoint)) -> Canvas {
    let mut canvas = Canvas::of("cell");
    canvas.title(&format!("{}: {}", row.work(field), field.answer));
    match field.standing {
        Standing::Cheapest | Standing::Shared => canvas.add(colours(field, (from, to))),
        Standing::Open => canvas.add(hatching((from, to))),
        Standing::NotCompared => canvas.add(outline((from, to))),
    }
    let room = to.0 - from.0 - 2.0 * PADDING;
    let middle = (from.0 + to.0) / 2.0;
    let known = matches!(field.standing, Standing::Cheapest | Standing::Shared);
    let lines = match (&row.among, known) {
        (Among::Two(_), _) => of_two(field, room),
        (_, true) => of_known(field, room),
        (_, false) => of_open(field, room),
    };
    let first = if lines.len() > 1 { from.1 + 15.0 } else { (from.1 + to.1) / 2.0 + 3.0 };
    for (index, (text, face)) in lines.iter().enumerate() {
        let at = (middle, first + index as f64 * 14.0);
        canvas.text(at, Anchor::Middle, *face, if known { INK } else { QUIET }, text);
    }
    canvas
}

/// The name and the margin on a line, as far as there is room.
fn of_two(field: &CheapestField, room: f64) -> Vec<(String, Face)> {
    let name = clean(&field.name);
    let brief = clean(&field.brief);
    let shorter = brief.trim_end_matches(" ×").to_owned();
    let text = if field.standing == Standing::Cheapest {
        [brief, shorter].into_iter().find(|text| width(text, TINY) <= room).unwrap_or(name)
    } else {
        brief
    };
    vec![(shortened(&text, room, TINY), TINY)]
}

/// The name, and the margin as far as there is room.
fn of_known(field: &CheapestField, room: f64) -> Vec<(String, Face)> {
    let name = (shortened(&clean(&field.name), room, NAME), NAME);
    let margin = clean(&field.margin);
    let brief = margin.split_once(" × ").map(|(times, _)| format!("{times} ×"));
    let fits = |text: &String| width(text, SMALL) <= room;
    let margin = Some(margin).filter(fits).or(brief.filter(fits));
    std::iter::once(name).chain(margin.map(|margin| (margin, SMALL))).collect()
}

/// The names on one line or two, and the verdict if there is room.
fn of_open(field: &CheapestField, room: f64) -> Vec<(String, Face)> {
    let mut lines = wrapped(&clean(&field.name), room, SMALL);
    if lines.len() > 2 {
        lines = vec![shortened(&clean(&field.name), room, SMALL)];
    }
    if lines.len() == 1 && !field.margin.is_empty() {
        lines.push(shortened(&field.margin, room, SMALL));
    }
    lines.into_iter().map(|line| (line, SMALL)).collect()
}

/// The colours of the cheapest side by side.
fn colours(field: &CheapestField, (from, to): (CanvasPoint, CanvasPoint)) -> Canvas {
    let mut canvas = Canvas::of("known");
    let strip = (to.1 - from.1) * STRIP;
    let wide = (to.0 - from.0) / field.slots.len().max(1) as f64;
    for (index, slot) in field.slots.iter().enumerate() {
        let (left, colour) = (from.0 + index as f64 * wide, PALETTE[*slot].light);
        canvas.rectangle((left, from.1), (left + wide, to.1), colour, TINT);
        canvas.rectangle((left, to.1 - strip), (left + wide, to.1), colour, 1.0);
    }
    canvas
}

fn outline((from, to): (CanvasPoint, CanvasPoint)) -> Canvas {
    let mut canvas = Canvas::of("outline");
    canvas.lines(&[from, (to.0, from.1), to, (from.0, to.1), from], GUIDE, 1.0, "none");
    canvas
}

/// An outline filled with slanted lines: a single line that goes up one and down the next, along the edges between.
fn hatching((from, to): (CanvasPoint, CanvasPoint)) -> Canvas {
    let (wide, tall) = (to.0 - from.0, to.1 - from.1);
    let steps = |length: f64| (length / HATCH).round().max(1.0) as usize;
    let (across, down) = (steps(wide), steps(tall));
    let x = |step: usize| from.0 + wide * step as f64 / across as f64;
    let y = |step: usize| from.1 + tall * step as f64 / down as f64;
    // A line ends on the left or the lower edge, and on the upper or the right one.
    let low = |step: usize| (x(step.saturating_sub(down)), y(step.min(down)));
    let high = |step: usize| (x(step.min(across)), y(step.saturating_sub(across)));
    let mut points: Vec<CanvasPoint> = Vec::new();
    for step in 0..=across + down {
        let ends = [low(step), high(step)];
        points.extend(if step % 2 == 0 { ends } else { [ends[1], ends[0]] });
    }
    let mut canvas = Canvas::of("open");
    canvas.lines(&points, GUIDE, 1.0, "none");
    canvas.add(outline((from, to)));
    canvas
}
