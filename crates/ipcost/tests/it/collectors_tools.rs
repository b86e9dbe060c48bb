//! Collectors themselves read what is written for them.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::python::{environment, printed};
use crate::common::{Place, assert_refused, text};
use crate::trend::{PIPE, UNIX, nights};

#[test]
fn otava_finds_a_planted_step() {
    let Some(bin) = environment("otava", &["apache-otava==0.8.0"]) else { return };
    let place = Place::new();
    nights(&place);
    let output = place.run(&["list", "--otava", "runs.csv"]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("3 runs of another host, job, build or length of batches are left out"),
        "{}",
        text(&output.stderr)
    );
    let table = std::fs::read_to_string(place.file("runs.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + 31);
    let configuration = format!(
        "tests:\n  ipcost:\n    type: csv\n    file: {}\n    time_column: time\n    attributes: [run, kernel]\n    metrics:\n      {UNIX}: {{direction: -1}}\n      {PIPE}: {{direction: -1}}\n",
        place.file("runs.csv").display()
    );
    let configuration = place.write("otava.yaml", &configuration);
    let mut otava = Command::new(bin.join("otava"));
    otava.args(["analyze", "ipcost", "--since", "2026-01-01", "--until", "2027-01-01", "--output", "json"]);
    let output =
        otava.arg("--config-file").arg(configuration).env("HOME", place.files.path()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let changes = found["ipcost"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{found}");
    assert_eq!(changes[0]["attributes"], json!({"run": "20260318-021534-0011", "kernel": "6.18.0"}));
    assert_eq!(changes[0]["changes"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(changes[0]["changes"][0]["metric"], UNIX);
    assert_eq!(changes[0]["changes"][0]["forward_change_percent"], "12");
}

#[test]
fn which_runs_become_rows_can_be_chosen() {
    let place = Place::new();
    assert_refused(&place.run(&["list", "--otava", "-"]), &["no run is saved in"]);
    nights(&place);
    let rows = |more: &[&str]| {
        let output = place.run(&[&["list", "--otava", "-"], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).lines().count() - 1
    };
    assert_eq!([rows(&[]), rows(&["--limit", "5"]), rows(&["--like", "20260404"])], [31, 5, 2]);
    assert_refused(&place.run(&["list", "--otava", "-", "--trend", UNIX]), &["--trend"]);
    assert_refused(&place.run(&["list", "--otava", "-", "--json", "-"]), &["--json"]);
}

/// Validates every result with the schema of Conbench's own server, and prints how many passed.
const VALIDATE: &str = r#"
import json, os, sys
os.environ["CONBENCH_INTENDED_BASE_URL"] = "http://localhost"
from conbench.entities.benchmark_result import BenchmarkResultFacadeSchema
results = json.load(open(sys.argv[1]))
for result in results:
    result = BenchmarkResultFacadeSchema.create.load(result)
    assert len(result["stats"]["data"]) == result["stats"]["iterations"]
broken = dict(results[0])
del broken["batch_id"]
assert BenchmarkResultFacadeSchema.create.validate(broken)
print(len(results))
"#;

/// The server's package, and what its schema imports.
const CONBENCH: [&str; 16] = [
    "conbench==2023.4.10", "marshmallow<4", "flask", "itsdangerous", "numpy", "orjson", "pandas",
    "prometheus_client", "prometheus_flask_exporter", "psycopg2-binary", "pytest", "python-dotenv", "pyyaml",
    "requests", "sqlalchemy", "tenacity",
];

#[test]
fn conbench_accepts_every_result() {
    let Some(bin) = environment("conbench", &CONBENCH) else { return };
    let place = Place::new();
    let document = place.document(&[
        "run", "--transports", "pipe,unix", "--placement", "free", "--patterns", "rr,stream", "--epochs",
        "3", "--quiet", "--name", "nightly",
    ]);
    let mut command = place.command(&["report", "document.json", "--conbench", "results.json"]);
    command.env("CONBENCH_PROJECT_REPOSITORY", "https://github.com/a/b");
    command.env("CONBENCH_PROJECT_COMMIT", "c".repeat(40));
    assert!(command.status().unwrap().success());
    let passed: usize = printed(&bin, VALIDATE, &[&place.file("results.json")]).trim().parse().unwrap();
    let cells = document["cells"].as_array().unwrap().len();
    // Processor time may be too little to count in an epoch.
    assert!(passed > cells && passed <= 2 * cells, "{passed} of {cells}");
}
