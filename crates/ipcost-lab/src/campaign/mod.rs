//! A run: calibration, epochs, rounds, and when to stop.

mod calibrating;
mod epoch;
mod state;
mod timed;

pub(crate) use self::calibrating::{ends_of, holds_back};
pub(crate) use self::timed::sample;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ipcost_model::{BatchOperations, Calibrated, Pattern, Plan, Resumed, Samples, Stopped};
use ipcost_stats::{Random, epochs_to_expect};
use ipcost_sys::transport::uses_tcp;

pub use self::epoch::retry_if_suspended;
use self::epoch::verified_ops;
pub use self::state::{CampaignState, NO_TIME};
use crate::bench::Bench;
use crate::error::EngineError;
use crate::machine_observer::{HeldPorts, MachineObserver};
use crate::progress::{Observer, Phase, Progress};
use crate::question::{Answered, Needed, Question};

/// How far a run may exceed its budget if it would otherwise end without a finite interval.
const OVERRUN: f64 = 0.25;

/// Carries out a plan until its question is answered or its budget is spent. Failure and interruption are also outcomes,
/// and keep the earlier measurements.
pub fn run(
    plan: Plan,
    question: &dyn Question,
    bench: &mut dyn Bench,
    surroundings: &mut dyn MachineObserver,
    observer: &mut dyn Observer,
) -> CampaignState {
    Campaign::new(plan, question, bench, surroundings, observer).carry_out()
}

/// Resumes a run that was killed, with the same orders and operation counts as if it never had been.
///
/// `resumed` is the time, added to the earlier ones in the samples file.
pub fn resume(
    samples: Samples,
    resumed: Resumed,
    question: &dyn Question,
    bench: &mut dyn Bench,
    surroundings: &mut dyn MachineObserver,
    observer: &mut dyn Observer,
) -> CampaignState {
    let mut campaign = Campaign::new(samples.begun.plan, question, bench, surroundings, observer);
    if let Some(calibrated) = samples.calibrated {
        campaign.spent = Duration::from_nanos(calibrated.elapsed_ns);
        campaign.random = Random::new(calibrated.random);
        campaign.counts.clone_from(&calibrated.counts);
        campaign.keep_calibrated(&calibrated);
    }
    for epoch in samples.epochs {
        campaign.epoch = epoch.epoch;
        campaign.spent = Duration::from_nanos(epoch.elapsed_ns);
        campaign.longest_epoch = campaign.longest_epoch.max(Duration::from_nanos(epoch.took_ns));
        campaign.random = Random::new(epoch.random);
        campaign.state.keep(epoch);
    }
    campaign.judge();
    campaign.state.resumed = [samples.resumed, vec![resumed]].concat();
    campaign.carry_out()
}

struct Campaign<'a> {
    random: Random,
    /// The cells that can be measured, in groups that have processes at the same time, in blocks of groups that are measured in
    /// close succession.
    blocks: Vec<Vec<Vec<usize>>>,
    counts: Vec<BatchOperations>,
    is_calibrated: bool,
    state: CampaignState,
    bench: &'a mut dyn Bench,
    surroundings: &'a mut dyn MachineObserver,
    observer: &'a mut dyn Observer,
    question: &'a dyn Question,
    answered: Answered,
    epoch: u32,
    longest_epoch: Duration,
    /// Cells whose batches stood still in this epoch, each with the time of an operation, nanoseconds.
    still: BTreeMap<usize, f64>,
    /// In how many epochs cells have been watched.
    watched: BTreeMap<usize, u32>,
    /// How long the run had taken before it was killed.
    spent: Duration,
}

/// One in so many of the local ports to a server may be held by connections that have ended.
const MOST_PORTS: u64 = 4;
impl<'a> Campaign<'a> {
    fn new(
        plan: Plan,
        question: &'a dyn Question,
        bench: &'a mut dyn Bench,
        surroundings: &'a mut dyn MachineObserver,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self {
            random: Random::new(plan.seed),
            blocks: plan.blocks(),
            counts: vec![BatchOperations::default(); plan.cells.len()],
            is_calibrated: false,
            state: CampaignState::empty(plan),
            bench,
            surroundings,
            observer,
            question,
            answered: Answered::default(),
            epoch: 0,
            longest_epoch: Duration::ZERO,
            still: BTreeMap::new(),
            watched: BTreeMap::new(),
            spent: Duration::ZERO,
        }
    }
}

