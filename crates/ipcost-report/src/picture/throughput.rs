//! Bits a second of streams, as bars on a logarithmic axis, methods grouped by the size of a message.

use ipcost_model::units::size_text;
use ipcost_model::{CellRecord, Document, Estimate, Pattern, WorkloadRecord};

use super::Body;
use super::captions::{self, MODES};
use super::ink::Canvas;
use super::rows::{self, Axis, PanelColumns, PictureRow, RowGroup, RowMark, SideBySide};
use super::scale::{Extent, Scale};
use crate::figures::texts::NO_INTERVAL_YET;
use crate::figures::{colours, ticks};
use crate::numbers::three_digits;
use crate::words;

/// Mbit/s for one byte a second.
const MBIT: f64 = 8e-6;

/// Draws it from `top` down.
pub fn draw(document: &Document, canvas: &mut Canvas, top: f64) -> Option<Body> {
    let mut strata = words::strata(document);
    strata.retain(|tables| tables[0].pattern == Pattern::Stream);
    let others = document.workloads.len() - strata.iter().map(Vec::len).sum::<usize>();
    let tables = captions::sides(&strata);
    let beside = tables.len() > 1;
    let side = |(side, tables): (usize, &Vec<&WorkloadRecord>)| -> Vec<RowGroup> {
        tables.iter().map(|table| group(document, table, beside.then_some(side))).collect()
    };
    let mut sides: SideBySide = tables.iter().enumerate().map(side).collect();
    rows::level(&mut sides);
    let mut extent = Extent::default();
    let mut measured = false;
    for row in sides.iter().flatten().flat_map(|group| &group.rows) {
        if let RowMark::Known { median, lo, hi } = row.mark {
            measured = true;
            extent.add_within(median, [lo, hi]);
        }
    }
    if !measured {
        return None;
    }
    // Bars start below the smallest value, so that it has a bar, too.
    extent.add_bound(extent.least().map(|least| least / 3.0));
    let caption = match beside {
        true => "Mbit/s (logarithmic)",
        false => "Mbit/s (logarithmic: compare where bars end, not how long they are)",
    };
    let mut bottom = top;
    for (groups, columns) in sides.iter().zip(PanelColumns::of(&sides)) {
        let axis = Axis {
            scale: Scale::logarithmic(&extent, columns.start, columns.end),
            tick: &ticks::number,
            caption: caption.to_owned(),
            bars: true,
            band: None,
            line: None,
        };
        bottom = rows::draw(canvas, groups, columns, &axis, top);
    }
    let mut notes = Vec::new();
    if sides.iter().flatten().flat_map(|group| &group.rows).any(|row| !row.modes.is_empty()) {
        notes.push(MODES.to_owned());
    }
    match others {
        0 => {}
        1 => notes.push("Not shown: one workload that is no stream.".to_owned()),
        _ => notes.push(format!("Not shown: {others} workloads that are no streams.")),
    }
    Some(Body { bottom, notes })
}

fn group(document: &Document, table: &WorkloadRecord, side: Option<usize>) -> RowGroup {
    let mut work = format!("{} messages", size_text(table.size));
    if table.concurrency > 1 {
        work.push_str(&format!(", {} at once", table.concurrency));
    }
    let title = captions::heading(table, &work, side);
    let best = table.fastest.as_ref().filter(|fastest| fastest.claimed).map(|fastest| &fastest.cell);
    let cells = table.cells.iter().filter_map(|id| words::cell(document, id));
    RowGroup {
        title,
        rows: cells.map(|cell| row(document, cell, best == Some(&cell.id), side.is_some())).collect(),
    }
}

fn row(document: &Document, cell: &CellRecord, strong: bool, brief: bool) -> PictureRow {
    let measured = cell.wall_ns_per_op.zip(cell.bytes_per_s).filter(|_| cell.available);
    let (mark, figures) = match measured {
        Some((cost, bytes)) if bytes > 0.0 => {
            let median = bytes * MBIT;
            // The interval of the cost the other way round.
            let lo = cost.hi.and_then(|hi| rate(median, cost, hi));
            let hi = cost.lo.and_then(|lo| rate(median, cost, lo));
            let bounds = match (lo, hi) {
                (Some(lo), Some(hi)) => format!("{} – {}", mbits(lo), mbits(hi)),
                _ => NO_INTERVAL_YET.to_owned(),
            };
            let figures = match brief {
                true => mbits(median),
                false => format!("{} Mbit/s ({bounds})", mbits(median)),
            };
            (RowMark::Known { median, lo, hi }, figures)
        }
        _ => (RowMark::Nothing, words::why_missing(cell).to_owned()),
    };
    PictureRow {
        label: cell.label.clone(),
        strong,
        colour: colours::of(document, &cell.transport),
        mark,
        figures,
        modes: modes(cell),
        floor: None,
        tall: false,
    }
}

/// Three significant digits of Mbit/s, however many there are.
fn mbits(value: f64) -> String {
    let step = 10f64.powf(value.log10().floor() - 2.0);
    three_digits(if step > 1.0 { (value / step).round() * step } else { value })
}

/// What a stream whose median cost stands for `mbits` would carry at another cost.
fn rate(mbits: f64, cost: Estimate, other_ns: f64) -> Option<f64> {
    Some(mbits * cost.median / other_ns).filter(|rate| rate.is_finite() && *rate > 0.0)
}

fn modes(cell: &CellRecord) -> Vec<(f64, String)> {
    let Some((cost, bytes)) = cell.wall_ns_per_op.zip(cell.bytes_per_s) else { return Vec::new() };
    // The slower one first, since it lies on the left.
    let modes = cell.modes.iter().zip(words::modes(cell)).rev();
    modes.filter_map(|(mode, name)| Some((rate(bytes * MBIT, cost, mode.wall_ns_per_op)?, name))).collect()
}
