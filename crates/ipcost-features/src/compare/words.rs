//! What changed between two sides: in words.

use ipcost_model::units::counted;
use ipcost_model::{Arm, Metric, Verdict, first_few};
use ipcost_report::numbers::{interval, ratio};
use ipcost_report::words::{capitalised, escaped, verdict};

use super::compared_by::TAIL_SPREAD;
use super::differences::VOLATILE;
use super::groups::CellGroup;
use super::record::{Change, ComparedRun, Comparison, Difference, GroupChange, SpreadSource};

/// From this change on a factor is easier to read than a percentage.
const FACTOR: f64 = 1.3;
/// So many groups are named in sentences.
const MOST_GROUPS: usize = 6;
/// So many parts of a group are named.
const MOST_PARTS: usize = 3;
/// From so many runs a side on, they tell by themselves how much runs differ.
const ENOUGH_RUNS: usize = 3;

/// What the sides are, a line each, and of arms how they took turns.
pub fn sides(comparison: &Comparison) -> Vec<String> {
    let Some(arms) = &comparison.arms else {
        return vec![format!("A: {}", runs(&comparison.a)), format!("B: {}", runs(&comparison.b))];
    };
    let words = |arm: &Arm| match arm.words() {
        words if words.is_empty() => "as the machine is".to_owned(),
        words => escaped(&words),
    };
    let turns = comparison.a.first().map(|run| {
        format!("Both in each of {}, in random order (seed {})", counted(run.epochs, "epoch"), run.seed)
    });
    [format!("A: {}", words(&arms.a)), format!("B: {}", words(&arms.b))].into_iter().chain(turns).collect()
}

/// What else differs between the sides, with what changes from run to run or without.
pub(super) fn differences(comparison: &Comparison, volatile: bool) -> Vec<&Difference> {
    let matters = |difference: &&Difference| volatile || !VOLATILE.contains(&difference.what.as_str());
    comparison.differences.iter().filter(matters).collect()
}

/// What stands above what else differs.
pub(super) fn differences_title(comparison: &Comparison) -> &'static str {
    if comparison.arms.is_some() { "Settings, as read back" } else { "Other differences" }
}

/// What is said where nothing else differs; of arms, nothing else can.
pub(super) const NO_DIFFERENCE: &str =
    "Hosts, settings and versions are the same on both sides, as far as recorded.";

/// What it comes to, what would have been seen, and what else a reader must know.
pub(super) fn said(comparison: &Comparison) -> Vec<String> {
    let only = [("A", &comparison.only_a), ("B", &comparison.only_b)];
    let only = only.into_iter().filter(|(_, cells)| !cells.is_empty());
    let lines =
        [sentence(comparison), would_have_shown(comparison)].into_iter().filter(|line| !line.is_empty());
    let lines = lines.chain(comparison.notes.iter().cloned()).map(|line| escaped(&line));
    lines.chain(only.map(|(side, cells)| only_there(side, cells))).collect()
}

/// Groups, those that are known to have changed first, and all cells together.
pub(super) fn groups(comparison: &Comparison) -> impl Iterator<Item = &GroupChange> {
    comparison.groups.iter().chain(&comparison.everything)
}

/// What a group is called in a row.
pub(super) fn group_name(comparison: &Comparison, group: &GroupChange) -> String {
    match (group.group.is_everything(), comparison.groups.iter().any(|group| group.found.is_some())) {
        (true, true) => "all other cells together".to_owned(),
        (true, false) => "all cells together".to_owned(),
        (false, _) => group.group.words(),
    }
}

/// All cells together, or those outside the groups that changed, at the beginning of a sentence.
fn all_cells(comparison: &Comparison, all: &GroupChange) -> String {
    capitalised(&group_name(comparison, all))
}

/// What stands above the rows of groups.
pub(super) fn groups_title(comparison: &Comparison) -> &'static str {
    match comparison.groups.is_empty() {
        true => "Side B over side A",
        false => "Side B over side A; groups relative to the rest",
    }
}

/// What is known of a group.
pub(super) fn group_verdict(group: &GroupChange, margin: f64) -> String {
    verdict(group.verdict, group.ratio, margin)
}

/// What is known of a cell.
pub(super) fn change_verdict(change: &Change, margin: f64) -> String {
    verdict(change.verdict, change.ratio, margin)
}

/// The tables of single cells: costs, and ratios to the run's own baseline.
pub(super) fn tables(comparison: &Comparison) -> impl Iterator<Item = (&'static str, &Vec<Change>)> {
    let tables = [(cost_title(comparison), &comparison.costs), (RELATIVE, &comparison.relative)];
    tables.into_iter().filter(|(_, changes)| !changes.is_empty())
}

/// What stands above percentiles.
pub(super) const LATENCY_TITLE: &str = "Percentiles of latency, side B over side A";

/// What percentiles are, and how sure the answers about them.
pub(super) fn of_percentiles(comparison: &Comparison) -> String {
    let open = comparison.latency.iter().any(|change| change.offered_per_s.is_some());
    let closed = comparison.latency.iter().any(|change| change.offered_per_s.is_none());
    let loops = [
        (open, "At an offered rate, latency counts from when each operation was due."),
        (closed, "In a closed loop, it hides what waits while one operation is stuck."),
    ];
    let loops: Vec<&str> = loops.into_iter().filter(|(is, _)| *is).map(|(_, words)| words).collect();
    format!(
        "Each epoch has its own percentiles; the figures are their medians. {} No wrong finding among percentiles in {:.0} % of such comparisons.",
        loops.join(" "),
        (1.0 - comparison.alpha) * 100.0
    )
}

const RELATIVE: &str = "Ratio to the baseline of the same run";

