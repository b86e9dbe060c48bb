//! The document on a terminal: a table a workload, a sentence a workload; and the warnings.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use ipcost_model::units::duration_text;
use ipcost_model::{
    CellRecord, Document, LatencyMode, Metric, Multiplicity, Pattern, Stopped, Verdict, WorkloadRecord,
};

use crate::grid::{Column, Grid, Piece};
use crate::numbers::{interval, rate, ratio, throughput, time};
use crate::words::{self, capitalised, escaped};

/// Narrower than this, lines are broken as if there were so many columns.
const LEAST_ROOM: usize = 20;

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();

const fn column(title: &'static str, right: bool, expendable: u8) -> Column {
    Column { title, right, expendable }
}

const COLUMNS: [Column; 9] = [
    column("transport", false, 0),
    column("cost", true, 0),
    column("rate", true, 2),
    column("CPU/op", true, 1),
    column("p50", true, 3),
    column("p99", true, 2),
    column("ratio", true, 0),
    column("", false, 0),
    column("verdict", false, 0),
];
const RATE: usize = 2;
const RATIO: usize = 6;
/// The longest baseline that is named above a column.
const MOST_IN_TITLE: usize = 16;

/// Draws the document in `room` columns of text, with styles as ANSI sequences.
pub fn render(document: &Document, room: usize) -> String {
    let mut out = String::new();
    for table in &document.workloads {
        out.push_str(&format!("{BOLD}{}{BOLD:#}\n", capitalised(&words::workload(table))));
        self::table(document, table).render(&mut out, room);
        out.push('\n');
    }
    for table in &document.workloads {
        out.push_str(&wrapped(&words::sentence(document, table), room));
        out.push('\n');
    }
    out.push('\n');
    out.push_str(&format!("{DIMMED}{}{DIMMED:#}\n", wrapped(&how(document), room)));
    out
}

/// Breaks lines between words.
fn wrapped(text: &str, room: usize) -> String {
    textwrap::wrap(text, room.max(LEAST_ROOM)).join("\n")
}

/// The document's warnings, one after the other.
pub fn warnings(document: &Document, room: usize) -> String {
    const HEAD: &str = "warning: ";
    let line = |text: &str| {
        let text = wrapped(&format!("{HEAD}{}", escaped(text)), room);
        format!("{WARN}warning:{WARN:#} {}\n", text.strip_prefix(HEAD).unwrap_or(&text))
    };
    document.warnings.iter().map(|warning| line(&warning.message)).collect()
}

fn table(document: &Document, table: &WorkloadRecord) -> Grid {
    let mut grid = Grid::new(&COLUMNS);
    let baseline = table.baseline.as_deref().and_then(|id| words::cell(document, id));
    grid.title(RATE, if table.pattern == Pattern::Stream { "bytes/s" } else { "ops/s" }.to_owned());
    if let Some(baseline) = baseline {
        let short = baseline.label.chars().count() <= MOST_IN_TITLE;
        grid.title(
            RATIO,
            format!("× {}", if short { escaped(&baseline.label) } else { "baseline".to_owned() }),
        );
    }
    let winner =
        table.fastest.as_ref().filter(|fastest| fastest.claimed).map(|fastest| fastest.cell.as_str());
    for cell in table.cells.iter().filter_map(|id| words::cell(document, id)) {
        let style = if winner == Some(&cell.id) { BOLD } else { Style::new() };
        row(&mut grid, document, table, cell, style);
    }
    grid
}

fn row(grid: &mut Grid, document: &Document, table: &WorkloadRecord, cell: &CellRecord, style: Style) {
    let name = Piece::styled(escaped(&cell.label), style);
    let (Some(cost), true) = (cell.wall_ns_per_op, cell.available) else {
        let mut pieces = vec![name];
        pieces.resize(COLUMNS.len() - 1, Piece::default());
        pieces.push(Piece::styled(if cell.available { "not measured" } else { "unavailable" }, DIMMED));
        return grid.row(pieces);
    };
    let rate = match cell.pattern {
        Pattern::Stream => cell.bytes_per_s.map(throughput),
        _ => cell.ops_per_s.map(rate),
    };
    let latency = |of: fn(&ipcost_model::LatencySummary) -> u64| {
        cell.latency_ns.as_ref().map_or_else(String::new, |summary| time(of(summary) as f64))
    };
    let (times, bounds, verdict) = judged(document, table, cell);
    grid.row(vec![
        name,
        Piece::styled(time(cost.median), style),
        rate.unwrap_or_default().into(),
        cell.cpu_ns_per_op.map(|cpu| time(cpu.median)).unwrap_or_default().into(),
        latency(|summary| summary.p50).into(),
        latency(|summary| summary.p99).into(),
        Piece::styled(times, style),
        bounds.into(),
        verdict,
    ]);
    for (index, mode) in cell.modes.iter().enumerate() {
        let branch = if index + 1 < cell.modes.len() { "├" } else { "└" };
        let name = format!(" {branch} in {:.0} % of epochs", mode.share * 100.0);
        grid.row(vec![Piece::styled(name, DIMMED), Piece::styled(time(mode.wall_ns_per_op), DIMMED)]);
    }
}

