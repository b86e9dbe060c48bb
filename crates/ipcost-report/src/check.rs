//! What a run says of a project's claims, on a terminal; and the words that every output of it shares.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use ipcost_model::Stopped;
use ipcost_model::check::{Check, CheckedClaim, CheckedTest, ClaimMetric};
use ipcost_model::replication::Word;
use ipcost_model::units::duration_text;

use crate::grid::{Column, Grid, Piece};
use crate::numbers::{interval, rate, ratio, throughput, time};
use crate::words::escaped;

/// A budget beyond this is no advice.
const LONGEST_ADVICE: Duration = Duration::from_secs(3600);
/// Narrower than this, lines are broken as if there were so many columns.
const LEAST_ROOM: usize = 40;

const DIMMED: Style = Style::new().dimmed();

const fn column(title: &'static str, right: bool) -> Column {
    Column { title, right, expendable: 0 }
}

const COLUMNS: [Column; 5] = [
    column("", false),
    column("measured", true),
    column("", false),
    column("claimed", false),
    column("claim", false),
];

/// Draws what was decided in `room` columns of text: a line a claim, what to do about those that do not hold, and
/// the sum.
pub fn render(check: &Check, room: usize) -> String {
    let mut grid = Grid::new(&COLUMNS);
    for claim in &check.claims {
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
    out.push_str(&format!("\n{}\n", wrapped(&summary(check), room)));
    out.push_str(&format!("{DIMMED}{}{DIMMED:#}\n", wrapped(&how(check), room)));
    out
}

fn rows(grid: &mut Grid, claim: &CheckedClaim) {
    let Some(test) = telling(claim) else { return };
    let word = Piece::styled(claim.word.to_string(), style(claim.word));
    let mut text = escaped(&claim.text);
    if claim.tests.len() > 1 {
        let held = claim.tests.iter().filter(|test| test.word == Word::Confirmed).count();
        text.push_str(&format!(
            " (holds of {held} of {} cells; shown: {})",
            claim.tests.len(),
            escaped(&test.cell)
        ));
    }
    grid.row(vec![word, value(test).into(), bounds(test).into(), claimed(test).into(), text.into()]);
    let rest = claim.tests.iter().filter(|other| other.cell != test.cell && other.word != Word::Confirmed);
    for other in rest {
        let word = Piece::styled(format!("  {}", other.word), style(other.word));
        let cell = Piece::styled(format!("  {}", escaped(&other.cell)), DIMMED);
        grid.row(vec![word, value(other).into(), bounds(other).into(), claimed(other).into(), cell]);
    }
}

/// The test that says most of a claim: one that decides it against, else one that is open, else the one nearest to its
/// bound.
pub(crate) fn telling(claim: &CheckedClaim) -> Option<&CheckedTest> {
    let room = |test: &CheckedTest| {
        let above = test.at_most.zip(test.hi).map(|(bound, hi)| bound / hi);
        let below = test.at_least.zip(test.lo).map(|(bound, lo)| lo / bound);
        above.into_iter().chain(below).fold(f64::INFINITY, f64::min)
    };
    let rank = |word: Word| match word {
        Word::Refuted => 0,
        Word::Undecided => 1,
        Word::Confirmed => 2,
    };
    let order = |a: &&CheckedTest, b: &&CheckedTest| {
        rank(a.word).cmp(&rank(b.word)).then(room(a).total_cmp(&room(b)))
    };
    claim.tests.iter().min_by(order)
}

/// `1.20 (1.10–1.31), claimed at most 0.9`.
pub(crate) fn figures(test: &CheckedTest) -> String {
    let bounds = bounds(test);
    let gap = if bounds.is_empty() { "" } else { " " };
    format!("{}{gap}{bounds}, claimed {}", value(test), claimed(test))
}

fn value(test: &CheckedTest) -> String {
    test.value.map_or_else(|| "not measured".to_owned(), |value| shown(test, value))
}

/// The interval in brackets; nothing where nothing was measured.
fn bounds(test: &CheckedTest) -> String {
    let Some(value) = test.value else { return String::new() };
    match (test.lo, test.hi) {
        (Some(lo), Some(hi)) if !test.is_ratio() => format!("({} – {})", shown(test, lo), shown(test, hi)),
        (lo, hi) => {
            interval(value, lo, hi).map_or_else(|| "(no interval)".to_owned(), |text| format!("({text})"))
        }
    }
}

/// `at most 0.9`.
pub(crate) fn claimed(test: &CheckedTest) -> String {
    let bound = |words: &str, bound: Option<f64>| Some(format!("{words} {}", exactly(test, bound?)));
    let bounds: Vec<String> =
        [bound("at least", test.at_least), bound("at most", test.at_most)].into_iter().flatten().collect();
    bounds.join(", ")
}

fn shown(test: &CheckedTest, value: f64) -> String {
    match test.metric {
        _ if test.is_ratio() => ratio(value),
        ClaimMetric::OpsPerS => rate(value),
        ClaimMetric::BytesPerS => throughput(value),
        ClaimMetric::Wall | ClaimMetric::Cpu | ClaimMetric::P50 | ClaimMetric::P90 | ClaimMetric::P99 => {
            time(value)
        }
    }
}

/// A bound as it was meant, not rounded to three digits.
fn exactly(test: &CheckedTest, bound: f64) -> String {
    const DIGITS: i32 = 6;
    let short = shown(test, bound);
    let unit = short.split_once(' ').map_or(String::new(), |(_, unit)| format!(" {unit}"));
    // In the unit that suits it, as many digits as it has.
    let number: f64 = short.split(' ').next().unwrap_or_default().parse().unwrap_or(1.0);
    let scale = 10f64.powi((bound / number).log10().round() as i32);
    let scaled = (bound / scale * 10f64.powi(DIGITS)).round() / 10f64.powi(DIGITS);
    format!("{scaled}{unit}")
}

/// What to do about a claim that is not confirmed.
pub(crate) fn advice(claim: &CheckedClaim) -> Option<String> {
    let test = telling(claim)?;
    match claim.word {
        Word::Confirmed => None,
        Word::Refuted => Some(refuted(test)),
        Word::Undecided => Some(undecided(test)),
    }
}

fn refuted(test: &CheckedTest) -> String {
    let too_much = test.at_most.zip(test.lo).is_some_and(|(bound, lo)| lo > bound);
    let (side, words, end) =
        if too_much { ("above", "at most", test.hi) } else { ("below", "at least", test.lo) };
    let holds = end.map_or_else(String::new, |end| {
        format!("; the nearest bound that this run confirms is {words} {}", outwards(test, end, too_much))
    });
    format!(
        "refuted: {} is {}, and the whole interval lies {side} the bound{holds}",
        subject(test),
        figures(test)
    )
}

fn undecided(test: &CheckedTest) -> String {
    if let Some(reason) = &test.reason {
        return format!("cannot be decided here: {}: {reason}", subject(test));
    }
    let head = format!("undecided: {} is {}", subject(test), figures(test));
    let likely = test.likely_budget_s.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 1e9)));
    let then = match likely {
        _ if test.baseline.is_some() => {
            "a larger --budget narrows one half of this interval; for the other, record the baseline with a larger one, too".to_owned()
        }
        Some(likely) if likely <= LONGEST_ADVICE => {
            format!("--budget {}s would likely decide it", generously(likely.as_secs_f64()))
        }
        Some(likely) => format!(
            "the bound is so near that it would likely take {}: move it, or measure where it is quieter",
            duration_text(likely)
        ),
        None => "how much longer it would take cannot be told; give a larger --budget, or move the bound away from what was measured".to_owned(),
    };
    format!("{head}; {then}")
}

