//! Problems that weaken or bias a result, and what to do about them: one place for every text.

use std::time::Duration;

use ipcost_model::units::{duration_text, size_text};
use ipcost_model::{LayoutEffect, Mode, Warning};
use ipcost_sys::clock::Quality;

use crate::causes::{self, Cause, nanoseconds};
use crate::layout_effect;

/// Something the user should know.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// The run was asked to stop.
    Interrupted { epochs: u32 },
    /// The machine was suspended, or the program stopped, in batches.
    Suspended { cell: String, epoch: u32, batches: usize },
    /// The budget ended before some questions were answered; `mixed` if cells ran in two modes that `--placement`
    /// separates.
    Unresolved { open: u32, of: u32, budget: Duration, mixed: bool },
    /// Not even one finite interval.
    NoIntervals { epochs: u32, needed: u32 },
    /// A cell that could not be measured here.
    Unavailable { cell: String, reason: String },
    /// Epochs of a cell fall into two groups.
    TwoModes { cell: String, modes: [Mode; 2], differs: Vec<String>, free: bool },
    /// A cell costs more at some places of its buffers.
    BufferLayout { cell: String, effect: LayoutEffect },
    /// Neighbouring epochs of contrasts resemble each other.
    Correlated { a: String, b: String, correlation: f64, others: usize },
    /// Costs rose or fell through the run.
    Drift { cell: String, ratio: f64, others: usize },
    /// Others cost more or less right after this cell.
    CarryOver { cell: String, ratio: f64 },
    /// Batches cost more where the scheduler took the core away more often.
    Preempted { cell: String, ratio: f64 },
    /// Other processes were busy.
    Neighbour { share: f64, busiest: Option<(String, u32)> },
    /// A CPU quota made the measurement wait.
    Throttled { times: u64, time: Duration, cores: f64 },
    /// The clock is slow to read, or coarse.
    Clock { quality: Quality, source: Option<String> },
    /// The kernel changed an option's value.
    Clamped { cell: String, option: String, asked: u64, became: u64 },
    /// The listener's queue was full at times.
    BacklogFull { cell: String, retries: u64 },
    /// The kernel dropped or repeated parts of connections.
    Troubled { cell: String, counters: String },
    /// A cell costs less than its floor.
    BelowFloor { cell: String, multiple: f64, free: bool },
    /// Batches have a part that does not grow with their operations; `held_back` where Nagle's algorithm makes it.
    FixedWait { cell: String, wait_ns: f64, held_back: bool },
    /// The hypervisor gave the processors to others.
    Steal { share: f64 },
    /// Wine replaced Windows.
    Wine { version: String },
    /// The program was built without optimisation.
    DebugBuild,
    /// The clock was read within timed batches.
    InlineLatency,
}

impl Finding {
    /// Whether there is nothing to do about it: the figures hold, and the reader should only know.
    pub fn is_note(&self) -> bool {
        match self {
            Self::TwoModes { free, .. } | Self::BelowFloor { free, .. } => !free,
            Self::FixedWait { held_back, .. } => !held_back,
            _ => false,
        }
    }

