//! Collectors themselves read what is written for them.

use std::process::Command;

use serde_json::{Value, json};

use crate::collectors::written;
use crate::common::python::environment;
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
    assert_refused(&place.run(&["list", "--otava", "-"]), &["no saved runs in"]);
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

/// What DuckDB answers to the two questions of the page.
const ASK: &str = r#"
import duckdb, json, sys
print(json.dumps([[list(row) for row in duckdb.sql(question).fetchall()] for question in sys.argv[1:]]))
"#;

#[test]
fn duckdb_reads_documents_and_csv() {
    let Some(bin) = environment("duckdb", &["duckdb==2.0.1"]) else { return };
    let place = Place::new();
    let document = place.document(&[
        "run", "--transports", "pipe,unix", "--placement", "free", "--patterns", "rr", "--epochs", "3",
        "--quiet",
    ]);
    std::fs::create_dir(place.file("runs")).unwrap();
    std::fs::copy(place.file("document.json"), place.file("runs/a.json")).unwrap();
    let samples = place.run(&["report", "document.json", "--csv", "samples.csv", "--samples"]);
    assert!(samples.status.success(), "{}", text(&samples.stderr));
    let page = written("DuckDB", "sql");
    let of_samples = include_str!("../../../../docs/reference/tables.md").rsplit_once("```sql\n").unwrap().1;
    let questions = [page, of_samples.split_once("```").unwrap().0];
    let output = Command::new(bin.join("python"))
        .args(["-c", ASK])
        .args(questions)
        .current_dir(place.files.path())
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let [costs, epochs]: [Vec<Value>; 2] = serde_json::from_slice(&output.stdout).unwrap();
    let cells = document["cells"].as_array().unwrap();
    assert_eq!((costs.len(), epochs.len()), (cells.len(), cells.len()));
    for cell in cells {
        let of = |rows: &[Value]| rows.iter().find(|row| row[0] == cell["id"]).unwrap().clone();
        let median = cell["wall_ns_per_op"]["median"].as_f64().unwrap();
        assert_eq!((&of(&costs)[2], of(&costs)[3].as_f64()), (&json!(1), Some(median.round())), "{costs:?}");
        // The middle one of three epochs is the document's own median.
        let ns = of(&epochs)[2].as_f64().unwrap();
        assert!(of(&epochs)[1] == 3 && (ns / median - 1.0).abs() < 1e-9, "{epochs:?} {median}");
    }
}
