//! A trend on a terminal: a line of bars, the runs around changes, and a sentence for each change.

use anstyle::{AnsiColor, Style};
use ipcost_model::units::counted;
use ipcost_model::{Metric, and_joined, first_few};
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::numbers::{interval, ratio, time};
use ipcost_report::words::escaped;
use ipcost_report::wrap::{wrapped, wrapped_under};

use super::record::{Trend, TrendChange, TrendRun};
use crate::compare::Difference;

mod bars;
mod selection;

use selection::{Shown, shown};

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
const DEARER: Style = AnsiColor::Red.on_default();
const CHEAPER: Style = AnsiColor::Green.on_default();

/// The identifier tells the time as well.
const COLUMNS: [Column; 7] = [
    Column::new("started", false, 3),
    Column::new("id", false, 0),
    Column::new("name", false, 4),
    Column::new("ipcost", false, 1),
    Column::new("kernel", false, 2),
    Column::new("cost", true, 0),
    Column::new("", false, 0),
];
/// More correlation than this is worth a word.
const WANDERS: f64 = 0.3;
/// Differences that a sentence names.
const MOST_NAMED: usize = 3;
/// The name of the version among differences, which has the whole build.
const TOOL: &str = "version of ipcost";
/// The most letters of a value in a sentence.
const MOST_LETTERS: usize = 40;

/// Draws a trend in `room` columns of text and about so many lines: of the runs, as many as fit, of those around changes and
/// the latest.
pub fn render(trend: &Trend, lines: usize, room: usize) -> String {
    let mut out = format!("{BOLD}{}{BOLD:#}\n", wrapped(&escaped(&title(trend)), room));
    out.push_str(&format!("{DIMMED}{}{DIMMED:#}\n\n", wrapped(&escaped(&about(trend)), room)));
    out.push_str(&bars::line(trend, room));
    out.push('\n');
    table(trend, lines, room, &mut out);
    out.push('\n');
    for sentence in sentences(trend) {
        out.push_str(&format!("{}\n", wrapped(&escaped(&sentence), room)));
    }
    out.push_str(&format!("{DIMMED}{}{DIMMED:#}\n", wrapped(&how(trend), room)));
    out
}

/// What is followed.
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

fn table(trend: &Trend, lines: usize, room: usize, out: &mut String) {
    let lines = shown(trend, lines);
    let mut drawn = String::new();
    grid(trend, &lines).render(&mut drawn, room);
    let mut rows = drawn.lines();
    out.extend(rows.next().map(|titles| format!("{titles}\n")));
    for line in &lines {
        match line {
            Shown::Run(_) => out.extend(rows.next().map(|row| format!("{row}\n"))),
            Shown::Gap(runs) => {
                out.push_str(&format!("{DIMMED}… {}{DIMMED:#}\n", counted(*runs as u64, "run")))
            }
            Shown::Change(index) => {
                let change = &trend.changes[*index];
                let style = if change.ratio > 1.0 { DEARER } else { CHEAPER };
                let said = wrapped_under(&escaped(&format!("▶ {}", sentence(trend, change))), room, "  ");
                out.push_str(&format!("{style}{said}{style:#}\n"));
            }
        }
    }
}

/// The rows of the runs. A tool or kernel is told once, and again where it changes.
fn grid(trend: &Trend, lines: &[Shown]) -> Grid {
    let mut grid = Grid::new(&COLUMNS);
    if trend.metric == Metric::Cpu {
        grid.title(5, "CPU/op".to_owned());
    }
    if trend.against.is_some() {
        grid.title(5, "ratio".to_owned());
    }
    let [same_tool, same_kernel] = [TrendRun::tool, kernel].map(|of| same(trend, of).is_some());
    let mut last: Option<&TrendRun> = None;
    for run in lines.iter().filter_map(Shown::run).map(|index| &trend.runs[index]) {
        let told = |same: bool, of: fn(&TrendRun) -> String| match last {
            _ if same => String::new(),
            Some(last) if of(last) == of(run) => String::new(),
            _ => escaped(&of(run)),
        };
        grid.row(vec![
            Piece::styled(escaped(&minute(run)), DIMMED),
            run.id.as_str().into(),
            run.name.as_deref().map(escaped).unwrap_or_default().into(),
            told(same_tool, TrendRun::tool).into(),
            told(same_kernel, kernel).into(),
            value(trend, run.value.median).into(),
            bounds(trend, run).into(),
        ]);
        last = Some(run);
    }
    grid
}

fn value(trend: &Trend, value: f64) -> String {
    if trend.against.is_some() { ratio(value) } else { time(value) }
}

/// In the unit of the cost, as far as it has ends.
fn bounds(trend: &Trend, run: &TrendRun) -> String {
    let (Some(lo), Some(hi)) = (run.value.lo, run.value.hi) else { return "(no interval)".to_owned() };
    let [lo, hi] = [lo, hi].map(|end| value(trend, end));
    match (lo.split_once(' '), hi.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("({number}–{hi})"),
        _ => format!("({lo}–{hi})"),
    }
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
    let told = |difference: &&Difference| {
        let known = FIRST.iter().find(|(known, _)| *known == difference.what).map(|(_, name)| *name);
        let name = known.map_or_else(|| difference.what.replace('_', " "), str::to_owned);
        let [a, b] = match difference.what == TOOL && last.tool() != first.tool() {
            true => [last, first].map(TrendRun::tool),
            false => [&difference.a, &difference.b].map(|values| shortened(&values.join(", "))),
        };
        format!("{name} changed from {a} to {b}")
    };
    let all: Vec<String> = sorted.iter().map(told).collect();
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
        "change points by e-divisive on logarithms; without a change, one is found in {:.0} % of histories of independent runs, in up to {:.0} % if the machine wanders; intervals at 95 %, each on its own",
        trend.alpha * 100.0,
        trend.wandering_alpha * 100.0
    )
}

#[cfg(test)]
mod tests;
