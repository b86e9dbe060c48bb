//! Reports progress to the user during a run.

use std::time::Duration;

use ipcost_model::{Calibrated, EpochRecord};

use crate::campaign::CampaignState;

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    pub phase: Phase,
    /// The completed share of the run, 0 to 1.
    pub done: f64,
    /// Time since the start.
    pub elapsed: Duration,
    /// The most time left; the run may end earlier, once everything is known.
    pub left: Duration,
}

/// A phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Calibrating,
    Measuring {
        epoch: u32,
        /// The number of epochs expected.
        of: u32,
        /// Questions that are answered.
        resolved: u32,
        questions: u32,
    },
}

/// An observer of a run. Never called while a batch runs.
pub trait Observer {
    fn progress(&mut self, progress: &Progress);

    /// Calibration has found the sizes of batches; the first epoch is about to begin.
    fn calibrated(&mut self, _calibrated: &Calibrated) {}

    /// An epoch is complete, with everything it adds to the run.
    fn epoch(&mut self, _epoch: &EpochRecord) {}

    /// The outcome after that epoch.
    fn judged(&mut self, _outcome: &CampaignState) {}

    /// Outside a timed run: so many steps are done, of how many, and what comes next.
    fn step(&mut self, _done: u64, _of: u64, _what: &str) {}

    /// A note for the user.
    fn note(&mut self, _text: &str) {}

    /// How long it will take, which may be hours; called before it begins.
    fn estimate(&mut self, _text: &str) {}
}

impl<T: Observer + ?Sized> Observer for &mut T {
    fn progress(&mut self, progress: &Progress) {
        (**self).progress(progress);
    }

    fn calibrated(&mut self, calibrated: &Calibrated) {
        (**self).calibrated(calibrated);
    }

    fn epoch(&mut self, epoch: &EpochRecord) {
        (**self).epoch(epoch);
    }

    fn judged(&mut self, outcome: &CampaignState) {
        (**self).judged(outcome);
    }

    fn step(&mut self, done: u64, of: u64, what: &str) {
        (**self).step(done, of, what);
    }

    fn note(&mut self, text: &str) {
        (**self).note(text);
    }

    fn estimate(&mut self, text: &str) {
        (**self).estimate(text);
    }
}

pub struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _progress: &Progress) {}
}