/// The ratio to the baseline, its interval, and the verdict.
fn judged(document: &Document, table: &WorkloadRecord, cell: &CellRecord) -> (String, String, Piece) {
    if table.baseline.as_ref() == Some(&cell.id) {
        return ("1".to_owned(), String::new(), Piece::styled("baseline", DIMMED));
    }
    let Some(contrast) = words::contrast(document, Metric::Wall, &cell.id) else {
        return (String::new(), String::new(), "".into());
    };
    let bounds = interval(contrast.ratio, contrast.lo, contrast.hi)
        .map_or_else(|| "(no interval)".to_owned(), |text| format!("({text})"));
    let style = match contrast.verdict {
        Verdict::Different | Verdict::Direction if contrast.ratio < 1.0 => GOOD,
        Verdict::Different | Verdict::Direction => BAD,
        Verdict::Equivalent => Style::new(),
        Verdict::Undecided => DIMMED,
    };
    let mut verdict = contrast.verdict.to_string();
    if table.baseline.as_ref() != Some(&contrast.b) {
        // Compared with another than the column's title says.
        verdict.push_str(&format!(" (× {})", words::label(document, &contrast.b)));
    }
    (ratio(contrast.ratio), bounds, Piece::styled(verdict, style))
}

/// How the figures came about, in one line.
pub(crate) fn how(document: &Document) -> String {
    let schedule = &document.schedule;
    let analysis = &document.analysis;
    let placements: Vec<&str> = {
        let mut names: Vec<&str> = document.cells.iter().map(|cell| cell.placement.name()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let why = match document.stopped {
        Stopped::Resolved => "every question answered",
        Stopped::Budget => "budget spent",
        Stopped::Interrupted => "interrupted",
        Stopped::Failed => "failed",
    };
    let latency = match schedule.latency {
        LatencyMode::LeadIn => "latency from the lead-ins",
        LatencyMode::Inline => "latency within the timed batches",
        LatencyMode::Off => "latency not sampled",
    };
    let promise = match analysis.multiplicity {
        Multiplicity::Headline => format!(
            "intervals hold together at {:.0} % ({} contrasts)",
            (1.0 - analysis.alpha) * 100.0,
            analysis.family
        ),
        Multiplicity::Explored => format!(
            "an explored grid: {} of its contrasts are discoveries by e-BH, and of those with a verdict at most {:.0} % are expected to be wrong",
            analysis.discoveries.unwrap_or(0),
            analysis.alpha * 100.0
        ),
    };
    format!(
        "{} epochs of {} of {:.0} ms in {}, {why}; {promise}; placement {}; {latency}; seed {}",
        schedule.epochs,
        words::rounds(schedule.rounds),
        schedule.batch_ms,
        duration_text(Duration::from_secs_f64(document.elapsed_s.max(0.0))),
        placements.join(", "),
        document.seed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn plain(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("\u{1b}[") {
            out.push_str(&rest[..start]);
            rest = rest[start..].split_once('m').map_or("", |(_, after)| after);
        }
        out + rest
    }

    #[test]
    fn everything_is_shown() {
        insta::assert_snapshot!(plain(&render(&fixture::document(), usize::MAX)));
    }

    #[test]
    fn a_narrow_terminal_loses_the_least_important_columns() {
        let narrow = plain(&render(&fixture::document(), 80));
        insta::assert_snapshot!(narrow);
        let widest =
            narrow.lines().take_while(|line| !line.contains(':')).map(|line| line.chars().count()).max();
        assert!(widest.unwrap() <= 80);
    }

    #[test]
    fn nothing_from_outside_reaches_the_terminal_raw() {
        let shown = render(&fixture::document(), usize::MAX);
        assert!(shown.contains("mine \\u{1b}[31m"), "{shown}");
    }

    #[test]
    fn warnings_are_lines_of_their_own() {
        assert_eq!(
            plain(&warnings(&fixture::document(), usize::MAX)),
            "warning: the hypervisor took 3.0 % of the processors' time for others\n"
        );
    }

    #[test]
    fn every_kind_of_sentence() {
        let mut document = fixture::document();
        let mut sentences = Vec::new();
        let mut say = |document: &Document| sentences.push(words::sentence(document, &document.workloads[0]));
        say(&document);
        let contrasts = std::mem::take(&mut document.contrasts);
        say(&document);
        let fastest = document.workloads[0].fastest.as_mut().unwrap();
        fastest.claimed = false;
        say(&document);
        document.workloads[0].fastest.as_mut().unwrap().verdict = Verdict::Equivalent;
        say(&document);
        document.contrasts = contrasts;
        document.contrasts[0].lo = None;
        let fastest = document.workloads[0].fastest.as_mut().unwrap();
        (fastest.lo, fastest.hi, fastest.verdict) = (None, None, Verdict::Undecided);
        say(&document);
        document.workloads[0].fastest = None;
        say(&document);
        document.cells.iter_mut().for_each(|cell| cell.epochs = 0);
        say(&document);
        insta::assert_snapshot!(sentences.join("\n"));
    }
}
