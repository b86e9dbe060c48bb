use ipcost_model::{Document, Metric};
use ipcost_report::fixture;
use serde_json::json;

use super::*;
use crate::history::RunSummary;
use crate::trend::TrendCellName;

const PIPE: &str = "rr/pipe/64/c1";

fn asked() -> TrendRequest {
    TrendRequest { cell: TrendCellName::new(PIPE), against: None, metric: Metric::Wall }
}

/// A run whose cell costs so many times as much.
fn run(number: u32, factor: f64, change: impl Fn(&mut Document)) -> TrendGathered {
    let mut document = fixture::document();
    document.host.more.insert("load_average".to_owned(), json!(number));
    let cell = document.cells.iter_mut().find(|cell| cell.id == PIPE).unwrap();
    cell.wall_ns_per_op.as_mut().unwrap().median *= factor;
    change(&mut document);
    let summary =
        RunSummary::of(&document, &format!("20260101-000000-{number:04x}"), "2026-01-01T00:00:00Z", 1);
    TrendGathered::of(&document, &summary, &asked()).unwrap()
}

fn of(runs: Vec<TrendGathered>, like: Option<&str>) -> Trend {
    trend(runs, &asked(), like, usize::MAX, Tool::of_version("0.1.0")).unwrap()
}

#[test]
fn a_step_has_its_levels_and_what_changed_with_it() {
    let noise = |number: u32| 1.0 + f64::from(number * 7 % 5) / 100.0;
    let step = |number: u32| if number < 12 { 1.0 } else { 1.2 };
    let kernel = |number: u32| {
        move |document: &mut Document| {
            document.host.kernel = if number < 12 { "6.17" } else { "6.18" }.to_owned();
        }
    };
    let runs = (0..25).map(|number| run(number, step(number) * noise(number), kernel(number)));
    let found = of(runs.collect(), None);
    let [change] = &found.changes[..] else { panic!("{:?}", found.changes) };
    assert_eq!((change.at, change.run.as_str()), (12, found.runs[12].id.as_str()));
    assert!(change.lo < 1.2 && 1.2 < change.hi && (change.ratio - 1.2).abs() < 0.02, "{change:?}");
    assert!((found.runs[12].level / found.runs[11].level - change.ratio).abs() < 1e-9);
    let names: Vec<&str> = change.differences.iter().map(|difference| difference.what.as_str()).collect();
    assert_eq!(names, ["kernel"], "loads differ from run to run anyway");
    assert_eq!(found.levels(), [0..12, 12..25]);
}

#[test]
fn runs_that_are_not_alike_are_counted_by_the_first_reason() {
    let debug = |document: &mut Document| document.tool.profile = Some("debug".to_owned());
    let host = |document: &mut Document| {
        debug(document);
        document.host.more.insert("name".to_owned(), json!("elsewhere"));
    };
    let runs = vec![
        run(5, 1.0, |document| document.schedule.batch_ms *= 4.0),
        run(0, 1.0, |document| document.job.budget = Some(std::time::Duration::from_secs(7))),
        run(1, 1.0, |document| document.job.floor = true),
        run(2, 1.0, |_| {}),
        run(3, 1.0, debug),
        run(4, 1.0, host),
    ];
    let found = of(runs.clone(), None);
    let ids = |trend: &Trend| trend.runs.iter().map(|run| run.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&found), ["20260101-000000-0000", "20260101-000000-0002"]);
    let reasons: Vec<(&str, u64)> =
        found.left_out.iter().map(|left| (left.reason.as_str(), left.runs)).collect();
    let batches = ("with batches of another length", 1);
    assert_eq!(reasons, [("of another host", 1), ("of another job", 1), batches, ("of a debug build", 1)]);
    let like = of(runs.clone(), Some("20260101-000000-0003"));
    assert_eq!(ids(&like), ["20260101-000000-0003"]);
    assert!(like.left_out.iter().any(|left| left.reason == "of a release build" && left.runs == 2));
    let error = trend(runs, &asked(), Some("x"), 9, Tool::of_version("0.1.0")).unwrap_err();
    assert!(error.to_string().starts_with("the run x has no cost of rr/pipe/64/c1"), "{error}");
}

#[test]
fn the_newest_are_taken_and_a_figure_is_needed() {
    let runs = (0..12).map(|number| run(number, 1.0, |_| {})).collect();
    let found = trend(runs, &asked(), None, 3, Tool::of_version("0.1.0")).unwrap();
    assert_eq!((found.runs.len(), found.runs[0].id.as_str()), (3, "20260101-000000-0009"));
    assert!(found.too_few() && found.changes.is_empty());
    let summary = RunSummary::of(&fixture::document(), "x", "2026-01-01T00:00:00Z", 1);
    let missing =
        TrendRequest { cell: TrendCellName::new("rr/tcp6/64/c1"), against: None, metric: Metric::Wall };
    assert!(TrendGathered::of(&fixture::document(), &summary, &missing).is_none());
}

#[test]
fn a_ratio_is_that_of_the_rounds() {
    let document = fixture::measured();
    let summary = RunSummary::of(&document, "x", "2026-01-01T00:00:00Z", 1);
    let [a, b] = [0, 1].map(|index| document.cells[index].id.clone());
    let ratio = |a: &str, b: &str| {
        let asked = TrendRequest {
            cell: TrendCellName::new(a),
            against: Some(TrendCellName::new(b)),
            metric: Metric::Wall,
        };
        TrendGathered::of(&document, &summary, &asked).unwrap().value.median
    };
    assert!((ratio(&a, &b) * ratio(&b, &a) - 1.0).abs() < 1e-9);
    assert!((ratio(&a, &a) - 1.0).abs() < 1e-9);
}
