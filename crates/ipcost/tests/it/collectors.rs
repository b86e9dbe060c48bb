//! What collectors of benchmark results take, as the programs of docs/reference/tables.md make it of a document.

use std::process::Command;

use jsonschema::validator_for;
use serde_json::{Value, json};

use crate::common::{Place, text};

/// The program of that language under a heading.
pub fn written(heading: &str, language: &str) -> &'static str {
    let page = include_str!("../../../../docs/reference/tables.md");
    let (_, section) = page.split_once(&format!("## {heading}\n")).unwrap();
    let (_, program) = section.split_once(&format!("```{language}\n")).unwrap();
    program.split_once("```").unwrap().0
}

/// A run of which one cell cannot be measured.
fn document(place: &Place) -> Value {
    place.document(&[
        "run", "--transports", "pipe,unix,npipe", "--placement", "free", "--patterns", "rr,stream",
        "--epochs", "7", "--quiet",
    ])
}

/// What jq makes of it.
fn made(place: &Place, heading: &str) -> String {
    let mut jq = Command::new("jq");
    jq.args(["--raw-output", written(heading, "jq"), "document.json"]).current_dir(place.files.path());
    jq.env("CONBENCH_PROJECT_REPOSITORY", "https://example.org/a")
        .env("CONBENCH_PROJECT_COMMIT", "c".repeat(40));
    let output = jq.output().unwrap_or_else(|error| panic!("jq: {error}; cargo xtask test installs it"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn measured(document: &Value) -> Vec<&Value> {
    let cells = document["cells"].as_array().unwrap();
    cells.iter().filter(|cell| !cell["wall_ns_per_op"].is_null()).collect()
}

#[test]
fn bencher_metric_format_has_the_documents_intervals() {
    let place = Place::new();
    let document = document(&place);
    let written: Value = serde_json::from_str(&made(&place, "Bencher")).unwrap();
    // As Bencher publishes it, and no key besides.
    let schema = json!({
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "propertyNames": {"pattern": "^[a-z0-9-]{1,64}$"},
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "value": {"type": "number"},
                    "lower_value": {"type": "number"},
                    "upper_value": {"type": "number"},
                },
                "required": ["value"],
                "additionalProperties": false,
            },
        },
    });
    let validator = validator_for(&schema).unwrap();
    assert!(validator.is_valid(&written), "{written}");
    assert!(!validator.is_valid(&json!({"benchmark": {"measure": {"lower_value": 1}}})));
    let cells = measured(&document);
    assert_eq!(written.as_object().unwrap().len(), cells.len());
    for cell in cells {
        let benchmark = &written[cell["id"].as_str().unwrap()];
        for (slug, key) in [("wall-ns-per-op", "wall_ns_per_op"), ("cpu-ns-per-op", "cpu_ns_per_op")] {
            let (metric, cost) = (&benchmark[slug], &cell[key]);
            assert_eq!(metric["value"], cost["median"], "{benchmark}");
            assert_eq!(metric.get("lower_value").unwrap_or(&Value::Null), &cost["lo"], "{benchmark}");
            assert_eq!(metric.get("upper_value").unwrap_or(&Value::Null), &cost["hi"], "{benchmark}");
        }
    }
}

#[test]
fn lines_for_lkp_have_one_figure_each() {
    let place = Place::new();
    let document = document(&place);
    let written = made(&place, "LKP");
    let lines: Vec<(&str, f64)> = written
        .lines()
        .map(|line| line.split_once(": ").unwrap())
        .map(|(key, value)| (key, value.parse().unwrap()))
        .collect();
    for cell in measured(&document) {
        let key = cell["id"].as_str().unwrap().replace('/', ".");
        let of = |end: &str| {
            let line = lines.iter().find(|(known, _)| *known == format!("{key}.{end}"));
            line.map(|(_, value)| *value)
        };
        assert_eq!(of("wall_ns_per_op"), cell["wall_ns_per_op"]["median"].as_f64(), "{written}");
        assert_eq!(of("cpu_ns_per_op"), cell["cpu_ns_per_op"]["median"].as_f64(), "{written}");
        assert_eq!(of("latency_ns_p50"), cell["latency_ns"]["p50"].as_f64(), "{written}");
        assert_eq!(of("latency_ns_p99"), cell["latency_ns"]["p99"].as_f64(), "{written}");
    }
}

#[test]
fn results_for_conbench_are_filed_under_the_commit_of_the_environment() {
    let place = Place::new();
    let document = document(&place);
    let results: Vec<Value> = serde_json::from_str(&made(&place, "Conbench")).unwrap();
    let github = json!({"repository": "https://example.org/a", "commit": "c".repeat(40), "pr_number": null});
    assert!(results.iter().all(|result| result["github"] == github));
    assert_eq!(results.len(), measured(&document).len());
    for cell in measured(&document) {
        let result = results.iter().find(|result| result["tags"]["cell"] == cell["id"]).unwrap();
        // The middle one of seven epochs is the document's own median.
        let mut data: Vec<f64> =
            result["stats"]["data"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
        data.sort_by(f64::total_cmp);
        let median = cell["wall_ns_per_op"]["median"].as_f64().unwrap();
        assert!(data.len() == 7 && (data[3] / median - 1.0).abs() < 1e-9, "{data:?} {median}");
    }
}
