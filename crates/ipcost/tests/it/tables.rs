//! Tables out of a real document, read back by the programs they are made for.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{Place, argument, assert_refused, text};
use serde_json::{Value, json};

/// A real run over three transports, as a file.
fn document(place: &Place) -> (PathBuf, Value) {
    let document = place.document(&[
        "run", "--transports", "pipe,unix,tcp", "--placement", "free", "--patterns", "rr,stream", "--epochs",
        "3", "--quiet",
    ]);
    (place.file("document.json"), document)
}

fn table(place: &Place, document: &Path, flags: &[&str]) -> String {
    let output = place.run(&[&["report", argument(document)], flags].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn fed(program: &str, args: &[&str], input: &str) -> Output {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}; cargo xtask test installs what the tests need"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// A document whose every text is as hostile as can be.
fn hostile(place: &Place, mut document: Value) -> PathBuf {
    let label = "a|b `c` <img src=x>\n\",\u{1b}[31m\\ @me";
    document["cells"][0]["label"] = json!(label);
    document["host"]["cpu"] = json!(label);
    document["warnings"] = json!([{"code": "x", "message": label}]);
    place.write("hostile.json", &document.to_string())
}

#[test]
fn every_output_goes_to_a_file_or_to_standard_output() {
    let place = Place::new();
    let (path, _) = document(&place);
    for flag in ["--csv", "--markdown", "--benchfmt"] {
        let shown = table(&place, &path, &[flag, "-"]);
        let quiet = table(&place, &path, &[flag, "table"]);
        assert!(!shown.is_empty() && quiet.is_empty(), "{flag}");
        assert_eq!(std::fs::read_to_string(place.file("table")).unwrap(), shown, "{flag}");
    }
    let all = ["--csv", "a", "--markdown", "b", "--benchfmt", "c", "--json", "-"];
    assert!(table(&place, &path, &all).starts_with("{\"schema\""));
    for name in ["a", "b", "c"] {
        assert!(place.file(name).metadata().unwrap().len() > 100, "{name}");
    }
    let run = |flags: &[&str]| place.run(&[&["report", argument(&path)], flags].concat());
    assert_refused(&run(&["--csv", "-", "--markdown", "-"]), &["only one output"]);
    assert_refused(&run(&["--samples"]), &["--csv"]);
    assert_refused(&run(&["--benchfm", "-"]), &["--benchfmt"]);
    assert_refused(&run(&["--csv", "none/table.csv"]), &["cannot write none/table.csv: "]);
}

const READ_CSV: &str = r#"
import csv, json, sys
print(json.dumps(list(csv.DictReader(sys.stdin, strict=True))))
"#;

fn rows(csv: &str) -> Vec<Value> {
    let output = fed("/usr/bin/python3", &["-c", READ_CSV], csv);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_csv_reader_reads_the_documents_numbers() {
    let place = Place::new();
    let (path, document) = document(&place);
    let cells = rows(&table(&place, &path, &["--csv", "-"]));
    assert_eq!(cells.len(), document["cells"].as_array().unwrap().len());
    for (row, cell) in cells.iter().zip(document["cells"].as_array().unwrap()) {
        assert_eq!(row["id"], cell["id"]);
        let number = |key: &str| row[key].as_str().unwrap().parse::<f64>().ok();
        assert_eq!(number("wall_ns_per_op"), cell["wall_ns_per_op"]["median"].as_f64());
        assert_eq!(number("cpu_ns_per_op_hi"), cell["cpu_ns_per_op"]["hi"].as_f64());
        assert_eq!(number("latency_ns_p99"), cell["latency_ns"]["p99"].as_f64());
        let contrasts = document["contrasts"].as_array().unwrap();
        let contrast = contrasts.iter().find(|c| c["a"] == cell["id"] && c["metric"] == "wall");
        assert_eq!(number("ratio"), contrast.and_then(|contrast| contrast["ratio"].as_f64()));
        assert_eq!(row["compared_with"], contrast.map_or(json!(""), |contrast| contrast["b"].clone()));
    }
    let samples = rows(&table(&place, &path, &["--csv", "-", "--samples"]));
    assert_eq!(samples.len(), document["samples"].as_array().unwrap().len());
    for (row, sample) in samples.iter().zip(document["samples"].as_array().unwrap()) {
        assert_eq!(row["wall_ns"], sample["wall_ns"].to_string());
        assert_eq!(row["id"], document["cells"][sample["cell"].as_u64().unwrap() as usize]["id"]);
    }
    let spoilt = rows(&table(&place, &hostile(&place, document), &["--csv", "-"]));
    assert_eq!(spoilt[0]["label"], "a|b `c` <img src=x>\\n\",\\u{1b}[31m\\ @me");
}

#[test]
fn markdown_renders_as_tables_and_text() {
    let place = Place::new();
    let (path, document) = document(&place);
    let shown = table(&place, &path, &["--markdown", "-"]);
    assert!(
        shown.starts_with("**What local IPC costs") && shown.contains("\n### 64 B round trip\n"),
        "{shown}"
    );
    // What it says to save and to type runs: it is the same plan.
    if let Some((_, job)) = shown.split_once("```toml\n") {
        place.write("job.toml", job.split_once("```").unwrap().0);
    }
    let command = shown.split_once("```sh\n").unwrap().1.split_once("\n```").unwrap().0;
    let words: Vec<&str> = command.split(' ').skip(1).chain(["--plan", "--json", "-"]).collect();
    let output = place.run(&words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plan["seed"], document["seed"]);
    let ids = |value: &Value| -> Vec<Value> {
        value["cells"].as_array().unwrap().iter().map(|cell| cell["id"].clone()).collect()
    };
    assert_eq!(ids(&plan), ids(&document));
    let spoilt = table(&place, &hostile(&place, document), &["--markdown", "-"]);
    assert!(!spoilt.contains("<img") && !spoilt.contains('\u{1b}'), "{spoilt}");
    assert!(spoilt.contains("a\\|b \\`c\\` &lt;img src=x&gt;\\\\n\""), "{spoilt}");
}

#[test]
fn many_runs_go_into_a_table_of_many_alone() {
    let place = Place::new();
    place.document(&[
        "run", "--transports", "unix,pipe", "--placement", "free", "--patterns", "rr", "--epochs", "2",
        "--quiet",
    ]);
    assert_refused(
        &place.run(&["report", "document.json", "document.json"]),
        &["2 RUNs in one output", "--otava FILE"],
    );
    let two = ["report", "document.json", "document.json", "--otava", "-"];
    assert_refused(&place.run(&[&two[..], &["--csv", "a"]].concat()), &["no other output"]);
    let output = place.run(&two);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.starts_with("time,run,name,version,commit,kernel,rr/"), "{table}");
    assert_eq!(table.lines().count(), 3);
    // A directory's other files are warnings, but not one that was named.
    std::fs::create_dir(place.file("dir")).unwrap();
    assert_refused(&place.run(&["report", "dir", "--otava", "-"]), &["there is no document in dir"]);
    std::fs::copy(place.file("document.json"), place.file("dir/b.json")).unwrap();
    place.write("dir/a.json", "{}");
    let output = place.run(&["report", "dir", "--otava", "-"]);
    assert!(output.status.success() && text(&output.stdout).lines().count() == 2, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("skipped: dir/a.json: "), "{}", text(&output.stderr));
    assert_refused(&place.run(&["report", "dir/b.json", "dir/a.json", "--otava", "-"]), &["dir/a.json"]);
}
