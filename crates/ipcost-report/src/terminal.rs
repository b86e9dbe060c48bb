//! The document on a terminal: a table a workload, a sentence a workload; and the warnings.

use anstyle::{AnsiColor, Style};
use ipcost_model::units::counted;
use ipcost_model::{
    ContrastRecord, Document, HELD_BACK, Metric, Pattern, Warning, WorkloadRecord, escaped_lines,
};
use unicode_width::UnicodeWidthStr;

use crate::grid::{Column, Grid, Piece};
use crate::numbers::ratio;
use crate::over_pace;
use crate::page::{Page, Section};
use crate::rows::{self, CellRow, Standing, Under};
use crate::summary::{footer, summary};
use crate::words::{self, capitalised, escaped};

/// From so many columns on, a table has the intervals of its ratios.
const WIDE: usize = 100;
/// Narrower than this, lines are broken as if there were so many columns.
const LEAST_ROOM: usize = 20;

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();

const COLUMNS: [Column; 11] = [
    Column::new("transport", false, 0),
    Column::new("cost", true, 0),
    Column::new("rate", true, 2),
    Column::new("CPU/op", true, 1),
    Column::new("softirq/op", true, 1),
    Column::new("p50", true, 3),
    Column::new("p99", true, 2),
    Column::new("× floor", true, 0),
    Column::new("ratio", true, 0),
    Column::new("", false, 0),
    Column::new("verdict", false, 0),
];
const RATE: usize = 2;
/// Softirq time, which is shown where it is in no process's account.
const SOFTIRQ: usize = 4;
/// Columns for those who ask for them: rate, processor time, softirq time, percentiles.
const DETAILS: [usize; 5] = [RATE, 3, SOFTIRQ, 5, 6];
const RATIO: usize = 8;

/// Of a table that is too tall to be shown while a run goes on.
const PROGRESS: [Column; 3] =
    [Column::new("", false, 0), Column::new("answered", true, 0), Column::new("still open", false, 0)];

/// How much of it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Costs, ratios and verdicts.
    Brief,
    /// Rates, processor time and percentiles, too, and how the figures came about.
    Wide,
}

/// Draws the document in `room` columns of text, with styles as ANSI sequences: the tables, then the answer.
pub fn render(document: &Document, detail: Detail, room: usize) -> String {
    let mut out = tables(document, detail, room);
    for found in document.held_back() {
        out.push_str(&format!("{WARN}{}{WARN:#}\n\n", wrapped(&escaped(found), room)));
    }
    let over_pace = over_pace::sections(document);
    if !over_pace.is_empty() {
        let blocks = over_pace.into_iter().map(Section::open).collect();
        out.push_str(&Page { blocks, ..Page::default() }.terminal(true, room));
        out.push('\n');
    }
    let summary = summary(document, room);
    if !summary.is_empty() {
        out.push_str(&summary);
        out.push('\n');
    }
    let footer = match detail {
        Detail::Brief => footer(document),
        Detail::Wide => how(document),
    };
    out.push_str(&format!("{DIMMED}{}{DIMMED:#}\n", wrapped(&footer, room)));
    out
}

/// What is known so far, in at most `lines` lines of `room` columns: the tables, or, where they are too tall, a line for each
/// that says how many of its questions are answered and which are open.
pub fn so_far(document: &Document, room: usize, lines: usize) -> String {
    let whole = tables(document, Detail::Brief, room);
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
        let (known, open): (Vec<_>, Vec<_>) = contrasts.partition(|found| found.is_answered());
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
fn tables(document: &Document, detail: Detail, room: usize) -> String {
    let mut out = String::new();
    for tables in words::strata(document) {
        let grids = match tables[..] {
            [together, apart] => {
                let both = beside(document, detail, together, apart);
                let each = || tables.iter().map(|one| (words::workload(one), table(document, detail, one)));
                // What has no room side by side has it one below the other. Intervals give way on narrow terminals alone.
                let most = if room < WIDE { 0 } else { BOUNDS_GIVE_WAY };
                if both.width_up_to(most) <= room {
                    vec![(words::work(together), both)]
                } else {
                    each().collect()
                }
            }
            _ => vec![(words::workload(tables[0]), table(document, detail, tables[0]))],
        };
        for (index, (title, grid)) in grids.into_iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            out.push_str(&format!("{BOLD}{}{BOLD:#}\n", capitalised(&title)));
            grid.render(&mut out, room);
        }
        let floors = tables.iter().flat_map(|table| words::floors(document, table));
        for floor in floors.chain(words::paces(document, &tables)) {
            out.push_str(&format!("{DIMMED}{}{DIMMED:#}\n", wrapped(&floor, room)));
        }
        out.push('\n');
    }
    out
}

