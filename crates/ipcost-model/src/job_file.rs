//! Reads job files, with errors that name the line and the column.

use thiserror::Error;

use crate::error::ModelError;
use crate::job::{Job, Matrix};
use crate::suggest::nearest;

/// Why a job file cannot be used: `line:column: what`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{line}:{column}: {message}")]
pub struct JobFileError {
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The problem and the fix, in one line.
    pub message: String,
}

/// Reads a job from the text of a TOML file.
pub fn parse_job(text: &str) -> Result<Job, JobFileError> {
    let job: Job = toml::from_str(text).map_err(|error| located(text, &error))?;
    check_requests(text, &job)?;
    Ok(job)
}

/// The text of a job's file; `None` for one that no file can hold.
pub fn job_text(job: &Job) -> Option<String> {
    toml::to_string(job).ok()
}

/// Checks that a file asks for the content of no other: [`Matrix::check_requests_of_a_file`].
pub fn check_requests(text: &str, job: &Job) -> Result<(), JobFileError> {
    let wrong = |error: ModelError| at(text, text.find("\"@").unwrap_or_default(), error.to_string());
    job.cells.iter().try_for_each(Matrix::check_requests_of_a_file).map_err(wrong)
}

/// A TOML error with its position in the text.
pub fn located(text: &str, error: &toml::de::Error) -> JobFileError {
    let offset = error.span().map_or(0, |span| span.start);
    at(text, offset, with_suggestion(error.message()))
}

/// An error at a byte offset in the text.
pub fn at(text: &str, offset: usize, message: String) -> JobFileError {
    let (line, column) = place(text, offset);
    JobFileError { line, column, message }
}

/// The line and column of an offset, both from 1.
pub fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// Adds the nearest known key to serde's message for an unknown one.
fn with_suggestion(message: &str) -> String {
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(rest) = message.strip_prefix("unknown field `") else { return message };
    let mut names = rest.split('`').step_by(2);
    let Some(name) = names.next() else { return message };
    let known: Vec<&str> = names.collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("unknown key \"{name}\"; did you mean \"{near}\"?"),
        None => format!("unknown key \"{name}\" (known: {})", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::cell::Pattern;
    use crate::options::{OptionName, OptionValue};

    const GOOD: &str = r#"
baseline = "tcp"
budget = "30s"
margin = "2%"
[[cells]]
pattern = "rr"
transport = ["unix", "tcp"]
size = [64, "4KiB"]
[cells.options]
so_sndbuf = [65536, "128KiB"]
[[cells]]
label = "my server"
pattern = "rr"
transport = "unix"
size = 64
server = "mine"
[peers.mine]
command = ["./my-peer", "--fast"]
"#;

    #[test]
    fn a_file_sends_the_content_of_no_other() {
        let error = parse_job("[[cells]]\ntransport = \"tcp\"\nrequest = \"@/etc/passwd\"\n").unwrap_err();
        assert_eq!((error.line, error.column), (3, 11));
        assert!(error.message.contains("only a command line"), "{error}");
    }

    #[test]
    fn reads_what_the_documentation_shows() {
        let job = parse_job(GOOD).unwrap();
        assert_eq!(job.baseline.as_deref(), Some("tcp"));
        assert_eq!(job.budget, Some(Duration::from_secs(30)));
        assert_eq!(job.margin, Some(0.02));
        assert_eq!(job.cells.len(), 2);
        assert_eq!(job.cells[0].pattern.0, [Pattern::Rr]);
        assert_eq!(job.cells[0].size.0.iter().map(|size| size.0).collect::<Vec<_>>(), [64, 4096]);
        let values = &job.cells[0].options.0[&OptionName::find("so_sndbuf").unwrap()];
        assert_eq!(values, &[OptionValue::Int(65_536), OptionValue::Int(131_072)]);
        assert_eq!(job.peers["mine"].command, ["./my-peer", "--fast"]);
    }

    #[test]
    fn a_job_written_out_reads_back() {
        let job = parse_job(GOOD).unwrap();
        let text = serde_json::to_string(&job).unwrap();
        assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job);
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        assert_eq!(parse_job(text).unwrap_err().to_string(), expected);
    }

    #[test]
    fn errors_name_the_place_and_the_way_out() {
        refused("budgte = 3", "1:1: unknown key \"budgte\"; did you mean \"budget\"?");
        refused(
            "[[cells]]\nsize = true",
            "2:8: invalid type: boolean `true`, expected a size such as 64 or \"16KiB\"",
        );
        refused(
            "[[cells]]\nsize = [64, true]",
            "2:13: invalid type: boolean `true`, expected a size such as 64 or \"16KiB\"",
        );
        refused("[[cells]]\nsize = -1", "2:8: a size cannot be -1");
        refused("[[cells]]\ntransport = []", "2:13: the list is empty; give at least one value");
        refused(
            "[[cells]]\npattern = \"strem\"",
            "2:11: unknown pattern \"strem\"; did you mean \"stream\"? (known: connect, rr, stream, floor)",
        );
        refused(
            "[[cells]]\noptions = { tcp_nodelay = 3 }",
            "2:27: option tcp_nodelay takes true or false, not \"3\"",
        );
        refused("[[cells]]\nconcurrency = \"x\"", "2:15: invalid type: string \"x\", expected u32");
        refused(
            "margin = \"200%\"",
            "1:10: \"200%\" is not a proportion; write it as 2% or 0.02, from 0 to below 100%",
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,200}") {
            let _ = parse_job(&text);
        }
    }
}
