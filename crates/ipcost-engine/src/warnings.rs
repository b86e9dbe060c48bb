//! What weakens or bends a result, with what to do about it: one place for every text.

use ipcost_model::units::{duration_text, size_text};
use ipcost_model::{Mode, Warning};
use std::time::Duration;

/// Something the user should know.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// The run was asked to stop.
    Interrupted { epochs: u32 },
    /// The budget ended before some questions were answered.
    Unresolved { open: u32, of: u32, budget: Duration },
    /// Not even one finite interval.
    NoIntervals { epochs: u32, needed: u32 },
    /// A cell that could not be measured here.
    Unavailable { cell: String, reason: String },
    /// Epochs of a cell fall into two groups.
    TwoModes { cell: String, modes: [Mode; 2], free: bool },
    /// The kernel changed what was asked for.
    Clamped { cell: String, option: String, asked: u64, became: u64 },
    /// The listener's queue was full at times.
    BacklogFull { cell: String, retries: u64 },
    /// The kernel dropped or repeated parts of connections.
    Troubled { cell: String, counters: String },
    /// The hypervisor gave the processors to others.
    Steal { share: f64 },
    /// The program was built without optimisation.
    DebugBuild,
    /// The clock was read within timed batches.
    InlineLatency,
}

impl Finding {
    /// The code and the text of the document.
    pub fn warning(&self) -> Warning {
        let (code, message) = match self {
            Self::Interrupted { epochs } => (
                "interrupted",
                format!("the run was interrupted; what is shown rests on {epochs} complete epochs"),
            ),
            Self::Unresolved { open, of, budget } => (
                "unresolved",
                format!(
                    "{open} of {of} questions are still open after the budget of {}; a larger --budget narrows the intervals",
                    duration_text(*budget)
                ),
            ),
            Self::NoIntervals { epochs, needed } => (
                "no-intervals",
                format!("{epochs} epochs are too few for an interval; the first finite one takes {needed}: give a larger --budget"),
            ),
            Self::Unavailable { cell, reason } => ("unavailable", format!("{cell} could not be measured here: {reason}")),
            Self::TwoModes { cell, modes: [low, high], free } => (
                "two-modes",
                format!(
                    "{cell} runs in two ways: {} in {:.0} % of its epochs, {} in {:.0} %{}",
                    nanoseconds(low.wall_ns_per_op),
                    low.share * 100.0,
                    nanoseconds(high.wall_ns_per_op),
                    high.share * 100.0,
                    if *free {
                        "; the scheduler may put the pair on one core or on two: compare with --placement together,apart"
                    } else {
                        ""
                    }
                ),
            ),
            Self::Clamped { cell, option, asked, became } => (
                "clamped-option",
                format!("{cell}: the kernel made {option} {} of the {} asked for", size_text(*became), size_text(*asked)),
            ),
            Self::BacklogFull { cell, retries } => (
                "backlog-full",
                format!("{cell}: the listener's queue was full {retries} times and the client tried again; raise the option backlog or net.core.somaxconn"),
            ),
            Self::Troubled { cell, counters } => (
                "connection-trouble",
                format!("{cell}: the kernel dropped or repeated parts of connections ({counters}), and a dropped SYN costs a second; raise the option backlog or net.core.somaxconn"),
            ),
            Self::Steal { share } => (
                "steal",
                format!("the hypervisor took {:.1} % of the processors' time for others; measure when the host is quieter", share * 100.0),
            ),
            Self::DebugBuild => (
                "debug-build",
                "this program was built without optimisation, and so was its native peer; build with --release".to_owned(),
            ),
            Self::InlineLatency => (
                "inline-latency",
                "latency was sampled within the timed batches, so that the clock's own cost is part of every cost".to_owned(),
            ),
        };
        Warning { code: code.to_owned(), message }
    }
}

/// A time for a sentence.
fn nanoseconds(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
        ns => format!("{:.1} ms", ns / 1e6),
    }
}
