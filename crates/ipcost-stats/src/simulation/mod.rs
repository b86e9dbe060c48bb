//! Campaigns on simulated machines: error rates of this method and of others.
//!
//! A machine has a state that changes over time and affects every batch alike, processes that differ from one start
//! to the next, and noise within processes. Two cells are measured whose costs differ by a known ratio. Everything
//! follows from a seed.

mod machine;
mod rivals;
mod search;

pub use machine::{Noise, SimulatedMachine};
pub use rivals::{Rival, welch};
pub use search::Search;

use crate::dependence::planned_interval;
use crate::looks::Looks;
use crate::median::median;
use crate::random::Random;

/// The design of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    pub epochs: usize,
    /// Rounds in each epoch.
    pub rounds: usize,
    /// The probability that the interval ever misses.
    pub alpha: f64,
    pub looks: Looks,
}

/// Enough epochs to detect that the ratio itself wanders.
pub const EPOCHS_TO_NOTICE: usize = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CampaignOutcome {
    /// Whether the interval ever missed the true ratio.
    pub ever_missed: bool,
    /// Whether it missed from [`EPOCHS_TO_NOTICE`] on.
    pub missed_later: bool,
    /// Whether the last epochs were found to wander.
    pub warned: bool,
    /// Whether the last interval missed.
    pub missed_at_the_end: bool,
    /// The number of epochs after which the interval first excluded equality, if ever.
    pub told_apart_after: Option<usize>,
}

/// Runs one campaign: epochs of fresh processes, rounds in random order, a look after every epoch.
pub fn campaign(noise: Noise, log_ratio: f64, design: &Design, seed: u64) -> CampaignOutcome {
    let mut machine = SimulatedMachine::new(noise, seed);
    let mut order = Random::new(seed ^ 0x5EED);
    let mut epochs = Vec::with_capacity(design.epochs);
    let mut found = CampaignOutcome {
        ever_missed: false,
        missed_later: false,
        warned: false,
        missed_at_the_end: false,
        told_apart_after: None,
    };
    for epoch in 1..=design.epochs {
        epochs.push(machine.contrast_of_epoch(log_ratio, design.rounds, &mut order));
        let judged =
            planned_interval(&epochs, design.alpha, design.looks.of_all()).expect("there is an epoch");
        found.warned = judged.wanders;
        let Some((lo, hi)) = judged.interval.bounds else { continue };
        found.missed_at_the_end = log_ratio < lo || log_ratio > hi;
        found.ever_missed |= found.missed_at_the_end;
        found.missed_later |= found.missed_at_the_end && epoch >= EPOCHS_TO_NOTICE;
        if found.told_apart_after.is_none() && (lo > 0.0 || hi < 0.0) {
            found.told_apart_after = Some(epoch);
        }
    }
    found
}

/// The contrast of so many epochs, of one round each.
pub fn contrast_of_epochs(noise: Noise, log_ratio: f64, epochs: usize, seed: u64) -> Vec<f64> {
    let mut machine = SimulatedMachine::new(noise, seed);
    let mut order = Random::new(seed ^ 0x5EED);
    (0..epochs).map(|_| machine.contrast_of_epoch(log_ratio, 1, &mut order)).collect()
}

impl SimulatedMachine {
    /// One epoch: a process for each cell, and in each round one batch of each in random order. The median over
    /// rounds of the difference of their logarithmic costs.
    fn contrast_of_epoch(&mut self, log_ratio: f64, rounds: usize, order: &mut Random) -> f64 {
        let wandering = self.contrast();
        let (a, b) = (self.start_process(), self.start_process());
        let differences: Vec<f64> = (0..rounds)
            .map(|_| {
                let a_first = order.below(2) == 0;
                let (first, second) = if a_first { (a, b) } else { (b, a) };
                let (first, second) = (self.batch(first), self.batch(second));
                let difference = if a_first { first - second } else { second - first };
                difference + log_ratio + wandering
            })
            .collect();
        median(&differences).expect("there is a round")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESIGN: Design = Design { epochs: 60, rounds: 1, alpha: 0.05, looks: Looks::NONE };

    #[test]
    fn a_seed_gives_the_same_campaign() {
        let one = campaign(Noise::Independent, 0.0, &DESIGN, 3);
        assert_eq!(one, campaign(Noise::Independent, 0.0, &DESIGN, 3));
    }

    #[test]
    fn a_large_difference_is_found_soon() {
        let found = campaign(Noise::Independent, 0.5, &DESIGN, 3);
        assert!(found.told_apart_after.is_some_and(|epochs| epochs < 30), "{found:?}");
        assert!(!found.ever_missed);
    }
}
