//! What changed between two sets of runs: on a terminal, and as Markdown for a pull request.

use anstyle::{AnsiColor, Style};
use ipcost_model::units::counted;
use ipcost_model::{Metric, Verdict, first_few};
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::numbers::{interval, ratio, time};
use ipcost_report::words::{escaped, verdict};
use ipcost_report::wrap::wrapped;

use crate::compare::{Change, ComparedRun, Comparison, Difference, SpreadSource};

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
/// Of a table, at least everything with a verdict is shown, and so many rows.
const MOST_ROWS: usize = 40;
/// Of what differs, so many lines are shown.
const MOST_DIFFERENCES: usize = 30;

const CHANGES: [Column; 6] = [
    Column::new("cell", false, 0),
    Column::new("A", true, 2),
    Column::new("B", true, 1),
    Column::new("B / A", true, 0),
    Column::new("", false, 0),
    Column::new("verdict", false, 0),
];

/// Draws a comparison in `room` columns of text, with styles as ANSI sequences.
pub fn render(comparison: &Comparison, room: usize) -> String {
    let mut out = format!("A: {}\nB: {}\n\n", runs(&comparison.a), runs(&comparison.b));
    if comparison.differences.is_empty() {
        out.push_str("Hosts, settings and versions are the same on both sides, as far as recorded.\n");
    } else {
        out.push_str(&format!("{BOLD}Other differences{BOLD:#}\n"));
        differences(&comparison.differences, room, &mut out);
    }
    let tables = [(cost_title(comparison), &comparison.costs), (RELATIVE.to_owned(), &comparison.relative)];
    for (title, changes) in tables.iter().filter(|(_, changes)| !changes.is_empty()) {
        out.push_str(&format!("\n{BOLD}{title}{BOLD:#}\n"));
        table(changes, comparison.margin, room, &mut out);
    }
    out.push('\n');
    for line in [sentence(comparison)].iter().chain(&comparison.notes) {
        out.push_str(&format!("{}\n", wrapped(&escaped(line), room)));
    }
    for (side, only) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        if !only.is_empty() {
            out.push_str(&format!("{}\n", wrapped(&only_there(side, only), room)));
        }
    }
    out.push_str(&format!("\n{DIMMED}{}{DIMMED:#}\n", wrapped(&how(comparison), room)));
    out
}

const RELATIVE: &str = "Ratio to the baseline of the same run";

fn cost_title(comparison: &Comparison) -> String {
    match comparison.metric {
        Metric::Wall => "Cost of an operation".to_owned(),
        Metric::Cpu => "Processor time of an operation".to_owned(),
    }
}

fn runs(runs: &[ComparedRun]) -> String {
    let one = |run: &ComparedRun| {
        format!("{} ({}, seed {})", escaped(&run.started), counted(run.epochs, "epoch"), run.seed)
    };
    match runs {
        [only] => one(only),
        [first, .., last] => {
            format!("{} runs, from {} to {}", runs.len(), escaped(&first.started), escaped(&last.started))
        }
        [] => "no run".to_owned(),
    }
}

fn differences(differences: &[Difference], room: usize, out: &mut String) {
    const COLUMNS: [Column; 3] =
        [Column::new("", false, 0), Column::new("A", false, 0), Column::new("B", false, 0)];
    let mut grid = Grid::new(&COLUMNS);
    for Difference { what, a, b } in differences.iter().take(MOST_DIFFERENCES) {
        let joined = |values: &[String]| escaped(&values.join(", "));
        grid.row(vec![escaped(what).into(), joined(a).into(), joined(b).into()]);
    }
    grid.render(out, room);
    if differences.len() > MOST_DIFFERENCES {
        out.push_str(&format!("… and {} more (--json FILE has all)\n", differences.len() - MOST_DIFFERENCES));
    }
}

