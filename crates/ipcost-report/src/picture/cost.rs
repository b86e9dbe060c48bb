//! What an operation costs, a panel a workload.

use ipcost_model::{CellRecord, Document, WorkloadRecord};

use super::captions::{FLOORS, MODES, share, why_missing};
use super::ink::Canvas;
use super::rows::{self, Axis, Columns, Group, Mark, Row};
use super::scale::{Extent, Scale};
use super::{Body, colours, ticks};
use crate::numbers::{ratio, time};
use crate::words;

/// With costs further apart than this, as a factor, equal distances become equal ratios.
const FAR_APART: f64 = 20.0;

/// Draws it from `top` down.
pub fn draw(document: &Document, canvas: &mut Canvas, top: f64) -> Body {
    let tables: Vec<Group> = document.workloads.iter().map(|table| group(document, table)).collect();
    let columns = Columns::of(&tables);
    let mut bottom = top;
    for (index, table) in tables.iter().enumerate() {
        let (scale, caption) = axis(table, columns);
        // On an axis from zero all ticks have the unit of the largest.
        let unit = if scale.logarithmic { None } else { Some(scale.to) };
        let tick = move |value: f64| ticks::time(value, unit);
        let axis = Axis { scale, tick: &tick, caption, bars: !scale.logarithmic, band: None, line: None };
        let gap = if index == 0 { 0.0 } else { 18.0 };
        bottom = rows::draw(canvas, std::slice::from_ref(table), columns, &axis, bottom + gap);
    }
    let mut notes = Vec::new();
    let rows = || tables.iter().flat_map(|table| &table.rows);
    if rows().any(|row| !row.modes.is_empty()) {
        notes.push(MODES.to_owned());
    }
    if rows().any(|row| row.floor.is_some()) {
        notes.push(FLOORS.to_owned());
    }
    Body { bottom, notes }
}

fn axis(table: &Group, columns: Columns) -> (Scale, String) {
    let mut extent = Extent::default();
    for row in &table.rows {
        if let Mark::Known { median, lo, hi } = row.mark {
            extent.add(median);
            extent.add_bound(lo);
            extent.add_bound(hi);
        }
        row.modes.iter().for_each(|(value, _)| extent.add(*value));
        row.floor.into_iter().for_each(|floor| extent.add(floor));
    }
    let caption = "elapsed time for one operation";
    if extent.factor() > FAR_APART && extent.factor().is_finite() {
        let scale = Scale::logarithmic(&extent, columns.start, columns.end);
        (scale, format!("{caption} (logarithmic: equal distances are equal ratios)"))
    } else {
        (Scale::from_zero(&extent, columns.start, columns.end), caption.to_owned())
    }
}

fn group(document: &Document, table: &WorkloadRecord) -> Group {
    let title = match document.workloads.len() {
        1 => String::new(),
        _ => words::capitalised(&words::workload(table)),
    };
    let best = table.fastest.as_ref().filter(|fastest| fastest.claimed).map(|fastest| &fastest.cell);
    let cells = table.cells.iter().filter_map(|id| words::cell(document, id));
    Group { title, rows: cells.map(|cell| row(document, cell, best == Some(&cell.id))).collect() }
}

fn row(document: &Document, cell: &CellRecord, strong: bool) -> Row {
    let (mark, figures) = match cell.wall_ns_per_op.filter(|_| cell.available) {
        None => (Mark::Nothing, why_missing(cell).to_owned()),
        Some(cost) => {
            let bounds = match (cost.lo, cost.hi) {
                (Some(lo), Some(hi)) => format!("{} – {}", time(lo), time(hi)),
                (Some(lo), None) => format!("at least {}", time(lo)),
                (None, Some(hi)) => format!("at most {}", time(hi)),
                (None, None) => "no interval yet".to_owned(),
            };
            let mark = Mark::Known { median: cost.median, lo: cost.lo, hi: cost.hi };
            let multiple = cell.floor.as_ref().map(|floor| ratio(floor.multiple.median));
            let multiple = multiple.map_or_else(String::new, |times| format!(", {times} × floor"));
            (mark, format!("{} ({bounds}){multiple}", time(cost.median)))
        }
    };
    Row {
        label: cell.label.clone(),
        strong,
        colour: colours::of(document, &cell.transport),
        mark,
        figures,
        modes: cell.modes.iter().map(|mode| (mode.wall_ns_per_op, share(mode))).collect(),
        floor: cell.floor.as_ref().map(|floor| floor.ns_per_op).filter(|ns| *ns > 0.0),
    }
}