fn cost_title(comparison: &Comparison) -> &'static str {
    match comparison.metric {
        Metric::Wall => "Cost of an operation",
        Metric::Cpu => "Processor time of an operation",
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

/// Whether a change is one, whatever its size.
pub(super) fn known(change: &Change) -> bool {
    matches!(change.verdict, Verdict::Different | Verdict::Direction)
}

pub(super) fn name(change: &Change) -> String {
    match &change.baseline {
        Some(baseline) => escaped(&format!("{} / {baseline}", change.cell)),
        None => escaped(&change.cell),
    }
}

pub(super) fn bounds(change: &Change) -> String {
    in_brackets(change.ratio, change.lo, change.hi)
}

/// The interval of a group.
pub(super) fn group_bounds(group: &GroupChange) -> String {
    in_brackets(group.ratio, group.lo, group.hi)
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
    said.extend(found.iter().take(MOST_GROUPS).map(|group| of_group(group, side)));
    let whole = comparison.everything.as_ref().filter(|all| all.found.is_some());
    if let Some(all) = whole {
        let change = times(all.ratio, all.lo, all.hi);
        said.push(format!(
            "{} cost {change}, whichever part of them is left out.",
            all_cells(comparison, all)
        ));
    }
    let margin = comparison.margin * 100.0;
    let same = comparison.everything.as_ref().filter(|all| all.verdict == Verdict::Equivalent);
    if let Some(all) = same.filter(|_| whole.is_none()) {
        said.push(format!("{} cost the same (±{margin} %).", all_cells(comparison, all)));
    }
    let costs = &comparison.costs;
    let changed: Vec<&Change> = costs.iter().filter(|change| known(change)).collect();
    if let [largest, ..] = changed.as_slice() {
        let change = times(largest.ratio, largest.lo, largest.hi);
        said.push(match changed.len() {
            1 if costs.len() == 1 => format!("{} costs {change} {side}.", largest.cell),
            1 => format!("One of {} single cells changed: {} costs {change}.", costs.len(), largest.cell),
            many => format!(
                "{many} of {} single cells changed, most of all {}: it costs {change}.",
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
            false if slight.is_empty() => "No change found.".to_owned(),
            false => format!("No change of more than {margin} % found."),
        };
        said.insert(0, first);
    }
    said.extend(of_known_percentiles(comparison, side));
    said.join(" ")
}

fn times(of: f64, lo: Option<f64>, hi: Option<f64>) -> String {
    format!("{} × {}", ratio(of), in_brackets(of, lo, hi))
}

fn of_group(group: &GroupChange, side: &str) -> String {
    let verb = if group.group.pattern.is_some() { "cost" } else { "costs" };
    let change = times(group.ratio, group.lo, group.hi);
    let unshown: Vec<String> = group.unshown.iter().map(CellGroup::words).collect();
    let unshown = match &unshown[..] {
        [] => String::new(),
        [one] => format!(" ({one} does not show it alone)"),
        several => format!(" ({} do not show it alone)", first_few(several, MOST_PARTS)),
    };
    format!("{} {verb} {change} {side}, relative to the rest{unshown}.", group.group.title())
}

/// The percentiles that are known to have changed, the largest change first: they are no costs, and promised for themselves.
fn of_known_percentiles(comparison: &Comparison, side: &str) -> Option<String> {
    let mut changed = comparison.latency.iter().filter(|change| known(change));
    let largest = changed.next()?;
    let many = changed.count();
    let others =
        if many == 0 { String::new() } else { format!(", and {} more", counted(many as u64, "percentile")) };
    Some(format!(
        "{} of {} is {} × {} {side}{others}.",
        largest.percentile.title(),
        largest.cell,
        ratio(largest.ratio),
        in_brackets(largest.ratio, largest.lo, largest.hi)
    ))
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
            "{range} in a group of cells relative to the rest, by its size ({least} in all {})",
            group.group.words().trim_start_matches("everything ")
        ));
    }
    if let Some(all) = comparison.everything.as_ref().and_then(|all| all.would_show) {
        parts.push(format!("{} or more in all cells together", amount(all)));
    }
    let of_cells: Vec<f64> = costs.iter().filter_map(|change| change.would_show).collect();
    if let Some(middle) = ipcost_stats::median(&of_cells) {
        let which = if costs.len() == 1 { "the cell" } else { "a typical single cell" };
        parts.push(format!("{} or more in {which}", amount(middle)));
    }
    if parts.is_empty() {
        return String::new();
    }
    let said = format!("Nine times in ten, this comparison finds a change of {}.", parts.join(", "));
    let runs = comparison.a.len().min(comparison.b.len());
    let more = least.filter(|_| runs < ENOUGH_RUNS && comparison.arms.is_none()).map(|(least, group)| {
        let least_group = group.group.words().trim_start_matches("everything ").to_owned();
        // Of independent runs the error shrinks with the root of their number.
        let with_more = (least.ln() * (runs as f64 / ENOUGH_RUNS as f64).sqrt()).exp();
        format!(
            " Three runs a side, alternating A and B, find {} in all {}: ipcost compare A1 A2 A3 -- B1 B2 B3.",
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

pub(super) fn how(comparison: &Comparison) -> String {
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
            "how much runs of one build differ is assumed: {assumed} % (standard deviation; --run-to-run, or five saved runs of this job){}",
            if comparison.latency.is_empty() {
                String::new()
            } else {
                format!(", and of percentiles beyond the median {} % at least", TAIL_SPREAD * 100.0)
            }
        ),
    };
    format!(
        "no wrong finding in {confidence:.0} % of such comparisons; {spread}; margin {} %",
        comparison.margin * 100.0
    )
}
