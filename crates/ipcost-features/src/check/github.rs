//! What a run says of a project's claims, for GitHub Actions: annotations at the claims' lines.

use crate::check::words::{advice, text};
use crate::check::{CheckedClaim, View};
use ipcost_model::ClaimVerdict;

/// Workflow commands, one a line: an error for a claim that fails, a warning for an open one. `file` is the path of
/// the file of claims from the root of the repository.
pub fn annotations(check: &View<'_>, file: &str) -> String {
    let line = |claim: &CheckedClaim| {
        let level = match claim.word {
            ClaimVerdict::Holds => return None,
            ClaimVerdict::Fails | ClaimVerdict::Depends => "error",
            ClaimVerdict::NoDifference | ClaimVerdict::Open | ClaimVerdict::NotTested => "warning",
        };
        let title = format!("claim {}", claim.word.name());
        let message = format!("{}\n{}", text(claim), advice(claim).unwrap_or_default());
        Some(format!(
            "::{level} file={},line={},title={}::{}\n",
            property(file),
            claim.line,
            property(&title),
            data(&message)
        ))
    };
    check.claims.iter().filter_map(line).collect()
}

/// The message of a workflow command.
fn data(raw: &str) -> String {
    raw.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command.
fn property(raw: &str) -> String {
    data(raw).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::page::tests::fixture;

    #[test]
    fn annotations_point_at_the_claims_and_are_escaped() {
        let mut check = fixture();
        check.claims[1].text = "100 %\r\nof p99: a, b".into();
        let shown =
            annotations(&check.view(&ipcost_report::fixture::document()), "bench/odd, name: 100%.toml");
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 5, "every claim but the one that holds: {shown}");
        assert!(
            lines[0].starts_with(
                "::error file=bench/odd%2C name%3A 100%25.toml,line=9,title=claim fails::100 %25%0D%0Aof p99: a, b%0A"
            ),
            "{}",
            lines[0]
        );
        assert!(lines[1].starts_with("::warning file="), "{}", lines[1]);
    }
}
