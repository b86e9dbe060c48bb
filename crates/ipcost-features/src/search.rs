//! What looks for something step by step: each step is a run of its own within what is left of a budget, and all of them are one document.

use ipcost_lab::{EngineError, Lab, LabError, PlanError, PlanSettings};
use ipcost_model::{Document, Job, Plan};

/// A search that has ended.
pub struct Searched {
    /// The document of its runs, with the answer; `None` where nothing was measured.
    pub document: Option<Document>,
    /// What ended it, if something failed.
    pub failure: Option<EngineError>,
}

/// Why a step cannot be planned.
pub(crate) enum Unplanned {
    /// The time is too short for it; so many seconds would do.
    TooShort(u64),
    Other(LabError),
}

/// The plan of a step, all cells of which have to be measured.
pub(crate) fn plan_of(lab: &Lab, job: &Job, settings: &PlanSettings) -> Result<Plan, Unplanned> {
    let expanded = lab.cells(job).map_err(Unplanned::Other)?;
    if let Some((cell, reason)) =
        expanded.cells.iter().find_map(|cell| Some((&cell.id, cell.unavailable.as_ref()?)))
    {
        let reason = format!("{cell} cannot be measured here: {reason}");
        return Err(Unplanned::Other(LabError::Refused(reason)));
    }
    lab.plan(expanded, settings).map_err(|error| match error {
        LabError::Plan(PlanError::BudgetTooSmall { enough, .. }) => Unplanned::TooShort(enough),
        error => Unplanned::Other(error),
    })
}
