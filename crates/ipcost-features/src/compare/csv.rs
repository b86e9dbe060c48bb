//! What changed, as comma-separated values.

use ipcost_report::csv::{number, text};

use super::groups::CellGroup;
use super::record::Comparison;
use super::words::{group_name, groups, known, tables};

const NAMES: &str =
    "level,what,baseline,cells,a,b,ratio,lo,hi,verdict,known,would_show,spread,alpha,unshown\n";

/// One row a group, one for all cells together, one a cell, and one for each ratio to the run's own baseline. Costs are nanoseconds
/// for one operation; of a group there are none.
pub fn csv(comparison: &Comparison) -> String {
    let maybe = |value: Option<f64>| value.map_or_else(String::new, number);
    let of_groups = groups(comparison).map(|group| {
        let level = if group.group.is_everything() { "all" } else { "group" };
        [
            level.to_owned(),
            text(&group_name(comparison, group)),
            String::new(),
            group.cells.to_string(),
            String::new(),
            String::new(),
            number(group.ratio),
            maybe(group.lo),
            maybe(group.hi),
            group.verdict.to_string(),
            group.found.is_some().to_string(),
            maybe(group.would_show),
            maybe(group.spread),
            number(group.alpha),
            text(&group.unshown.iter().map(CellGroup::words).collect::<Vec<String>>().join("; ")),
        ]
    });
    let of_cells = tables(comparison).flat_map(|(_, changes)| changes).map(|change| {
        [
            if change.baseline.is_some() { "relative" } else { "cell" }.to_owned(),
            text(&change.cell),
            text(change.baseline.as_deref().unwrap_or_default()),
            "1".to_owned(),
            number(change.a),
            number(change.b),
            number(change.ratio),
            maybe(change.lo),
            maybe(change.hi),
            change.verdict.to_string(),
            known(change).to_string(),
            maybe(change.would_show),
            maybe(change.spread),
            number(change.alpha),
            String::new(),
        ]
    });
    let rows = of_groups.chain(of_cells).map(|row| row.join(",") + "\n");
    std::iter::once(NAMES.to_owned()).chain(rows).collect()
}
