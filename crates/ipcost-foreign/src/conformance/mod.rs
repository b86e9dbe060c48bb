//! The suite that every peer passes.
//!
//! It plays golden transcripts (`conformance/*.jsonl`: the engine's messages, and a peer's required answers) over
//! every transport and in every pattern that the peer offers, with the peer and with the native peer on the other
//! side. Then the suite itself takes the other side, over a real socket, and sends bytes one by one, wrong bytes, and
//! too few.

mod case;
mod matching;
mod partner;
mod process;
mod setup;
mod transcript;

use std::fmt;
use std::process::ExitStatus;

use ipcost_model::MessageError;
use ipcost_model::protocol::PROTOCOL;
use ipcost_sys::SysError;
use ipcost_sys::interrupt::Interrupt;
use serde_json::Value;

use self::process::{ANSWER, LEAVE};
use self::setup::Setup;

/// A peer to examine.
#[derive(Debug, Clone)]
pub struct ExaminedPeer {
    pub name: String,
    pub command: Vec<String>,
    /// Whether its two sides understand only each other.
    pub own_wire: bool,
    /// The only size and reply it can carry, if it is limited to one.
    pub only: Option<(u64, u64)>,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConformanceFinding {
    Passed,
    /// It failed, and why.
    Failed(String),
    /// It does not apply, and why.
    Skipped(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConformanceCheck {
    pub name: String,
    pub finding: ConformanceFinding,
}

impl fmt::Display for ConformanceCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.finding {
            ConformanceFinding::Passed => write!(f, "passed   {}", self.name),
            ConformanceFinding::Failed(why) => write!(f, "FAILED   {}: {why}", self.name),
            ConformanceFinding::Skipped(why) => write!(f, "skipped  {}: {why}", self.name),
        }
    }
}

/// Why the suite could not run.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The program was asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A system call failed.
    #[error(transparent)]
    System(#[from] SysError),
}

/// Why a check does not pass: what the peer does wrong, worded to follow its name, or what it lacks.
#[derive(Debug, thiserror::Error)]
enum CheckError {
    #[error("{0}")]
    Wrong(&'static str),
    /// The peer's own words for what it does not take.
    #[error("refuses: {0}")]
    Refused(String),
    #[error("its hello does not list the option {0}")]
    Unlisted(&'static str),
    #[error("has no {0} in its hello")]
    Incomplete(&'static str),
    #[error("speaks version {0} of the protocol, and this is {PROTOCOL}")]
    Version(u32),
    #[error("sent {0} instead of hello")]
    NotHello(Value),
    #[error("should send {kind}, not {message}")]
    OutOfTurn { kind: &'static str, message: Value },
    #[error("should send {expected}, but sends {message} ({why})")]
    Differs { expected: Value, message: Value, why: String },
    #[error("{error}: {line}")]
    Message { error: MessageError, line: String },
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("does not answer within {} s", ANSWER.as_secs())]
    Silent,
    #[error("is still there after {} s", LEAVE.as_secs())]
    Stays,
    #[error("has left with {status}{complaint}")]
    Left { status: String, complaint: String },
    #[error("left with {0} instead of 0")]
    Status(ExitStatus),
    #[error("has left processes behind: {0}")]
    Leftovers(String),
    #[error("sent more than it was asked for: {0}")]
    Unasked(String),
    #[error("says that its last send returned after {sent} ns of {wall}")]
    LateSend { sent: u64, wall: u64 },
    #[error(
        "reports {count} latencies, and may report {most}: those after the first tenth of each worker's operations"
    )]
    ManyLatencies { count: usize, most: u64 },
    #[error(transparent)]
    System(#[from] SysError),
}

impl From<&'static str> for CheckError {
    fn from(wrong: &'static str) -> Self {
        Self::Wrong(wrong)
    }
}

/// Examines a peer, with `native` as the command of the native one; reports every check to `each`. Runs only checks
/// whose name contains `only`, and always the first, which is that the peer introduces itself.
pub fn examine(
    subject: &ExaminedPeer,
    native: &[String],
    only: &str,
    interrupt: &Interrupt,
    each: &mut dyn FnMut(&ConformanceCheck),
) -> Result<Vec<ConformanceCheck>, SuiteError> {
    let mut checks = Vec::new();
    let mut note = |name: String, finding: ConformanceFinding| {
        let check = ConformanceCheck { name, finding };
        each(&check);
        checks.push(check);
        if interrupt.asked() { Err(SuiteError::Interrupted) } else { Ok(()) }
    };
    let setup = match Setup::meet(subject, native, interrupt)? {
        Ok(setup) => setup,
        Err(why) => {
            note("hello".to_owned(), ConformanceFinding::Failed(why.to_string()))?;
            return Ok(checks);
        }
    };
    note("hello".to_owned(), ConformanceFinding::Passed)?;
    for (name, text) in transcript::ALL {
        let transcript = transcript::parse(text).expect("transcripts are under test");
        match case::cases(&transcript, &setup) {
            Ok(cases) => {
                let named = cases.into_iter().map(|case| (format!("{name}{case}"), case));
                for (name, case) in named.filter(|(name, _)| name.contains(only)) {
                    note(name, case.play(&transcript, &setup))?;
                }
            }
            Err(why) if name.contains(only) => {
                note((*name).to_owned(), ConformanceFinding::Skipped(why.to_string()))?;
            }
            Err(_) => {}
        }
    }
    let visits = partner::visits(&setup).into_iter().map(|visit| (visit.to_string(), visit));
    for (name, visit) in visits.filter(|(name, _)| name.contains(only)) {
        note(name, visit.carry_out(&setup))?;
    }
    Ok(checks)
}
