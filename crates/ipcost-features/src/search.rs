//! What looks for something step by step: each step is a run of its own within what is left of a budget, and all of them are one document.

use std::time::{Duration, Instant};

use ipcost_lab::lab::{about, fresh_seed};
use ipcost_lab::progress::Observer;
use ipcost_lab::{
    About, CampaignState, EngineError, Lab, LabError, PlanError, PlanSettings, Question, document,
};
use ipcost_model::{Document, Job, Plan, Stopped};
use ipcost_sys::interrupt::Interrupt;
use serde::Serialize;

use crate::answer::{answered, of_runs};

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

/// A search under way.
pub(crate) struct Search<'a> {
    pub lab: Lab,
    pub interrupt: &'a Interrupt,
    pub observer: &'a mut dyn FnMut(About) -> Box<dyn Observer>,
    pub budget: Duration,
    pub began: Instant,
    seed: u64,
    documents: Vec<Document>,
    failure: Option<EngineError>,
}

impl<'a> Search<'a> {
    pub fn new(
        lab: Lab,
        interrupt: &'a Interrupt,
        observer: &'a mut dyn FnMut(About) -> Box<dyn Observer>,
        budget: Duration,
        seed: Option<u64>,
    ) -> Self {
        let seed = seed.unwrap_or_else(fresh_seed);
        let (documents, failure) = (Vec::new(), None);
        Self { lab, interrupt, observer, budget, began: Instant::now(), seed, documents, failure }
    }

    pub fn left(&self) -> Duration {
        self.budget.saturating_sub(self.began.elapsed())
    }

    /// Whether the last step failed, or was interrupted.
    pub fn has_ended(&self) -> bool {
        self.failure.is_some()
            || self.documents.last().is_none_or(|last| last.stopped == Stopped::Interrupted)
    }

    /// Runs a step, unless the time is too short for it.
    pub fn run(
        &mut self,
        job: &Job,
        settings: impl FnOnce(PlanSettings) -> PlanSettings,
        question: &dyn Question,
    ) -> Result<CampaignState, Unplanned> {
        let seed = self.seed.wrapping_add(self.documents.len() as u64);
        let plan = plan_of(&self.lab, job, &settings(PlanSettings::of(job, seed)))?;
        let mut watching = (self.observer)(about(job, plan.seed));
        let ran = self.lab.run(plan, question, self.interrupt, |_| &mut *watching);
        ran.map(|(outcome, _)| outcome).map_err(|error| Unplanned::Other(error.into()))
    }

    /// Keeps the record of an outcome; `None` if no epoch was complete.
    pub fn keep(&mut self, mut outcome: CampaignState, job: &Job) -> Option<&Document> {
        self.failure = outcome.failure.take();
        let (seed, epochs) = (outcome.plan.seed, outcome.epochs);
        self.documents.push(document(outcome, about(job, seed)));
        self.documents.last().filter(|_| epochs > 0)
    }

    /// Its document with the answer.
    pub fn finish(mut self, answer: &impl Serialize) -> Searched {
        self.documents.retain(|document| document.schedule.epochs > 0);
        let document = of_runs(self.documents).map(|document| answered(document, answer));
        Searched { document, failure: self.failure }
    }
}

/// The plan of a step, all cells of which have to be measured.
fn plan_of(lab: &Lab, job: &Job, settings: &PlanSettings) -> Result<Plan, Unplanned> {
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
