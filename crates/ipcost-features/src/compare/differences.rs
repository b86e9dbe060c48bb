//! What two sets of runs differ in beside what was measured.

use std::collections::BTreeSet;

use ipcost_model::{CATALOGUE, CellRecord, Document, OptionSpec};
use ipcost_sys::transport;
use serde_json::{Value, json};

use crate::compare::Difference;

/// Facts that differ from run to run even if nothing changed.
pub(crate) const VOLATILE: [&str; 8] = [
    "load_average", "swap_used_bytes", "memory_pressure_percent", "memory_bytes", "time_wait",
    "tracked_connections", "rounds in an epoch", "lead-in, ms",
];

/// How long batches last. The budget chooses it, and whatever a batch costs once enters the cost of an operation by it.
pub(crate) const BATCH: &str = "batch, ms";
/// Batches whose lengths differ by at most this factor are alike.
const MOST_LONGER: f64 = 1.5;

/// Whether batches of these lengths, in milliseconds, measure the same; an unknown length, 0, is like any.
pub(crate) fn alike_batches(lengths: impl IntoIterator<Item = f64>) -> bool {
    let known = lengths.into_iter().filter(|length| *length > 0.0);
    let (least, most) =
        known.fold((f64::INFINITY, 0.0_f64), |(least, most), one| (least.min(one), most.max(one)));
    most <= least * MOST_LONGER
}

/// Differences of hosts, tool, schedule, and of the named cells' properties; each value once a side.
pub fn differences(a: &[Document], b: &[Document], cells: &[&str]) -> Vec<Difference> {
    let facts = |runs: &[Document]| -> Vec<Vec<(String, String)>> { runs.iter().map(self::facts).collect() };
    let mut found = differing(&facts(a), &facts(b));
    for id in cells {
        let of_cell = |runs: &[Document]| -> Vec<Vec<(String, String)>> {
            let cells = runs.iter().filter_map(|run| run.cell(id));
            cells.map(properties).collect()
        };
        let named =
            |difference: Difference| Difference { what: format!("{id}: {}", difference.what), ..difference };
        found.extend(differing(&of_cell(a), &of_cell(b)).into_iter().map(named));
    }
    found
}

/// What is not the same set of values on both sides, in the order in which facts first occur.
pub(crate) fn differing(a: &[Vec<(String, String)>], b: &[Vec<(String, String)>]) -> Vec<Difference> {
    let mut names: Vec<&String> = Vec::new();
    let mut seen = BTreeSet::new();
    names.extend(a.iter().chain(b).flatten().map(|(name, _)| name).filter(|name| seen.insert(*name)));
    let values = |side: &[Vec<(String, String)>], name: &str| -> BTreeSet<String> {
        let of_run = |run: &Vec<(String, String)>| {
            let found = run.iter().find(|(known, _)| known == name);
            found.map_or_else(|| "unknown".to_owned(), |(_, value)| value.clone())
        };
        side.iter().map(of_run).collect()
    };
    let difference = |name: &String| {
        let (of_a, of_b) = (values(a, name), values(b, name));
        let lengths = || of_a.iter().chain(&of_b).filter_map(|length| length.parse().ok());
        let differ = of_a != of_b && (name != BATCH || !alike_batches(lengths()));
        differ.then(|| Difference {
            what: name.clone(),
            a: of_a.into_iter().collect(),
            b: of_b.into_iter().collect(),
        })
    };
    names.into_iter().filter_map(difference).collect()
}

/// What a run records of its machine, its program and its schedule, by name.
pub(crate) fn facts(run: &Document) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    flatten("", &serde_json::to_value(&run.host).unwrap_or_default(), &mut facts);
    facts.push(("version of ipcost".to_owned(), run.tool.build()));
    let schedule = json!({
        "rounds in an epoch": run.schedule.rounds,
        "batch, ms": run.schedule.batch_ms,
        "lead-in, ms": run.schedule.lead_in_ms,
        "latency": run.schedule.latency,
    });
    flatten("", &schedule, &mut facts);
    facts
}

fn properties(cell: &CellRecord) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let of_cell = json!({
        "pattern": cell.pattern, "transport": cell.transport, "size": cell.size, "reply": cell.reply,
        "concurrency": cell.concurrency, "placement": cell.placement, "client": cell.client, "server": cell.server,
        "effective": cell.effective,
    });
    flatten("", &of_cell, &mut facts);
    facts.extend(CATALOGUE.iter().map(|spec| (format!("option {}", spec.name), setting(spec, cell))));
    facts
}

/// What an option is in a cell, set or not.
fn setting(spec: &OptionSpec, cell: &CellRecord) -> String {
    if let Some((_, value)) = cell.options.iter().find(|(name, _)| name.spec().name == spec.name) {
        return if value.to_string() == spec.default { default(spec) } else { value.to_string() };
    }
    match transport::find(&cell.transport) {
        Some(known) if !spec.acts_on(known.capabilities(), cell.pattern) => "without effect".to_owned(),
        _ => default(spec),
    }
}

fn default(spec: &OptionSpec) -> String {
    format!("default ({})", spec.default)
}

/// Names and values of what a JSON value holds, nested names joined by spaces.
fn flatten(name: &str, value: &Value, into: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let name = if name.is_empty() { field.clone() } else { format!("{name} {field}") };
                flatten(&name, value, into);
            }
        }
        Value::String(text) => into.push((name.to_owned(), text.clone())),
        other => into.push((name.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_another_length_are_a_difference() {
        let of = |length: &str| vec![vec![(BATCH.to_owned(), length.to_owned())]];
        assert!(differing(&of("10.0"), &of("14.9")).is_empty());
        let found = differing(&of("5.0"), &of("20.0"));
        assert_eq!((found.len(), found[0].what.as_str()), (1, BATCH));
        assert!(!VOLATILE.contains(&BATCH));
        assert!(alike_batches([0.0, 20.0]) && alike_batches([]) && !alike_batches([10.0, 14.0, 16.0]));
    }
}
