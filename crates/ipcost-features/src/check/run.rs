//! Measuring until claims are decided, and the record of it.

use ipcost_lab::planning::ALPHA;
use ipcost_lab::progress::Observer;
use ipcost_lab::{About, Answered, CampaignState, EngineError, Lab, Needed, Question, document};
use ipcost_model::{Document, Plan, Warning};
use ipcost_sys::interrupt::Interrupt;

use crate::answer::answered;

use super::{CHECK_SCHEMA, Check, Questions, decide, is_settled, together};

impl Question for Questions {
    fn answered(&self, so_far: &CampaignState) -> Answered {
        let claims = decide(self, &so_far.into());
        let settled = claims.iter().filter(|claim| is_settled(claim)).count();
        let is_over = settled == claims.len() && !self.recording;
        let needed = if is_over { Needed::Nothing } else { Needed::Everything };
        Answered { resolved: settled as u32, of: claims.len() as u32, needed }
    }
}

/// Measures until nothing is left to decide, or the budget is spent; a baseline that is recorded decides nothing.
pub fn measure(
    questions: &Questions,
    plan: Plan,
    lab: &Lab,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<CampaignState, EngineError> {
    Ok(lab.run(plan, questions, interrupt, |_| observer)?.0)
}

/// The document of what was measured, with what was decided.
pub fn record(
    file: String,
    questions: &Questions,
    warnings: Vec<Warning>,
    outcome: CampaignState,
    about: About,
) -> Document {
    let claims = decide(questions, &(&outcome).into());
    let check = Check {
        schema: CHECK_SCHEMA.to_owned(),
        file,
        alpha: ALPHA,
        alpha_each: questions.level(),
        word: together(&claims),
        claims,
        warnings,
    };
    answered(document(outcome, about), &check)
}
