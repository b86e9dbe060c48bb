//! What a run says of a project's claims, as a page.

use ipcost_model::{Document, Warning};
use ipcost_report::page::{Block, ClaimBlock, Column, Field, FieldValue, Page, Paragraph, Table, Tone};

use crate::answer::Answer;
use crate::check::words::{deciding_test, figures, line, place, summary, text};
use crate::check::{Check, CheckedClaim, CheckedTest, View};
use ipcost_model::ClaimVerdict;

/// So many hosts of a fleet are shown of a claim, besides the one that says most.
const MOST_HOSTS: usize = 5;

/// The page: the claims with what to do about those that do not hold, and the sum.
pub fn page<'a>(check: &View<'a>) -> Page<'a> {
    let mut page = Page::new(format!("Claims of {}", check.file));
    page.answer.push(Paragraph { text: summary(check.claims), tone: Tone::Strong }.into());
    page.blocks.extend(check.claims.iter().filter_map(|claim| of_claim(check, claim)));
    page.notes.push(Paragraph::quiet(check.how.clone()).into());
    page.data = Some(data(check));
    page
}

/// Warnings that speak of the document's contrasts, where claims are what was asked.
const NOT_OF_CLAIMS: [&str; 2] = ["unresolved", "no-intervals"];

impl Answer for Check {
    fn page<'a>(&'a self, document: &'a Document) -> Page<'a> {
        page(&self.view(document))
    }

    fn has_own_data(&self) -> bool {
        true
    }

    fn warnings(&self, document: &Document) -> Vec<Warning> {
        let of_claims = |warning: &&Warning| !NOT_OF_CLAIMS.contains(&warning.code.as_str());
        document.warnings.iter().filter(of_claims).cloned().collect()
    }
}

fn of_claim<'a>(check: &View<'_>, claim: &CheckedClaim) -> Option<Block<'a>> {
    let test = deciding_test(claim)?;
    let rest = claim.tests.iter().filter(|other| {
        (&other.host, &other.cell) != (&test.host, &test.cell) && other.word != ClaimVerdict::Holds
    });
    // A fleet may have thousands of hosts.
    let most = if test.host.is_some() { MOST_HOSTS } else { usize::MAX };
    let left = rest.clone().count().saturating_sub(most);
    let others = rest.take(most).map(|other| format!("{}: {}: {}", place(other), other.word, figures(other)));
    let more = (left > 0).then(|| format!("… and {left} more hosts; --json has all"));
    let claim = ClaimBlock {
        text: text(claim),
        known: claim.word,
        said: line(claim, test, check.file),
        more: others.chain(more).collect(),
        unfolded: true,
    };
    Some(claim.into())
}

/// Every test of every claim, for other programs.
fn data(check: &View<'_>) -> Table {
    const COLUMNS: [Column; 13] = [
        Column::number("line"),
        Column::text("claim"),
        Column::text("verdict"),
        Column::text("host"),
        Column::text("cell"),
        Column::text("against"),
        Column::text("metric"),
        Column::number("value"),
        Column::number("value_lo"),
        Column::number("value_hi"),
        Column::number("at_least"),
        Column::number("at_most"),
        Column::text("reason"),
    ];
    let row = |claim: &CheckedClaim, test: &CheckedTest| {
        let number = |number: Option<f64>| Field::maybe(number.map(FieldValue::Number));
        let name = |name: Option<&String>| Field::maybe(name.cloned().map(FieldValue::Name));
        vec![
            FieldValue::Count(claim.line.into()).into(),
            claim.text.clone().into(),
            test.word.name().into(),
            name(test.host.as_ref()),
            name(Some(&test.cell)),
            name(test.against.as_ref().or(test.baseline.as_ref())),
            test.metric.name().into(),
            number(test.value),
            number(test.lo),
            number(test.hi),
            number(test.at_least),
            number(test.at_most),
            name(test.reason.as_ref()),
        ]
    };
    let rows = check.claims.iter().flat_map(|claim| claim.tests.iter().map(move |test| row(claim, test)));
    Table::new(&COLUMNS).rows(rows)
}

#[cfg(test)]
pub(crate) mod tests {
    use ipcost_report::fixture;

