//! The real benchstat reads what `--benchfmt` writes, and finds the document's own medians.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Place, argument, missing, text};
use serde_json::{Value, json};

/// The oldest Go that the tests meet can build this version.
const BENCHSTAT: &str = "golang.org/x/perf/cmd/benchstat@v0.0.0-20230113213139-801c7ef9e5c5";

/// Benchstat, built once into the tests' own directory; `None` without a network, if that is allowed.
fn benchstat() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("benchstat");
    let program = dir.join("benchstat");
    if !program.exists() {
        let output =
            Command::new("go").args(["install", BENCHSTAT]).env("GOBIN", &dir).output().expect("go is there");
        let error = text(&output.stderr);
        let no_network =
            ["dial tcp", "no such host", "connection refused", "network is unreachable", "i/o timeout"];
        if !output.status.success() && no_network.iter().any(|sign| error.contains(sign)) {
            missing("benchstat", &error);
            return None;
        }
        assert!(output.status.success(), "{error}");
    }
    Some(program)
}

/// What benchstat says of files, as comma-separated values.
fn compared(program: &Path, place: &Place, args: &[&str]) -> Vec<Vec<String>> {
    let output = Command::new(program)
        .args(["-format", "csv"])
        .args(args)
        .current_dir(place.files.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    // It advises more samples; of the lines themselves it has nothing to say.
    let complaints = text(&output.stderr);
    assert!(
        complaints.lines().all(|line| line.contains("need >=") || line.contains("all samples are equal")),
        "{complaints}"
    );
    text(&output.stdout).lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// The rows of the first table of a unit.
fn of_unit<'a>(lines: &'a [Vec<String>], unit: &str) -> Vec<&'a Vec<String>> {
    let start =
        lines.iter().position(|line| line.get(1).is_some_and(|title| title == unit)).expect("the unit");
    lines[start + 1..].iter().take_while(|line| line.len() > 1 && line[0] != "geomean").collect()
}

#[test]
fn benchstat_finds_the_medians_and_the_differences() {
    let Some(program) = benchstat() else { return };
    let place = Place::new();
    let document = place.document(&[
        "run", "--transports", "pipe,unix", "--placement", "free", "--patterns", "rr,stream", "--epochs",
        "7", "--quiet",
    ]);
    let report = |name: &str| {
        let (json, txt) = (format!("{name}.json"), format!("{name}.txt"));
        let output = place.run(&["report", &json, "--benchfmt", &txt]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    report("document");

    let lines = compared(&program, &place, &["document.txt"]);
    let rows = of_unit(&lines, "sec/op");
    let cells = document["cells"].as_array().unwrap();
    assert_eq!(rows.len(), cells.len());
    for (row, cell) in rows.iter().zip(cells) {
        let pattern = if cell["pattern"] == "rr" { "Rr" } else { "Stream" };
        let start = format!("{pattern}/transport={}/size=64/c=1-", cell["transport"].as_str().unwrap());
        assert!(row[0].starts_with(&start), "{row:?}");
        let (seconds, ns) =
            (row[1].parse::<f64>().unwrap(), cell["wall_ns_per_op"]["median"].as_f64().unwrap());
        assert!((seconds * 1e9 / ns - 1.0).abs() < 1e-9, "{row:?} {ns}");
    }

    // A second document in which everything takes a thousand times as long, beyond any noise.
    let mut slower = document.clone();
    for sample in slower["samples"].as_array_mut().unwrap() {
        sample["wall_ns"] = json!(sample["wall_ns"].as_u64().unwrap() * 1_000);
    }
    place.write("slower.json", &slower.to_string());
    report("slower");
    let lines = compared(&program, &place, &["document.txt", "slower.txt"]);
    for row in of_unit(&lines, "sec/op") {
        assert!(row.iter().any(|field| field == "+99900.00%"), "{row:?}");
    }

    // Keys of the names are columns: a transport against another.
    let lines = compared(&program, &place, &["-col", "/transport", "-row", ".name", "document.txt"]);
    assert!(
        lines.iter().any(|line| line.contains(&"pipe".to_owned()) && line.contains(&"unix".to_owned())),
        "{lines:?}"
    );
}

#[test]
fn another_kernel_is_a_column_when_asked_for() {
    let Some(program) = benchstat() else { return };
    let place = Place::new();
    let mut document: Value = place.document(&[
        "run", "--transports", "unix", "--placement", "free", "--patterns", "rr", "--epochs", "7", "--quiet",
    ]);
    let names = ["one", "two"];
    for name in names {
        document["host"]["kernel"] = json!(name);
        let json = place.write("document.json", &document.to_string());
        assert!(place.run(&["report", argument(&json), "--benchfmt", name]).status.success());
    }
    let lines = compared(&program, &place, &["-col", "kernel", "one", "two"]);
    assert!(
        lines.iter().any(|line| names.iter().all(|name| line.iter().any(|field| field == name))),
        "{lines:?}"
    );
}
