//! What is known of every cell against its baseline: ratios with their intervals.

use ipcost_model::{CellRecord, Document, Metric, WorkloadRecord};

use super::Body;
use super::captions;
use super::ink::Canvas;
use super::rows::{self, Axis, PanelColumns, PictureRow, RowGroup, RowMark, SideBySide};
use super::scale::{Extent, Scale};
use crate::figures::{colours, texts, ticks};
use crate::numbers::ratio;
use crate::words;

/// Draws it from `top` down.
pub fn draw(document: &Document, canvas: &mut Canvas, top: f64) -> Option<Body> {
    let (compared, alone): (Vec<_>, Vec<_>) =
        words::strata(document).into_iter().partition(|tables| tables[0].cells.len() > 1);
    let tables = captions::sides(&compared);
    let beside = tables.len() > 1;
    let side = |(side, tables): (usize, &Vec<&WorkloadRecord>)| -> Vec<RowGroup> {
        tables.iter().map(|table| group(document, table, beside.then_some(side))).collect()
    };
    let sides: SideBySide = tables.iter().enumerate().map(side).collect();
    let known = |row: &&PictureRow| matches!(row.mark, RowMark::Known { .. });
    if sides.iter().flatten().flat_map(|group| &group.rows).filter(known).count() == 0 {
        return None;
    }
    let margin = document.analysis.margin;
    let band = (1.0 - margin, 1.0 + margin);
    let mut bottom = top;
    for (groups, columns) in sides.iter().zip(PanelColumns::of(&sides)) {
        let axis = Axis {
            scale: Scale::logarithmic(&extent(&sides, band), columns.start, columns.end),
            tick: &ticks::number,
            caption: "← costs less · ratio of costs (logarithmic) · costs more →".to_owned(),
            bars: false,
            band: Some(band),
            line: Some(1.0),
        };
        bottom = rows::draw(canvas, groups, columns, &axis, top);
    }
    let why = "one cell, so there is nothing to compare it with";
    let note = |table: &&WorkloadRecord| format!("Not shown: {}: {why}.", words::workload(table));
    Some(Body { bottom, notes: alone.iter().flatten().map(note).collect() })
}

/// The name of the baseline where all tables have the same.
pub fn baseline(document: &Document) -> Option<String> {
    let name = |table: &WorkloadRecord| table.baseline.as_deref().map(|id| words::label(document, id));
    let mut names = document.workloads.iter().filter_map(name);
    let first = names.next()?;
    names.all(|other| other == first).then_some(first)
}

fn extent(sides: &[Vec<RowGroup>], band: (f64, f64)) -> Extent {
    let mut extent = Extent::default();
    [1.0, band.0, band.1].into_iter().filter(|value| *value > 0.0).for_each(|value| extent.add(value));
    for row in sides.iter().flatten().flat_map(|group| &group.rows) {
        if let RowMark::Known { median, lo, hi } = row.mark {
            extent.add_within(median, [lo, hi]);
        }
    }
    extent
}

fn group(document: &Document, table: &WorkloadRecord, side: Option<usize>) -> RowGroup {
    let mut title = captions::heading(table, &words::work(table), side);
    if document.workloads.len() == 1 {
        title.clear();
    } else if let (None, Some(id)) = (baseline(document), &table.baseline) {
        title.push_str(&format!(", × {}", words::label(document, id)));
    }
    let cells = table.cells.iter().filter_map(|id| words::cell(document, id));
    RowGroup { title, rows: cells.map(|cell| row(document, table, cell, side.is_some())).collect() }
}

fn row(document: &Document, table: &WorkloadRecord, cell: &CellRecord, brief: bool) -> PictureRow {
    let contrast = words::contrast(document, Metric::Wall, &cell.id);
    let (mark, figures) = match contrast {
        _ if table.baseline.as_ref() == Some(&cell.id) => (RowMark::Reference(1.0), "baseline".to_owned()),
        Some(contrast) => {
            let bounds = texts::ratio_interval(contrast.ratio, contrast.lo, contrast.hi);
            let verdict = words::verdict_of(contrast, document.analysis.margin);
            let mut figures = match brief {
                true => format!("{} {verdict}", ratio(contrast.ratio)),
                false => format!("{} ({bounds}) {verdict}", ratio(contrast.ratio)),
            };
            if table.baseline.as_ref() != Some(&contrast.b) {
                figures.push_str(&format!(" (× {})", words::label(document, &contrast.b)));
            }
            (RowMark::Known { median: contrast.ratio, lo: contrast.lo, hi: contrast.hi }, figures)
        }
        None if cell.available && cell.epochs > 0 => (RowMark::Nothing, "not compared".to_owned()),
        None => (RowMark::Nothing, words::why_missing(cell).to_owned()),
    };
    let best = table.fastest.as_ref().is_some_and(|fastest| fastest.claimed && fastest.cell == cell.id);
    PictureRow {
        label: cell.label.clone(),
        strong: best,
        colour: colours::of(document, &cell.transport),
        mark,
        figures,
        modes: Vec::new(),
        floor: None,
        tall: false,
    }
}
