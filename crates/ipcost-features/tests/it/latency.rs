//! Percentiles of latency as what two sides are compared by, on a script instead of a machine.

use ipcost_features::ab;
use ipcost_features::compare::{self, CompareSettings, Comparison, DEFAULT_SPREAD, LatencyChange, PastRuns};
use ipcost_model::{Document, Metric, Percentile, Tool, Verdict, parse_job};

use crate::script::*;

fn run(seed: u32, options: &str, costs: &'static [f64], latencies: usize) -> Document {
    let job = format!("seed = {seed}\nepochs = 40\n[[cells]]\ntransport = [\"one\", \"two\"]\n{options}");
    let outcome = campaign(&job, &mut Script { latencies, ..noisy(costs, 0.01) });
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    report(outcome)
}

fn compared(a: Document, b: Document) -> Comparison {
    let settings = CompareSettings { metric: Metric::Wall, margin: 0.05, assumed_spread: DEFAULT_SPREAD };
    compare::compare(&[a], &[b], &settings, &PastRuns::default(), Tool::of_version("0")).unwrap()
}

fn of<'a>(comparison: &'a Comparison, cell: &str, percentile: Percentile) -> &'a LatencyChange {
    let is_it = |change: &&LatencyChange| change.cell == cell && change.percentile == percentile;
    comparison.latency.iter().find(is_it).unwrap_or_else(|| panic!("{comparison:#?}"))
}

#[test]
fn percentiles_at_a_rate_are_compared_between_runs_and_shown() {
    const RATE: &str = "options = { rate = 5000 }";
    let comparison =
        compared(run(1, RATE, &[5_000.0, 10_000.0], 1_200), run(2, RATE, &[5_000.0, 30_000.0], 1_200));
    // Each epoch has 1200 operations or more, and fewer than ten thousand.
    assert!(comparison.latency.iter().all(|change| change.percentile != Percentile::P999));
    assert_eq!(comparison.latency.len(), 4, "two cells, two percentiles");
    let slower = of(&comparison, "rr/two/64/c1/rate=5000", Percentile::P99);
    assert_eq!((slower.offered_per_s, slower.verdict), (Some(5_000), Verdict::Different));
    assert!((slower.ratio - 3.0).abs() < 0.1 && (slower.alpha - 0.05 / 4.0).abs() < 1e-12, "{slower:?}");
    let same = of(&comparison, "rr/one/64/c1/rate=5000", Percentile::P99);
    assert!(same.lo.unwrap() < 0.9 && same.hi.unwrap() > 1.1, "what runs differ by is in it: {same:?}");
    // A tail of two runs may be another by a third for no reason; the table, the sentence and what is assumed say the same.
    let third =
        compared(run(1, RATE, &[5_000.0, 10_000.0], 1_200), run(2, RATE, &[5_000.0, 13_000.0], 1_200));
    let tail = of(&third, "rr/two/64/c1/rate=5000", Percentile::P99);
    assert!(tail.verdict == Verdict::Undecided && tail.lo.unwrap() < 1.0, "{tail:?}");
    let page = compare::page(&third);
    let shown = page.terminal(false, 200).replace(char::is_whitespace, " ");
    assert!(shown.contains("of percentiles beyond the median 20 % at least"), "{shown}");
    assert!(!shown.contains("p99 of rr/two"), "{shown}");
    let page = compare::page(&comparison);
    let shown = page.terminal(false, 300);
    assert!(
        shown.contains("of rr/two/64/c1/rate=5000 is 2.99 × (") && shown.contains(", and 1 percentile more."),
        "{shown}"
    );
    for text in [page.terminal(false, 120), page.markdown(), page.html()] {
        let parts = ["Percentiles of latency", "p99", "higher", "rr/one/64/c1/rate=5000", "was due"];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    let csv = page.csv();
    assert!(csv.lines().next().unwrap().ends_with(",percentile"), "{csv}");
    assert_eq!(csv.lines().filter(|line| line.starts_with("latency,")).count(), 4, "{csv}");
}

#[test]
fn percentiles_of_a_closed_loop_have_rows_only_where_they_changed() {
    let before = || run(1, "", &[5_000.0, 10_000.0], 1_200);
    let unchanged = compared(before(), run(2, "", &[5_000.0, 10_000.0], 1_200));
    assert_eq!((unchanged.latency.len(), unchanged.latency[0].offered_per_s), (4, None));
    let shown = compare::page(&unchanged).terminal(false, 120);
    assert!(!shown.contains("Percentiles"), "{shown}");
    assert!(compare::page(&unchanged).terminal(true, 120).contains("Every percentile of latency"));
    let changed = compared(before(), run(2, "", &[5_000.0, 30_000.0], 1_200));
    let shown = compare::page(&changed).terminal(false, 120);
    assert!(shown.contains("Percentiles of latency") && shown.contains("hides what waits"), "{shown}");
}

#[test]
fn a_closed_loop_is_never_compared_with_an_offered_rate() {
    let closed = run(1, "", &[5_000.0, 10_000.0], 1_200);
    let mut open = run(2, "options = { rate = 5000 }", &[5_000.0, 10_000.0], 1_200);
    for (cell, twin) in open.cells.iter_mut().zip(&closed.cells) {
        cell.id.clone_from(&twin.id);
    }
    assert!(compared(closed, open).latency.is_empty());
}

#[test]
fn documents_of_earlier_versions_have_no_percentiles_to_compare() {
    let mut before = run(1, "", &[5_000.0, 10_000.0], 1_200);
    before.cells.iter_mut().for_each(|cell| cell.latency_by_epoch.clear());
    assert!(compared(before, run(2, "", &[5_000.0, 10_000.0], 1_200)).latency.is_empty());
}

#[test]
fn percentiles_of_two_arms_are_paired_by_epoch() {
    let job =
        "seed = 3\nepochs = 40\n[ab.b]\nenv = { X = \"1\" }\n[[cells]]\ntransport = [\"one\", \"two\"]\n";
    let mut script = Script { latencies: 1_200, ..noisy(&[5_000.0, 5_000.0, 10_000.0, 13_000.0], 0.01) };
    let mut document = report(campaign(job, &mut script));
    document.job = parse_job(job).unwrap();
    let comparison = ab::comparison(&document, Metric::Wall).unwrap();
    let slower = of(&comparison, "rr/two/64/c1", Percentile::P99);
    assert!((slower.ratio - 1.3).abs() < 0.02 && slower.verdict == Verdict::Different, "{slower:?}");
    assert_eq!((slower.spread, slower.offered_per_s), (None, None));
    assert_eq!(of(&comparison, "rr/one/64/c1", Percentile::P50).verdict, Verdict::Equivalent);
}
