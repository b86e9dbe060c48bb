//! A trend as comma-separated values, one row a run.

use ipcost_report::csv::{number, text};

use super::record::Trend;

const NAMES: &str = "id,name,started,tool_version,commit,kernel,cell,against,value,value_lo,value_hi,level,change,change_lo,change_hi,metric\n";

/// One row a run, in the order of time. Values are nanoseconds for one operation, or ratios; the change is the ratio to the level
/// before, in the row of the first run of a level.
pub fn csv(trend: &Trend) -> String {
    let maybe = |value: Option<f64>| value.map_or_else(String::new, number);
    let rows = trend.runs.iter().enumerate().map(|(index, run)| {
        let change = trend.changes.iter().find(|change| change.at as usize == index);
        [
            text(&run.id),
            text(run.name.as_deref().unwrap_or_default()),
            text(&run.started),
            text(&run.tool_version),
            text(run.commit.as_deref().unwrap_or_default()),
            text(&run.kernel),
            text(&trend.cell),
            text(trend.against.as_deref().unwrap_or_default()),
            number(run.value.median),
            maybe(run.value.lo),
            maybe(run.value.hi),
            number(run.level),
            maybe(change.map(|change| change.ratio)),
            maybe(change.map(|change| change.lo)),
            maybe(change.map(|change| change.hi)),
            trend.metric.to_string(),
        ]
        .join(",")
            + "\n"
    });
    std::iter::once(NAMES.to_owned()).chain(rows).collect()
}
