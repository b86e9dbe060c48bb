//! From published values and measured costs to one figure in the article's unit.

use ipcost_lab::Batches;
use ipcost_lab::planning::ALPHA;
use ipcost_model::{
    CellRecord, Document, Estimate, FigurePanel, FigureSeries, FigureUnit, FigureValue, Measure, PlannedCell,
    PublishedFigure, Quantity,
};
use serde_json::Value;

use super::super::{Replication, Software, SourceFile, cells_of_run};
use super::{FigurePoint, FigureSpec, PanelSpec};
use crate::FeatureError;
use crate::claims::ClaimedValue;

/// The figure of a replication with what its runs with the original software measured; `None` if it has no figure.
///
/// A run has a document of which so many cells are the published ones. Without a document it has the published values alone.
pub fn published_figure(
    replication: &Replication,
    runs: &[(Software, usize, Document)],
) -> Option<PublishedFigure> {
    let FigureSpec { title, kind, logarithmic, across, note, panels, unit } = replication.figure.as_ref()?;
    // Where no software of the article is at hand, this program's own peers stand for it.
    let has_original = replication.runs.iter().any(|run| run.software == Software::Original);
    let originals: Vec<(usize, &Document)> = runs
        .iter()
        .filter(|(software, ..)| !has_original || *software == Software::Original)
        .map(|(_, published, document)| (*published, document))
        .collect();
    let panel = |panel: &PanelSpec| {
        let unit = panel.unit.unwrap_or(*unit);
        let value = |point: &FigurePoint| value(point, unit, &replication.results, &originals);
        let series = panel.series.iter().map(|series| FigureSeries {
            label: series.label.clone(),
            values: series.points.iter().map(value).collect(),
        });
        FigurePanel {
            title: panel.title.clone(),
            unit,
            places: panel.places.clone(),
            series: series.collect(),
        }
    };
    Some(PublishedFigure {
        title: title.clone(),
        kind: *kind,
        logarithmic: *logarithmic,
        across: across.clone(),
        panels: panels.iter().map(panel).collect(),
        note: note.clone(),
        source: replication.source.as_ref().map(SourceFile::citation),
        url: replication.source.as_ref().and_then(|source| source.url.clone()),
        published_on: replication.machine.clone(),
        alpha: originals.first().map_or(ALPHA, |(_, document)| document.analysis.alpha),
    })
}

fn value(
    point: &FigurePoint,
    unit: FigureUnit,
    results: &Value,
    documents: &[(usize, &Document)],
) -> FigureValue {
    let published = point.published.as_ref().and_then(|pointer| published(results, pointer).ok());
    let found: Vec<(&CellRecord, Option<Estimate>)> = documents
        .iter()
        .filter_map(|(published, document)| {
            let cells = document.cells.get(..*published).unwrap_or(&document.cells);
            let index = point.cell.find_record(cells).ok()??;
            Some((document.cells.get(index)?, measured(document, index, &quantity(point))))
        })
        .collect();
    let best = found.iter().find(|(_, estimate)| estimate.is_some()).or(found.first());
    let measured = best.and_then(|(cell, estimate)| in_unit((*estimate)?, unit, point, cell));
    let named =
        point.cell.columns.iter().find(|(name, _)| *name == "transport").map(|(_, name)| name.clone());
    FigureValue {
        transport: best.map(|(cell, _)| cell.transport.clone()).or(named).unwrap_or_default(),
        published,
        measured,
        cell: best.map(|(cell, _)| cell.id.clone()),
    }
}

/// The costs that the article's figures give for cells: the cell, what is measured of it, and the cost in the unit of the figure. Rates are
/// turned over.
pub(in super::super) fn published_costs(
    replication: &Replication,
    cells: &[PlannedCell],
) -> Vec<(usize, Quantity, f64)> {
    let Some(figure) = &replication.figure else { return Vec::new() };
    let mut found = Vec::new();
    for panel in &figure.panels {
        let is_rate = matches!(
            panel.unit.unwrap_or(figure.unit),
            FigureUnit::Mbits | FigureUnit::Rate | FigureUnit::Requests
        );
        for point in panel.series.iter().flat_map(|series| &series.points) {
            let value = point.published.as_ref().and_then(|at| published(&replication.results, at).ok());
            let cell = point.cell.find_any(cells).ok().flatten();
            if let Some((cell, value)) = cell.zip(value.filter(|value| *value > 0.0)) {
                found.push((cell, quantity(point), if is_rate { value.recip() } else { value }));
            }
        }
    }
    found
}

