//! What a run measured, as far as claims need it: of a run that is going on, or of a document.

use std::borrow::Cow;

use ipcost_lab::Batches;
use ipcost_lab::campaign::CampaignState;
use ipcost_lab::percentiles::Percentiles;
use ipcost_model::{Document, LatencyMode, PlannedCell};
use ipcost_stats::Start;

pub struct MeasuredCells<'a> {
    pub(super) cells: Cow<'a, [PlannedCell]>,
    pub(super) batches: Batches<'a>,
    /// The looks at its epochs.
    pub(super) start: &'a Start,
    pub(super) epochs: u32,
    /// Of every cell, one set for each epoch; none in documents of earlier versions.
    pub(super) percentiles: Vec<&'a [Percentiles]>,
    /// How latencies were sampled where cells have no pace.
    pub(super) latency: LatencyMode,
    /// The length of a batch, milliseconds.
    pub(super) batch_ms: f64,
    /// How fast a longer run would go on; `None` if the run has not ended, or cannot be longer.
    pub(super) pace: Option<CellPace>,
}

/// How fast a run goes on, seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellPace {
    /// Before its first epoch.
    pub before_s: f64,
    pub epoch_s: f64,
}

impl<'a> From<&'a CampaignState> for MeasuredCells<'a> {
    fn from(outcome: &'a CampaignState) -> Self {
        let epochs_s = outcome.elapsed_of_epochs().as_secs_f64();
        let ended = !outcome.elapsed.is_zero() && outcome.epochs > 0;
        let pace = ended.then(|| CellPace {
            before_s: outcome.elapsed.as_secs_f64() - epochs_s,
            epoch_s: epochs_s / f64::from(outcome.epochs),
        });
        Self {
            cells: Cow::Borrowed(&outcome.plan.cells),
            batches: outcome.batches(),
            start: outcome.plan.looks.of_all(),
            epochs: outcome.epochs,
            percentiles: outcome.percentiles.iter().map(Vec::as_slice).collect(),
            latency: outcome.plan.latency,
            batch_ms: outcome.plan.batch.as_secs_f64() * 1e3,
            pace,
        }
    }
}

impl<'a> MeasuredCells<'a> {
    pub fn recorded(document: &'a Document, cells: &'a [PlannedCell]) -> Self {
        Self {
            cells: Cow::Borrowed(cells),
            batches: Batches::new(&document.samples, document.cells.len()),
            start: document.analysis.looks.of_all(),
            epochs: document.schedule.epochs,
            percentiles: document.cells.iter().map(|cell| cell.latency_by_epoch.as_slice()).collect(),
            latency: document.schedule.latency,
            batch_ms: document.schedule.batch_ms,
            pace: None,
        }
    }
}

/// The cells of a document, as claims name them.
pub fn recorded_cells(document: &Document) -> Vec<PlannedCell> {
    let cell = |cell: &ipcost_model::CellRecord| PlannedCell {
        id: cell.id.clone(),
        label: cell.label.clone(),
        point: cell.point.clone(),
        row: None,
        unavailable: (cell.epochs == 0)
            .then(|| cell.reason.clone().unwrap_or_else(|| "it was not measured".to_owned())),
        lead_in: None,
        batch: None,
        ops: None,
        floor: None,
    };
    document.cells.iter().map(cell).collect()
}
