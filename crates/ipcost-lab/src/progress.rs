//! What the user is told while it runs.

use std::time::Duration;

use ipcost_model::{Calibrated, EpochRecord};

use crate::campaign::Outcome;

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// What is going on.
    pub phase: Phase,
    /// How much of the run lies behind, 0 to 1.
    pub done: f64,
    /// Time since the start.
    pub elapsed: Duration,
    /// The most that is left; it may end earlier, as soon as everything is known.
    pub left: Duration,
}

/// What is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Finding out how many operations make a batch.
    Calibrating,
    /// In an epoch.
    Measuring {
        /// Which, from 1.
        epoch: u32,
        /// How many are likely.
        of: u32,
        /// Headline contrasts that are resolved.
        resolved: u32,
        /// Headline contrasts.
        contrasts: u32,
    },
}

/// Somebody to tell. Never called while a batch runs.
pub trait Observer {
    /// The run has come this far.
    fn progress(&mut self, progress: &Progress);

    /// Calibration has found how large batches are; the first epoch is about to begin.
    fn calibrated(&mut self, _calibrated: &Calibrated) {}

    /// An epoch is complete: all that it adds to the run.
    fn epoch(&mut self, _epoch: &EpochRecord) {}

    /// What is known after that epoch.
    fn judged(&mut self, _outcome: &Outcome) {}
}

impl<T: Observer + ?Sized> Observer for Box<T> {
    fn progress(&mut self, progress: &Progress) {
        (**self).progress(progress);
    }

    fn calibrated(&mut self, calibrated: &Calibrated) {
        (**self).calibrated(calibrated);
    }

    fn epoch(&mut self, epoch: &EpochRecord) {
        (**self).epoch(epoch);
    }

    fn judged(&mut self, outcome: &Outcome) {
        (**self).judged(outcome);
    }
}

/// Nobody.
pub struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _progress: &Progress) {}
}