/// The same as elsewhere, in as few columns as a table can have.
fn wrapped(text: &str, room: usize) -> String {
    textwrap::fill(&escaped_lines(text), room.max(LEAST_ROOM))
}

/// The document's warnings in at most a line: the only one there is, or the codes of all, and where their texts are.
pub fn warnings(warnings: &[Warning], texts: &str, room: usize) -> String {
    let mut of_kind: Vec<(&str, usize)> = Vec::new();
    // Those that belong to the answer are told there.
    let others: Vec<_> = warnings.iter().filter(|warning| warning.code != HELD_BACK).collect();
    for warning in &others {
        match of_kind.iter_mut().find(|(code, _)| *code == warning.code) {
            Some((_, count)) => *count += 1,
            None => of_kind.push((&warning.code, 1)),
        }
    }
    match others.as_slice() {
        [] => String::new(),
        [only] => line(WARN, "warning", &only.message, room),
        _ => {
            let named = |(code, count): &(&str, usize)| match count {
                1 => escaped(code),
                count => format!("{} ({count})", escaped(code)),
            };
            let codes = of_kind.iter().map(named).collect::<Vec<_>>().join(", ");
            line(WARN, "warnings", &format!("{codes}; {texts} shows them"), room)
        }
    }
}

/// Every warning and note of the document in full.
pub fn all_warnings(document: &Document, room: usize) -> String {
    let warnings = document.warnings.iter().map(|warning| line(WARN, "warning", &warning.message, room));
    let notes = document.notes.iter().map(|note| line(DIMMED, "note", &note.message, room));
    warnings.chain(notes).collect()
}

/// A line with its kind in a colour.
fn line(style: Style, kind: &str, text: &str, room: usize) -> String {
    let head = format!("{kind}: ");
    let text = wrapped(&format!("{head}{}", escaped(text)), room);
    format!("{style}{kind}:{style:#} {}\n", text.strip_prefix(&head).unwrap_or(&text))
}

fn table(document: &Document, detail: Detail, table: &WorkloadRecord) -> Grid {
    let mut grid = Grid::new(&COLUMNS);
    if detail == Detail::Brief {
        // Of floors the rate is all that there is besides the cost.
        let hidden = DETAILS.iter().filter(|column| table.pattern != Pattern::Floor || **column != RATE);
        hidden.for_each(|column| grid.hide(*column));
    } else if !shows_softirq(document) {
        grid.hide(SOFTIRQ);
    }
    let (rate, ratio) = rows::titles(document, table);
    grid.title(RATE, rate);
    if let Some(ratio) = ratio {
        grid.title(RATIO, ratio);
    }
    rows::rows(document, table).for_each(|row| add(&mut grid, row));
    grid
}

/// Whether processor time lacks what softirqs took, and that was measured. Elsewhere it is part of processor time.
fn shows_softirq(document: &Document) -> bool {
    let apart = document.host.more.get("irq_time_accounting").and_then(serde_json::Value::as_bool);
    apart == Some(true) && document.cells.iter().any(|cell| cell.softirq_ns_per_op.is_some())
}

/// The columns of one placement next to another: if a table has both, what matters less gives way.
const STRATUM: [Column; 8] = [
    Column::new("cost", true, 0),
    Column::new("CPU/op", true, 3),
    Column::new("softirq/op", true, 3),
    Column::new("p99", true, 4),
    Column::new("× floor", true, 0),
    Column::new("ratio", true, 0),
    Column::new("", false, BOUNDS_GIVE_WAY),
    Column::new("verdict", false, 0),
];
const BOUNDS_GIVE_WAY: u8 = 1;
const STRATUM_SOFTIRQ: usize = 2;
const STRATUM_RATIO: usize = 5;
const STRATUM_BOUNDS: usize = 6;
const STRATUM_VERDICT: usize = 7;
const STRATUM_DETAILS: [usize; 3] = [1, STRATUM_SOFTIRQ, 3];

