//! The words in which every output speaks of claims.

use std::time::Duration;

use ipcost_model::units::{counted, duration_of, duration_text};
use ipcost_model::{Document, Stopped};
use ipcost_report::numbers::{interval, rate, ratio, throughput, time};

use crate::check::{BetweenRuns, Check, CheckedClaim, CheckedTest, ClaimMetric};
use crate::compare::SpreadSource;
use ipcost_model::ClaimVerdict;

/// A budget beyond this is no advice.
const LONGEST_ADVICE: Duration = Duration::from_secs(3600);

/// A claim in words; of one about several cells also of how many it holds, and which one [`telling`] shows.
pub(crate) fn text(claim: &CheckedClaim) -> String {
    let Some(test) = deciding_test(claim) else { return claim.text.clone() };
    let (text, all) = (&claim.text, claim.tests.len());
    let held = claim.tests.iter().filter(|test| test.word == ClaimVerdict::Holds).count();
    match test.host {
        Some(_) => format!("{text} (holds on {held} of {all} hosts; shown: {})", place(test)),
        None if all > 1 => format!("{text} (holds of {held} of {all} cells; shown: {})", test.cell),
        None => text.clone(),
    }
}

/// The test that says most of a claim: one that decides it against, else one that is open, else the one nearest to its
/// bound. A group of cells says more than one of them.
pub(crate) fn deciding_test(claim: &CheckedClaim) -> Option<&CheckedTest> {
    let room = |test: &CheckedTest| {
        let above = test.at_most.zip(test.hi).map(|(bound, hi)| bound / hi);
        let below = test.at_least.zip(test.lo).map(|(bound, lo)| lo / bound);
        above.into_iter().chain(below).fold(f64::INFINITY, f64::min)
    };
    let rank = |word: ClaimVerdict| match word {
        ClaimVerdict::Fails | ClaimVerdict::Depends => 0,
        ClaimVerdict::NoDifference | ClaimVerdict::Open | ClaimVerdict::NotTested => 1,
        ClaimVerdict::Holds => 2,
    };
    let order = |a: &&CheckedTest, b: &&CheckedTest| {
        rank(a.word).cmp(&rank(b.word)).then(b.level.cmp(&a.level)).then(room(a).total_cmp(&room(b)))
    };
    claim.tests.iter().min_by(order)
}

/// `1.20 (1.10–1.31), claimed at most 0.9`.
pub(crate) fn figures(test: &CheckedTest) -> String {
    let bounds = bounds(test);
    let gap = if bounds.is_empty() { "" } else { " " };
    format!("{}{gap}{bounds}, claimed {}", value(test), claimed(test))
}

pub(crate) fn value(test: &CheckedTest) -> String {
    test.value.map_or_else(|| "not measured".to_owned(), |value| shown(test, value))
}

