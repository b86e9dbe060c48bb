//! What changed, as Markdown, fit for a pull request: sentences, groups, and the cells that changed.

use ipcost_report::markdown::text;
use ipcost_report::numbers::ratio;
use ipcost_report::words::capitalised;

use super::record::Comparison;
use super::words::{
    bounds, change_verdict, differences, differences_title, group_bounds, group_name, group_verdict, groups,
    groups_title, how, known, name, said, sides, value,
};

/// Of few cells all have a row, of more those that are known to have changed, so many at most.
const MOST_CELLS: usize = 12;

/// The sentences first, then tables.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = String::new();
    said(comparison).iter().for_each(|line| out.push_str(&format!("{}\n\n", text(line))));
    sides(comparison).iter().for_each(|line| out.push_str(&format!("- {}\n", text(line))));
    let mut table = |title: &str, head: &str, rows: Vec<String>| {
        if !rows.is_empty() {
            out.push_str(&format!("\n### {title}\n\n{head}\n{}", rows.concat()));
        }
    };
    let differ = differences(comparison, false).into_iter().map(|differs| {
        format!(
            "| {} | {} | {} |\n",
            text(&differs.what),
            text(&differs.a.join(", ")),
            text(&differs.b.join(", "))
        )
    });
    table(differences_title(comparison), "| | A | B |\n|---|---|---|", differ.collect());
    let of_groups = groups(comparison).map(|group| {
        let bounds = group_bounds(group);
        let verdict = group_verdict(group, comparison.margin);
        format!(
            "| {} | {} | {} {bounds} | {verdict} |\n",
            text(&group_name(comparison, group)),
            group.cells,
            ratio(group.ratio)
        )
    });
    table(groups_title(comparison), "| | cells | B / A | |\n|---|---:|---:|---|", of_groups.collect());
    let few = comparison.costs.len() <= MOST_CELLS;
    let shown = comparison.costs.iter().filter(|change| few || known(change)).take(MOST_CELLS);
    let of_cells = shown.map(|change| {
        format!(
            "| {} | {} | {} | {} {} | {} |\n",
            text(&name(change)),
            value(change, change.a),
            value(change, change.b),
            ratio(change.ratio),
            bounds(change),
            change_verdict(change, comparison.margin)
        )
    });
    let title = if few { "Cells" } else { "Cells that are known to have changed" };
    table(title, "| cell | A | B | B / A | |\n|---|---:|---:|---:|---|", of_cells.collect());
    out.push_str(&format!("\n{}.\n", text(&capitalised(&how(comparison)))));
    out
}
