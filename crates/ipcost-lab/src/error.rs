//! Errors while measuring.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use ipcost_model::protocol::{LatencyKind, OPERATIONS, OPERATIONS_NS, PROTOCOL, PeerRole};
use ipcost_model::units::{counted, rate_text};
use ipcost_sys::SysError;
use ipcost_sys::limits::shortage;

/// Why a run could not continue. The text names the cell, the peer and the fix, in one line; the peer's standard
/// error follows on separate lines.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The program was asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A peer's program cannot be started.
    #[error(
        "peer \"{name}\" cannot be started: {command}: {source}; {}",
        shortage(.source).unwrap_or("check the command given for it")
    )]
    PeerStart { name: String, command: String, source: io::Error },
    /// A peer cannot do what the job requires, or is not a peer; found before measuring.
    #[error("peer \"{name}\" {reason}{}", complaint_text(.complaint))]
    PeerUnfit {
        name: String,
        /// The problem and the fix.
        reason: String,
        complaint: String,
    },
    /// A peer failed in its role.
    #[error("{who} {reason}{}", complaint_text(.complaint))]
    PeerFailed {
        /// Role, peer, cell and epoch.
        who: String,
        reason: String,
        complaint: String,
    },
    /// A transport could not be set up.
    #[error("{cell}: {source}")]
    Provision { cell: String, source: SysError },
    /// A cell's processes cannot be placed as requested.
    #[error("{cell}: {source}")]
    Placement { cell: String, source: SysError },
    /// No cell of a table carries the offered rate; found before measuring.
    #[error(
        "a rate of {} is beyond what {} carries here: back to back the fastest, {label}, does {}; give a rate of at most {}, or more connections (--concurrency)",
        rate_text(*.per_s), counted(*.concurrency, "connection"), rate_text(rounded(*.most)), rate_text(rounded(*.most * MOST_LOAD))
    )]
    RateTooHigh {
        /// The rate, operations a second.
        per_s: u64,
        /// What the fastest does back to back.
        most: f64,
        label: String,
        /// How many connections it has.
        concurrency: u32,
    },
    /// A command of an arm failed, or changed nothing; found before an epoch.
    #[error("arm {arm}: {command}: {reason}{}", complaint_text(.complaint))]
    Arm {
        arm: &'static str,
        command: String,
        /// What is wrong, and the fix.
        reason: String,
        complaint: String,
    },
    /// The machine may not be changed now; with the reason, and what to do.
    #[error("{0}")]
    Changing(&'static str),
    #[error("another run changes this machine ({0}); wait until it ends (--wait does)")]
    Held(String),
    #[error(
        "a run that was killed has changed this machine, and that is not undone; ipcost doctor says how. Then remove {}",
        journal.display()
    )]
    NotUndone { journal: PathBuf },
    /// The machine is not as it was before the run.
    #[error("THE MACHINE WAS NOT PUT BACK: {reason}; do it by hand: {remedy}")]
    NotRestored { reason: String, remedy: String },
    /// The machine did not stay awake.
    #[error(
        "the machine was suspended, or this program stopped, in {times} batches running; measure while it stays awake"
    )]
    Suspended { times: usize },
    /// A system call failed.
    #[error(transparent)]
    System(#[from] SysError),
}

impl EngineError {
    /// Whether the job itself is at fault, so that the same command would fail again before measuring.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::PeerStart { source, .. } => shortage(source).is_none(),
            Self::PeerUnfit { .. } | Self::Placement { .. } | Self::RateTooHigh { .. } => true,
            // As a rule in the very first epoch.
            Self::Arm { .. } | Self::Changing(_) | Self::Held(_) | Self::NotUndone { .. } => true,
            Self::Provision { source, .. } => {
                !matches!(source, SysError::Call { .. } | SysError::Address { .. })
            }
            _ => false,
        }
    }
}

