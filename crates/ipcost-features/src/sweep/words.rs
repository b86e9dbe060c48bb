//! Sweeps on a terminal: over sizes, and over where two processes run.

use anstyle::{AnsiColor, Style};
use ipcost_model::units::{duration_of, duration_text, size_text};
use ipcost_model::{CellRecord, Pattern, Verdict};
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::numbers::{interval, ratio, time};
use ipcost_report::words::{self, SAME_IN_MEDIAN, escaped};
use ipcost_report::wrap::wrapped;

use crate::sweep::{CoreSweep, Crossing, PairOfProcessors, SizeSweep, SweepPoint};

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
const COLUMNS: [Column; 6] = [
    Column::new("size", true, 0),
    Column::new("a", true, 2),
    Column::new("b", true, 1),
    Column::new("a / b", true, 0),
    Column::new("", false, 0),
    Column::new("cheaper", false, 0),
];

/// Draws a sweep in `room` columns of text.
pub fn render(sweep: &SizeSweep, room: usize) -> String {
    let what = operation(sweep.pattern);
    let (a, b) = (escaped(&sweep.a), escaped(&sweep.b));
    let mut out = format!("{BOLD}{a} against {b}: {what}, by size{BOLD:#}\n");
    let mut grid = Grid::new(&COLUMNS);
    grid.title(1, a.clone());
    grid.title(2, b.clone());
    grid.title(3, format!("{a} / {b}"));
    sweep.points.iter().for_each(|point| row(&mut grid, sweep, point));
    grid.render(&mut out, room);
    out.push('\n');
    for sentence in sentences(sweep) {
        out.push_str(&format!("{}\n", wrapped(&sentence, room)));
    }
    let took = duration_text(duration_of(sweep.elapsed_s));
    let how = format!(
        "{} sizes in {took}; in {:.0} % of such sweeps every interval is right (for up to {} sizes); seed {}",
        sweep.points.len(),
        (1.0 - sweep.alpha) * 100.0,
        sweep.family,
        sweep.seed
    );
    out.push_str(&format!("\n{DIMMED}{}{DIMMED:#}\n", wrapped(&how, room)));
    out
}

/// What one operation of a pattern is.
pub fn operation(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Rr => "a round trip",
        Pattern::Stream => "a message of a stream",
        Pattern::Connect => "a connection",
        Pattern::Floor => "a part of a hop",
    }
}

fn row(grid: &mut Grid, sweep: &SizeSweep, point: &SweepPoint) {
    let (word, style) = match (point.verdict, point.a_is_cheaper()) {
        (Verdict::Equivalent, _) if point.is_same() => ("same".to_owned(), DIMMED),
        (Verdict::Equivalent, _) => (SAME_IN_MEDIAN.to_owned(), DIMMED),
        (_, Some(true)) => (escaped(&sweep.a), AnsiColor::Green.on_default()),
        (_, Some(false)) => (escaped(&sweep.b), AnsiColor::Yellow.on_default()),
        (_, None) => ("open".to_owned(), DIMMED),
    };
    let bounds = match interval(point.ratio, point.lo, point.hi) {
        Some(bounds) => format!("({bounds})"),
        None => "(no interval)".to_owned(),
    };
    grid.row(vec![
        size_text(point.size).into(),
        time(point.a_ns).into(),
        time(point.b_ns).into(),
        ratio(point.ratio).into(),
        bounds.into(),
        Piece::styled(word, style),
    ]);
}

/// What the sweep found, in plain words.
pub fn sentences(sweep: &SizeSweep) -> Vec<String> {
    let (a, b) = (escaped(&sweep.a), escaped(&sweep.b));
    let mut found: Vec<String> = sweep.crossings.iter().map(|crossing| sentence(sweep, crossing)).collect();
    if found.is_empty() {
        let mut known: Vec<bool> = sweep.points.iter().filter_map(SweepPoint::a_is_cheaper).collect();
        known.dedup();
        let range = match (sweep.points.first(), sweep.points.last()) {
            (Some(first), Some(last)) => {
                format!("from {} to {}", size_text(first.size), size_text(last.size))
            }
            _ => "at no size".to_owned(),
        };
        found.push(match known.first() {
            Some(a_is_cheaper) => {
                let cheaper = if *a_is_cheaper { a } else { b };
                format!("No crossing {range}: {cheaper} is cheaper at every size that is decided.")
            }
            None => format!("Which of {a} and {b} is cheaper {range} is open; give a larger --budget."),
        });
    }
    if sweep.out_of_budget {
        found.push("The budget ended before the range was as small as asked for (--resolution); a larger --budget narrows it.".to_owned());
    }
    found
}

fn sentence(sweep: &SizeSweep, crossing: &Crossing) -> String {
    let (below, above) = if crossing.a_cheaper_below { (&sweep.a, &sweep.b) } else { (&sweep.b, &sweep.a) };
    format!(
        "{} is cheaper up to {}, {} from {} on: they cross in between.",
        escaped(below),
        size_text(crossing.from),
        escaped(above),
        size_text(crossing.to)
    )
}

/// Costs by transport and relation: a row a transport and workload, a column for each relation.
pub(crate) fn matrix(sweep: &CoreSweep, room: usize) -> String {
    let CoreSweep { relations, document, .. } = sweep;
    let mut columns = vec![Column::new("", false, 0)];
    columns.extend(relations.iter().map(|_| Column::new("", true, 0)));
    let mut grid = Grid::new(&columns);
    (1..).zip(relations).for_each(|(index, pair)| grid.title(index, escaped(&pair.relation)));
    for table in &document.workloads {
        let cells: Vec<&CellRecord> = table.cells.iter().filter_map(|id| words::cell(document, id)).collect();
        let mut transports: Vec<&str> = cells.iter().map(|cell| cell.transport.as_str()).collect();
        transports.dedup();
        let mut seen = Vec::new();
        for transport in transports {
            if seen.contains(&transport) {
                continue;
            }
            seen.push(transport);
            let cost = |pair: &PairOfProcessors| {
                let is_it = |cell: &&&CellRecord| {
                    cell.transport == transport
                        && cell.options.int("client_cpu") == Some(pair.client_cpu)
                        && cell.options.int("server_cpu") == Some(pair.server_cpu)
                };
                let found = cells.iter().find(is_it).and_then(|cell| cell.wall_ns_per_op);
                found.map_or_else(String::new, |cost| time(cost.median)).into()
            };
            let name = format!("{}, {}", words::workload(table), escaped(transport));
            grid.row(std::iter::once(name.into()).chain(relations.iter().map(cost)).collect());
        }
    }
    let mut out = format!("{BOLD}What the place of two processes costs{BOLD:#}\n");
    grid.render(&mut out, room);
    out.push('\n');
    out
}
