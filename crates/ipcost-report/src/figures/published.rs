//! The values of a published experiment as texts.

use ipcost_model::{Estimate, FigureUnit, FigureValue};

use super::texts::NO_INTERVAL_YET;
use crate::numbers::three_digits;

/// Three significant digits, however large the value is.
pub fn digits(value: f64) -> String {
    let step = 10f64.powf(value.abs().log10().floor() - 2.0);
    three_digits(if step > 1.0 && step.is_finite() { (value / step).round() * step } else { value })
}

/// The interval of a measured value.
pub fn interval(estimate: Estimate) -> String {
    match (estimate.lo, estimate.hi) {
        (Some(lo), Some(hi)) => format!("{} – {}", digits(lo), digits(hi)),
        (Some(lo), None) => format!("at least {}", digits(lo)),
        (None, Some(hi)) => format!("at most {}", digits(hi)),
        (None, None) => NO_INTERVAL_YET.to_owned(),
    }
}

/// The measured value of a pair, with its interval.
pub fn measured(value: &FigureValue, unit: FigureUnit) -> String {
    match value.measured {
        Some(estimate) => format!("{} {unit} ({})", digits(estimate.median), interval(estimate)),
        None => "nothing".to_owned(),
    }
}
