//! The share that a Unix socket saves of a request over how long the server works on it, a panel a placement.

use ipcost_model::Estimate;

use super::ticks::percent;
use crate::numbers::time;

#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    pub server: String,
    /// The least that it can be asked.
    pub least: String,
    /// The share of a request below which a saving does not matter.
    pub margin: f64,
    pub panels: Vec<PlacementPanel>,
    /// What is not drawn, and why.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlacementPanel {
    /// Where client and server run.
    pub name: String,
    /// From how much work on it stops mattering, in words.
    pub said: String,
    /// Work of the server on top of the least request, nanoseconds, and the share that is saved at most; close enough together
    /// to be drawn as a line.
    pub line: Vec<(f64, f64)>,
    /// The same for round values, for a table.
    pub numbers: Vec<(f64, f64)>,
    /// From this much work on the line is below the margin, nanoseconds.
    pub until_ns: Option<f64>,
    /// Other requests, as measured.
    pub requests: Vec<MeasuredSaving>,
}

/// A request as measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredSaving {
    pub request: String,
    /// How much longer it takes over TCP than the least one, nanoseconds.
    pub work_ns: f64,
    /// The share of it that the Unix socket saves.
    pub share: Estimate,
}

impl Curves {
    pub fn title(&self) -> String {
        format!("{}: the share of a request that a Unix socket saves", self.server)
    }

    /// How to read them.
    pub fn reading(&self) -> String {
        format!(
            "The line is an upper bound: what is saved of {}, as a share of a request on which the server works longer. Below {}, a saving no longer matters. A point is a request as measured, with its interval: its work is what it takes over TCP on top of {}. The line holds for replies as short as that of {}: a longer one costs more over TCP, too, so that its point can lie above.",
            self.least,
            per_cent(self.margin),
            self.least,
            self.least
        )
    }
}

impl MeasuredSaving {
    /// `GET user:17: saves 23 % (17 % to 25 %) with 320 ns of work`.
    pub fn label(&self) -> String {
        let held = match self.interval().as_str() {
            "" => String::new(),
            held => format!(" ({held})"),
        };
        let work = if self.work_ns > 0.0 {
            format!("with {} of work", time(self.work_ns))
        } else {
            "without work".to_owned()
        };
        format!("{}: saves {}{held} {work}", self.request, per_cent(self.share.median))
    }

    /// The interval of the share.
    pub fn interval(&self) -> String {
        match (self.share.lo, self.share.hi) {
            (Some(lo), Some(hi)) => format!("{} to {}", per_cent(lo), per_cent(hi)),
            _ => String::new(),
        }
    }
}

/// A share in per cent: whole ones, tenths below ten.
pub fn per_cent(share: f64) -> String {
    let step = if share.abs() < 0.0995 { 1e3 } else { 1e2 };
    format!("{} %", percent((share * step).round() / step)).replace('-', "−")
}

#[cfg(test)]
pub(crate) mod tests;
