//! The words around a chart: what it shows, how to read it, what is missing, where the figures come from.

use ipcost_model::units::{counted, duration_of, duration_text};
use ipcost_model::{Document, Multiplicity, Placement, Stopped, WorkloadRecord};

use super::{Chart, forest, size};
use crate::figures::cheapest;
use crate::figures::lines::by_percentile;
use crate::figures::series::Across;
use crate::figures::ticks::{percent, plain};
use crate::words;

/// Said where a picture shows modes.
pub const MODES: &str = "Diamonds: the epochs of a cell fall into two groups, with these costs and shares.";
/// The longest reason that is given why a cell is missing, in letters.
const MOST_REASON: usize = 160;

/// What the picture is about, in plain words.
pub fn title(document: &Document, chart: Chart) -> String {
    let subject = match chart {
        Chart::Cost => "What one operation costs".to_owned(),
        Chart::Size => size::title(document, Across::Size),
        Chart::Layout => size::title(document, Across::Place),
        Chart::Pace => size::title(document, Across::Pause),
        Chart::Latency => by_percentile(document).title,
        Chart::Load => "Latency against load".to_owned(),
        Chart::Forest => match forest::baseline(document) {
            Some(name) => format!("What one operation costs, compared with {name}"),
            None => "What one operation costs, compared with the baseline".to_owned(),
        },
        Chart::Throughput => "How much a stream carries, by size of message".to_owned(),
        Chart::Cheapest => cheapest::TITLE.to_owned(),
        Chart::Claims => "What was claimed, and what holds".to_owned(),
        Chart::Saving => "What a Unix socket saves".to_owned(),
    };
    match (document.workloads.as_slice(), chart) {
        ([only], Chart::Cost | Chart::Forest) => {
            let subject = subject.replacen("What one operation costs", "what it costs", 1);
            format!("{}: {subject}", words::capitalised(&words::workload(only)))
        }
        _ => subject,
    }
}

/// What stands above a table of some work: alone, or on one of the sides, of which the first says what the work is.
pub fn heading(table: &WorkloadRecord, work: &str, side: Option<usize>) -> String {
    let cores = words::cores(table.placement);
    let work = words::capitalised(work);
    match (side, table.placement) {
        (None, Placement::Free) => work,
        (None, placement) => format!("{work}, {}", placement.shown()),
        (Some(0), _) => format!("{work}, on {cores}"),
        (Some(_), _) => format!("on {cores}"),
    }
}

/// The tables by sides: two where all are of the same work on one core and on two, else one.
pub fn sides<'a>(strata: &[Vec<&'a WorkloadRecord>]) -> Vec<Vec<&'a WorkloadRecord>> {
    if strata.iter().any(|tables| tables.len() != 2) || strata.is_empty() {
        return vec![strata.concat()];
    }
    [0, 1].map(|side| strata.iter().map(|tables| tables[side]).collect()).to_vec()
}

/// How to read the picture.
pub fn lead(document: &Document, chart: Chart) -> String {
    let analysis = &document.analysis;
    let sure = format!("{} %", percent(1.0 - analysis.alpha));
    let each = "each on its own; their ratio shows whether two cells differ, not an overlap of these";
    match chart {
        Chart::Cost | Chart::Size | Chart::Layout | Chart::Pace => {
            let shape = if chart == Chart::Cost { "Lines" } else { "Bands" };
            format!("Points are medians over epochs. {shape} are intervals at {sure}, {each}.")
        }
        Chart::Throughput => {
            format!(
                "Bars end at the median over epochs of what was delivered. Lines are intervals at {sure}, {each}."
            )
        }
        Chart::Cheapest => cheapest::legend(document),
        // They are those of an answer, and have their own words.
        Chart::Claims | Chart::Saving | Chart::Load => String::new(),
        Chart::Latency => by_percentile(document).reading,
        Chart::Forest => {
            let promise = match analysis.multiplicity {
                Multiplicity::Headline => {
                    format!(
                        "lines are intervals, all right in {sure} of such runs ({} contrasts)",
                        analysis.family
                    )
                }
                Multiplicity::Explored => format!(
                    "lines are intervals of an explored grid: of those with a verdict, at most {} % are expected to be wrong",
                    percent(analysis.alpha)
                ),
            };
            let band = format!(
                "the band is ± {} %, below which a difference does not matter",
                percent(analysis.margin)
            );
            format!("Points are medians over epochs of ratios within rounds; {promise}; {band}.")
        }
    }
}

/// What could not be measured, and why.
pub fn missing(document: &Document) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for cell in document.cells.iter().filter(|cell| !cell.available) {
        let reason: String =
            cell.reason.as_deref().unwrap_or("no reason is given").chars().take(MOST_REASON).collect();
        let note = format!("Unavailable: {}: {}.", cell.label, reason.trim_end_matches('.'));
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// Where the figures come from: enough to tell two pictures apart, and to measure again.
pub fn provenance(document: &Document) -> Vec<String> {
    let schedule = &document.schedule;
    let why = match document.stopped {
        Stopped::Resolved => "every question answered",
        Stopped::Budget => "budget spent",
        Stopped::Interrupted => "interrupted",
        Stopped::Failed => "failed before its end",
    };
    let how = format!(
        "{} of {} of {} ms in {}, {why}; seed {}",
        counted(schedule.epochs, "epoch"),
        counted(schedule.rounds, "round"),
        plain(schedule.batch_ms),
        duration_text(duration_of(document.elapsed_s)),
        document.seed,
    );
    let host = &document.host;
    let what = format!(
        "{} {} on {}, {}, {} {}; {}",
        document.tool.name,
        document.tool.version,
        host.cpu,
        counted(host.cores, "core"),
        host.os,
        host.kernel,
        document.started
    );
    let conditions = words::conditions(document).into_iter().map(|text| words::capitalised(&text));
    let mut lines = vec![what, how];
    lines.extend(conditions);
    if !document.warnings.is_empty() {
        lines.push(format!("warnings: {}", warnings(document)));
    }
    lines
}

/// The codes of the warnings, each once with how often.
fn warnings(document: &Document) -> String {
    let mut codes: Vec<(&str, u32)> = Vec::new();
    for warning in &document.warnings {
        match codes.iter_mut().find(|(code, _)| *code == warning.code) {
            Some((_, count)) => *count += 1,
            None => codes.push((&warning.code, 1)),
        }
    }
    let said = |(code, count): &(&str, u32)| match count {
        1 => (*code).to_owned(),
        _ => format!("{code} × {count}"),
    };
    codes.iter().map(said).collect::<Vec<_>>().join(", ")
}
