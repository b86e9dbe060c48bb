//! Rows of points with intervals along one axis: what every picture but that of sizes is made of.

use super::ink::{Anchor, BAND, Canvas, CanvasPoint, GUIDE, INK, QUIET};
use super::scale::Scale;
use super::text::{Face, TO_BASE, clean, shortened, width};
use super::{LEFT, RIGHT};

const LABEL: Face = Face { size: 12.5, bold: false };
const STRONG: Face = Face { bold: true, ..LABEL };
const FIGURES: Face = Face { size: 12.0, bold: false };
const HEAD: Face = Face { size: 14.0, bold: true };
const SMALL: Face = Face { size: 11.0, bold: false };

const ROW: f64 = 24.0;
/// What a row with modes takes in addition.
const MODES: f64 = 17.0;
const GUTTER: f64 = 14.0;
/// What lies between one side and the next.
const BETWEEN: f64 = 26.0;
const MOST_LABEL: f64 = 270.0;
/// How far ticks stand apart, at least.
const TICK_ROOM: f64 = 54.0;
/// Half the cap at the end of an interval.
const CAP: f64 = 4.0;

/// A cell's place in a picture.
#[derive(Debug, Clone)]
pub struct PictureRow {
    pub label: String,
    /// Whether it is known to be the best of its group.
    pub strong: bool,
    pub colour: &'static str,
    pub mark: RowMark,
    /// The same in figures, or why there are none.
    pub figures: String,
    /// Further points, each with a remark.
    pub modes: Vec<(f64, String)>,
    /// The least that this could be here; rows that share it share a line.
    pub floor: Option<f64>,
    /// Whether there is room for modes, where the row beside this one has some.
    pub tall: bool,
}

/// What is known of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RowMark {
    /// A median and its interval; an end is `None` while unbounded.
    Known { median: f64, lo: Option<f64>, hi: Option<f64> },
    /// What the others are compared with.
    Reference(f64),
    /// There is no value.
    Nothing,
}

/// Rows under a heading.
#[derive(Debug, Clone)]
pub struct RowGroup {
    /// The heading; empty for none.
    pub title: String,
    /// From top to bottom.
    pub rows: Vec<PictureRow>,
}

/// An axis and how it is drawn.
pub struct Axis<'a> {
    /// From values to places.
    pub scale: Scale,
    /// What a tick says.
    pub tick: &'a dyn Fn(f64) -> String,
    /// What the axis shows, with its unit.
    pub caption: String,
    /// Whether values are bars from the start of the axis.
    pub bars: bool,
    /// Values that differ too little to matter.
    pub band: Option<(f64, f64)>,
    /// A value that is set off with a line.
    pub line: Option<f64>,
}

/// Groups side by side: as many on every side, with as many rows.
pub type SideBySide = Vec<Vec<RowGroup>>;

/// The columns of a picture, shared by all its panels.
#[derive(Debug, Clone, Copy)]
pub struct PanelColumns {
    left: f64,
    /// Where labels end; `None` where they stand on another side.
    labels: Option<f64>,
    pub start: f64,
    pub end: f64,
    figures: f64,
    right: f64,
}

impl PanelColumns {
    /// As wide as what they hold: those of every side, of which the first has the labels.
    pub fn of(sides: &[Vec<RowGroup>]) -> Vec<Self> {
        let rows = || sides.iter().flatten().flat_map(|group| &group.rows);
        let label = rows().map(|row| width(&clean(&row.label), STRONG)).fold(40.0, f64::max).min(MOST_LABEL);
        let figures = rows().map(|row| width(&clean(&row.figures), FIGURES)).fold(0.0, f64::max).min(300.0);
        let labels = LEFT + label;
        let first = labels + GUTTER;
        let step = (RIGHT - first + BETWEEN) / sides.len().max(1) as f64;
        let side = |index: usize| {
            let start = first + index as f64 * step;
            let right = start + step - BETWEEN;
            let figures = right - figures;
            let (left, labels) = if index == 0 { (LEFT, Some(labels)) } else { (start, None) };
            Self { left, labels, start, end: figures - GUTTER, figures, right }
        };
        (0..sides.len()).map(side).collect()
    }
}

/// Gives rows that stand side by side the same height.
pub fn level(sides: &mut [Vec<RowGroup>]) {
    let groups = sides.iter().map(Vec::len).min().unwrap_or(0);
    for group in 0..groups {
        let rows = sides.iter().map(|side| side[group].rows.len()).min().unwrap_or(0);
        for row in 0..rows {
            let tall = sides.iter().any(|side| !side[group].rows[row].modes.is_empty());
            sides.iter_mut().for_each(|side| side[group].rows[row].tall = tall);
        }
    }
}

/// Draws groups of rows from `top` down, and the axis below them; gives where it ends.
pub fn draw(
    canvas: &mut Canvas,
    groups: &[RowGroup],
    columns: PanelColumns,
    axis: &Axis<'_>,
    top: f64,
) -> f64 {
    let mut spans = Vec::with_capacity(groups.len());
    let mut y = top;
    for (index, group) in groups.iter().enumerate() {
        let first = y + head_height(index, group);
        y = first + group.rows.iter().map(height).sum::<f64>();
        spans.push((first, y));
    }
    let bottom = y + 4.0;
    if let Some(last) = spans.last_mut() {
        last.1 = bottom;
    }
    canvas.add(background(axis, &spans, bottom));
    for (group, (first, _)) in groups.iter().zip(spans) {
        if !group.title.is_empty() {
            let title = shortened(&clean(&group.title), columns.right - columns.left, HEAD);
            canvas.text((columns.left, first - 8.0), Anchor::Start, HEAD, INK, &title);
        }
        let mut y = first;
        for row in &group.rows {
            canvas.add(draw_row(row, columns, axis, y));
            y += height(row);
        }
    }
    let middle = (axis.scale.start + axis.scale.end) / 2.0;
    canvas.text((middle, bottom + 32.0), Anchor::Middle, SMALL, QUIET, &axis.caption);
    bottom + 36.0
}

