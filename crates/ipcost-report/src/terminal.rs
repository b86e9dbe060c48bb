//! The document on a terminal: a table a workload, a sentence a workload; and the warnings.

use std::collections::BTreeMap;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use ipcost_model::units::{counted, duration_text};
use ipcost_model::{
    ContrastRecord, Document, LatencyMode, Metric, Multiplicity, Pattern, Stopped, Verdict, WorkloadRecord,
};
use unicode_width::UnicodeWidthStr;

use crate::grid::{Column, Grid, Piece};
use crate::numbers::ratio;
use crate::rows::{self, Row, Standing, Under};
use crate::words::{self, capitalised, escaped};

/// Narrower than this, lines are broken as if there were so many columns.
const LEAST_ROOM: usize = 20;

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();

const COLUMNS: [Column; 10] = [
    Column::new("transport", false, 0),
    Column::new("cost", true, 0),
    Column::new("rate", true, 2),
    Column::new("CPU/op", true, 1),
    Column::new("p50", true, 3),
    Column::new("p99", true, 2),
    Column::new("× floor", true, 0),
    Column::new("ratio", true, 0),
    Column::new("", false, 0),
    Column::new("verdict", false, 0),
];
const RATE: usize = 2;
const RATIO: usize = 7;

/// Of a table that is too tall to be shown while a run goes on.
const PROGRESS: [Column; 3] =
    [Column::new("", false, 0), Column::new("answered", true, 0), Column::new("still open", false, 0)];

/// So many warnings of a kind are told one by one; of more, one less than that, and how many follow.
const MOST_OF_A_KIND: usize = 3;

/// Draws the document in `room` columns of text, with styles as ANSI sequences.
pub fn render(document: &Document, room: usize) -> String {
    let mut out = tables(document, room);
    // Of floors the table says all there is.
    let strata = words::strata(document);
    for tables in strata.iter().filter(|tables| tables[0].pattern != Pattern::Floor) {
        out.push_str(&wrapped(&words::sentence_of(document, tables), room));
        out.push('\n');
    }
    if document.workloads.iter().any(|table| table.pattern != Pattern::Floor) {
        out.push('\n');
    }
    out.push_str(&format!("{DIMMED}{}{DIMMED:#}\n", wrapped(&how(document), room)));
    out
}

/// What is known so far, in at most `lines` lines of `room` columns: the tables, or, where they are too tall, a line for each
/// that says how many of its questions are answered and which are open.
pub fn so_far(document: &Document, room: usize, lines: usize) -> String {
    let whole = tables(document, room);
    if whole.lines().count() <= lines {
        return whole;
    }
    let asked: Vec<&WorkloadRecord> =
        document.workloads.iter().filter(|table| table.baseline.is_some()).collect();
    let names: Vec<String> = asked.iter().map(|table| capitalised(&words::workload(table))).collect();
    let taken = names.iter().map(|name| name.width()).max().unwrap_or(0) + PROGRESS[1].title.len() + 4;
    let mut grid = Grid::new(&PROGRESS);
    for (table, name) in asked.into_iter().zip(names).take(lines.saturating_sub(1)) {
        let contrasts = table.cells.iter().filter_map(|id| words::contrast(document, Metric::Wall, id));
        let (known, open): (Vec<_>, Vec<_>) =
            contrasts.partition(|found| matches!(found.verdict, Verdict::Different | Verdict::Equivalent));
        let answered = format!("{} of {}", known.len(), known.len() + open.len());
        let why = |found: &&ContrastRecord| {
            let (name, bounds) = (words::label(document, &found.a), words::bounds_text(found));
            format!("{name} {} {bounds}", ratio(found.ratio))
        };
        let left = room.saturating_sub(taken + 2).max(LEAST_ROOM);
        let whole = open.iter().map(why).collect::<Vec<_>>().join(", ");
        let names =
            || open.iter().map(|found| words::label(document, &found.a)).collect::<Vec<_>>().join(", ");
        let open = if whole.width() <= left { whole } else { names() };
        let open = textwrap::wrap(&open, left);
        let more = if open.len() > 1 { " …" } else { "" };
        let open = format!("{}{more}", open.first().map_or("", |line| line));
        grid.row(vec![name.into(), answered.into(), Piece::styled(open, DIMMED)]);
    }
    let mut out = String::new();
    grid.render(&mut out, room);
    out
}