/// The interval in brackets; nothing where nothing was measured.
pub(crate) fn bounds(test: &CheckedTest) -> String {
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
        ClaimMetric::Wall
        | ClaimMetric::Cpu
        | ClaimMetric::P50
        | ClaimMetric::P90
        | ClaimMetric::P99
        | ClaimMetric::P999 => time(value),
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

/// What is known of a claim, of which cell, and what to do if it does not hold; `None` if it does.
pub(crate) fn advice(claim: &CheckedClaim) -> Option<String> {
    let test = deciding_test(claim)?;
    let then = remedy(claim, test)?;
    Some(match &test.reason {
        Some(_) => format!("{}: {}: {then}", claim.word, subject(test)),
        None => format!("{}: {} is {}; {then}", claim.word, subject(test), figures(test)),
    })
}

/// The same under the text of the claim, which names its cell: `fails (claims.toml:5): 0.74 (0.21–2.21), claimed at most 0.1; …`.
pub(crate) fn line(claim: &CheckedClaim, test: &CheckedTest, file: &str) -> String {
    match remedy(claim, test) {
        Some(then) => format!("{} ({file}:{}): {}; {then}", claim.word, claim.line, figures(test)),
        None => format!("{}: {}", claim.word, figures(test)),
    }
}

/// What to do about a claim that does not hold.
fn remedy(claim: &CheckedClaim, test: &CheckedTest) -> Option<String> {
    match claim.word {
        ClaimVerdict::Holds => None,
        ClaimVerdict::Fails | ClaimVerdict::Depends => Some(failed(test)),
        ClaimVerdict::NoDifference => {
            Some("to claim that it costs about the same, allow the margin: at_most = 1.05".to_owned())
        }
        ClaimVerdict::Open | ClaimVerdict::NotTested => Some(open(test)),
    }
}

fn failed(test: &CheckedTest) -> String {
    let too_much = test.at_most.zip(test.lo).is_some_and(|(bound, lo)| lo > bound);
    let (words, end) = if too_much { ("at most", test.hi) } else { ("at least", test.lo) };
    match end {
        Some(end) => format!("the tightest bound that holds is {words} {}", outwards(test, end, too_much)),
        None => format!("no bound {words} is known to hold"),
    }
}

fn open(test: &CheckedTest) -> String {
    if let Some(reason) = &test.reason {
        return format!("cannot be decided here: {reason}");
    }
    let likely = test.likely_budget_s.map(duration_of);
    match likely {
        _ if test.between_runs.is_some() => undecided_by_runs(test),
        Some(likely) if likely <= LONGEST_ADVICE => {
            format!("--budget {} would likely decide it", generously(likely.as_secs_f64()))
        }
        Some(likely) => format!(
            "the bound is so near that a decision would likely take {}: move it, or measure on a quieter machine",
            duration_text(likely)
        ),
        None if test.host.is_some() => {
            "measure that host with a larger --budget, or move the bound away from what was measured".to_owned()
        }
        None => "give a larger --budget, or move the bound away from what was measured; how much longer it takes is unknown".to_owned(),
    }
}

/// What would decide a comparison with a baseline: a longer run only if it is not for the spread between runs.
fn undecided_by_runs(test: &CheckedTest) -> String {
    let near = test.between_runs.filter(|between| {
        let is_near = |bound: f64| {
            test.value.is_none_or(|value| (value / bound).max(bound / value) < between.open_within)
        };
        [test.at_most, test.at_least].into_iter().flatten().any(is_near)
    });
    match near {
        Some(between) => between_runs(&between),
        None => {
            "give a larger --budget, and record the baseline with a larger one, too: both narrow the interval"
                .to_owned()
        }
    }
}

/// What the spread between runs leaves open, and what would decide it.
pub(crate) fn between_runs(between: &BetweenRuns) -> String {
    let source = match between.source {
        SpreadSource::Measured => "differ by",
        SpreadSource::Saved => "saved before differ by",
        SpreadSource::Assumed => "are assumed to differ by",
    };
    let instead = match between.source {
        SpreadSource::Assumed => {
            "three baselines show how much they do (baseline = [\"a.json\", \"b.json\", \"c.json\"]), and arms = true measures before and after in one run"
        }
        SpreadSource::Saved | SpreadSource::Measured => {
            "more baselines narrow that, and arms = true measures before and after in one run"
        }
    };
    format!(
        "runs of one build {source} {} (standard deviation), so bounds within a factor of {:.2} stay open; {instead}",
        share(between.spread),
        between.open_within
    )
}

fn share(spread: f64) -> String {
    let percent = spread * 100.0;
    let digits = if percent >= 10.0 || (percent - percent.round()).abs() < 1e-9 { 0 } else { 2 };
    format!("{percent:.digits$} %")
}

/// How much runs are taken to differ, of comparisons with baselines: `runs of one build differ by 0.43 to 1.2 % (from the baselines)`.
fn spreads(claims: &[CheckedClaim]) -> Option<String> {
    let all = || claims.iter().flat_map(|claim| &claim.tests).filter_map(|test| test.between_runs);
    let of = |source: SpreadSource| {
        let spreads = all().filter(|between| between.source == source).map(|between| between.spread);
        let (least, most) = spreads
            .fold((f64::INFINITY, 0.0f64), |(least, most), spread| (least.min(spread), most.max(spread)));
        let from = match source {
            SpreadSource::Measured => "from the baselines",
            SpreadSource::Saved => "from saved runs",
            SpreadSource::Assumed => "assumed",
        };
        let range = match share(least) == share(most) {
            true => share(most),
            false => format!("{} to {}", share(least).trim_end_matches(" %"), share(most)),
        };
        (least <= most).then(|| format!("{range} ({from})"))
    };
    let parts: Vec<String> = SpreadSource::ALL.iter().filter_map(|source| of(*source)).collect();
    (!parts.is_empty()).then(|| format!("runs of one build differ by {}", parts.join(", ")))
}

/// What a test is about: `cost of a over b`.
fn subject(test: &CheckedTest) -> String {
    let over = match (&test.against, &test.baseline) {
        (None, None) if !test.level.is_cell() => " over arm A".to_owned(),
        (Some(other), _) => format!(" over {other}"),
        (None, Some(baseline)) => format!(" over {baseline}"),
        (None, None) => String::new(),
    };
    format!("{} of {}{over}", test.metric.title(), place(test))
}

/// The cell, in a fleet after its host: `web1, rr/unix/64/c1`.
pub(crate) fn place(test: &CheckedTest) -> String {
    match &test.host {
        Some(host) => format!("{host}, {}", test.cell),
        None => test.cell.clone(),
    }
}

/// An end of an interval with two digits or three, rounded away from the interval, so that it does hold.
fn outwards(test: &CheckedTest, end: f64, up: bool) -> String {
    let step = 10f64.powi(end.abs().max(f64::MIN_POSITIVE).log10().floor() as i32 - 2);
    let steps = if up { (end / step).ceil() } else { (end / step).floor() };
    exactly(test, steps * step)
}

/// A budget as people type it, rounded up.
fn generously(seconds: f64) -> String {
    let up = |step: f64| ((seconds * 1.1 / step).ceil() * step) as u64;
    match seconds {
        s if s < 60.0 => format!("{}s", up(5.0)),
        s if s < 300.0 => format!("{}s", up(30.0)),
        _ => format!("{}min", up(60.0) / 60),
    }
}

/// `3 claims: 1 holds, 1 fails, 1 open`.
pub(crate) fn summary(claims: &[CheckedClaim]) -> String {
    ClaimVerdict::summary(claims.iter().map(|claim| claim.word))
}

/// How the answers came about.
pub(crate) fn how(check: &Check, document: &Document) -> String {
    let why = match document.stopped {
        Stopped::Resolved if check.count(ClaimVerdict::Open) > 0 => "the rest cannot be decided",
        Stopped::Resolved => "every claim decided",
        Stopped::Budget => "budget spent",
        Stopped::Interrupted => "interrupted",
        Stopped::Failed => "failed",
    };
    let spreads = spreads(&check.claims).map_or_else(String::new, |spreads| format!("; {spreads}"));
    format!(
        "{} in {}, {why}; in {:.0} % of such runs every answer is right (each interval at {} %){spreads}; seed {}",
        counted(document.schedule.epochs, "epoch"),
        duration_text(duration_of(document.elapsed_s)),
        (1.0 - check.alpha) * 100.0,
        ((1.0 - check.alpha_each) * 1e5).floor() / 1e3,
        document.seed
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::page::tests::{claim, test};

    #[test]
    fn advice_follows_from_what_would_be_honest() {
        let says = |test: CheckedTest| advice(&claim("", 1, vec![test])).unwrap_or_default();
        let open = test(0.99, 1.05, 1.0, ClaimVerdict::Open);
        let likely = |seconds| CheckedTest { likely_budget_s: seconds, ..open.clone() };
        assert!(says(likely(Some(41.0))).contains("--budget 50s would likely decide it"));
        assert!(says(likely(Some(1_000.0))).contains("--budget 19min would likely decide it"));
        assert!(says(likely(Some(90_000.0))).contains("likely take 25 h 0 min: move it"));
        assert!(says(likely(None)).contains("how much longer it takes is unknown"));
        // What is named as confirmed lies outside the interval, never within.
        assert!(
            says(test(1.2345, 1.1, 1.0, ClaimVerdict::Fails)).contains("bound that holds is at most 1.36")
        );
        let least =
            CheckedTest { at_most: None, at_least: Some(2.0), ..test(1.2345, 1.1, 1.0, ClaimVerdict::Fails) };
        assert!(says(least).contains("bound that holds is at least 1.12"));
        assert_eq!(says(test(0.5, 1.1, 1.0, ClaimVerdict::Holds)), "");
    }

    #[test]
    fn bounds_are_shown_as_they_were_meant() {
        let of = |metric, against: Option<&str>, bound| {
            let against = against.map(str::to_owned);
            claimed(&CheckedTest { metric, against, ..test(1.0, 1.1, bound, ClaimVerdict::Holds) })
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