fn head_height(index: usize, group: &RowGroup) -> f64 {
    match (group.title.is_empty(), index) {
        (true, _) => 4.0,
        (false, 0) => 26.0,
        (false, _) => 36.0,
    }
}

fn height(row: &PictureRow) -> f64 {
    if row.modes.is_empty() && !row.tall { ROW } else { ROW + MODES }
}

/// What lies behind the rows: within the `spans` that they take from top to bottom, so that headings stay free.
fn background(axis: &Axis<'_>, spans: &[(f64, f64)], bottom: f64) -> Canvas {
    let scale = &axis.scale;
    let mut canvas = Canvas::of("axis");
    canvas.ends(scale);
    if let Some((lo, hi)) = axis.band {
        for (top, end) in spans {
            canvas.rectangle((scale.place(lo), *top), (scale.place(hi), *end), BAND, 1.0);
        }
    }
    for tick in scale.ticks(((scale.end - scale.start) / TICK_ROOM) as usize) {
        let x = scale.place(tick);
        spans.iter().for_each(|(top, end)| canvas.line((x, *top), (x, *end), GUIDE, 1.0));
        canvas.text((x, bottom + 14.0), Anchor::Middle, SMALL, QUIET, &(axis.tick)(tick));
    }
    canvas.line((scale.start, bottom), (scale.end, bottom), QUIET, 1.0);
    if let Some(value) = axis.line {
        let x = scale.place(value);
        spans.iter().for_each(|(top, end)| canvas.line((x, *top), (x, *end), INK, 1.25));
    }
    canvas
}

fn draw_row(row: &PictureRow, columns: PanelColumns, axis: &Axis<'_>, top: f64) -> Canvas {
    let middle = top + ROW / 2.0;
    let base = middle + LABEL.size * TO_BASE;
    let mut canvas = Canvas::of("cell");
    canvas.title(&format!("{}: {}", row.label, row.figures));
    let face = if row.strong { STRONG } else { LABEL };
    let colour = if row.mark == RowMark::Nothing { QUIET } else { INK };
    if let Some(labels) = columns.labels {
        let label = shortened(&clean(&row.label), labels - LEFT, face);
        canvas.text((labels, base), Anchor::End, face, colour, &label);
    }
    let figures = shortened(&clean(&row.figures), columns.right - columns.figures, FIGURES);
    canvas.text((columns.figures, base), Anchor::Start, FIGURES, colour, &figures);
    if let Some(floor) = row.floor {
        let x = axis.scale.place(floor);
        let mut line = Canvas::of("floor");
        line.data("at", floor);
        // As tall as the row, so that one line goes through all rows of one floor.
        line.lines(&[(x, top), (x, top + height(row))], INK, 1.5, "5 3");
        canvas.add(line);
    }
    match row.mark {
        RowMark::Nothing => {}
        RowMark::Reference(value) => canvas.point((axis.scale.place(value), middle), 4.0, row.colour, false),
        RowMark::Known { median, lo, hi } => {
            let x = axis.scale.place(median);
            if axis.bars {
                canvas.rectangle((axis.scale.start, middle - 7.0), (x, middle + 7.0), row.colour, 0.35);
            }
            canvas.add(whiskers(&axis.scale, [lo, hi], (x, middle), row.colour, CAP));
            canvas.point((x, middle), 4.0, row.colour, lo.is_none() || hi.is_none());
        }
    }
    for (index, (value, remark)) in row.modes.iter().enumerate() {
        let x = axis.scale.place(*value);
        let y = middle + (ROW + MODES) / 2.0 - 3.0;
        canvas.diamond((x, y), 3.5, row.colour);
        // The cheaper mode is spoken for on its left, the other on its right, so that neither hides the other.
        let (anchor, step) = if index == 0 { (Anchor::End, -8.0) } else { (Anchor::Start, 8.0) };
        canvas.text((x + step, y + SMALL.size * TO_BASE), anchor, SMALL, QUIET, remark);
    }
    canvas
}

/// The interval around a point, with a cap of so much to each side at its ends: solid as far as it is known, in dashes with an arrow where it is unbounded; a solid
/// line with an arrow goes on beyond the axis.
pub fn whiskers(
    scale: &Scale,
    ends: [Option<f64>; 2],
    (x, y): CanvasPoint,
    colour: &'static str,
    cap: f64,
) -> Canvas {
    let unbounded = ends.iter().any(Option::is_none);
    let mut canvas = Canvas::of(if unbounded { "interval unbounded" } else { "interval" });
    for (end, edge, towards) in [(ends[0], scale.start, -1.0), (ends[1], scale.end, 1.0)] {
        match end {
            Some(value) if scale.holds(value) => {
                let to = scale.place(value);
                canvas.line((x, y), (to, y), colour, 2.0);
                canvas.line((to, y - cap), (to, y + cap), colour, 2.0);
            }
            Some(_) => {
                canvas.line((x, y), (edge, y), colour, 2.0);
                canvas.arrow_head((edge, y), (towards, 0.0), colour);
            }
            None => {
                canvas.dashes((x, y), (edge, y), colour, 1.5);
                canvas.arrow_head((edge, y), (towards, 0.0), colour);
            }
        }
    }
    canvas
}
