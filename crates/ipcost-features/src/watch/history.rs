//! What had been counted at earlier observations, as far as it changed.

use std::collections::VecDeque;

/// So many observations are kept, so that what goes on now is told from what was.
pub(super) const OBSERVATIONS: u32 = 8;

/// Counts by the number of the observation until which they were counted.
#[derive(Debug, Clone)]
pub(super) struct History<T>(VecDeque<(u32, T)>);

impl<T> Default for History<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: Copy + PartialEq> History<T> {
    /// What had been counted at an observation; `None` if that was before all.
    pub fn at(&self, observation: u32) -> Option<T> {
        let known = self.0.iter().rev().find(|(number, _)| *number <= observation);
        known.map(|(_, counts)| *counts)
    }

    /// Keeps what was counted until an observation, and forgets what is older than is asked for.
    pub fn remember(&mut self, observation: u32, counts: T) {
        if self.0.back().is_none_or(|(_, known)| *known != counts) {
            self.0.push_back((observation, counts));
        }
        let oldest = observation.saturating_sub(OBSERVATIONS);
        while self.0.get(1).is_some_and(|(number, _)| *number <= oldest) {
            self.0.pop_front();
        }
    }

    /// The observations at which something had changed.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|(number, _)| *number)
    }

    /// All counts, to be changed.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, counts)| counts)
    }
}

impl<T> FromIterator<(u32, T)> for History<T> {
    fn from_iter<I: IntoIterator<Item = (u32, T)>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}
