//! Measuring until claims are decided, and the record of it.

use std::cell::Cell;

use ipcost_lab::planning::ALPHA;
use ipcost_lab::progress::{Observer, Phase, Progress};
use ipcost_lab::{About, EngineError, Lab, Needed, Outcome, document};
use ipcost_model::{Plan, Warning};
use ipcost_sys::interrupt::Interrupt;

use super::{CHECK_SCHEMA, Check, Questions, decide, is_settled, settled, together};

/// Measures until nothing is left to decide, or the budget is spent; a baseline that is recorded decides nothing.
///
/// # Errors
/// Where measuring cannot even begin.
pub fn measure(
    questions: &Questions,
    recording: bool,
    plan: Plan,
    lab: &Lab,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<Outcome, EngineError> {
    let decided = Cell::new((0, 0));
    let mut asking = |outcome: &Outcome| {
        let claims = decide(questions, outcome);
        decided.set((claims.iter().filter(|claim| is_settled(claim)).count() as u32, claims.len() as u32));
        if !recording && settled(&claims) { Needed::Nothing } else { Needed::Everything }
    };
    let mut observer = Claims { observer, decided: &decided };
    lab.run_until(plan, interrupt, &mut observer, &mut asking)
}

/// Progress that counts claims instead of contrasts.
struct Claims<'a> {
    observer: &'a mut dyn Observer,
    decided: &'a Cell<(u32, u32)>,
}

impl Observer for Claims<'_> {
    fn progress(&mut self, progress: &Progress) {
        let phase = match progress.phase {
            Phase::Measuring { epoch, of, .. } => {
                let (resolved, contrasts) = self.decided.get();
                Phase::Measuring { epoch, of, resolved, contrasts }
            }
            Phase::Calibrating => Phase::Calibrating,
        };
        self.observer.progress(&Progress { phase, ..*progress });
    }
}

/// What was decided, and what was measured for it.
pub fn record(
    file: String,
    questions: &Questions,
    warnings: Vec<Warning>,
    mut outcome: Outcome,
    about: About,
) -> Check {
    let claims = decide(questions, &outcome);
    let envelope = about.envelope(CHECK_SCHEMA);
    // The document speaks of its own contrasts; what claims needed is beside it.
    outcome.plan.epochs_needed = ipcost_stats::epochs_to_expect(outcome.plan.alpha_each);
    let document = document(outcome, about);
    Check {
        envelope,
        file,
        elapsed_s: document.elapsed_s,
        stopped: document.stopped,
        alpha: ALPHA,
        alpha_each: questions.level(),
        epochs: document.schedule.epochs,
        word: together(&claims),
        claims,
        warnings,
        document,
    }
}
