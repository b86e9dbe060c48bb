//! What a run says of a project's claims, on a terminal.

use anstyle::Style;
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::words::escaped;
use ipcost_report::wrap::wrapped;

use crate::check::{CheckedClaim, View};
use crate::claims::ClaimVerdict;
use crate::claims::words::{advice, bounds, claimed, place, style, summary, telling, text, value};

const DIMMED: Style = Style::new().dimmed();
/// So many hosts of a fleet are shown of a claim, besides the one that says most.
const MOST_HOSTS: usize = 5;

const COLUMNS: [Column; 5] = [
    Column::new("", false, 0),
    Column::new("measured", true, 0),
    Column::new("", false, 0),
    Column::new("claimed", false, 0),
    Column::new("claim", false, 0),
];

/// Draws what was decided in `room` columns of text: a line a claim, what to do about those that do not hold, and
/// the sum.
pub fn render(check: &View<'_>, room: usize) -> String {
    let mut grid = Grid::new(&COLUMNS);
    for claim in check.claims {
        rows(&mut grid, claim);
    }
    let mut out = String::new();
    grid.render(&mut out, room);
    let advices: Vec<String> = check
        .claims
        .iter()
        .filter_map(|claim| Some(format!("{}:{}: {}", check.file, claim.line, advice(claim)?)))
        .collect();
    if !advices.is_empty() {
        out.push('\n');
    }
    for advice in advices {
        out.push_str(&format!("{}\n", wrapped(&escaped(&advice), room)));
    }
    out.push_str(&format!("\n{}\n", wrapped(&summary(check.claims), room)));
    out.push_str(&format!("{DIMMED}{}{DIMMED:#}\n", wrapped(&check.how, room)));
    out
}

fn rows(grid: &mut Grid, claim: &CheckedClaim) {
    let Some(test) = telling(claim) else { return };
    let word = Piece::styled(claim.word.name(), style(claim.word));
    let text = escaped(&text(claim));
    grid.row(vec![word, value(test).into(), bounds(test).into(), claimed(test).into(), text.into()]);
    let rest = claim.tests.iter().filter(|other| {
        (&other.host, &other.cell) != (&test.host, &test.cell) && other.word != ClaimVerdict::Holds
    });
    // A fleet may have thousands of hosts.
    let most = if test.host.is_some() { MOST_HOSTS } else { usize::MAX };
    let left = rest.clone().count().saturating_sub(most);
    for other in rest.take(most) {
        let word = Piece::styled(format!("  {}", other.word.name()), style(other.word));
        let cell = Piece::styled(format!("  {}", escaped(&place(other))), DIMMED);
        grid.row(vec![word, value(other).into(), bounds(other).into(), claimed(other).into(), cell]);
    }
    if left > 0 {
        let more = Piece::styled(format!("  … and {left} more hosts; --json has all"), DIMMED);
        grid.row(vec![Piece::default(), Piece::default(), Piece::default(), Piece::default(), more]);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use ipcost_model::{Envelope, Host, Stopped, Tool};
    use ipcost_report::fixture;

    use super::*;
    use crate::check::{BetweenRuns, CHECK_SCHEMA, Check, CheckedTest, ClaimMetric, Level};
    use crate::compare::SpreadSource;

    pub(crate) fn test(value: f64, spread: f64, at_most: f64, word: ClaimVerdict) -> CheckedTest {
        CheckedTest {
            host: None,
            cell: "rr/unix/64/c1".into(),
            against: Some("rr/tcp/64/c1".into()),
            baseline: None,
            between_runs: None,
            level: Level::Cell,
            metric: ClaimMetric::Wall,
            value: Some(value),
            lo: Some(value / spread),
            hi: Some(value * spread),
            at_most: Some(at_most),
            at_least: None,
            word,
            reason: None,
            likely_budget_s: None,
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
            envelope: Envelope {
                schema: CHECK_SCHEMA.into(),
                tool: Tool::of_version("0"),
                host: Host::default(),
                started: "2026-01-01T00:00:00Z".into(),
            },
            file: "claims.toml".into(),
            elapsed_s: 12.3,
            stopped: Stopped::Budget,
            alpha: 0.05,
            alpha_each: 0.0125,
            epochs: 31,
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
            document: fixture::document(),
        }
    }

    #[test]
    fn a_line_a_claim_then_what_to_do_then_the_sum() {
        let shown = render(&fixture().view(), usize::MAX);
        insta::assert_snapshot!(anstream::adapter::strip_str(&shown).to_string());
    }
}
