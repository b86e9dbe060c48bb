//! Bencher Metric Format: a JSON object of benchmarks, each with its measures.
//!
//! Source: Bencher's reference, "Bencher Metric Format". Its built-in unit of time is the nanosecond.

use ipcost_model::{CellRecord, Document, Estimate};
use serde_json::{Map, Value};

use crate::json::pretty;
use crate::words::escaped;

/// A measure by its slug.
type Measure = (&'static str, fn(&CellRecord) -> Option<Estimate>);

/// Collectors keep histories under the slugs, so they never change.
const MEASURES: [Measure; 2] =
    [("wall-ns-per-op", |cell| cell.wall_ns_per_op), ("cpu-ns-per-op", |cell| cell.cpu_ns_per_op)];

/// A benchmark for every measured cell, by its id; cells without a cost are left out.
pub fn render(document: &Document) -> String {
    let benchmark = |cell: &CellRecord| {
        let measured =
            MEASURES.iter().filter_map(|(slug, of)| Some(((*slug).to_owned(), metric(&of(cell)?))));
        let measures: Map<String, Value> = measured.collect();
        (!measures.is_empty()).then(|| (escaped(&cell.id), Value::Object(measures)))
    };
    pretty(&Value::Object(document.cells.iter().filter_map(benchmark).collect()))
}

/// The median and the ends of its interval that are known.
fn metric(cost: &Estimate) -> Value {
    let ends = [("value", Some(cost.median)), ("lower_value", cost.lo), ("upper_value", cost.hi)];
    ends.into_iter().filter_map(|(key, value)| Some((key.to_owned(), Value::from(value?)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_benchmark_a_cell_with_both_ends_of_its_interval() {
        insta::assert_snapshot!(render(&fixture::measured()));
    }
}
