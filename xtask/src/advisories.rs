//! Known vulnerabilities of dependencies: looked up where their database can be had, and said where it cannot.

use std::path::PathBuf;

use anyhow::Result;

use crate::shell::{run, succeeds};

/// Where cargo-deny takes the database from.
const DATABASE: &str = "https://github.com/rustsec/advisory-db";

/// How the database can be had.
#[derive(Debug, PartialEq, Eq)]
enum Source {
    /// It answers, so the newest is taken.
    Network,
    /// It was taken before, and does not answer now.
    Kept,
    /// Neither.
    Nowhere,
}

/// Looks the dependencies up; without a database, says that they were not.
///
/// # Errors
/// A known vulnerability, or a crate that was withdrawn.
pub fn check() -> Result<()> {
    let check = ["cargo", "deny", "--log-level", "error", "check"];
    match source(answers(), kept()) {
        Source::Network => run(&[&check[..], &["advisories"]].concat()),
        Source::Kept => {
            eprintln!(
                "xtask: {DATABASE} does not answer; known vulnerabilities are looked up in what was taken from it before"
            );
            run(&["cargo", "deny", "--offline", "--log-level", "error", "check", "advisories"])
        }
        Source::Nowhere => {
            eprintln!(
                "xtask: SKIPPED: known vulnerabilities of dependencies: {DATABASE} does not answer and is not kept; where it does: cargo deny check advisories"
            );
            Ok(())
        }
    }
}

fn source(answers: bool, kept: bool) -> Source {
    match (answers, kept) {
        (true, _) => Source::Network,
        (false, true) => Source::Kept,
        (false, false) => Source::Nowhere,
    }
}

/// Asked without a terminal, so that nobody is asked for a password; a network that swallows packets is not waited for.
fn answers() -> bool {
    succeeds(&["timeout", "20", "git", "-c", "core.askPass=true", "ls-remote", "--quiet", DATABASE, "HEAD"])
}

/// Whether cargo-deny has a copy.
fn kept() -> bool {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let copies = home.and_then(|home| std::fs::read_dir(home.join("advisory-dbs")).ok());
    // A lock lies there, too, and whatever is left of a copy that could not be fetched.
    copies
        .is_some_and(|mut copies| copies.any(|copy| copy.is_ok_and(|copy| copy.path().join(".git").is_dir())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_taken_and_a_lack_is_no_pass() {
        assert_eq!((source(true, true), source(true, false)), (Source::Network, Source::Network));
        assert_eq!((source(false, true), source(false, false)), (Source::Kept, Source::Nowhere));
    }
}
