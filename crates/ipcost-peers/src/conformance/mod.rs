//! The suite that every peer passes.
//!
//! It plays golden transcripts (`conformance/*.jsonl`: what the engine says, and what a peer must answer) over
//! every transport and in every pattern that the peer offers, with itself and with the native peer on the
//! other side. Then it takes the place of the other side itself, over a real socket, and sends bytes one by
//! one, wrong bytes, and too few.

mod case;
mod matching;
mod partner;
mod process;
mod setup;
mod transcript;

use std::fmt;

use ipcost_sys::interrupt::Interrupt;

use setup::Setup;

/// A peer to be examined.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// How to start it.
    pub command: Vec<String>,
    /// Whether its two sides understand each other only.
    pub own_wire: bool,
    /// The one size and reply that it can carry, where it cannot carry others.
    pub only: Option<(u64, u64)>,
}

/// What came of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It holds.
    Passed,
    /// It does not, and why.
    Failed(String),
    /// It does not apply, and why.
    Skipped(String),
}

/// A check that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Which.
    pub name: String,
    /// What came of it.
    pub finding: Finding,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.finding {
            Finding::Passed => write!(f, "passed   {}", self.name),
            Finding::Failed(why) => write!(f, "FAILED   {}: {why}", self.name),
            Finding::Skipped(why) => write!(f, "skipped  {}: {why}", self.name),
        }
    }
}

/// Why the suite could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The program was asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A system call failed.
    #[error(transparent)]
    System(#[from] ipcost_sys::SysError),
}

/// Examines a peer, with `native` as the command of the native one; `each` hears every check as it is made.
/// Only checks whose name contains `only` are made, besides the first, which is that it introduces itself.
///
/// # Errors
/// Where the suite itself could not be carried out.
pub fn examine(
    subject: &Subject,
    native: &[String],
    only: &str,
    interrupt: &Interrupt,
    each: &mut dyn FnMut(&Check),
) -> Result<Vec<Check>, SuiteError> {
    let mut checks = Vec::new();
    let mut note = |name: String, finding: Finding| {
        let check = Check { name, finding };
        each(&check);
        checks.push(check);
        if interrupt.asked() { Err(SuiteError::Interrupted) } else { Ok(()) }
    };
    let setup = match Setup::meet(subject, native, interrupt)? {
        Ok(setup) => setup,
        Err(why) => {
            note("hello".to_owned(), Finding::Failed(why))?;
            return Ok(checks);
        }
    };
    note("hello".to_owned(), Finding::Passed)?;
    for (name, text) in transcript::ALL {
        let transcript = transcript::parse(text).expect("transcripts are under test");
        match case::cases(&transcript, &setup) {
            Ok(cases) => {
                let named = cases.into_iter().map(|case| (format!("{name}{case}"), case));
                for (name, case) in named.filter(|(name, _)| name.contains(only)) {
                    note(name, case.play(&transcript, &setup))?;
                }
            }
            Err(why) if name.contains(only) => note((*name).to_owned(), Finding::Skipped(why))?,
            Err(_) => {}
        }
    }
    let visits = partner::visits(&setup).into_iter().map(|visit| (visit.to_string(), visit));
    for (name, visit) in visits.filter(|(name, _)| name.contains(only)) {
        note(name, visit.carry_out(&setup))?;
    }
    Ok(checks)
}