impl Campaign<'_> {
    fn carry_out(mut self) -> CampaignState {
        self.surroundings.watch_others();
        self.state.observed.neighbours.extend(self.surroundings.neighbours());
        let stopped = self.measure();
        let elapsed = self.elapsed();
        self.state.observed.busiest = self.surroundings.busiest_other();
        self.state.observed.kernel_ticks = self.surroundings.kernel_ticks();
        let mut state = self.state;
        (state.stopped, state.failure) = match stopped {
            Ok(stopped) => (stopped, None),
            Err(EngineError::Interrupted) => (Stopped::Interrupted, None),
            Err(error) => (Stopped::Failed, Some(error)),
        };
        state.elapsed = elapsed;
        state.account_for_the_rest();
        state
    }

    /// Time since the run began, summed over all times the program ran.
    fn elapsed(&self) -> Duration {
        self.spent + self.bench.elapsed()
    }

    fn measure(&mut self) -> Result<Stopped, EngineError> {
        if !self.is_calibrated {
            let calibrated = self.calibrate()?;
            self.keep_calibrated(&calibrated);
            self.observer.calibrated(&calibrated);
        }
        loop {
            if let Some(stopped) = self.reason_to_stop() {
                return Ok(stopped);
            }
            self.spare_ports();
            if self.blocks.is_empty() {
                return Ok(Stopped::Resolved);
            }
            self.epoch += 1;
            let began = self.elapsed();
            let epoch = self.run_epoch()?;
            self.state.observed.neighbours.extend(self.surroundings.neighbours());
            self.observer.epoch(&epoch);
            self.state.keep(epoch);
            self.longest_epoch = self.longest_epoch.max(self.elapsed() - began);
            self.judge();
            self.observer.judged(&self.state);
        }
    }

    fn keep_calibrated(&mut self, calibrated: &Calibrated) {
        self.state.calibrate(calibrated);
        // Without those that were given up.
        self.blocks = self.state.plan.blocks();
        self.is_calibrated = true;
    }

    /// The cells that open connections from one source address to the plan's server, and how many ports there are for them.
    fn connecting(&mut self) -> (Vec<usize>, HeldPorts) {
        let plan = &self.state.plan;
        let connects = |cell: &usize| {
            let cell = &plan.cells[*cell].cell;
            cell.pattern == Pattern::Connect && uses_tcp(&cell.transport)
        };
        let cells: Vec<usize> = self.blocks.iter().flatten().flatten().copied().filter(connects).collect();
        let to = plan.ports_to.filter(|_| !cells.is_empty());
        match to.and_then(|to| self.surroundings.ports_held(to)) {
            Some(known) => (cells, known),
            None => (Vec::new(), HeldPorts { held: 0, of: 0 }),
        }
    }

    /// Lets those of them leave whose next epoch would hold more of the ports than may be held: with each the kernel searches longer for a
    /// free one, for every program.
    fn spare_ports(&mut self) {
        let (cells, known) = self.connecting();
        let mut left = (known.of / MOST_PORTS).saturating_sub(known.held);
        for cell in cells {
            let (plan, counts) = (&self.state.plan, self.counts[cell]);
            let opens = (counts.batch + counts.lead_in) * u64::from(plan.rounds.max(1))
                + verified_ops(&plan.cells[cell].cell);
            if opens <= left {
                left -= opens;
            } else {
                self.state.out_of_ports.insert(cell, known);
                self.blocks.iter_mut().flatten().for_each(|group| group.retain(|other| *other != cell));
            }
        }
        self.blocks.iter_mut().for_each(|block| block.retain(|group| !group.is_empty()));
        self.blocks.retain(|block| !block.is_empty());
    }

    /// Counts the answers so far, and lets the cells of answered questions leave: their time goes to open ones. The
    /// order of the rest stays as random as before, and a contrast uses the rounds with both of its cells.
    fn judge(&mut self) {
        self.answered = self.question.answered(&self.state);
        self.state.answered = Some(self.answered.clone());
        let Needed::Cells(needed) = &self.answered.needed else { return };
        let plan = &self.state.plan;
        // Fewer give no interval to the cost of a cell itself.
        if plan.keep_all || plan.epochs_exact.is_some() || self.epoch < epochs_to_expect(plan.alpha) {
            return;
        }
        let needed: BTreeSet<usize> = needed.iter().copied().collect();
        let mut blocks = plan.blocks();
        let is_out = |cell: &usize| self.state.out_of_ports.contains_key(cell);
        blocks
            .iter_mut()
            .flatten()
            .for_each(|group| group.retain(|cell| needed.contains(cell) && !is_out(cell)));
        blocks.iter_mut().for_each(|block| block.retain(|group| !group.is_empty()));
        blocks.retain(|block| !block.is_empty());
        let count = |blocks: &[Vec<Vec<usize>>]| blocks.iter().flatten().map(Vec::len).sum::<usize>();
        let (before, after) = (count(&self.blocks), count(&blocks));
        if after > 0 {
            // An epoch with fewer cells is shorter.
            self.longest_epoch = self.longest_epoch.mul_f64(after as f64 / before.max(1) as f64);
            self.blocks = blocks;
        }
    }

    fn reason_to_stop(&mut self) -> Option<Stopped> {
        let plan = &self.state.plan;
        if let Some(exact) = plan.epochs_exact {
            return (self.epoch >= exact).then_some(Stopped::Budget);
        }
        if self.answered.all() {
            return Some(Stopped::Resolved);
        }
        let next = self.elapsed() + self.longest_epoch;
        let most =
            if self.epoch < plan.epochs_needed { plan.budget.mul_f64(1.0 + OVERRUN) } else { plan.budget };
        (self.epoch > 0 && next > most).then_some(Stopped::Budget)
    }

    fn report_measuring(&mut self) {
        let Answered { resolved, of: questions, .. } = self.answered;
        let of = self.state.plan.epochs_expected.max(self.epoch);
        self.report(Phase::Measuring { epoch: self.epoch, of, resolved, questions });
    }

    fn report(&mut self, phase: Phase) {
        let elapsed = self.elapsed();
        let plan = &self.state.plan;
        let whole = match (plan.epochs_exact, self.epoch) {
            (None, _) => plan.budget,
            // Until the first epoch has shown its length.
            (Some(_), 0 | 1) => plan.budget.max(elapsed),
            (Some(exact), epoch) => elapsed + self.longest_epoch * exact.saturating_sub(epoch - 1),
        };
        let left = whole.saturating_sub(elapsed);
        let done = (elapsed.as_secs_f64() / whole.as_secs_f64().max(1e-9)).min(1.0);
        self.observer.progress(&Progress { phase, done, elapsed, left });
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
