//! A trend as a page: a picture of the runs, those around changes, and a sentence for each change.

use ipcost_model::units::counted;
use ipcost_model::{Metric, and_joined, first_few};
use ipcost_report::numbers::{interval, ratio, time};
use ipcost_report::page::{Column, Field, FieldValue, Frame, Page, PageFigure, Paragraph, Table, Tone};
use ipcost_report::picture::{TIMELINE_READING, draw_timeline, plain_timeline};

use super::record::{Trend, TrendChange, TrendRun};
use super::timeline;
use crate::compare::Difference;

mod bars;
mod selection;

use selection::{TableLine, shown};

/// The identifier tells the time as well.
const COLUMNS: [Column; 8] = [
    Column::text("started").dropped(3),
    Column::text("id"),
    Column::text("name").dropped(4),
    Column::text("ipcost").dropped(1),
    Column::text("kernel").dropped(2),
    Column::number("cost"),
    Column::text(""),
    Column::text("change"),
];
/// More correlation than this is worth a word.
const WANDERS: f64 = 0.3;
/// Differences that a sentence names.
const MOST_NAMED: usize = 3;
/// The name of the version among differences, which has the whole build.
const TOOL: &str = "version of ipcost";
/// The most letters of a value in a sentence.
const MOST_LETTERS: usize = 40;

/// The page, with a table of about so many lines: of the runs as many as fit, of those around changes and the latest.
pub fn page(trend: &Trend, lines: usize) -> Page<'_> {
    let mut page = Page::new(title(trend));
    page.about.push(about(trend));
    let figure = PageFigure::new(TIMELINE_READING, move |frame| match frame {
        Frame::Page => plain_timeline(&timeline(trend)),
        Frame::File(background) => draw_timeline(&timeline(trend), background),
    });
    page.blocks.push(figure.sketched(move |room| bars::line(trend, room)).into());
    page.blocks.push(table(trend, lines).into());
    for change in &trend.changes {
        let tone = if change.ratio > 1.0 { Tone::Bad } else { Tone::Good };
        page.answer.push(Paragraph { text: format!("▶ {}.", sentence(trend, change)), tone }.into());
    }
    page.answer.extend(sentences(trend).into_iter().map(|said| Paragraph::plain(said).into()));
    page.notes.push(Paragraph::quiet(how(trend)).into());
    page.data = Some(data(trend));
    page
}

pub fn title(trend: &Trend) -> String {
    let of = match trend.metric {
        Metric::Wall => "",
        Metric::Cpu => "Processor time of ",
    };
    let over = trend.against.as_ref().map_or_else(String::new, |against| format!(" / {against}"));
    format!("{of}{}{over} over {}", trend.cell, counted(trend.runs.len() as u64, "run"))
}

/// Where and when, and what the runs have in common.
pub fn about(trend: &Trend) -> String {
    let host = if trend.host.is_empty() { String::new() } else { format!("on {}, ", trend.host) };
    let span = match (trend.runs.first(), trend.runs.last()) {
        (Some(first), Some(last)) => format!("from {} to {}", day(first), day(last)),
        _ => "no run".to_owned(),
    };
    let version = same(trend, TrendRun::tool).map(|tool| format!("; ipcost {tool}"));
    let kernel = same(trend, kernel).map(|kernel| format!("; kernel {kernel}"));
    [host, span, format!("; {}", trend.job), version.unwrap_or_default(), kernel.unwrap_or_default()].concat()
}

/// What all runs have in common.
fn same(trend: &Trend, of: fn(&TrendRun) -> String) -> Option<String> {
    let first = trend.runs.first().map(of)?;
    trend.runs.iter().all(|run| of(run) == first).then_some(first)
}

fn kernel(run: &TrendRun) -> String {
    run.kernel.clone()
}

fn day(run: &TrendRun) -> &str {
    run.started.get(..10).unwrap_or(&run.started)
}

/// The day and the minute.
fn minute(run: &TrendRun) -> String {
    run.started.chars().take(16).collect::<String>().replace('T', " ")
}

