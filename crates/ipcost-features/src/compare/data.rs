//! What changed, as data.

use ipcost_report::page::{Column, Field, FieldValue, Table};

use super::groups::CellGroup;
use super::record::{Change, Comparison};
use super::words::{group_name, groups, known, tables};

const COLUMNS: [&str; 16] = [
    "level", "what", "baseline", "cells", "a", "b", "ratio", "lo", "hi", "verdict", "known", "would_show",
    "spread", "alpha", "unshown", "percentile",
];

/// One row a group, one for all cells together, one a cell, one for each ratio to the run's own baseline, and one a percentile. Costs are nanoseconds
/// for one operation; of a group there are none.
pub fn data(comparison: &Comparison) -> Table {
    let number = |value: f64| Field::from(FieldValue::Number(value));
    let maybe = |value: Option<f64>| Field::maybe(value.map(FieldValue::Number));
    let of_groups = groups(comparison).map(|group| {
        vec![
            if group.group.is_everything() { "all" } else { "group" }.into(),
            group_name(comparison, group).into(),
            Field::default(),
            FieldValue::Count(group.cells.into()).into(),
            Field::default(),
            Field::default(),
            number(group.ratio),
            maybe(group.lo),
            maybe(group.hi),
            group.verdict.to_string().into(),
            FieldValue::Flag(group.found.is_some()).into(),
            maybe(group.would_show),
            maybe(group.spread),
            number(group.alpha),
            group.unshown.iter().map(CellGroup::words).collect::<Vec<String>>().join("; ").into(),
            Field::default(),
        ]
    });
    let of_change = |level: &str, change: &Change, percentile: Field| {
        vec![
            level.into(),
            change.cell.as_str().into(),
            change.baseline.as_deref().unwrap_or_default().into(),
            FieldValue::Count(1).into(),
            number(change.a),
            number(change.b),
            number(change.ratio),
            maybe(change.lo),
            maybe(change.hi),
            change.verdict.to_string().into(),
            FieldValue::Flag(known(change)).into(),
            maybe(change.would_show),
            maybe(change.spread),
            number(change.alpha),
            Field::default(),
            percentile,
        ]
    };
    let of_cells = tables(comparison).flat_map(|(_, changes)| changes).map(|change| {
        let level = if change.baseline.is_some() { "relative" } else { "cell" };
        of_change(level, change, Field::default())
    });
    let of_latency = comparison.latency.iter();
    let of_latency = of_latency.map(|found| of_change("latency", found, found.percentile.name().into()));
    Table::new(&COLUMNS.map(Column::text)).rows(of_groups.chain(of_cells).chain(of_latency))
}