fn quantity(point: &FigurePoint) -> Quantity {
    point.cell.measure.clone().unwrap_or_default()
}

/// A published value: a number, or the median of a list of repetitions.
pub(super) fn published(results: &Value, pointer: &str) -> Result<f64, FeatureError> {
    let without = |what| move || FeatureError::Results { what, pointer: pointer.to_owned() };
    let found = results.pointer(pointer).ok_or_else(without("nothing"))?;
    let numbers: Option<Vec<f64>> = match found {
        Value::Array(repetitions) => repetitions.iter().map(Value::as_f64).collect(),
        one => one.as_f64().map(|number| vec![number]),
    };
    let numbers = numbers.ok_or_else(without("no number"))?;
    ipcost_stats::median(&numbers).ok_or_else(without("an empty list"))
}

/// What a cell's batches say of one operation, with the interval of the document's level.
fn measured(document: &Document, cell: usize, quantity: &Quantity) -> Option<Estimate> {
    let record = &document.cells[cell];
    match quantity {
        Quantity { measure: Measure::Wall, per_byte: false } => record.wall_ns_per_op,
        Quantity { measure: Measure::Sent, per_byte: false } => record.sent_ns_per_op,
        Quantity { measure, per_byte } => {
            let divisor = if *per_byte { record.size as f64 } else { 1.0 };
            let batches = Batches::new(&document.samples, document.cells.len());
            let series = batches.series(cell, |sample| Some(measure.of(sample)? / divisor));
            let found = ClaimedValue::of(
                &series.medians(),
                document.analysis.alpha,
                &ipcost_stats::Start::ALWAYS,
                |value| value,
            )?;
            let (lo, hi) = found.interval.unzip();
            Some(Estimate { median: found.value, lo, hi })
        }
    }
}

/// A measured value in the unit of the article. What a peer measures by itself has that unit already.
fn in_unit(per_op: Estimate, unit: FigureUnit, point: &FigurePoint, cell: &CellRecord) -> Option<Estimate> {
    if let Measure::Named(_) = quantity(point).measure {
        return Some(per_op);
    }
    let Estimate { median, lo, hi } = per_op;
    let operations =
        point.operations_per_worker.map_or(1.0, |each| each as f64 * f64::from(cell.concurrency));
    let bits = cell.size as f64 * 8.0;
    let time = |ns_per_unit: f64| {
        let of = |ns: f64| ns * operations / ns_per_unit;
        Estimate { median: of(median), lo: lo.map(of), hi: hi.map(of) }
    };
    // The least time is the largest rate.
    let rate = |per_op: f64| {
        let of = |ns: f64| per_op * 1e9 / ns;
        Estimate { median: of(median), lo: hi.map(of), hi: lo.map(of) }
    };
    let estimate = match unit {
        FigureUnit::Mbits => rate(bits / 1e6),
        FigureUnit::Rate | FigureUnit::Requests => rate(1.0),
        FigureUnit::Nanoseconds => time(1.0),
        FigureUnit::Microseconds => time(1e3),
        FigureUnit::Seconds => time(1e9),
    };
    estimate.median.is_finite().then_some(estimate)
}

/// Checks that a figure reads numbers from `results`, and that no point names several cells of the original run.
pub fn check(replication: &Replication) -> Result<(), FeatureError> {
    let Some(figure) = &replication.figure else { return Ok(()) };
    let runs = replication.runs.iter().filter(|run| run.software == Software::Original);
    let cells: Vec<Vec<PlannedCell>> = runs.map(cells_of_run).collect::<Result<_, _>>()?;
    for series in figure.panels.iter().flat_map(|panel| &panel.series) {
        for point in &series.points {
            let wrong = |error: FeatureError| error.at(format!("figure, series \"{}\"", series.label));
            if let Some(pointer) = &point.published {
                published(&replication.results, pointer).map_err(wrong)?;
            }
            for cells in &cells {
                point.cell.find_any(cells).map_err(wrong)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