/// The runs. A tool or kernel is told once, and again where it changes.
fn table(trend: &Trend, lines: usize) -> Table {
    let mut table = Table::new(&COLUMNS);
    if trend.metric == Metric::Cpu {
        table.columns[5].title = "CPU/op".into();
    }
    if trend.against.is_some() {
        table.columns[5].title = "ratio".into();
    }
    let [same_tool, same_kernel] = [TrendRun::tool, kernel].map(|of| same(trend, of).is_some());
    let mut last: Option<&TrendRun> = None;
    for line in shown(trend, lines) {
        let index = match line {
            TableLine::Run(index) => index,
            TableLine::Gap(runs) => {
                let gap = FieldValue::Name(format!("… {}", counted(runs as u64, "run")));
                table.rows.push(vec![Field::default(), Field::from(gap).toned(Tone::Quiet)]);
                continue;
            }
        };
        let run = &trend.runs[index];
        let shown = |same: bool, of: fn(&TrendRun) -> String| match last {
            _ if same => Field::default(),
            Some(last) if of(last) == of(run) => Field::default(),
            _ => FieldValue::Name(of(run)).into(),
        };
        let (lo, hi) = (run.value.lo, run.value.hi);
        let [cost, within] = match trend.against {
            Some(_) => [FieldValue::Ratio(run.value.median), FieldValue::Interval(run.value.median, lo, hi)],
            None => [FieldValue::Cost(run.value.median), FieldValue::CostInterval(lo, hi)],
        };
        table.rows.push(vec![
            Field::from(FieldValue::Name(minute(run))).toned(Tone::Quiet),
            FieldValue::Name(run.id.clone()).into(),
            Field::maybe(run.name.clone().map(FieldValue::Name)),
            shown(same_tool, TrendRun::tool),
            shown(same_kernel, kernel),
            cost.into(),
            within.into(),
            change_of(trend, index),
        ]);
        last = Some(run);
    }
    table
}

/// What changed with a run, if it is the first one of a level.
fn change_of(trend: &Trend, run: usize) -> Field {
    let change = trend.changes.iter().find(|change| change.at as usize == run);
    change.map_or_else(Field::default, |change| {
        let tone = if change.ratio > 1.0 { Tone::Bad } else { Tone::Good };
        let value = FieldValue::RatioWithin(change.ratio, Some(change.lo), Some(change.hi));
        Field::from(value).toned(tone)
    })
}

/// A row a run, in the order of time. Values are nanoseconds for one operation, or ratios; the change is the ratio to the level before,
/// in the row of the first run of a level.
fn data(trend: &Trend) -> Table {
    const COLUMNS: [&str; 16] = [
        "id", "name", "started", "tool_version", "commit", "kernel", "cell", "against", "value", "value_lo",
        "value_hi", "level", "change", "change_lo", "change_hi", "metric",
    ];
    let text = |text: &str| Field::from(FieldValue::Name(text.to_owned()));
    let number = |value: Option<f64>| Field::maybe(value.map(FieldValue::Number));
    let row = |(index, run): (usize, &TrendRun)| {
        let change = trend.changes.iter().find(|change| change.at as usize == index);
        vec![
            text(&run.id),
            text(run.name.as_deref().unwrap_or_default()),
            text(&run.started),
            text(&run.tool_version),
            text(run.commit.as_deref().unwrap_or_default()),
            text(&run.kernel),
            text(&trend.cell),
            text(trend.against.as_deref().unwrap_or_default()),
            number(Some(run.value.median)),
            number(run.value.lo),
            number(run.value.hi),
            number(Some(run.level)),
            number(change.map(|change| change.ratio)),
            number(change.map(|change| change.lo)),
            number(change.map(|change| change.hi)),
            trend.metric.into(),
        ]
    };
    Table::new(&COLUMNS.map(Column::text)).rows(trend.runs.iter().enumerate().map(row))
}

fn value(trend: &Trend, value: f64) -> String {
    if trend.against.is_some() { ratio(value) } else { time(value) }
}