    /// The code and the text of the document.
    pub fn warning(&self) -> Warning {
        let (code, message) = match self {
            Self::Interrupted { epochs } => (
                "interrupted",
                format!("the run was interrupted; the results use its {epochs} complete epochs"),
            ),
            Self::Suspended { cell, epoch, batches } => (
                "suspended",
                format!(
                    "the machine was suspended, or the program stopped, during {batches} {}, first for {cell} in epoch {epoch}; discarded and measured again; keep the machine awake",
                    if *batches == 1 { "batch" } else { "batches" }
                ),
            ),
            Self::Unresolved { open, of, budget, mixed } => (
                "unresolved",
                format!(
                    "{open} of {of} questions are still open after {}; {}",
                    duration_text(*budget),
                    if *mixed {
                        "--placement together,apart separates the two modes and narrows the intervals most; a larger --budget helps, too"
                    } else {
                        "a larger --budget narrows the intervals"
                    }
                ),
            ),
            Self::NoIntervals { epochs, needed } => (
                "no-intervals",
                format!(
                    "{epochs} epochs are too few for an interval, which takes {needed}; give a larger --budget"
                ),
            ),
            Self::Unavailable { cell, reason } => {
                ("unavailable", format!("{cell} cannot be measured here: {reason}"))
            }
            Self::TwoModes { cell, modes: [low, high], differs, free } => (
                "two-modes",
                format!(
                    "{cell} has two modes: {} in {:.0} % of its epochs, {} in {:.0} %{}{}",
                    nanoseconds(low.wall_ns_per_op),
                    low.share * 100.0,
                    nanoseconds(high.wall_ns_per_op),
                    high.share * 100.0,
                    if differs.is_empty() {
                        String::new()
                    } else {
                        format!("; the first has {}", differs.join(" and "))
                    },
                    if *free {
                        "; the scheduler may run the pair on one core or on two: compare with --placement together,apart"
                    } else {
                        ""
                    }
                ),
            ),
            Self::BufferLayout { cell, effect } => {
                let words = layout_effect::words(effect);
                (words.code, format!("{cell} {}", words.sentence()))
            }
            Self::Clamped { cell, option, asked, became } => (
                "clamped-option",
                format!(
                    "{cell}: the kernel set {option} to {} instead of {}",
                    size_text(*became),
                    size_text(*asked)
                ),
            ),
            Self::BacklogFull { cell, retries } => (
                "backlog-full",
                format!(
                    "{cell}: the listener's queue was full {retries} times and the client retried; raise option backlog or net.core.somaxconn"
                ),
            ),
            Self::Troubled { cell, counters } => (
                "connection-trouble",
                format!(
                    "{cell}: the kernel dropped or retransmitted segments ({counters}), and a dropped SYN costs a second; raise option backlog or net.core.somaxconn"
                ),
            ),
            Self::FixedWait { cell, wait_ns, held_back } => (
                "fixed-wait",
                format!(
                    "{cell}: every burst takes {} on top of its operations, whatever their number; the cost does not include it{}",
                    nanoseconds(*wait_ns),
                    if *held_back {
                        ": Nagle's algorithm holds the last segment until the other side sends its delayed acknowledgement; for short bursts, set tcp_nodelay=true"
                    } else {
                        ""
                    }
                ),
            ),
            Self::BelowFloor { cell, multiple, free } => (
                "below-floor",
                format!(
                    "{cell} costs {multiple:.2} × its floor: its processes hand over faster than two that wait on a futex{}",
                    if *free {
                        ", most likely because the scheduler places them differently; compare with --placement together,apart"
                    } else {
                        ", so read the multiple as a comparison with a futex, not as the distance from a minimum"
                    }
                ),
            ),
            Self::Steal { share } => said(&causes::steal(*share)),
            Self::Correlated { a, b, correlation, others } => (
                "correlated-epochs",
                format!(
                    "the ratio of {a} to {b}{} changed during the run (neighbouring epochs correlate, {correlation:.2}); its interval is wider as a result and describes this run more than the machine; find out what changes, or measure longer",
                    and_others(*others)
                ),
            ),
            Self::Drift { cell, ratio, others } => (
                "drift",
                format!(
                    "the cost of {cell}{} {} from the first third of the run to the last; ratios are taken within rounds and hold, but single costs do not: let the machine settle, and measure again",
                    and_others(*others),
                    moved(*ratio)
                ),
            ),
            Self::CarryOver { cell, ratio } => (
                "carry-over",
                format!(
                    "cells measured right after {cell} cost {}: it leaves something behind; the random order spreads that over all cells, but measure {cell} in a run of its own",
                    dearer(*ratio)
                ),
            ),
            Self::Preempted { cell, ratio } => (
                "involuntary-switches",
                format!(
                    "{cell} costs {} in batches with more involuntary switches: stop other work on these cores, or pin with --placement apart",
                    dearer(*ratio)
                ),
            ),
            Self::Neighbour { share, busiest } => {
                let Cause { code, found, advice } = causes::neighbour(*share);
                let whom = busiest.as_ref().map_or_else(
                    || "no single process most of it".to_owned(),
                    |(name, id)| causes::culprit(name, *id),
                );
                (code, format!("{found}, {whom}; {advice}"))
            }
            Self::Throttled { times, time, cores } => said(&causes::quota(*cores, *times, *time)),
            Self::Clock { quality, source } => {
                said(&causes::slow_clock(source.as_deref(), quality.read_ns, quality.step_ns))
            }
            Self::Wine { version } => said(&causes::wine(version)),
            Self::DebugBuild => said(&causes::debug_build()),
            Self::InlineLatency => (
                "inline-latency",
                "latency was sampled inside the timed batches, so every cost includes reading the clock"
                    .to_owned(),
            ),
        };
        Warning { code: code.to_owned(), message }
    }
}

fn said(cause: &Cause) -> (&'static str, String) {
    (cause.code, cause.sentence())
}

fn and_others(count: usize) -> String {
    if count == 0 { String::new() } else { format!(" (and of {count} more)") }
}

/// `rose by 12 %`.
fn moved(ratio: f64) -> String {
    format!("{} by {:.0} %", if ratio >= 1.0 { "rose" } else { "fell" }, percent(ratio))
}

/// `12 % more`.
fn dearer(ratio: f64) -> String {
    format!("{:.0} % {}", percent(ratio), if ratio >= 1.0 { "more" } else { "less" })
}

fn percent(ratio: f64) -> f64 {
    (ratio - 1.0).abs() * 100.0
}