/// A table a workload, one for the same work on one core and on two.
fn tables(document: &Document, room: usize) -> String {
    let mut out = String::new();
    for tables in words::strata(document) {
        let (title, grid) = match tables[..] {
            [together, apart] => (words::work(together), beside(document, together, apart)),
            _ => (words::workload(tables[0]), self::table(document, tables[0])),
        };
        out.push_str(&format!("{BOLD}{}{BOLD:#}\n", capitalised(&title)));
        grid.render(&mut out, room);
        for floor in tables.iter().flat_map(|table| words::floors(document, table)) {
            out.push_str(&format!("{DIMMED}{}{DIMMED:#}\n", wrapped(&floor, room)));
        }
        out.push('\n');
    }
    out
}

/// Breaks lines between words.
fn wrapped(text: &str, room: usize) -> String {
    textwrap::wrap(text, room.max(LEAST_ROOM)).join("\n")
}

/// The document's warnings, one after the other; where there are many of a kind, the first of them.
pub fn warnings(document: &Document, room: usize) -> String {
    const HEAD: &str = "warning: ";
    let line = |text: &str| {
        let text = wrapped(&format!("{HEAD}{}", escaped(text)), room);
        format!("{WARN}warning:{WARN:#} {}\n", text.strip_prefix(HEAD).unwrap_or(&text))
    };
    let mut of_kind: BTreeMap<&str, usize> = BTreeMap::new();
    for warning in &document.warnings {
        *of_kind.entry(&warning.code).or_default() += 1;
    }
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    let mut text = String::new();
    for warning in &document.warnings {
        let code = warning.code.as_str();
        let all = of_kind[code];
        let before = told.entry(code).or_default();
        *before += 1;
        if all <= MOST_OF_A_KIND || *before < MOST_OF_A_KIND {
            text.push_str(&line(&warning.message));
        } else if *before == MOST_OF_A_KIND {
            let more = all + 1 - MOST_OF_A_KIND;
            text.push_str(&line(&format!("{more} more {code} warnings; see --html or --json")));
        }
    }
    text
}

fn table(document: &Document, table: &WorkloadRecord) -> Grid {
    let mut grid = Grid::new(&COLUMNS);
    let (rate, ratio) = rows::titles(document, table);
    grid.title(RATE, rate);
    if let Some(ratio) = ratio {
        grid.title(RATIO, ratio);
    }
    rows::rows(document, table).for_each(|row| add(&mut grid, row));
    grid
}

/// The columns of one placement beside another: where a table has both, what matters less gives way.
const STRATUM: [Column; 7] = [
    Column::new("cost", true, 0),
    Column::new("CPU/op", true, 3),
    Column::new("p99", true, 4),
    Column::new("× floor", true, 0),
    Column::new("ratio", true, 0),
    Column::new("", false, 1),
    Column::new("verdict", false, 0),
];
const STRATUM_RATIO: usize = 4;

