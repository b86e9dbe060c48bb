//! A flame graph of a cell: where both sides spend the time of an operation, as one SVG.
//!
//! Widths are nanoseconds per operation: sampled stacks share the measured processor time of their side, and next to them
//! are the calls in which that side waits. Against a second cell, colours show what takes more and what takes less.

mod frames;
mod tree;

use std::collections::BTreeMap;

use ipcost_model::protocol::PeerRole;
use ipcost_report::numbers::three_digits;
use ipcost_report::picture::{Flame, draw_flame};

use self::tree::TreeFrame;
use super::Sides;

/// How many frames that only the baseline has are listed.
const MOST_LACKING: usize = 3;

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
    pub waits: Vec<CallWait>,
}

/// A call in which a side waits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallWait {
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
    Empty { label: String },
    /// A time is negative or not a number.
    #[error(
        "{what} of the {side} of {label} is {ns} ns, which is not a time; measure again with a larger --budget"
    )]
    NotATime {
        label: String,
        side: PeerRole,
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
    let whole = TreeFrame::of_cell(cell)?;
    let theirs = baseline.map(TreeFrame::of_cell).transpose()?;
    let baseline = baseline.map(|baseline| baseline.label.as_str()).zip(theirs.as_ref());
    let (title, about) = head(&cell.label, &whole, baseline);
    let frames = frames::placed(&cell.label, &whole, baseline);
    Ok(draw_flame(&Flame { title, about, frames }).svg())
}

/// The title, and how to read the frames.
fn head(cell: &str, whole: &TreeFrame, baseline: Option<(&str, &TreeFrame)>) -> (String, Vec<String>) {
    let Some((label, theirs)) = baseline else {
        let about = "Width: processor time by sampled stacks, and time waiting, by side. Point at a frame to see its time.";
        return (format!("{cell}: ns per operation"), vec![about.to_owned()]);
    };
    let mut about = vec![format!(
        "Width: {cell}. Colour: more or less than in {label}. Point at a frame to see its time."
    )];
    let mut lacking = whole.lacks(theirs);
    lacking.retain(|(_, ns)| *ns > 0.0);
    let named: Vec<String> = lacking
        .iter()
        .take(MOST_LACKING)
        .map(|(name, ns)| format!("{name} {} ns", three_digits(*ns)))
        .collect();
    if !named.is_empty() {
        let more = if lacking.len() > named.len() { ", …" } else { "" };
        about.push(format!("Only in {label}: {}{more}", named.join(", ")));
    }
    (format!("{cell} against {label}: ns per operation"), about)
}

#[cfg(test)]
mod tests;