/// What a test is about: `wall of a over b`.
fn subject(test: &CheckedTest) -> String {
    let over = match (&test.against, &test.baseline) {
        (Some(other), _) => format!(" over {other}"),
        (None, Some(baseline)) => format!(" over {baseline}"),
        (None, None) => String::new(),
    };
    format!("{} of {}{over}", test.metric, test.cell)
}

/// An end of an interval with two digits or three, rounded away from the interval, so that it does hold.
fn outwards(test: &CheckedTest, end: f64, up: bool) -> String {
    let step = 10f64.powi(end.abs().max(f64::MIN_POSITIVE).log10().floor() as i32 - 2);
    let steps = if up { (end / step).ceil() } else { (end / step).floor() };
    exactly(test, steps * step)
}

/// Seconds, rounded up to a number that people type.
fn generously(seconds: f64) -> u64 {
    let step = match seconds {
        s if s < 60.0 => 5.0,
        s if s < 300.0 => 30.0,
        _ => 60.0,
    };
    ((seconds * 1.1 / step).ceil() * step) as u64
}

/// `3 claims: 1 confirmed, 1 refuted, 1 undecided`.
pub(crate) fn summary(check: &Check) -> String {
    let counted = |word: Word| Some((check.count(word), word)).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = Word::ALL
        .iter()
        .filter_map(|word| counted(*word))
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let claims = check.claims.len();
    format!("{claims} claim{}: {}", if claims == 1 { "" } else { "s" }, counts.join(", "))
}