/// The same work on one core and on two, side by side.
fn beside(document: &Document, together: &WorkloadRecord, apart: &WorkloadRecord) -> Grid {
    let columns: Vec<Column> = [COLUMNS[0]].into_iter().chain(STRATUM).chain(STRATUM).collect();
    let mut grid = Grid::new(&columns);
    for (index, table) in [together, apart].into_iter().enumerate() {
        let first = 1 + index * STRATUM.len();
        grid.title(first, words::cores(table.placement).to_owned());
        if let (_, Some(ratio)) = rows::titles(document, table) {
            grid.title(first + STRATUM_RATIO, ratio);
        }
    }
    for (one, two) in rows::rows(document, together).zip(rows::rows(document, apart)) {
        let style = if one.cheapest || two.cheapest { BOLD } else { Style::new() };
        let mut pieces = vec![Piece::styled(one.name.clone(), style)];
        pieces.extend(stratum(&one));
        pieces.extend(stratum(&two));
        grid.row(pieces);
        let both = [one, two];
        let beneath = rows::beneath_each(&both);
        for (index, (head, sides)) in beneath.iter().enumerate() {
            let mut pieces = vec![branch(head, index, beneath.len())];
            for side in sides {
                pieces.extend(under(*side, STRATUM.len()));
            }
            grid.row(pieces);
        }
    }
    grid
}

/// What a row says of one placement.
fn stratum(row: &Row<'_>) -> Vec<Piece> {
    let style = if row.cheapest { BOLD } else { Style::new() };
    let Some(figures) = &row.figures else {
        let mut pieces = vec![Piece::default(); STRATUM.len() - 1];
        pieces.push(missing(row));
        return pieces;
    };
    vec![
        Piece::styled(figures.cost.as_str(), style),
        figures.cpu.as_str().into(),
        figures.p99.as_str().into(),
        figures.floor.as_str().into(),
        Piece::styled(figures.ratio.as_str(), style),
        figures.bounds.as_str().into(),
        Piece::styled(figures.verdict.as_str(), colour(figures.standing)),
    ]
}

/// The colour of what is known.
fn colour(standing: Standing) -> Style {
    match standing {
        Standing::Cheaper => GOOD,
        Standing::Dearer => BAD,
        Standing::Baseline | Standing::Open => DIMMED,
        Standing::Equal | Standing::NotCompared => Style::new(),
    }
}

/// What replaces a verdict where there are no figures.
fn missing(row: &Row<'_>) -> Piece {
    Piece::styled(words::why_missing(row.cell), DIMMED)
}

/// The head of a line beneath a row, one of `count`.
fn branch(head: &str, index: usize, count: usize) -> Piece {
    let sign = if index + 1 < count { "├" } else { "└" };
    Piece::styled(format!(" {sign} {head}"), DIMMED)
}

/// A line beneath a row in so many columns, of which the first is the cost and the last three what is known of it.
fn under(line: Option<&Under>, columns: usize) -> Vec<Piece> {
    let piece = |text: fn(&Under) -> &String| Piece::styled(line.map_or("", |line| text(line)), DIMMED);
    let mut pieces = vec![piece(|line| &line.cost)];
    pieces.resize(columns - 3, Piece::default());
    pieces.extend([piece(|line| &line.ratio), piece(|line| &line.bounds), piece(|line| &line.verdict)]);
    pieces
}

fn add(grid: &mut Grid, row: Row<'_>) {
    let style = if row.cheapest { BOLD } else { Style::new() };
    let name = Piece::styled(row.name.as_str(), style);
    let Some(figures) = &row.figures else {
        let mut pieces = vec![name];
        pieces.resize(COLUMNS.len() - 1, Piece::default());
        pieces.push(missing(&row));
        return grid.row(pieces);
    };
    grid.row(vec![
        name,
        Piece::styled(figures.cost.as_str(), style),
        figures.rate.as_str().into(),
        figures.cpu.as_str().into(),
        figures.p50.as_str().into(),
        figures.p99.as_str().into(),
        figures.floor.as_str().into(),
        Piece::styled(figures.ratio.as_str(), style),
        figures.bounds.as_str().into(),
        Piece::styled(figures.verdict.as_str(), colour(figures.standing)),
    ]);
    for (index, line) in figures.beneath.iter().enumerate() {
        let head = branch(&line.head, index, figures.beneath.len());
        grid.row([vec![head], under(Some(line), COLUMNS.len() - 1)].concat());
    }
}

