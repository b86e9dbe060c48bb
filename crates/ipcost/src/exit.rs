//! Exit statuses, and errors as the user sees them.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use ipcost_lab::{EngineError, LabError};
use ipcost_model::escaped_lines;
use ipcost_report::wrap::wrapped_under;

use crate::output::{print_error, room_on_standard_error};

pub const FAILED: u8 = 1;
/// The command line or a job is wrong; nothing was measured.
pub const USAGE: u8 = 2;
/// A question that was asked could not be answered.
pub const UNDECIDED: u8 = 3;
/// The user or the system asked to stop.
pub const INTERRUPTED: u8 = 130;

/// Why a command did not do what it was asked for.
#[derive(Debug)]
pub struct Problem {
    status: u8,
    error: anyhow::Error,
}

impl Problem {
    /// The command line or a job is wrong.
    pub fn usage(error: anyhow::Error) -> Self {
        Self { status: USAGE, error }
    }

    /// The user or the system asked to stop before there was anything to show.
    pub fn interrupted() -> Self {
        Self { status: INTERRUPTED, error: anyhow::anyhow!("interrupted; nothing was measured") }
    }

    pub fn failed(error: anyhow::Error) -> Self {
        Self { status: FAILED, error }
    }

    pub fn print(&self) {
        complain(&self.text());
    }

    pub fn text(&self) -> String {
        in_full(&self.error)
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Interrupted => Self::interrupted(),
            error if error.is_usage() => Self::usage(error.into()),
            error => Self::failed(error.into()),
        }
    }
}

impl From<LabError> for Problem {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Engine(error) => error.into(),
            LabError::Failed(_) => Self::failed(error.into()),
            error => Self::usage(error.into()),
        }
    }
}

/// The end of a command that met these problems: all but the last one are told, which is the reason for the status.
pub fn ended(mut problems: Vec<Problem>) -> Result<ExitCode, Problem> {
    let Some(last) = problems.pop() else { return Ok(ExitCode::SUCCESS) };
    problems.iter().for_each(Problem::print);
    Err(last)
}

/// Tells standard error, and gives the status to exit with.
pub fn report(problem: &Problem) -> ExitCode {
    problem.print();
    ExitCode::from(problem.status)
}

/// An error with its causes, each said once: some errors name their cause themselves.
fn in_full(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(&format!(": {cause}"));
        }
    }
    text
}

/// Tells standard error something that is worth knowing.
pub fn note(message: &str) {
    tell(anstyle::Style::new(), "note:", message);
}

/// Prints notes about builds that take time, unless quiet.
pub fn step_printer(quiet: bool) -> impl FnMut(&str) {
    move |what| {
        if !quiet {
            note(what);
        }
    }
}

/// Writes a warning the way all warnings look.
pub fn warn(message: &str) {
    let style = anstyle::AnsiColor::Yellow.on_default();
    tell(style, "warning:", message);
}

/// Writes an error the way all errors look.
pub fn complain(message: &str) {
    let style = anstyle::Style::new().bold().fg_color(Some(anstyle::AnsiColor::Red.into()));
    tell(style, "error:", message);
}

/// Writes a line that begins so; on a terminal it is broken between words, and what follows stands under what came first.
fn tell(style: anstyle::Style, begin: &str, message: &str) {
    let line = format!("{begin} {}", escaped_lines(message));
    let line =
        if io::stderr().is_terminal() { wrapped_under(&line, room_on_standard_error(), "  ") } else { line };
    let rest = line.strip_prefix(begin).unwrap_or(&line);
    print_error(&format!("{style}{begin}{style:#}{rest}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let source = || std::io::Error::other("no room");
        let named = ipcost_sys::SysError::Call { action: "cannot write x".to_owned(), source: source() };
        assert_eq!(in_full(&EngineError::from(named).into()), "cannot write x: no room");
        let unnamed = anyhow::Error::from(source()).context("cannot write x");
        assert_eq!(in_full(&unnamed), "cannot write x: no room");
    }
}