/// How the answers came about.
pub(crate) fn how(check: &Check) -> String {
    let why = match check.stopped {
        Stopped::Resolved if check.count(Word::Undecided) > 0 => "nothing left that could be decided",
        Stopped::Resolved => "every claim decided",
        Stopped::Budget => "budget spent",
        Stopped::Interrupted => "interrupted",
        Stopped::Failed => "failed",
    };
    format!(
        "{} epochs in {}, {why}; all claims hold together at {:.0} % (each interval drawn at {:.3} %); seed {}",
        check.epochs,
        duration_text(Duration::from_secs_f64(check.elapsed_s.max(0.0))),
        (1.0 - check.alpha) * 100.0,
        (1.0 - check.alpha_each) * 100.0,
        check.document.seed
    )
}

fn style(word: Word) -> Style {
    match word {
        Word::Confirmed => AnsiColor::Green.on_default().bold(),
        Word::Refuted => AnsiColor::Red.on_default().bold(),
        Word::Undecided => AnsiColor::Yellow.on_default(),
    }
}

fn wrapped(text: &str, room: usize) -> String {
    textwrap::wrap(text, room.max(LEAST_ROOM)).join("\n")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fixture;
    use ipcost_model::check::CHECK_SCHEMA;

    fn test(value: f64, spread: f64, at_most: f64, word: Word) -> CheckedTest {
        CheckedTest {
            cell: "rr/unix/64/c1".into(),
            against: Some("rr/tcp/64/c1".into()),
            baseline: None,
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

    fn claim(text: &str, line: u32, tests: Vec<CheckedTest>) -> CheckedClaim {
        CheckedClaim { text: text.into(), line, word: tests[0].word, tests }
    }

    /// A check in which everything occurs that a rendering must cope with.
    pub(crate) fn fixture() -> Check {
        let latency = |test: CheckedTest| CheckedTest { against: None, metric: ClaimMetric::P99, ..test };
        let baseline = |cell: &str, test: CheckedTest| CheckedTest {
            cell: cell.into(),
            against: None,
            baseline: Some("before.json".into()),
            ..test
        };
        let open = CheckedTest { likely_budget_s: Some(41.0), ..test(0.99, 1.05, 1.0, Word::Undecided) };
        let nothing = CheckedTest {
            value: None,
            lo: None,
            hi: None,
            reason: Some("it could not be measured here: no IPv6".into()),
            ..test(1.0, 1.0, 2.0, Word::Undecided)
        };
        Check {
            schema: CHECK_SCHEMA.into(),
            tool: ipcost_model::Tool { name: "ipcost".into(), version: "0".into() },
            host: ipcost_model::Host::default(),
            file: "claims.toml".into(),
            started: "2026-01-01T00:00:00Z".into(),
            elapsed_s: 12.3,
            stopped: Stopped::Budget,
            alpha: 0.05,
            alpha_each: 0.0125,
            epochs: 31,
            word: Word::Refuted,
            claims: vec![
                claim(
                    "unix costs < 0.9 × tcp, \"always\" & everywhere | here",
                    4,
                    vec![test(0.56, 1.1, 0.9, Word::Confirmed)],
                ),
                claim(
                    "p99 under 200 µs\u{1b}[31m",
                    9,
                    vec![latency(test(250_000.0, 1.08, 200_000.0, Word::Refuted))],
                ),
                claim("no dearer than tcp", 14, vec![open]),
                claim("over IPv6, too", 19, vec![nothing]),
                claim(
                    "no more than 5 % slower",
                    24,
                    vec![
                        baseline("rr/pipe/64/c1", test(1.2, 1.03, 1.05, Word::Refuted)),
                        baseline("rr/unix/64/c1", test(1.0, 1.02, 1.05, Word::Confirmed)),
                        baseline("rr/tcp/64/c1", test(1.02, 1.2, 1.05, Word::Undecided)),
                    ],
                ),
            ],
            warnings: Vec::new(),
            document: fixture::document(),
        }
    }

    #[test]
    fn a_line_a_claim_then_what_to_do_then_the_sum() {
        let shown = render(&fixture(), usize::MAX);
        insta::assert_snapshot!(anstream::adapter::strip_str(&shown).to_string());
    }

    #[test]
    fn advice_follows_from_what_would_be_honest() {
        let says = |test: CheckedTest| advice(&claim("", 1, vec![test])).unwrap_or_default();
        let open = test(0.99, 1.05, 1.0, Word::Undecided);
        let likely = |seconds| CheckedTest { likely_budget_s: seconds, ..open.clone() };
        assert!(says(likely(Some(41.0))).contains("--budget 50s would likely decide it"));
        assert!(says(likely(Some(90_000.0))).contains("likely take 25 h 0 min: move it"));
        assert!(says(likely(None)).contains("cannot be told"));
        // What is named as confirmed lies outside the interval, never within.
        assert!(says(test(1.2345, 1.1, 1.0, Word::Refuted)).contains("confirms is at most 1.36"));
        let least =
            CheckedTest { at_most: None, at_least: Some(2.0), ..test(1.2345, 1.1, 1.0, Word::Refuted) };
        assert!(
            says(least.clone()).contains("confirms is at least 1.12")
                && says(least).contains("below the bound")
        );
        assert_eq!(says(test(0.5, 1.1, 1.0, Word::Confirmed)), "");
    }

    #[test]
    fn bounds_are_shown_as_they_were_meant() {
        let of = |metric, against: Option<&str>, bound| {
            let against = against.map(str::to_owned);
            claimed(&CheckedTest { metric, against, ..test(1.0, 1.1, bound, Word::Confirmed) })
        };
        assert_eq!(of(ClaimMetric::Wall, Some("x"), 0.9), "at most 0.9");
        assert_eq!(of(ClaimMetric::Wall, Some("x"), 1.0625), "at most 1.0625");
        assert_eq!(of(ClaimMetric::P99, None, 200_000.0), "at most 200 µs");
        assert_eq!(of(ClaimMetric::P99, None, 1_234_567.0), "at most 1.234567 ms");
        assert_eq!(of(ClaimMetric::OpsPerS, None, 50_000.0), "at most 50 k/s");
        assert_eq!(of(ClaimMetric::BytesPerS, None, 1e9), "at most 1 GB/s");
        assert_eq!(of(ClaimMetric::Wall, None, 999_990.0), "at most 0.99999 ms");
    }
}
