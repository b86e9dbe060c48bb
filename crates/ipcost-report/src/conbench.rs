//! Results as Conbench's API takes them: a list of JSON objects, one a cell and metric.
//!
//! Source: the schema of `POST /api/benchmarks/` in Conbench.

use ipcost_model::{CellRecord, Document, Metric, Point};
use serde_json::{Map, Value, json};

use crate::epochs::{self, EpochCost};
use crate::json::pretty;
use crate::run_id::run_id;
use crate::words::escaped;

/// The commit that the results are filed under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The repository's address.
    pub repository: String,
    /// The whole hash.
    pub commit: String,
    /// The number of the pull request, if it is one's.
    pub pr_number: Option<u64>,
}

/// Both costs of every measured cell. The data of a result are the medians of its epochs: these are independent, as Conbench
/// expects of repetitions.
pub fn render(document: &Document, commit: Option<&Commit>) -> String {
    let cells = document.cells.iter().zip(epochs::costs(document));
    let results = cells.flat_map(|(cell, epochs)| {
        [Metric::Wall, Metric::Cpu].map(|metric| result(document, cell, &epochs, metric, commit))
    });
    pretty(&results.flatten().collect::<Value>())
}

/// `None` if an epoch lacks the figure: Conbench takes results with gaps for failures.
fn result(
    document: &Document,
    cell: &CellRecord,
    epochs: &[EpochCost],
    metric: Metric,
    commit: Option<&Commit>,
) -> Option<Value> {
    let of = |epoch: &EpochCost| match metric {
        Metric::Wall => Some(epoch.wall_ns),
        Metric::Cpu => epoch.cpu_ns,
    };
    let data: Vec<f64> = epochs.iter().map(of).collect::<Option<_>>()?;
    if data.is_empty() {
        return None;
    }
    let run = run_id(document);
    let mut result = json!({
        "run_id": run,
        "batch_id": run,
        "timestamp": document.started,
        "tags": tags(cell, metric),
        "context": context(document),
        "info": info(document),
        "machine_info": machine(document),
        "stats": {
            "data": data,
            "times": data,
            "unit": "ns",
            "time_unit": "ns",
            "iterations": data.len(),
        },
    });
    if let Some(name) = &document.name {
        result["run_name"] = escaped(name).into();
    }
    if let Some(commit) = commit {
        result["github"] =
            json!({"repository": commit.repository, "commit": commit.commit, "pr_number": commit.pr_number});
    }
    Some(result)
}

/// What makes a history of results: the cell, by its id and its parts, and the metric. Conbench takes no empty values.
fn tags(cell: &CellRecord, metric: Metric) -> Value {
    let own = [
        ("name", format!("ipcost {}", cell.pattern)),
        ("metric", metric.to_string()),
        ("cell", escaped(&cell.id)),
    ];
    let parts = Point::COLUMNS.iter().map(|column| (column.name, escaped(&(column.value)(cell))));
    let all = own.into_iter().chain(parts).filter(|(_, value)| !value.is_empty());
    all.map(|(key, value)| (key.to_owned(), Value::from(value))).collect()
}

/// What begins another history if it changes. The kernel is not among it, so that its changes are seen in one history.
fn context(document: &Document) -> Value {
    let profile = document.tool.profile.as_deref().unwrap_or("unknown");
    json!({"benchmark_language": "Rust", "profile": escaped(profile)})
}

/// What else is known of the run.
fn info(document: &Document) -> Value {
    let tool = &document.tool;
    let mut info = Map::new();
    let mut add = |key: &str, value: Value| info.insert(key.to_owned(), value);
    add("ipcost_version", escaped(&tool.version).into());
    if let Some(commit) = &tool.commit {
        add("ipcost_commit", escaped(commit).into());
    }
    add("kernel", escaped(&document.host.kernel).into());
    // As text: JSON's readers round large numbers.
    add("seed", document.seed.to_string().into());
    add("stopped", document.stopped.to_string().into());
    Value::Object(info)
}

/// The machine. Every key is required; what a document does not hold is 0 or empty.
fn machine(document: &Document) -> Value {
    let host = &document.host;
    let name = match document.host.name() {
        "" => "unknown".to_owned(),
        name => escaped(name),
    };
    let memory_bytes = host.more.get("memory_bytes").and_then(Value::as_u64).unwrap_or(0);
    json!({
        "name": name,
        "architecture_name": escaped(&host.arch),
        "kernel_name": escaped(&host.kernel),
        "os_name": escaped(&host.os),
        "os_version": escaped(&host.kernel),
        "cpu_model_name": escaped(&host.cpu),
        "cpu_core_count": host.physical_cores,
        "cpu_thread_count": host.cores,
        "cpu_l1d_cache_bytes": 0,
        "cpu_l1i_cache_bytes": 0,
        "cpu_l2_cache_bytes": 0,
        "cpu_l3_cache_bytes": 0,
        "cpu_frequency_max_hz": 0,
        "memory_bytes": memory_bytes,
        "gpu_count": 0,
        "gpu_product_names": [],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_result_a_cell_and_metric() {
        let shown = render(&fixture::measured(), None);
        let results: Vec<Value> = serde_json::from_str(&shown).unwrap();
        assert_eq!(results.len(), 2 * 4, "cells without samples have none");
        insta::assert_snapshot!(pretty(&results[0]));
    }

    #[test]
    fn results_are_filed_under_the_commit() {
        let commit =
            Commit { repository: "https://example.org/a".into(), commit: "c".repeat(40), pr_number: Some(7) };
        let shown: Value = serde_json::from_str(&render(&fixture::measured(), Some(&commit))).unwrap();
        assert_eq!(shown[0]["github"]["pr_number"], 7);
        assert_eq!(shown[0]["github"]["commit"], commit.commit);
    }

    #[test]
    fn an_epoch_without_processor_time_leaves_that_result_out() {
        let mut document = fixture::measured();
        for sample in document.samples.iter_mut().filter(|sample| sample.cell == 0 && sample.epoch == 1) {
            (sample.client.user_ns, sample.client.sys_ns) = (0, 0);
            (sample.server.user_ns, sample.server.sys_ns) = (0, 0);
        }
        let results: Vec<Value> = serde_json::from_str(&render(&document, None)).unwrap();
        let of = |metric: &str| {
            results
                .iter()
                .any(|result| result["tags"]["cell"] == "rr/pipe/64/c1" && result["tags"]["metric"] == metric)
        };
        assert!(of("wall") && !of("cpu"));
    }
}
