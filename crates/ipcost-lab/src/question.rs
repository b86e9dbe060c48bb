//! What a run is asked, and what it knows so far.

use ipcost_model::Plan;

use crate::analysis::Judge;
use crate::campaign::CampaignState;

/// What a run is to answer. A campaign looks at it after each epoch: it measures what is needed, lets the other cells
/// leave, and stops once nothing is.
pub trait Question {
    /// What the measurements so far answer.
    fn answered(&self, so_far: &CampaignState) -> Answered;

    /// The measurable cells to give up first, where the budget turns out to be too small for an interval of all: none, if it is better
    /// to have all without.
    fn spared(&self, _plan: &Plan) -> Vec<usize> {
        Vec::new()
    }
}

/// Answered questions, all questions, and what the open ones need: everything, before any measurement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answered {
    /// Those that are answered.
    pub resolved: u32,
    pub of: u32,
    /// What the others need.
    pub needed: Needed,
}

/// What the open questions need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Needed {
    Nothing,
    /// Some cells, as indices, some more than once.
    Cells(Vec<usize>),
    #[default]
    Everything,
}

impl Answered {
    /// Whether every question is answered; without a question none is.
    pub fn all(&self) -> bool {
        self.needed == Needed::Nothing
    }
}

/// The plan's own contrasts, and the cheapest of each of its tables.
#[derive(Debug, Clone, Copy)]
pub struct Contrasts;

impl Question for Contrasts {
    fn answered(&self, so_far: &CampaignState) -> Answered {
        Judge::new(&so_far.plan, &so_far.batches()).answered()
    }
}