    use super::*;
    use crate::check::{BetweenRuns, CHECK_SCHEMA, Check, CheckedTest, ClaimMetric};
    use crate::compare::SpreadSource;

    pub(crate) fn test(value: f64, spread: f64, at_most: f64, word: ClaimVerdict) -> CheckedTest {
        CheckedTest {
            cell: "rr/unix/64/c1".into(),
            against: Some("rr/tcp/64/c1".into()),
            value: Some(value),
            lo: Some(value / spread),
            hi: Some(value * spread),
            at_most: Some(at_most),
            word,
            ..CheckedTest::default()
        }
    }

    pub(crate) fn claim(text: &str, line: u32, tests: Vec<CheckedTest>) -> CheckedClaim {
        CheckedClaim { text: text.into(), line, word: tests[0].word, tests }
    }

    /// A check in which everything occurs that a rendering must cope with.
    pub(crate) fn fixture() -> Check {
        let latency = |test: CheckedTest| CheckedTest { against: None, metric: ClaimMetric::P99, ..test };
        let baseline = |cell: &str, test: CheckedTest| CheckedTest {
            cell: cell.into(),
            against: None,
            baseline: Some("before.json".into()),
            between_runs: Some(BetweenRuns {
                spread: 0.05,
                source: SpreadSource::Assumed,
                open_within: 1.31,
            }),
            ..test
        };
        let open = CheckedTest { likely_budget_s: Some(41.0), ..test(0.99, 1.05, 1.0, ClaimVerdict::Open) };
        let nothing = CheckedTest {
            value: None,
            lo: None,
            hi: None,
            reason: Some("it cannot be measured here: no IPv6".into()),
            ..test(1.0, 1.0, 2.0, ClaimVerdict::Open)
        };
        Check {
            schema: CHECK_SCHEMA.into(),
            file: "claims.toml".into(),
            alpha: 0.05,
            alpha_each: 0.0125,
            word: ClaimVerdict::Fails,
            claims: vec![
                claim(
                    "unix costs < 0.9 × tcp, \"always\" & everywhere | here",
                    4,
                    vec![test(0.56, 1.1, 0.9, ClaimVerdict::Holds)],
                ),
                claim(
                    "p99 under 200 µs\u{1b}[31m",
                    9,
                    vec![latency(test(250_000.0, 1.08, 200_000.0, ClaimVerdict::Fails))],
                ),
                claim("no dearer than tcp", 14, vec![open]),
                claim("over IPv6, too", 19, vec![nothing]),
                claim("no dearer than a pipe", 21, vec![test(0.99, 1.01, 1.0, ClaimVerdict::NoDifference)]),
                claim(
                    "no more than 5 % slower",
                    24,
                    vec![
                        baseline("rr/pipe/64/c1", test(1.2, 1.03, 1.05, ClaimVerdict::Fails)),
                        baseline("rr/unix/64/c1", test(1.0, 1.02, 1.05, ClaimVerdict::Holds)),
                        baseline("rr/tcp/64/c1", test(1.02, 1.2, 1.05, ClaimVerdict::Open)),
                    ],
                ),
            ],
            warnings: Vec::new(),
        }
    }

    #[test]
    fn every_claim_has_its_figures_and_what_to_do_and_the_sum_comes_last() {
        let (check, document) = (fixture(), fixture::document());
        let view = check.view(&document);
        fixture::assert_fits(&page(&view));
        let shown = page(&view).terminal(false, 100);
        insta::assert_snapshot!("terminal", anstream::adapter::strip_str(&shown).to_string());
        insta::assert_snapshot!("markdown", page(&view).markdown());
        insta::assert_snapshot!("csv", page(&view).csv());
    }

    #[test]
    fn of_many_hosts_few_are_shown() {
        let of = |host: usize| CheckedTest {
            host: Some(format!("web{host}")),
            ..test(1.2, 1.1, 0.9, ClaimVerdict::Fails)
        };
        let mut check = fixture();
        check.claims = vec![claim("unix costs less", 1, (0..9).map(of).collect())];
        let shown = page(&check.view(&fixture::document())).terminal(false, 100);
        assert!(shown.contains("… and 3 more hosts") && !shown.contains("web6"), "{shown}");
    }
}
