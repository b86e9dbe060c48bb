//! What changed between two sides: on a terminal.

use anstyle::{AnsiColor, Style};
use ipcost_model::units::counted;
use ipcost_model::{Arm, Metric, Verdict, first_few};
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::numbers::{interval, ratio, time};
use ipcost_report::words::{escaped, verdict};
use ipcost_report::wrap::wrapped;

use super::differences::VOLATILE;
use super::groups::CellGroup;
use super::record::{Change, ComparedRun, Comparison, Difference, GroupChange, SpreadSource};

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
/// Of what else differs, so many lines are shown without details.
const MOST_DIFFERENCES: usize = 6;
/// Of groups and cells that changed, so many rows each are shown without details.
const MOST_ROWS: usize = 6;
/// So many cells are all shown.
const MOST_CELLS: usize = 12;
/// From this change on a factor is easier to read than a percentage.
const FACTOR: f64 = 1.3;
/// From so many runs a side on, they tell by themselves how much runs differ.
const ENOUGH_RUNS: usize = 3;

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
    let mut out = head(comparison);
    let matters = |difference: &&Difference| details || !VOLATILE.contains(&difference.what.as_str());
    let shown: Vec<&Difference> = comparison.differences.iter().filter(matters).collect();
    if shown.is_empty() && comparison.arms.is_some() {
        // Nothing else can differ within one run.
        out.pop();
    } else if shown.is_empty() {
        out.push_str("Hosts, settings and versions are the same on both sides, as far as recorded.\n");
    } else {
        let title = if comparison.arms.is_some() { "Settings, as read back" } else { "Other differences" };
        out.push_str(&format!("{BOLD}{title}{BOLD:#}\n"));
        differences(&shown, if details { usize::MAX } else { MOST_DIFFERENCES }, room, &mut out);
    }
    out.push('\n');
    levels(comparison, details, room, &mut out);
    if details {
        let tables =
            [(cost_title(comparison), &comparison.costs), (RELATIVE.to_owned(), &comparison.relative)];
        for (title, changes) in tables.iter().filter(|(_, changes)| !changes.is_empty()) {
            out.push_str(&format!("\n{BOLD}{title}{BOLD:#}\n"));
            table(changes, comparison.margin, room, &mut out);
        }
    }
    out.push('\n');
    let lines = [sentence(comparison), would_have_shown(comparison)];
    for line in lines.iter().chain(&comparison.notes).filter(|line| !line.is_empty()) {
        out.push_str(&format!("{}\n", wrapped(&escaped(line), room)));
    }
    for (side, only) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        if !only.is_empty() {
            out.push_str(&format!("{}\n", wrapped(&only_there(side, only), room)));
        }
    }
    out.push_str(&format!("\n{DIMMED}{}{DIMMED:#}\n", wrapped(&how(comparison), room)));
    if !details {
        let details = if comparison.arms.is_some() { DETAILS_OF_ARMS } else { DETAILS };
        out.push_str(&format!("{DIMMED}{}{DIMMED:#}\n", wrapped(details, room)));
    }
    out
}

/// What the sides are.
fn head(comparison: &Comparison) -> String {
    let Some(arms) = &comparison.arms else {
        return format!("A: {}\nB: {}\n\n", runs(&comparison.a), runs(&comparison.b));
    };
    let words = |arm: &Arm| match arm.words() {
        words if words.is_empty() => "as the machine is".to_owned(),
        words => escaped(&words),
    };
    let run = comparison.a.first().map(|run| {
        format!("Both in each of {}, in random order (seed {})\n", counted(run.epochs, "epoch"), run.seed)
    });
    format!("A: {}\nB: {}\n{}\n", words(&arms.a), words(&arms.b), run.unwrap_or_default())
}

const DETAILS: &str = "--details shows every group and every cell.";
const DETAILS_OF_ARMS: &str = "ipcost show RUN --wide shows every group and every cell.";

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
    let groups = comparison.groups.iter().filter(|group| details || group.found.is_some());
    for (place, group) in groups.chain(&comparison.everything).enumerate() {
        if !details && place >= MOST_ROWS && group.found.is_some() {
            left_out += 1;
            continue;
        }
        let whole = group.group == CellGroup::default();
        let title = if whole { "all cells together".to_owned() } else { group.group.words() };
        let bounds = in_brackets(group.ratio, group.lo, group.hi);
        let words = verdict(group.verdict, group.ratio, comparison.margin);
        add(title, group.cells.to_string(), group.ratio, bounds, words, group.found.is_some());
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
            let words = verdict(change.verdict, change.ratio, comparison.margin);
            let known = known(change);
            add(escaped(&change.cell), String::new(), change.ratio, bounds(change), words, known);
        }
    }
    let whole = if comparison.groups.is_empty() {
        "Side B over side A"
    } else {
        "Side B over side A; groups relative to the rest"
    };
    out.push_str(&format!("{BOLD}{whole}{BOLD:#}\n"));
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

