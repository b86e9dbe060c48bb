//! A flame graph of a cell: where both sides spend the time of an operation, as one SVG.
//!
//! Widths are nanoseconds per operation: sampled stacks share the measured processor time of their side, and next to them
//! are the calls in which that side waits. Against a second cell, colours show what takes more and what takes less.

mod svg;
mod tree;

use std::collections::BTreeMap;

use ipcost_model::protocol::PeerRole;

use self::tree::Frame;
use super::Sides;

/// What a flame graph shows of a cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlameCell {
    /// What the cell is called.
    pub label: String,
    /// What each side does.
    pub sides: Sides<FlameSide>,
}

/// Where one side spends its time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlameSide {
    /// Sampled stacks with their weights in any unit, as [`ipcost_lab::stacks::Stacks::weights`] has them.
    pub stacks: BTreeMap<String, u64>,
    /// Processor time, nanoseconds per operation; the stacks share it.
    pub cpu_ns: f64,
    /// Calls in which it waits.
    pub waits: Vec<CallWait>,
}

/// A call in which a side waits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallWait {
    /// Its name.
    pub call: String,
    /// Time off the processor, nanoseconds per operation.
    pub ns: f64,
}

/// Why there is no flame graph.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FlameError {
    /// There is nothing to draw.
    #[error(
        "no stack and no wait of {label} is known, so there is no flame graph; see what the report lists as missing"
    )]
    Empty {
        /// The cell.
        label: String,
    },
    /// A time is negative or not a number.
    #[error(
        "{what} of the {side} of {label} is {ns} ns, which is not a time; measure again with a larger --budget"
    )]
    NotATime {
        /// The cell.
        label: String,
        /// The side.
        side: PeerRole,
        /// Which time.
        what: String,
        /// The value, nanoseconds.
        ns: f64,
    },
}

/// The flame graph of a cell, as an SVG document. With a baseline it is the cell's graph too, coloured by the difference
/// to the baseline; what only the baseline does is listed in words.
///
/// # Errors
/// If there is nothing to draw of a cell, or one of its times is not a time.
pub fn draw(cell: &FlameCell, baseline: Option<&FlameCell>) -> Result<String, FlameError> {
    let frames = Frame::of_cell(cell)?;
    let Some(baseline) = baseline else {
        return Ok(svg::render(&svg::Picture { label: &cell.label, frames: &frames, baseline: None }));
    };
    let other = Frame::of_cell(baseline)?;
    let baseline = Some((baseline.label.as_str(), &other));
    Ok(svg::render(&svg::Picture { label: &cell.label, frames: &frames, baseline }))
}

#[cfg(test)]
mod tests;