fn table(changes: &[Change], margin: f64, room: usize, out: &mut String) {
    let mut grid = Grid::new(&CHANGES);
    let shown = |(rank, change): &(usize, &Change)| *rank < MOST_ROWS || known(change);
    let rows: Vec<&Change> = changes.iter().enumerate().filter(shown).map(|(_, change)| change).collect();
    rows.iter().for_each(|change| row(&mut grid, change, margin));
    grid.render(out, room);
    if rows.len() < changes.len() {
        out.push_str(&format!("… and {} open ones (--json FILE has all)\n", changes.len() - rows.len()));
    }
}

/// Whether a change is one, whatever its size.
fn known(change: &Change) -> bool {
    matches!(change.verdict, Verdict::Different | Verdict::Direction)
}

fn row(grid: &mut Grid, change: &Change, margin: f64) {
    let value = |value: f64| if change.baseline.is_some() { ratio(value) } else { time(value) };
    let style = match change.verdict {
        Verdict::Different | Verdict::Direction if change.ratio > 1.0 => AnsiColor::Red.on_default(),
        Verdict::Different | Verdict::Direction => AnsiColor::Green.on_default(),
        _ => DIMMED,
    };
    grid.row(vec![
        escaped(&name(change)).into(),
        value(change.a).into(),
        value(change.b).into(),
        Piece::styled(ratio(change.ratio), style),
        bounds(change).into(),
        Piece::styled(verdict(change.verdict, change.ratio, margin), style),
    ]);
}

fn name(change: &Change) -> String {
    match &change.baseline {
        Some(baseline) => format!("{} / {baseline}", change.cell),
        None => change.cell.clone(),
    }
}

fn bounds(change: &Change) -> String {
    match interval(change.ratio, change.lo, change.hi) {
        Some(bounds) => format!("({bounds})"),
        None => "(no interval)".to_owned(),
    }
}

/// What it all comes to, in one sentence.
pub fn sentence(comparison: &Comparison) -> String {
    let costs = &comparison.costs;
    let changed: Vec<&Change> = costs.iter().filter(|change| known(change)).collect();
    let open = costs.iter().filter(|change| change.verdict == Verdict::Undecided).count();
    let margin = comparison.margin * 100.0;
    let mut text = match changed.as_slice() {
        [] if open == 0 => format!("None of {} cells changed by more than {margin} %.", costs.len()),
        [] => format!("No change is known; {open} of {} cells are open.", costs.len()),
        [largest, ..] => {
            let all = if changed.len() == 1 { "1 cell" } else { &format!("{} cells", changed.len()) };
            let most = format!("{} costs {} × {}", largest.cell, ratio(largest.ratio), bounds(largest));
            let open = if open > 0 { format!("; {open} are open") } else { String::new() };
            format!("{all} of {} changed, most of all {most}{open}.", costs.len())
        }
    };
    let relative = comparison.relative.iter().filter(|change| known(change)).count();
    if !comparison.relative.is_empty() {
        let of = comparison.relative.len();
        text.push_str(&match relative {
            0 => format!(" Of the {of} ratios to a baseline, no change is known."),
            count => format!(" Of the {of} ratios to a baseline, {count} changed."),
        });
    }
    text
}

fn only_there(side: &str, cells: &[String]) -> String {
    const MOST: usize = 6;
    let cells: Vec<String> = cells.iter().map(|id| escaped(id)).collect();
    format!("Only on side {side}: {}.", first_few(&cells, MOST))
}

fn how(comparison: &Comparison) -> String {
    let assumed = comparison.costs.iter().chain(&comparison.relative);
    let measured = assumed.clone().filter(|change| change.spread_source == SpreadSource::Measured).count();
    let source = if measured > 0 { "measured from the runs" } else { "assumed" };
    format!(
        "unpaired; {} intervals, all right in {:.0} % of such comparisons; the spread between runs is {source}; margin {} %",
        comparison.family,
        (1.0 - comparison.alpha) * 100.0,
        comparison.margin * 100.0
    )
}
