//! What changed between two sides: on a terminal.

use anstyle::{AnsiColor, Style};
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::numbers::ratio;
use ipcost_report::words::escaped;
use ipcost_report::wrap::wrapped;

use super::record::{Change, Comparison, Difference, GroupChange};
use super::words::{
    NO_DIFFERENCE, bounds, change_verdict, differences, differences_title, group_bounds, group_name,
    group_verdict, groups, groups_title, how, known, name, said, sides, tables, value,
};

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
/// Of what else differs, so many lines are shown without details.
const MOST_DIFFERENCES: usize = 6;
/// Of groups and cells that changed, so many rows each are shown without details.
const MOST_ROWS: usize = 6;
/// So many cells are all shown.
const MOST_CELLS: usize = 12;
const DETAILS: &str = "--details shows every group and every cell.";
const DETAILS_OF_ARMS: &str = "ipcost show RUN --wide shows every group and every cell.";

const LEVELS: [Column; 5] = [
    Column::new("", false, 0),
    Column::new("cells", true, 2),
    Column::new("B / A", true, 0),
    Column::new("", false, 0),
    Column::new("verdict", false, 0),
];

const CHANGES: [Column; 6] = [
    Column::new("cell", false, 0),
    Column::new("A", true, 2),
    Column::new("B", true, 1),
    Column::new("B / A", true, 0),
    Column::new("", false, 0),
    Column::new("verdict", false, 0),
];

/// Draws a comparison in `room` columns of text, with styles as ANSI sequences: on a screen, or with everything.
pub fn render(comparison: &Comparison, details: bool, room: usize) -> String {
    let mut out = sides(comparison).join("\n") + "\n";
    let differ = differences(comparison, details);
    if !differ.is_empty() {
        out.push_str(&format!("\n{BOLD}{}{BOLD:#}\n", differences_title(comparison)));
        differences_table(&differ, if details { usize::MAX } else { MOST_DIFFERENCES }, room, &mut out);
    } else if comparison.arms.is_none() {
        out.push_str(&format!("\n{NO_DIFFERENCE}\n"));
    }
    out.push('\n');
    levels(comparison, details, room, &mut out);
    if details {
        for (title, changes) in tables(comparison) {
            out.push_str(&format!("\n{BOLD}{title}{BOLD:#}\n"));
            table(changes, comparison.margin, room, &mut out);
        }
    }
    out.push('\n');
    said(comparison).iter().for_each(|line| out.push_str(&format!("{}\n", wrapped(line, room))));
    out.push_str(&format!("\n{DIMMED}{}{DIMMED:#}\n", wrapped(&how(comparison), room)));
    if !details {
        let details = if comparison.arms.is_some() { DETAILS_OF_ARMS } else { DETAILS };
        out.push_str(&format!("{DIMMED}{}{DIMMED:#}\n", wrapped(details, room)));
    }
    out
}

/// Groups and all cells together, and without details the cells that are known to have changed.
fn levels(comparison: &Comparison, details: bool, room: usize, out: &mut String) {
    let mut grid = Grid::new(&LEVELS);
    let mut left_out = 0;
    let mut add = |title: String, cells: String, ratio_of: f64, bounds: String, text: String, known: bool| {
        let style = style(known, ratio_of);
        let cells = vec![
            title.into(),
            cells.into(),
            Piece::styled(ratio(ratio_of), style),
            bounds.into(),
            Piece::styled(text, style),
        ];
        grid.row(cells);
    };
    let shown = |group: &&GroupChange| details || group.found.is_some() || group.group.is_everything();
    for (place, group) in groups(comparison).filter(shown).enumerate() {
        if !details && place >= MOST_ROWS && group.found.is_some() {
            left_out += 1;
            continue;
        }
        let (bounds, words) = (group_bounds(group), group_verdict(group, comparison.margin));
        add(
            group_name(comparison, group),
            group.cells.to_string(),
            group.ratio,
            bounds,
            words,
            group.found.is_some(),
        );
    }
    if !details {
        // Few cells are shown whatever is known of them.
        let few = comparison.costs.len() <= MOST_CELLS;
        let most = if few { MOST_CELLS } else { MOST_ROWS };
        for (place, change) in comparison.costs.iter().filter(|change| few || known(change)).enumerate() {
            if place >= most {
                left_out += 1;
                continue;
            }
            let (words, known) = (change_verdict(change, comparison.margin), known(change));
            add(name(change), String::new(), change.ratio, bounds(change), words, known);
        }
    }
    out.push_str(&format!("{BOLD}{}{BOLD:#}\n", groups_title(comparison)));
    grid.render(out, room);
    if left_out > 0 {
        out.push_str(&format!("… and {left_out} more\n"));
    }
}

fn style(known: bool, ratio: f64) -> Style {
    match known {
        true if ratio > 1.0 => AnsiColor::Red.on_default(),
        true => AnsiColor::Green.on_default(),
        false => DIMMED,
    }
}

fn differences_table(differences: &[&Difference], most: usize, room: usize, out: &mut String) {
    const COLUMNS: [Column; 3] =
        [Column::new("", false, 0), Column::new("A", false, 0), Column::new("B", false, 0)];
    let mut grid = Grid::new(&COLUMNS);
    for Difference { what, a, b } in differences.iter().take(most) {
        let joined = |values: &[String]| escaped(&values.join(", "));
        grid.row(vec![escaped(what).into(), joined(a).into(), joined(b).into()]);
    }
    grid.render(out, room);
    if differences.len() > most {
        out.push_str(&format!("… and {} more\n", differences.len() - most));
    }
}

fn table(changes: &[Change], margin: f64, room: usize, out: &mut String) {
    let mut grid = Grid::new(&CHANGES);
    changes.iter().for_each(|change| row(&mut grid, change, margin));
    grid.render(out, room);
}

fn row(grid: &mut Grid, change: &Change, margin: f64) {
    let style = style(known(change), change.ratio);
    grid.row(vec![
        name(change).into(),
        value(change, change.a).into(),
        value(change, change.b).into(),
        Piece::styled(ratio(change.ratio), style),
        bounds(change).into(),
        Piece::styled(change_verdict(change, margin), style),
    ]);
}
