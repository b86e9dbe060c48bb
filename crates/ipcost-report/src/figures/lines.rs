//! Lines through measured values: cost by size, place or pause, latency against load, and latency by percentile.

use ipcost_model::units::{rate_text, size_text, time_text};
use ipcost_model::{CellRecord, Document, PAGE_BYTES, Pattern, Percentile};

use super::series::{Across, NO_PAUSE_NS};
use super::{colours, series};
use crate::words;

/// How far apart places within a page have names, bytes.
const PLACES: usize = 512;

/// A point of a line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinePoint {
    pub x: f64,
    /// Up, nanoseconds.
    pub ns: f64,
    /// The ends of its interval, where one is shown; those that are unbounded are `None`.
    pub ends: Option<[Option<f64>; 2]>,
    /// The costs of the groups of its epochs, where there are two.
    pub modes: Vec<f64>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct NamedLine {
    /// What stands at its end.
    pub name: String,
    pub colour: &'static str,
    /// As SVG has them; `none` for a whole line.
    pub dashes: &'static str,
    /// How far its points lie beside their values, in units of the picture.
    pub beside: f64,
    /// By what lies across, rising.
    pub points: Vec<LinePoint>,
}

/// Lines that share their axes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinesPanel {
    /// What they have in common; empty where the picture says it.
    pub title: String,
    /// What a cost is the cost of.
    pub operation: &'static str,
    pub lines: Vec<NamedLine>,
    /// The least that some of them could cost here, by name and by what lies across.
    pub floors: Vec<(String, Vec<(f64, f64)>)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AcrossLines {
    /// A property of cells.
    Cells(Across),
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

impl LinesPanel {
    /// Every value across that was measured, rising.
    pub fn values(&self) -> Vec<f64> {
        let mut values: Vec<f64> =
            self.lines.iter().flat_map(|line| &line.points).map(|point| point.x).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }
}

impl AcrossLines {
    /// What stands below the axis.
    pub fn caption(&self) -> &'static str {
        match self {
            Self::Cells(Across::Size) => {
                "size of a message (logarithmic; points of one size stand side by side)"
            }
            Self::Cells(Across::Place) => "where receive buffers begin, bytes after a page",
            Self::Cells(Across::Pause) => "pause before each operation (logarithmic)",
            Self::Rate => "operations a second that are offered (logarithmic)",
            Self::Percentile => "percentile: 1 operation in 2, 10, 100, 1000 takes longer",
        }
    }

    /// The values that an axis names; `None` for round ones.
    pub fn named(&self, panel: &LinesPanel) -> Option<Vec<(f64, String)>> {
        let measured = |name: &dyn Fn(u64) -> String| {
            panel.values().into_iter().map(|value| (value, name(value as u64))).collect()
        };
        let pause = |ns| if ns == NO_PAUSE_NS { "none".to_owned() } else { time_text(ns) };
        match self {
            Self::Cells(Across::Size) => Some(measured(&size_text)),
            Self::Cells(Across::Pause) => Some(measured(&pause)),
            Self::Cells(Across::Place) => {
                let places = (0..=PAGE_BYTES).step_by(PLACES);
                Some(places.map(|place| (place as f64, place.to_string())).collect())
            }
            Self::Rate => None,
            Self::Percentile => {
                Some(Percentile::ALL.iter().map(|known| (rarity(*known), known.title().to_owned())).collect())
            }
        }
    }

    /// The name of a round value.
    pub fn name(&self, value: f64) -> String {
        match self {
            Self::Percentile => format!("1 in {value}"),
            Self::Rate | Self::Cells(_) => rate_text(value.round() as u64),
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
        ..LinesPanel::default()
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
        let ends = bounds.map(|(lo, hi)| [lo, hi].map(|end| Some(end as f64)));
        Some(LinePoint { x: rarity(*known), ns, ends, modes: Vec::new() })
    };
    NamedLine {
        name: cell.label.clone(),
        colour,
        dashes: series::DASHES[twins % series::DASHES.len()],
        beside: 0.0,
        points: Percentile::ALL.iter().filter_map(point).collect(),
    }
}