fn differences(differences: &[&Difference], most: usize, room: usize, out: &mut String) {
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

/// Whether a change is one, whatever its size.
fn known(change: &Change) -> bool {
    matches!(change.verdict, Verdict::Different | Verdict::Direction)
}

fn row(grid: &mut Grid, change: &Change, margin: f64) {
    let value = |value: f64| if change.baseline.is_some() { ratio(value) } else { time(value) };
    let style = style(known(change), change.ratio);
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
    in_brackets(change.ratio, change.lo, change.hi)
}

fn in_brackets(ratio: f64, lo: Option<f64>, hi: Option<f64>) -> String {
    match interval(ratio, lo, hi) {
        Some(bounds) => format!("({bounds})"),
        None => "(no interval)".to_owned(),
    }
}

/// Whether a change is one, and known to be too small to matter.
fn is_slight(change: &Change) -> bool {
    change.verdict == Verdict::Equivalent
        && (change.lo.is_some_and(|lo| lo > 1.0) || change.hi.is_some_and(|hi| hi < 1.0))
}

/// What it all comes to, in a sentence a level.
pub fn sentence(comparison: &Comparison) -> String {
    let mut said = Vec::new();
    let side = if comparison.arms.is_some() { "in arm B" } else { "on side B" };
    let found: Vec<&GroupChange> = comparison.groups.iter().filter(|group| group.found.is_some()).collect();
    let times = |ratio_of, lo, hi| format!("{} × {}", ratio(ratio_of), in_brackets(ratio_of, lo, hi));
    for group in found.iter().take(MOST_ROWS) {
        let verb = if group.group.pattern.is_some() { "cost" } else { "costs" };
        let change = times(group.ratio, group.lo, group.hi);
        said.push(format!("{} {verb} {change} {side}, relative to the rest.", group.group.title()));
    }
    let whole = comparison.everything.as_ref().filter(|all| all.found.is_some());
    if let Some(all) = whole {
        let rest = if found.is_empty() {
            "All cells together cost"
        } else {
            "Apart from that, all cells together cost"
        };
        said.push(format!("{rest} {}: something that all share.", times(all.ratio, all.lo, all.hi)));
    }
    let margin = comparison.margin * 100.0;
    let same = comparison.everything.as_ref().filter(|all| all.verdict == Verdict::Equivalent);
    if same.is_some() && whole.is_none() {
        let all = if found.is_empty() {
            "All cells together cost"
        } else {
            "Apart from that, all cells together cost"
        };
        said.push(format!("{all} the same (±{margin} %)."));
    }
    let costs = &comparison.costs;
    let changed: Vec<&Change> = costs.iter().filter(|change| known(change)).collect();
    if let [largest, ..] = changed.as_slice() {
        let change = times(largest.ratio, largest.lo, largest.hi);
        said.push(match changed.len() {
            1 if costs.len() == 1 => format!("{} costs {change} {side}.", largest.cell),
            1 => format!(
                "Of {} single cells one is known to have changed: {} costs {change}.",
                costs.len(),
                largest.cell
            ),
            many => format!(
                "Of {} single cells {many} are known to have changed, most of all {}: it costs {change}.",
                costs.len(),
                largest.cell
            ),
        });
    }
    let slight: Vec<&Change> = costs.iter().filter(|change| is_slight(change)).collect();
    if let [largest, ..] = slight.as_slice() {
        let change = times(largest.ratio, largest.lo, largest.hi);
        let others = match slight.len() {
            1 => String::new(),
            many => format!(", and {} others by less", many - 1),
        };
        said.push(format!("{} costs {change}, less than the margin of {margin} %{others}.", largest.cell));
    }
    if found.is_empty() && whole.is_none() && changed.is_empty() {
        let none = costs.iter().all(|change| change.verdict == Verdict::Equivalent);
        let first = match none {
            true if costs.len() == 1 => format!("{} costs the same {side} (±{margin} %).", costs[0].cell),
            true => format!("None of {} cells changed by more than {margin} %.", costs.len()),
            false if slight.is_empty() => "No change is known.".to_owned(),
            false => format!("No change by more than {margin} % is known."),
        };
        said.insert(0, first);
    }
    said.join(" ")
}

/// The changes that this comparison would have found, at each level; empty if it found one, or knows that there is none.
pub fn would_have_shown(comparison: &Comparison) -> String {
    let costs = &comparison.costs;
    let found = comparison.groups.iter().chain(&comparison.everything).any(|group| group.found.is_some());
    if found || costs.iter().any(known) || costs.iter().all(|change| change.verdict == Verdict::Equivalent) {
        return String::new();
    }
    let mut parts = Vec::new();
    let of_groups: Vec<(f64, &GroupChange)> =
        comparison.groups.iter().filter_map(|group| Some((group.would_show?, group))).collect();
    let least = of_groups.iter().min_by(|one, other| one.0.total_cmp(&other.0));
    let most = of_groups.iter().map(|group| group.0).fold(1.0, f64::max);
    if let Some((least, group)) = least {
        let (least, most) = (amount(*least), amount(most));
        let range = if least == most { least.clone() } else { format!("{least} to {most}") };
        parts.push(format!(
            "of {range} in a group of cells relative to the rest, by its size (in all {}: {least})",
            group.group.words().trim_start_matches("everything ")
        ));
    }
    if let Some(all) = comparison.everything.as_ref().and_then(|all| all.would_show) {
        parts.push(format!("of {} in all cells together", amount(all)));
    }
    let of_cells: Vec<f64> = costs.iter().filter_map(|change| change.would_show).collect();
    if let Some(middle) = ipcost_stats::median(&of_cells) {
        let which = if costs.len() == 1 { "the cell" } else { "a typical single cell" };
        parts.push(format!("of {} in {which}", amount(middle)));
    }
    if parts.is_empty() {
        return String::new();
    }
    let said = format!("Nine of ten such comparisons would have found a change {}.", parts.join(", "));
    let runs = comparison.a.len().min(comparison.b.len());
    let more = least.filter(|_| runs < ENOUGH_RUNS && comparison.arms.is_none()).map(|(least, group)| {
        let least_group = group.group.words().trim_start_matches("everything ").to_owned();
        // Of independent runs the error shrinks with the root of their number.
        let with_more = (least.ln() * (runs as f64 / ENOUGH_RUNS as f64).sqrt()).exp();
        format!(
            " Three runs a side, measured by turns, show {} in all {}: ipcost compare A1 A2 A3 -- B1 B2 B3.",
            amount(with_more),
            least_group
        )
    });
    said + &more.unwrap_or_default()
}

/// A change as a percentage, or a factor where it is large.
fn amount(ratio: f64) -> String {
    if ratio < FACTOR {
        format!("{:.0} %", ((ratio - 1.0) * 100.0).max(1.0))
    } else {
        format!("{ratio:.1} ×")
    }
}

fn only_there(side: &str, cells: &[String]) -> String {
    const MOST: usize = 6;
    let cells: Vec<String> = cells.iter().map(|id| escaped(id)).collect();
    format!("Only on side {side}: {}.", first_few(&cells, MOST))
}

fn how(comparison: &Comparison) -> String {
    let confidence = (1.0 - comparison.alpha) * 100.0;
    let sources: Vec<SpreadSource> =
        comparison.costs.iter().filter_map(|change| change.spread_source).collect();
    let assumed = comparison.assumed_spread * 100.0;
    let spread = match sources.first() {
        None => "both arms within moments of each other, epoch by epoch".to_owned(),
        Some(SpreadSource::Measured) => {
            "how much runs of one build differ is measured from these runs".to_owned()
        }
        Some(SpreadSource::Saved) => format!(
            "how much runs of one build differ comes from {} saved runs of this job on this host{}",
            comparison.saved_runs,
            comparison
                .everything
                .as_ref()
                .and_then(|all| all.spread)
                .map_or_else(String::new, |sd| format!(": {:.1} % over everything", sd * 100.0))
        ),
        Some(SpreadSource::Assumed) => format!(
            "how much runs of one build differ is assumed: {assumed} % (standard deviation; --run-to-run, or five saved runs of this job)"
        ),
    };
    format!(
        "no wrong finding in {confidence:.0} % of such comparisons; {spread}; margin {} %",
        comparison.margin * 100.0
    )
}
