//! Lines through measured values on two logarithmic axes: latency against load, and latency by percentile.

use ipcost_model::units::rate_text;
use ipcost_model::{CellRecord, Document, Pattern, Percentile};

use super::{colours, series};
use crate::words;

/// A point of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinePoint {
    pub x: f64,
    /// Up, nanoseconds.
    pub ns: f64,
    /// Its interval, where it has one.
    pub bounds: Option<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NamedLine {
    /// What stands at its end.
    pub name: String,
    pub colour: &'static str,
    /// As SVG has them; `none` for a whole line.
    pub dashes: &'static str,
    /// By what lies across, rising.
    pub points: Vec<LinePoint>,
}

/// Lines that share their axes.
#[derive(Debug, Clone, PartialEq)]
pub struct LinesPanel {
    /// What they have in common; empty where the picture says it.
    pub title: String,
    /// In the order of their names.
    pub lines: Vec<NamedLine>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AcrossLines {
    /// Operations a second that are offered.
    Rate,
    /// Percentiles, as far from one another as the operations beyond them are rarer.
    Percentile,
}

/// A picture of lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    pub title: String,
    pub reading: String,
    pub across: AcrossLines,
    /// A line that is not to be crossed, nanoseconds.
    pub limit_ns: Option<u64>,
    /// One below the other.
    pub panels: Vec<LinesPanel>,
}

impl AcrossLines {
    /// What stands below the axis.
    pub fn caption(&self) -> &'static str {
        match self {
            Self::Rate => "operations a second that are offered (logarithmic)",
            Self::Percentile => "percentile: 1 operation in 2, 10, 100, 1000 takes longer",
        }
    }

    /// What an axis of round values names, or the values that it has.
    pub fn named(&self) -> Option<Vec<(f64, String)>> {
        match self {
            Self::Rate => None,
            Self::Percentile => {
                Some(Percentile::ALL.iter().map(|known| (rarity(*known), known.title().to_owned())).collect())
            }
        }
    }

    /// The name of a round value.
    pub fn name(&self, value: f64) -> String {
        match self {
            Self::Rate => rate_text(value.round() as u64),
            Self::Percentile => format!("1 in {value}"),
        }
    }
}

/// Among how many operations one lies beyond a percentile.
fn rarity(percentile: Percentile) -> f64 {
    1.0 / (1.0 - percentile.quantile())
}

/// Latency by percentile: a panel for each work, a line for each row. Empty where nothing was sampled.
pub fn by_percentile(document: &Document) -> Lines {
    let mut panels: Vec<(String, Vec<&CellRecord>)> = Vec::new();
    let has_latency = |cell: &&CellRecord| cell.latency_ns.is_some() && cell.pattern != Pattern::Floor;
    for cell in document.cells.iter().filter(has_latency) {
        let work = cell.work();
        let title = series::name(&work, work.size == work.reply, series::Across::Place);
        match panels.iter_mut().find(|(known, _)| *known == title) {
            Some((_, cells)) => cells.push(cell),
            None => panels.push((title, vec![cell])),
        }
    }
    let panel = |(title, cells): (String, Vec<&CellRecord>)| LinesPanel {
        title: words::capitalised(&title),
        lines: cells
            .iter()
            .enumerate()
            .map(|(index, cell)| of_cell(document, cell, &cells[..index]))
            .collect(),
    };
    let paced = document.cells.iter().any(|cell| cell.pace.is_some());
    let loops = if paced {
        "With a rate, times count from when each operation was due; else from the end of the one before, as a closed loop has them."
    } else {
        "Closed loops: an operation begins when the one before has ended, so a stall delays one operation, and not those that users would have sent meanwhile."
    };
    Lines {
        title: "How long operations take, by percentile".to_owned(),
        reading: format!(
            "Points are medians over epochs of each epoch's percentile, bars their intervals. {loops}"
        ),
        across: AcrossLines::Percentile,
        limit_ns: None,
        panels: panels.into_iter().map(panel).collect(),
    }
}

fn of_cell(document: &Document, cell: &CellRecord, before: &[&CellRecord]) -> NamedLine {
    let colour = colours::of(document, &cell.transport);
    let twins = before.iter().filter(|other| colours::of(document, &other.transport) == colour).count();
    let latency = cell.latency_ns.as_ref();
    let point = |known: &Percentile| {
        let ns = latency?.at(*known)? as f64;
        let bounds = latency?.p99_bounds.filter(|_| *known == Percentile::P99);
        Some(LinePoint { x: rarity(*known), ns, bounds: bounds.map(|(lo, hi)| (lo as f64, hi as f64)) })
    };
    NamedLine {
        name: cell.label.clone(),
        colour,
        dashes: series::DASHES[twins % series::DASHES.len()],
        points: Percentile::ALL.iter().filter_map(point).collect(),
    }
}