/// From when on it is what, and what else changed at that time.
pub fn sentence(trend: &Trend, change: &TrendChange) -> String {
    let (first, last) = (&trend.runs[change.at as usize], &trend.runs[change.at as usize - 1]);
    let when = if day(first) == day(last) { minute(first) } else { day(first).to_owned() };
    let held = interval(change.ratio, Some(change.lo), Some(change.hi)).unwrap_or_default();
    let what = format!("from {when} on {} × ({held}) what it was", ratio(change.ratio));
    match causes(&change.differences, last, first) {
        Some(causes) => format!("{what}; between the two runs {causes}"),
        None => format!("{what}; what the documents record of machine and program did not change"),
    }
}

/// What changed at the same time, from one run to the next, the likely causes first.
fn causes(differences: &[Difference], last: &TrendRun, first: &TrendRun) -> Option<String> {
    const FIRST: [(&str, &str); 4] =
        [("kernel", "the kernel"), (TOOL, "ipcost"), ("cpu", "the processor"), ("governor", "the governor")];
    let place = |what: &str| FIRST.iter().position(|(known, _)| *known == what).unwrap_or(FIRST.len());
    let mut sorted: Vec<&Difference> = differences.iter().collect();
    sorted.sort_by_key(|difference| place(&difference.what));
    let shown = |difference: &&Difference| {
        let known = FIRST.iter().find(|(known, _)| *known == difference.what).map(|(_, name)| *name);
        let name = known.map_or_else(|| difference.what.replace('_', " "), str::to_owned);
        let [a, b] = match difference.what == TOOL && last.tool() != first.tool() {
            true => [last, first].map(TrendRun::tool),
            false => [&difference.a, &difference.b].map(|values| shortened(&values.join(", "))),
        };
        format!("{name} changed from {a} to {b}")
    };
    let all: Vec<String> = sorted.iter().map(shown).collect();
    match all.len() {
        0 => None,
        1..=MOST_NAMED => Some(and_joined(&all)),
        _ => Some(first_few(&all, MOST_NAMED)),
    }
}

fn shortened(text: &str) -> String {
    match text.chars().count() {
        ..=MOST_LETTERS => text.to_owned(),
        _ => format!("{}…", text.chars().take(MOST_LETTERS).collect::<String>()),
    }
}

/// What it all comes to.
pub fn sentences(trend: &Trend) -> Vec<String> {
    let runs = trend.runs.len() as u64;
    let mut all = Vec::new();
    if trend.too_few() {
        all.push(format!(
            "{} are too few to look for changes: {} are needed, {} more.",
            counted(runs, "run"),
            trend.fewest,
            trend.fewest - runs
        ));
    } else {
        all.push(match trend.changes.len() {
            0 => format!("No change in {runs} runs."),
            count => {
                let last = trend.levels().pop().unwrap_or_default();
                let now = value(trend, trend.runs[last.start].level);
                format!(
                    "{} in {runs} runs; {now} in the latest {}.",
                    counted(count as u64, "change"),
                    last.len()
                )
            }
        });
    }
    if trend.correlation > WANDERS && !trend.too_few() {
        let remedy = match trend.against {
            None => {
                "a ratio to another cell of the same run (--against CELL) is free of what affects whole runs"
            }
            Some(_) => "measure more runs before you rely on a small change",
        };
        all.push(format!(
            "Runs resemble the one before them (correlation {:.1}), as on a machine that is slow for a while: small changes are not found, and large ones may pass; {remedy}.",
            trend.correlation
        ));
    }
    if !trend.left_out.is_empty() {
        let reasons: Vec<String> =
            trend.left_out.iter().map(|left| format!("{} {}", left.runs, left.reason)).collect();
        all.push(format!("Left out: {}; --like RUN follows the history of another run.", reasons.join(", ")));
    }
    all
}

/// The method, for those who want to know.
pub fn how(trend: &Trend) -> String {
    format!(
        "change points by e-divisive on logarithms; without a change, one is found in {:.0} % of histories of independent runs, in up to {:.0} % if the machine drifts; intervals at 95 %, each on its own",
        trend.alpha * 100.0,
        trend.wandering_alpha * 100.0
    )
}

#[cfg(test)]
mod tests;
