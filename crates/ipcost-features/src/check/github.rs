//! What a run says of a project's claims, for GitHub Actions: annotations at the claims' lines, and a summary in
//! Markdown.

use ipcost_report::words::escaped;

use crate::check::{CheckedClaim, View};
use crate::claims::ClaimVerdict;
use crate::claims::words::{advice, bounds, claimed, summary, telling, text, value};

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

/// The summary of a step: a table, and what to do about claims that do not hold.
pub fn step_summary(check: &View<'_>) -> String {
    let mut out = format!(
        "### {}\n\n| | claim | measured | claimed |\n|---|---|---|---|\n",
        plain(&summary(check.claims))
    );
    for claim in check.claims {
        let Some(test) = telling(claim) else { continue };
        let word = match claim.word {
            ClaimVerdict::Holds => ClaimVerdict::Holds.name().to_owned(),
            word => format!("**{}**", word.name()),
        };
        let claimed = claimed(test);
        let measured = [value(test), bounds(test)].join(" ");
        out.push_str(&format!(
            "| {word} | {} | {} | {} |\n",
            plain(&text(claim)),
            plain(measured.trim_end()),
            plain(&claimed)
        ));
    }
    let advices = check.claims.iter().filter_map(|claim| Some((claim.line, advice(claim)?)));
    let advices: Vec<String> = advices
        .map(|(line, advice)| format!("- {}:{line}: {}\n", plain(check.file), plain(&advice)))
        .collect();
    if !advices.is_empty() {
        out.push_str(&format!("\n{}", advices.concat()));
    }
    out.push_str(&format!("\n{}\n", plain(&check.how)));
    out
}

/// Text of which Markdown makes nothing else, on one line.
fn plain(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in escaped(raw).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '#' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::words::tests::fixture;

    #[test]
    fn annotations_point_at_the_claims_and_are_escaped() {
        let mut check = fixture();
        check.claims[1].text = "100 %\r\nof p99: a, b".into();
        let shown = annotations(&check.view(), "bench/odd, name: 100%.toml");
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

    #[test]
    fn the_summary_is_a_table_that_nothing_breaks() {
        let shown = step_summary(&fixture().view());
        insta::assert_snapshot!(shown);
        let rows = shown.lines().filter(|line| line.starts_with('|'));
        assert!(rows.map(|row| row.replace("\\|", "").matches('|').count()).all(|bars| bars == 5), "{shown}");
    }
}