/// The same work on one core and on two, side by side.
fn beside(document: &Document, detail: Detail, together: &WorkloadRecord, apart: &WorkloadRecord) -> Grid {
    let columns: Vec<Column> = [COLUMNS[0]].into_iter().chain(STRATUM).chain(STRATUM).collect();
    let mut grid = Grid::new(&columns);
    for (index, table) in [together, apart].into_iter().enumerate() {
        let first = 1 + index * STRATUM.len();
        grid.title(first, words::cores(table.placement).to_owned());
        if let (_, Some(ratio)) = rows::titles(document, table) {
            grid.title(first + STRATUM_RATIO, ratio);
        }
        if detail == Detail::Brief {
            STRATUM_DETAILS.iter().for_each(|column| grid.hide(first + column));
        } else if !shows_softirq(document) {
            grid.hide(first + STRATUM_SOFTIRQ);
        }
    }
    grid.go_together(&[1 + STRATUM_BOUNDS, 1 + STRATUM.len() + STRATUM_BOUNDS]);
    for (one, two) in rows::rows(document, together).zip(rows::rows(document, apart)) {
        let style = if one.cheapest || two.cheapest { BOLD } else { Style::new() };
        let mut pieces = vec![Piece::styled(one.name.clone(), style)];
        let both = [one, two];
        pieces.extend(both.iter().flat_map(stratum));
        grid.row(pieces);
        if let Some(rest) = rest_of_verdicts(&both) {
            grid.row(rest);
        }
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

/// The second line of verdicts of which the amount is open: both sides would be too wide with it in the first.
fn rest_of_verdicts(both: &[CellRow<'_>; 2]) -> Option<Vec<Piece>> {
    let is_open = |row: &CellRow<'_>| {
        row.figures.as_ref().is_some_and(|figures| figures.verdict.contains(words::AMOUNT_OPEN))
    };
    if !both.iter().any(is_open) {
        return None;
    }
    let mut pieces = vec![Piece::default(); 1 + 2 * STRATUM.len()];
    for (side, row) in both.iter().enumerate().filter(|(_, row)| is_open(row)) {
        let verdict = 1 + side * STRATUM.len() + STRATUM_VERDICT;
        let style = row.figures.as_ref().map_or(DIMMED, |figures| colour(figures.standing));
        pieces[verdict] = Piece::styled(words::AMOUNT_OPEN, style);
    }
    Some(pieces)
}

/// What a row says of one placement.
fn stratum(row: &CellRow<'_>) -> Vec<Piece> {
    let style = if row.cheapest { BOLD } else { Style::new() };
    let Some(figures) = &row.figures else {
        let mut pieces = vec![Piece::default(); STRATUM.len() - 1];
        pieces.push(missing(row));
        return pieces;
    };
    vec![
        Piece::styled(figures.cost.as_str(), style),
        figures.cpu.as_str().into(),
        figures.softirq.as_str().into(),
        figures.p99.as_str().into(),
        figures.floor.as_str().into(),
        Piece::styled(figures.ratio.as_str(), style),
        figures.bounds.as_str().into(),
        Piece::styled(first_line(&figures.verdict), colour(figures.standing)),
    ]
}

/// A verdict without what [`rest_of_verdicts`] says.
fn first_line(verdict: &str) -> &str {
    verdict.strip_suffix(words::AMOUNT_OPEN).map_or(verdict, str::trim_end)
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
fn missing(row: &CellRow<'_>) -> Piece {
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

fn add(grid: &mut Grid, row: CellRow<'_>) {
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
        figures.softirq.as_str().into(),
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
    let placements: Vec<&str> = {
        let mut names: Vec<&str> = document.cells.iter().map(|cell| cell.placement.name()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let latency = words::latency(document);
    let conditions: String = words::conditions(document).iter().map(|text| format!("{text}; ")).collect();
    format!(
        "{} of {} of {:.0} ms in {}, {}{}; {}; {conditions}placement {}; {latency}; seed {}",
        counted(schedule.epochs, "epoch"),
        counted(schedule.rounds, "round"),
        schedule.batch_ms,
        words::elapsed(document),
        words::why_stopped(document.stopped),
        words::resumed(document),
        words::promise(document),
        placements.join(", "),
        document.seed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use ipcost_model::Verdict;
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
    fn softirq_time_is_a_column_where_processor_time_lacks_it() {
        let mut document = fixture::on_one_core_and_on_two();
        for cell in &mut document.cells {
            cell.softirq_ns_per_op = Some(4_321.0);
        }
        let shown = |document: &Document, detail| plain(&render(document, detail, usize::MAX));
        let columns = |text: &str| text.matches("softirq/op").count();
        assert_eq!(columns(&shown(&document, Detail::Wide)), 0, "it is part of processor time");
        document.host.more.insert("irq_time_accounting".to_owned(), true.into());
        let wide = shown(&document, Detail::Wide);
        assert_eq!((columns(&wide), columns(&shown(&document, Detail::Brief))), (4, 0), "{wide}");
        assert!(wide.contains("4.32 µs"), "{wide}");
        for cell in &mut document.cells {
            cell.softirq_ns_per_op = None;
        }
        assert_eq!(columns(&shown(&document, Detail::Wide)), 0, "nothing was measured");
    }

    #[test]
    fn everything_is_shown() {
        insta::assert_snapshot!(plain(&render(&fixture::document(), Detail::Wide, usize::MAX)));
    }

    #[test]
    fn multiples_of_floors_have_a_column_and_floors_a_table() {
        insta::assert_snapshot!(plain(&render(&fixture::with_floors(), Detail::Brief, 100)));
    }

    #[test]
    fn a_narrow_terminal_loses_the_least_important_columns() {
        let narrow = plain(&render(&fixture::document(), Detail::Brief, 80));
        insta::assert_snapshot!(narrow);
        assert!(narrow.lines().all(|line| line.width() <= 80), "{narrow}");
    }

    #[test]
    fn one_core_and_two_stand_side_by_side() {
        let document = fixture::on_one_core_and_on_two();
        insta::assert_snapshot!(plain(&render(&document, Detail::Wide, usize::MAX)));
        let narrow = plain(&render(&document, Detail::Brief, 80));
        insta::assert_snapshot!(narrow);
        // A cell that cannot be had here has a longer word than any verdict.
        let table =
            narrow.lines().take_while(|line| !line.is_empty()).filter(|line| !line.contains("unavailable"));
        assert!(table.map(|line| line.chars().count()).max().unwrap() <= 80);
    }

    #[test]
    fn where_the_scheduler_put_batches_stands_beneath_what_they_cost() {
        insta::assert_snapshot!(plain(&render(&fixture::scheduled(), Detail::Brief, 90)));
    }

    #[test]
    fn while_it_runs_the_tables_are_shown_where_they_fit_and_else_what_is_open() {
        let document = fixture::on_one_core_and_on_two();
        assert!(
            render(&document, Detail::Brief, 120).starts_with(&so_far(&document, 120, 40)),
            "the tables as in the end"
        );
        let brief = plain(&so_far(&document, 72, 6));
        insta::assert_snapshot!(brief);
        assert!(brief.lines().count() <= 6 && brief.lines().all(|line| line.width() <= 72), "{brief}");
        assert!(so_far(&document, 72, 2).lines().count() <= 2);
    }

    #[test]
    fn nothing_from_outside_reaches_the_terminal_raw() {
        let shown = render(&fixture::document(), Detail::Wide, usize::MAX);
        assert!(shown.contains("mine \\u{1b}[31m"), "{shown}");
    }

    #[test]
    fn warnings_take_one_line_and_have_their_texts_elsewhere() {
        let mut document = fixture::document();
        let brief = |document: &Document| {
            plain(&warnings(&document.warnings, "ipcost show last --warnings", usize::MAX))
        };
        assert_eq!(
            brief(&document),
            "warning: the hypervisor took 3.0 % of the processors' time for others\n"
        );
        let found = |code: &str| Warning { code: code.to_owned(), message: format!("{code}\u{1b} is so") };
        document.warnings.extend([found("two-modes"), found("drift"), found("two-modes")]);
        document.notes.push(found("fixed-wait"));
        assert_eq!(
            brief(&document),
            "warnings: steal, two-modes (2), drift; ipcost show last --warnings shows them\n"
        );
        let all = plain(&all_warnings(&document, usize::MAX));
        assert_eq!(all.lines().count(), 5, "{all}");
        assert!(
            all.contains("warning: drift\\u{1b} is so\n") && all.ends_with("note: fixed-wait\\u{1b} is so\n")
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
