//! Figures as texts.

use ipcost_model::{Estimate, FloorRecord};

use crate::numbers::{interval, ratio, time};

/// Said where floors are drawn.
pub const FLOORS: &str = "Dashed line: the floor, the minimum cost of the parts of such an operation here, measured in the same rounds.";
/// What replaces an interval that more epochs may give.
pub const NO_INTERVAL_YET: &str = "no interval yet";

/// The interval of a time: `6.77 µs – 7.56 µs`.
pub fn time_interval(cost: &Estimate) -> String {
    match (cost.lo, cost.hi) {
        (Some(lo), Some(hi)) => format!("{} – {}", time(lo), time(hi)),
        (Some(lo), None) => format!("at least {}", time(lo)),
        (None, Some(hi)) => format!("at most {}", time(hi)),
        (None, None) => NO_INTERVAL_YET.to_owned(),
    }
}

pub fn ratio_interval(around: f64, lo: Option<f64>, hi: Option<f64>) -> String {
    interval(around, lo, hi).unwrap_or_else(|| NO_INTERVAL_YET.to_owned())
}

/// The cost of a cell over its floor: `2.58 × floor`.
pub fn multiple(floor: &FloorRecord) -> String {
    format!("{} × floor", ratio(floor.multiple.median))
}
