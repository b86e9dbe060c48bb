use ipcost_model::Estimate;
use ipcost_report::fixture;

use super::*;
use crate::trend::{LeftOut, TREND_SCHEMA};

/// Thirty nightly runs, with a new kernel that costs 12 % from the 18th on.
fn trend() -> Trend {
    let run = |index: usize| {
        let level = if index < 17 { 7_000.0 } else { 7_840.0 };
        let median = level * (1.0 + (index * 7 % 5) as f64 / 100.0 - 0.02);
        let bounds = (index != 28).then_some((median * 0.98, median * 1.03));
        TrendRun {
            id: format!("2026{:02}{:02}-021534-{index:04x}", 10 + index / 28, 1 + index % 28),
            name: (index == 29).then(|| "nightly \u{1b}[31m".to_owned()),
            started: format!("2026-{:02}-{:02}T02:15:34Z", 10 + index / 28, 1 + index % 28),
            tool_version: "0.1.0".to_owned(),
            commit: Some(if index < 17 { "9fb067e858" } else { "10b11ac023" }.to_owned()),
            kernel: if index < 17 { "6.17" } else { "6.18" }.to_owned(),
            value: Estimate { median, lo: bounds.map(|ends| ends.0), hi: bounds.map(|ends| ends.1) },
            level,
        }
    };
    let difference = |what: &str, a: &str, b: &str| Difference {
        what: what.to_owned(),
        a: vec![a.to_owned()],
        b: vec![b.to_owned()],
    };
    let runs: Vec<TrendRun> = (0..30).map(run).collect();
    Trend {
        schema: TREND_SCHEMA.to_owned(),
        tool: ipcost_model::Tool::of_version("0.1.0"),
        cell: "rr/unix/64/c1".to_owned(),
        against: None,
        metric: ipcost_model::Metric::Wall,
        host: "lab".to_owned(),
        job: "rr, unix tcp, 64 B".to_owned(),
        changes: vec![TrendChange {
            at: 17,
            run: runs[17].id.clone(),
            after: runs[16].id.clone(),
            ratio: 1.12,
            lo: 1.104,
            hi: 1.151,
            p: 0.001,
            differences: vec![
                difference("tcp_rmem", "4096", "8192"),
                difference("kernel", "6.17", "6.18"),
                difference("version of ipcost", "0.1.0 (9fb067e858, release)", "0.1.0 (10b11ac023, release)"),
            ],
        }],
        runs,
        correlation: 0.1,
        alpha: 0.01,
        wandering_alpha: 0.2,
        fewest: 10,
        left_out: vec![LeftOut { reason: "of another job".to_owned(), runs: 4 }],
    }
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn the_runs_around_a_change_are_shown_with_its_sentence() {
    fixture::assert_fits(&page(&trend(), 24));
    let text = plain(&page(&trend(), 24).terminal(false, 100));
    assert!(text.lines().count() <= 24, "{}", text.lines().count());
    insta::assert_snapshot!(text);
}

#[test]
fn a_ratio_that_wanders_says_what_that_means() {
    let mut trend = trend();
    trend.against = Some("rr/tcp/64/c1".to_owned());
    trend.correlation = 0.62;
    (trend.changes, trend.left_out) = (Vec::new(), Vec::new());
    for run in &mut trend.runs {
        (run.kernel, run.commit) = ("6.18".to_owned(), None);
        run.value = Estimate { median: run.value.median / 10_000.0, lo: Some(0.68), hi: Some(0.85) };
    }
    insta::assert_snapshot!(plain(&page(&trend, 24).terminal(false, 80)));
}

#[test]
fn too_few_runs_are_told_how_many_are_needed() {
    let mut trend = trend();
    trend.runs.truncate(7);
    trend.changes.clear();
    let text = plain(&page(&trend, 24).terminal(false, 80));
    assert!(text.contains("7 runs are too few to look for changes: 10 are needed, 3 more."), "{text}");
    assert!(text.contains("Left out: 4 of another job; --like RUN"), "{text}");
}

#[test]
fn on_one_day_the_minute_is_told_and_nothing_changed_is_said() {
    let mut trend = trend();
    trend.runs[16].started = "2026-10-18T01:00:00Z".to_owned();
    trend.changes[0].differences.clear();
    let said = sentence(&trend, &trend.changes[0]);
    assert!(
        said.starts_with("from 2026-10-18 02:15 on 1.12 × (1.10–1.15) what it was; what the documents"),
        "{said}"
    );
}

#[test]
fn every_run_is_there_if_asked_and_nothing_obeys_a_name() {
    let text = page(&trend(), usize::MAX).terminal(false, usize::MAX);
    assert!(!text.contains("\u{1b}[31m\u{1b}[0m") && text.contains("nightly \\u{1b}[31m"));
    assert_eq!(plain(&text).lines().filter(|line| line.contains("-021534-")).count(), 30);
    let table = page(&trend(), 24).csv();
    assert_eq!(table.lines().count(), 31);
    let row: Vec<&str> = table.lines().nth(18).unwrap().split(',').collect();
    assert_eq!((row[5], row[12], row[13]), ("6.18", "1.12", "1.104"));
}
