//! What a run measured, as far as claims need it: of a run that is going on, or of a document.

use std::borrow::Cow;

use ipcost_lab::Batches;
use ipcost_lab::campaign::Outcome;
use ipcost_lab::percentiles::Percentiles;
use ipcost_model::{Document, PlannedCell};

/// What was measured.
pub struct MeasuredCells<'a> {
    pub(super) cells: Cow<'a, [PlannedCell]>,
    pub(super) batches: Batches<'a>,
    /// Complete epochs.
    pub(super) epochs: u32,
    /// Of every cell, one set for each epoch; `None` of a document, which does not keep them.
    pub(super) percentiles: Option<&'a [Vec<Percentiles>]>,
    /// How fast a longer run would go on; `None` if the run has not ended, or cannot be longer.
    pub(super) pace: Option<Pace>,
}

/// How fast a run goes on, seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Before its first epoch.
    pub before_s: f64,
    /// An epoch.
    pub epoch_s: f64,
}

impl<'a> From<&'a Outcome> for MeasuredCells<'a> {
    fn from(outcome: &'a Outcome) -> Self {
        let epochs_s = outcome.elapsed_of_epochs().as_secs_f64();
        let ended = !outcome.elapsed.is_zero() && outcome.epochs > 0;
        let pace = ended.then(|| Pace {
            before_s: outcome.elapsed.as_secs_f64() - epochs_s,
            epoch_s: epochs_s / f64::from(outcome.epochs),
        });
        Self {
            cells: Cow::Borrowed(&outcome.plan.cells),
            batches: outcome.batches(),
            epochs: outcome.epochs,
            percentiles: Some(&outcome.percentiles),
            pace,
        }
    }
}

impl<'a> MeasuredCells<'a> {
    /// Of a document; `cells` are its [`recorded_cells`].
    pub fn recorded(document: &'a Document, cells: &'a [PlannedCell]) -> Self {
        Self {
            cells: Cow::Borrowed(cells),
            batches: Batches::new(&document.samples, document.cells.len()),
            epochs: document.schedule.epochs,
            percentiles: None,
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
        ops: None,
        floor: None,
    };
    document.cells.iter().map(cell).collect()
}
