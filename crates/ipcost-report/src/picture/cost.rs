//! What an operation costs, a panel a workload; on one core and on two side by side.

use ipcost_model::{CellRecord, Document, WorkloadRecord};

use super::Body;
use super::captions::{self, MODES};
use super::ink::Canvas;
use super::rows::{self, Axis, PanelColumns, PictureRow, RowGroup, RowMark, SideBySide};
use super::scale::{Extent, Scale};
use crate::figures::{colours, texts, ticks};
use crate::numbers::time;
use crate::words;

/// With costs further apart than this, as a factor, equal distances become equal ratios.
const FAR_APART: f64 = 20.0;

/// Draws it from `top` down.
pub fn draw(document: &Document, canvas: &mut Canvas, top: f64) -> Body {
    let panels: Vec<SideBySide> =
        words::strata(document).iter().map(|tables| sides(document, tables)).collect();
    // Columns line up from panel to panel, of those that stand alone and of those that stand side by side.
    let columns = |count: usize| {
        let mut all: SideBySide = vec![Vec::new(); count];
        for panel in panels.iter().filter(|panel| panel.len() == count) {
            all.iter_mut().zip(panel).for_each(|(all, side)| all.extend(side.iter().cloned()));
        }
        PanelColumns::of(&all)
    };
    let known = [columns(1), columns(2)];
    let mut bottom = top;
    for (index, panel) in panels.iter().enumerate() {
        let top = bottom + if index == 0 { 0.0 } else { 18.0 };
        for (side, columns) in panel.iter().zip(&known[panel.len() - 1]) {
            let (scale, caption) = axis(&side[0], *columns, panel.len() > 1);
            // On an axis from zero all ticks have the unit of the largest.
            let unit = if scale.logarithmic { None } else { Some(scale.to) };
            let tick = move |value: f64| ticks::time(value, unit);
            let axis = Axis { scale, tick: &tick, caption, bars: !scale.logarithmic, band: None, line: None };
            bottom = rows::draw(canvas, side, *columns, &axis, top);
        }
    }
    let mut notes = Vec::new();
    let rows = || panels.iter().flatten().flatten().flat_map(|group| &group.rows);
    if rows().any(|row| !row.modes.is_empty()) {
        notes.push(MODES.to_owned());
    }
    if rows().any(|row| row.floor.is_some()) {
        notes.push(texts::FLOORS.to_owned());
    }
    Body { bottom, notes }
}

/// A panel: one table, or two of the same work side by side.
fn sides(document: &Document, tables: &[&WorkloadRecord]) -> SideBySide {
    let only = document.workloads.len() == 1;
    let beside = tables.len() > 1;
    let side = |(side, table): (usize, &&WorkloadRecord)| {
        let title = captions::heading(table, &words::work(table), beside.then_some(side));
        vec![group(document, table, if only { String::new() } else { title }, beside)]
    };
    let mut sides: SideBySide = tables.iter().enumerate().map(side).collect();
    rows::level(&mut sides);
    sides
}

fn axis(table: &RowGroup, columns: PanelColumns, brief: bool) -> (Scale, String) {
    let mut extent = Extent::default();
    for row in &table.rows {
        if let RowMark::Known { median, lo, hi } = row.mark {
            extent.add_within(median, [lo, hi]);
        }
        row.modes.iter().for_each(|(value, _)| extent.add(*value));
        row.floor.into_iter().for_each(|floor| extent.add(floor));
    }
    let caption = "elapsed time for one operation";
    if extent.factor() > FAR_APART && extent.factor().is_finite() {
        let scale = Scale::logarithmic(&extent, columns.start, columns.end);
        let how = if brief { "logarithmic" } else { "logarithmic: equal distances are equal ratios" };
        (scale, format!("{caption} ({how})"))
    } else {
        (Scale::from_zero(&extent, columns.start, columns.end), caption.to_owned())
    }
}

fn group(document: &Document, table: &WorkloadRecord, title: String, brief: bool) -> RowGroup {
    let best = table.fastest.as_ref().filter(|fastest| fastest.claimed).map(|fastest| &fastest.cell);
    let cells = table.cells.iter().filter_map(|id| words::cell(document, id));
    RowGroup { title, rows: cells.map(|cell| row(document, cell, best == Some(&cell.id), brief)).collect() }
}

/// A row; with `brief` figures where there is room for half as many.
fn row(document: &Document, cell: &CellRecord, strong: bool, brief: bool) -> PictureRow {
    let (mark, figures) = match cell.wall_ns_per_op.filter(|_| cell.available) {
        None => (RowMark::Nothing, words::why_missing(cell).to_owned()),
        Some(cost) => {
            let bounds = texts::time_interval(&cost);
            let mark = RowMark::Known { median: cost.median, lo: cost.lo, hi: cost.hi };
            let multiple = cell.floor.as_ref().map(|floor| format!(", {}", texts::multiple(floor)));
            let multiple = multiple.unwrap_or_default();
            let cost = time(cost.median);
            (mark, if brief { cost } else { format!("{cost} ({bounds}){multiple}") })
        }
    };
    PictureRow {
        label: cell.label.clone(),
        strong,
        colour: colours::of(document, &cell.transport),
        mark,
        figures,
        modes: cell.modes.iter().map(|mode| mode.wall_ns_per_op).zip(words::modes(cell)).collect(),
        floor: cell.floor.as_ref().map(|floor| floor.ns_per_op).filter(|ns| *ns > 0.0),
        tall: false,
    }
}