/// How the figures came about, in one line.
pub fn how(document: &Document) -> String {
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
        LatencyMode::Tail => "latency from a warm loop after each batch",
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
            "of the verdicts at most {:.0} % are expected to be wrong ({} discoveries by e-BH)",
            analysis.alpha * 100.0,
            analysis.discoveries.unwrap_or(0)
        ),
    };
    format!(
        "{} of {} of {:.0} ms in {}, {why}{}; {promise}; placement {}; {latency}; seed {}",
        counted(schedule.epochs, "epoch"),
        counted(schedule.rounds, "round"),
        schedule.batch_ms,
        duration_text(Duration::from_secs_f64(document.elapsed_s.max(0.0))),
        words::resumed(document),
        placements.join(", "),
        document.seed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use ipcost_model::{Fastest, Wait, Warning};

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
    fn multiples_of_floors_have_a_column_and_floors_a_table() {
        insta::assert_snapshot!(plain(&render(&fixture::with_floors(), usize::MAX)));
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
    fn one_core_and_two_stand_side_by_side() {
        let document = fixture::on_one_core_and_on_two();
        insta::assert_snapshot!(plain(&render(&document, usize::MAX)));
        let narrow = plain(&render(&document, 80));
        insta::assert_snapshot!(narrow);
        // A cell that cannot be had here has a longer word than any verdict.
        let table =
            narrow.lines().take_while(|line| !line.is_empty()).filter(|line| !line.contains("unavailable"));
        assert!(table.map(|line| line.chars().count()).max().unwrap() <= 80);
    }

    #[test]
    fn where_the_scheduler_put_batches_stands_beneath_what_they_cost() {
        insta::assert_snapshot!(plain(&render(&fixture::scheduled(), 90)));
    }

    #[test]
    fn while_it_runs_the_tables_are_shown_where_they_fit_and_else_what_is_open() {
        let document = fixture::on_one_core_and_on_two();
        assert!(render(&document, 120).starts_with(&so_far(&document, 120, 40)), "the tables as in the end");
        let brief = plain(&so_far(&document, 72, 6));
        insta::assert_snapshot!(brief);
        assert!(brief.lines().count() <= 6 && brief.lines().all(|line| line.width() <= 72), "{brief}");
        assert!(so_far(&document, 72, 2).lines().count() <= 2);
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
    fn of_many_of_a_kind_the_first_are_told() {
        let mut document = fixture::document();
        let mode = |cell: u32| Warning { code: "two-modes".to_owned(), message: format!("cell {cell}") };
        let lines = |document: &Document| plain(&warnings(document, usize::MAX)).lines().count();
        document.warnings.extend((1..=3).map(mode));
        assert_eq!(lines(&document), 4, "three are told");
        document.warnings.extend((4..=9).map(mode));
        assert_eq!(lines(&document), 4);
        let told = plain(&warnings(&document, usize::MAX));
        assert!(told.contains("cell 2\nwarning: 7 more two-modes warnings; see --html"), "{told}");
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
        // The cheapest spins: one of the others sleeps, then two do.
        let fastest = document.workloads[0].fastest.clone().unwrap();
        let mut spinning = document.clone();
        for cell in spinning.cells.iter_mut().filter(|cell| cell.id == fastest.cell) {
            cell.wait = Wait::Spin;
        }
        say(&spinning);
        let sleeping: Vec<String> =
            document.workloads[0].cells.iter().filter(|id| **id != fastest.cell).cloned().collect();
        if let [one, other, ..] = sleeping.as_slice() {
            let (cell, runner_up) = (one.clone(), other.clone());
            spinning.workloads[0].fastest_blocking = Some(Fastest { cell, runner_up, ..fastest });
            say(&spinning);
        }
        document.workloads[0].fastest = None;
        say(&document);
        document.cells.iter_mut().for_each(|cell| cell.epochs = 0);
        say(&document);
        insta::assert_snapshot!(sentences.join("\n"));
    }
}
