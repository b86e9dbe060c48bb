//! Values of many runs in the order of time, with the levels that they are on.

use ipcost_model::Estimate;

/// The runs and their changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    pub title: String,
    pub about: String,
    /// Whether values are ratios; otherwise nanoseconds.
    pub is_ratio: bool,
    /// The runs, in the order of time.
    pub points: Vec<TimelinePoint>,
    /// The changes, in the order of time.
    pub marks: Vec<ChangeMark>,
    /// What it comes to, a sentence each.
    pub notes: Vec<String>,
    /// How changes were found.
    pub how: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TimelinePoint {
    /// The day, such as 2026-11-03.
    pub day: String,
    /// Its identifier and its time.
    pub name: String,
    /// Its value with an interval.
    pub value: Estimate,
    pub level: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChangeMark {
    /// The first point of the new level, by index.
    pub at: usize,
    /// The new level over the old one.
    pub ratio: f64,
    /// The change as a sentence.
    pub sentence: String,
}