/// What is wrong with what a peer offers or claims; worded to follow its name.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PeerFault {
    #[error(
        "speaks version {0} of the control protocol, and this program speaks {PROTOCOL}; use a version of it that does"
    )]
    Version(u32),
    #[error("lacks {what}; it has {has}")]
    Lacks { what: String, has: String },
    #[error("cannot be the {role}; it can be {can}")]
    Role { role: PeerRole, can: String },
    #[error(
        "does not {what}: its hello does not list the option {option}; leave {option} out, or use another peer"
    )]
    Option { what: &'static str, option: &'static str },
    /// A claim that cannot be true.
    #[error(
        "{0}; docs/contributing/control-protocol.md says what each value means, and ipcost conformance examines the peer"
    )]
    Impossible(Box<Self>),
    #[error("answered batch {id} with {ops} operations, not batch {} with {}", .asked.0, .asked.1)]
    OtherBatch { id: u64, ops: u64, asked: (u64, u64) },
    #[error("claims that {0} operations took no time")]
    NoTime(u64),
    #[error("claims that a batch took {claimed:?}, while {passed:?} passed here")]
    TooSlow { claimed: Duration, passed: Duration },
    #[error("claims that its last send returned after {sent:?}, and the batch was over after {claimed:?}")]
    LateSend { sent: Duration, claimed: Duration },
    #[error("claims {used} for a batch, and {processors} processors had {passed:?} for it")]
    Usage { used: String, processors: u64, passed: Duration },
    #[error("sent latencies, which it was not asked for")]
    Unasked,
    #[error("sent {count} latencies of {asked} operations")]
    ManyLatencies { count: u64, asked: u64 },
    #[error(
        "sent latencies that do not fit into its batch of {claimed:?} with concurrency {concurrency}: the longest is {longest:?}"
    )]
    Latencies { claimed: Duration, concurrency: u32, longest: Duration },
    #[error(
        "did not tell the time of its operations, though its cell has a pace: measures {OPERATIONS} and {OPERATIONS_NS}"
    )]
    NoOperations,
    #[error("claims the time of {count} operations of {asked}")]
    ManyOperations { count: f64, asked: u64 },
    #[error("claims {ns} ns for its operations, which do not fit into its batch of {claimed:?}")]
    Operations { ns: f64, claimed: Duration },
    #[error("sent a histogram {kind} that {reason}")]
    Histogram { kind: LatencyKind, reason: Box<Self> },
    #[error("sent a histogram {kind} of {count} operations, and {most} were asked for")]
    LongHistogram { kind: LatencyKind, count: u64, most: u64 },
    #[error("has no header, or more than {0} significant digits")]
    Digits(u32),
    #[error("is not {format}: {error}")]
    Undecodable { format: &'static str, error: String },
    #[error("counts more than there can be")]
    Counts,
}

/// The share of what a connection does back to back that it carries with a queue that stays short.
const MOST_LOAD: f64 = 0.9;

/// A rate with two digits, rounded down.
fn rounded(per_s: f64) -> u64 {
    let unit = 10_f64.powf(per_s.max(1.0).log10().floor() - 1.0).max(1.0);
    ((per_s / unit).floor() * unit) as u64
}

/// A peer's standard error, below the error's own line.
fn complaint_text(complaint: &str) -> String {
    let lines: Vec<&str> = complaint.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(5)..];
    last.iter().map(|line| format!("\n  its standard error: {}", line.escape_debug())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_shown_in_short_and_without_control_characters() {
        let complaint = "1\n2\n3\n\n4\n5\n\u{1b}[31m6";
        let error =
            EngineError::PeerUnfit { name: "x".into(), reason: "broke".into(), complaint: complaint.into() };
        let text = error.to_string();
        assert!(text.starts_with("peer \"x\" broke\n  its standard error: 2\n"), "{text}");
        assert!(text.ends_with("\\u{1b}[31m6"), "{text}");
    }
}
