//! Known vulnerabilities of dependencies, if their database is available; a release takes the newest.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::shell::{run, succeeds};

/// Where cargo-deny takes the database from.
const DATABASE: &str = "https://github.com/rustsec/advisory-db";

/// The availability of the database.
#[derive(Debug, PartialEq, Eq)]
enum AdvisorySource {
    /// It answers; use the newest version.
    Network,
    /// It does not answer; use the local copy.
    Kept,
    /// It does not answer, and there is no local copy.
    Nowhere,
}

/// Checks the dependencies; whether that was possible.
pub fn check() -> Result<bool> {
    let check = ["cargo", "deny", "--log-level", "error", "check"];
    match source(answers(), kept()) {
        AdvisorySource::Network => run(&[&check[..], &["advisories"]].concat())?,
        AdvisorySource::Kept => {
            eprintln!(
                "xtask: {DATABASE} does not answer; known vulnerabilities are looked up in the local copy"
            );
            run(&["cargo", "deny", "--offline", "--log-level", "error", "check", "advisories"])?;
        }
        AdvisorySource::Nowhere => return Ok(false),
    }
    Ok(true)
}

/// Checks the dependencies against the newest database, as a release must.
pub fn require() -> Result<()> {
    ensure!(
        answers(),
        "{DATABASE} does not answer, so that nothing is known of the dependencies' vulnerabilities"
    );
    check().map(drop)
}

fn source(answers: bool, kept: bool) -> AdvisorySource {
    match (answers, kept) {
        (true, _) => AdvisorySource::Network,
        (false, true) => AdvisorySource::Kept,
        (false, false) => AdvisorySource::Nowhere,
    }
}

/// Without a terminal, so that git asks for no password; with a timeout, for networks that swallow packets.
fn answers() -> bool {
    succeeds(&["timeout", "20", "git", "-c", "core.askPass=true", "ls-remote", "--quiet", DATABASE, "HEAD"])
}

/// Whether cargo-deny has a copy.
fn kept() -> bool {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let copies = home.and_then(|home| std::fs::read_dir(home.join("advisory-dbs")).ok());
    // A lock is there, too, and remains of a failed fetch.
    copies
        .is_some_and(|mut copies| copies.any(|copy| copy.is_ok_and(|copy| copy.path().join(".git").is_dir())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_taken_and_a_lack_is_no_pass() {
        assert_eq!(
            (source(true, true), source(true, false)),
            (AdvisorySource::Network, AdvisorySource::Network)
        );
        assert_eq!(
            (source(false, true), source(false, false)),
            (AdvisorySource::Kept, AdvisorySource::Nowhere)
        );
    }
}
