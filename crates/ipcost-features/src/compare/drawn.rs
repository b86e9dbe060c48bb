//! What changed, as a picture: a row a group, and a row a cell.

use ipcost_model::Verdict;
use ipcost_report::forest::{Forest, ForestGroup, ForestRow};
use ipcost_report::numbers::ratio;
use ipcost_report::words::{capitalised, quantity};

use super::record::Comparison;
use super::words::{
    bounds, change_verdict, group_bounds, group_name, group_verdict, groups, how, known, name, said, sides,
};

/// So many cells have a row each.
const MOST_CELLS: usize = 40;
/// So many sentences are below the rows.
const MOST_SENTENCES: usize = 4;
/// Places in the palette: of what is known to be cheaper, of what is known to cost more, and of the rest.
const LESS: usize = 0;
const MORE: usize = 2;
const REST: usize = 5;

/// Groups, all cells together, and single cells, those that changed most first.
pub fn drawn(comparison: &Comparison) -> Forest {
    let of_groups = groups(comparison).map(|group| {
        let verdict = group_verdict(group, comparison.margin);
        let bounds = group_bounds(group);
        row(
            group_name(comparison, group),
            (group.ratio, group.lo, group.hi),
            group.found.is_some(),
            &bounds,
            &verdict,
        )
    });
    let of_cells = comparison.costs.iter().take(MOST_CELLS).map(|change| {
        let verdict = change_verdict(change, comparison.margin);
        row(name(change), (change.ratio, change.lo, change.hi), known(change), &bounds(change), &verdict)
    });
    let cells = match comparison.costs.len() {
        many if many > MOST_CELLS => format!("The {MOST_CELLS} of {many} single cells that changed most"),
        _ => "Single cells".to_owned(),
    };
    let groups = match comparison.groups.is_empty() {
        true => String::new(),
        false => "Groups of cells, relative to the rest".to_owned(),
    };
    let panels = [
        ForestGroup { title: groups, rows: of_groups.collect() },
        ForestGroup { title: cells, rows: of_cells.collect() },
    ];
    Forest {
        title: format!("Did it change? {} of B over A", capitalised(quantity(comparison.metric))),
        about: sides(comparison).join(" · "),
        reading: "Points are ratios, side B over side A; lines are their intervals. Blue: known to be cheaper. Orange: known to cost more."
            .to_owned(),
        panels: panels.into_iter().filter(|panel| !panel.rows.is_empty()).collect(),
        band: Verdict::band(comparison.margin),
        notes: said(comparison).into_iter().take(MOST_SENTENCES).collect(),
        how: format!("{}. {} {}", capitalised(&how(comparison)), comparison.tool.name, comparison.tool.version),
    }
}

fn row(
    label: String,
    (of, lo, hi): (f64, Option<f64>, Option<f64>),
    known: bool,
    bounds: &str,
    verdict: &str,
) -> ForestRow {
    let slot = match known {
        true if of > 1.0 => MORE,
        true => LESS,
        false => REST,
    };
    ForestRow {
        label,
        strong: known,
        slot,
        ratio: of,
        lo,
        hi,
        figures: format!("{} {bounds} {verdict}", ratio(of)),
    }
}
