//! `ipcost compare`: what changed is said, what did not is not, and what cannot be compared is refused.

use crate::common::{Place, assert_schema, text};
use crate::trend;
use serde_json::{Value, json};

const RUN: [&str; 11] = [
    "run", "--transports", "pipe,unix", "--placement", "free", "--patterns", "rr", "--sizes", "64",
    "--epochs", "30",
];

/// A real run, in whose epochs every operation of a cell costs nearly the same, so that what is planted is all there is.
fn measured(place: &Place) -> Value {
    let mut document = place.document(&RUN);
    for sample in document["samples"].as_array_mut().unwrap() {
        let number = |key: &str| sample[key].as_u64().unwrap();
        let each_ns = 10_000 * (1 + number("cell")) + number("epoch") * 37 % 101;
        sample["wall_ns"] = json!(number("ops") * each_ns);
    }
    // Nor is there a second mode, whatever this machine did meanwhile.
    for cell in document["cells"].as_array_mut().unwrap() {
        cell["modes"] = json!([]);
    }
    document
}

/// The same run as if it had been measured at another time, with one cell's batches `factor` times as long.
fn again(place: &Place, document: &Value, name: &str, seed: u64, slow_cell: &str, factor: f64) -> String {
    let mut copy = document.clone();
    copy["seed"] = json!(seed);
    let index = copy["cells"].as_array().unwrap().iter().position(|cell| cell["id"] == slow_cell).unwrap();
    for sample in copy["samples"].as_array_mut().unwrap() {
        if sample["cell"] == index {
            sample["wall_ns"] = json!((sample["wall_ns"].as_f64().unwrap() * factor) as u64);
        }
    }
    place.write(name, &copy.to_string()).to_str().unwrap().to_owned()
}

fn changes(output: &[u8], key: &str) -> Vec<Value> {
    let comparison: Value = serde_json::from_slice(output).unwrap();
    comparison[key].as_array().unwrap().clone()
}

fn change<'a>(changes: &'a [Value], cell: &str) -> &'a Value {
    changes.iter().find(|change| change["cell"] == cell).unwrap()
}

#[test]
fn quiet_leaves_the_answer_alone() {
    let place = Place::new();
    let document = measured(&place);
    let slow = document["cells"][0]["id"].as_str().unwrap();
    let before = again(&place, &document, "before.json", 1, slow, 1.0);
    let after = again(&place, &document, "after.json", 2, slow, 1.0);
    let shown = |more: &[&str]| {
        let output = place.run(&[&["compare", &before, &after][..], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        (text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
    };
    let (whole, _) = shown(&[]);
    let (quiet, said) = shown(&["-q"]);
    assert_eq!(said, "");
    assert!(whole.contains("--details shows every group") && !quiet.contains("--details shows"), "{quiet}");
    assert!(whole.starts_with(quiet.trim_end()), "{quiet}");
}

#[test]
fn a_slowdown_is_found_and_named_first() {
    let place = Place::new();
    let document = measured(&place);
    let runs: Vec<String> = (1..=6)
        .map(|seed| {
            // Runs of one build differ a little.
            let factor = if seed % 2 == 0 { 1.01 } else { 1.0 } * if seed > 3 { 4.0 } else { 1.0 };
            again(&place, &document, &format!("{seed}.json"), seed, "rr/unix/64/c1", factor)
        })
        .collect();
    let args = ["compare", &runs[0], &runs[1], &runs[2], "--json", "-", "--", &runs[3], &runs[4], &runs[5]];
    let output = place.run(&args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let costs = changes(&output.stdout, "costs");
    assert_eq!(costs[0]["cell"], "rr/unix/64/c1");
    assert_eq!((&costs[0]["verdict"], &costs[0]["spread_source"]), (&json!("different"), &json!("measured")));
    let ratio = costs[0]["ratio"].as_f64().unwrap();
    assert!((ratio - 4.0).abs() < 0.1, "{ratio}");
    assert_eq!(change(&costs, "rr/pipe/64/c1")["ratio"], 1.0);
    let relative = changes(&output.stdout, "relative");
    assert_eq!(relative.len(), 1);
    assert!((relative[0]["ratio"].as_f64().unwrap().ln().abs() - 4f64.ln()).abs() < 0.1);

    let fail = ["compare", &runs[0], &runs[1], &runs[2], "--fail-on", "50%", "--"];
    let output = place.run(&[&fail[..], &[&runs[3], &runs[4], &runs[5]]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("rr/unix/64/c1: 4.0"), "{}", text(&output.stderr));
    let faster = place.run(&[&fail[..3], &["--fail-on", "50%", "--", &runs[0]]].concat());
    assert_eq!(faster.status.code(), Some(2), "a run on both sides");
}

#[test]
fn one_run_a_side_says_what_it_assumes() {
    let place = Place::new();
    let document = measured(&place);
    let one = again(&place, &document, "1.json", 1, "rr/unix/64/c1", 1.0);
    let other = again(&place, &document, "2.json", 2, "rr/unix/64/c1", 1.0);
    let output = place.run(&["compare", &one, &other, "--fail-on", "1%"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("assumed: 5 %") && shown.contains("same on both sides"), "{shown}");
    assert!(!shown.contains("costs more") && !shown.contains("cheaper"), "{shown}");
}

#[test]
fn saved_runs_tell_how_much_runs_differ() {
    let place = Place::new();
    // Saved as if they had been measured in as many nights: runs whose batches a busy machine makes longer are of no history.
    let document = place.document(&[&RUN[..], &["--no-save"]].concat());
    for (night, name) in ["first", "second", "r3", "r4", "r5", "r6", "r7"].into_iter().enumerate() {
        let factor = 1.0 + (night * 3 % 5) as f64 / 100.0;
        trend::save(&place, &document, night, factor, |run| {
            (run["name"], run["seed"]) = (json!(name), json!(night));
        });
    }
    let shown = |args: &[&str]| {
        let output = place.run(&[&["compare", "first", "second"], args].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let by_history = shown(&[]);
    assert!(by_history.contains("comes from 5 saved runs of this job on this host"), "{by_history}");
    assert!(shown(&["--run-to-run", "3%"]).contains("assumed: 3 %"));
    let details = shown(&["--details"]);
    assert!(
        details.contains("Cost of an operation") && !by_history.contains("Cost of an operation"),
        "{details}"
    );
    // Runs of another job tell nothing of this one.
    trend::save(&place, &document, 8, 1.0, |run| run["job"]["floor"] = json!(true));
    assert!(shown(&[]).contains("comes from 5 saved runs"));
}

#[test]
fn what_differs_beside_is_said_first() {
    let place = Place::new();
    let document = measured(&place);
    let one = again(&place, &document, "1.json", 1, "rr/unix/64/c1", 1.0);
    let mut other = document.clone();
    other["seed"] = json!(2);
    other["host"]["kernel"] = json!("9.9.9");
    other["host"]["governor"] = json!("powersave \u{1b}[31m");
    let unix = other["cells"].as_array_mut().unwrap().iter_mut().find(|cell| cell["transport"] == "unix");
    unix.unwrap()["options"] = json!({ "so_sndbuf": 65_536, "workers": "threads" });
    let other = place.write("2.json", &other.to_string());
    let output = place.run(&["compare", &one, other.to_str().unwrap()]);
    let shown = text(&output.stdout);
    let place_of = |what: &str| shown.find(what).unwrap_or_else(|| panic!("{what}: {shown}"));
    assert!(place_of("kernel") < place_of("Side B over side A") && place_of("9.9.9") > 0);
    let line = &shown[place_of("rr/unix/64/c1: option so_sndbuf")..];
    let line = line.lines().next().unwrap();
    assert!(line.contains("default (the system's)") && line.trim_end().ends_with("65536"), "{shown}");
    assert!(!shown.contains("option workers"), "its default, written out, is no difference: {shown}");
    assert!(shown.contains("powersave \\u{1b}[31m") && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let place = Place::new();
    let document = place.document(&[
        "run", "--transports", "pipe", "--placement", "free", "--patterns", "rr", "--sizes", "64",
        "--epochs", "2",
    ]);
    let one = again(&place, &document, "1.json", 1, "rr/pipe/64/c1", 1.0);
    let mut other = document.clone();
    other["seed"] = json!(2);
    other["cells"][0]["id"] = json!("something else");
    other["workloads"] = json!([]);
    let other = place.write("2.json", &other.to_string());
    let other = other.to_str().unwrap();
    let mut bare = document.clone();
    (bare["seed"], bare["samples"]) = (json!(3), json!([]));
    let bare = place.write("bare.json", &bare.to_string());
    let broken = place.write("broken.json", "{\"schema\": \"ipcost/1\"");
    for (args, says) in [
        (vec!["compare", &one], "two runs at least"),
        (vec!["compare", &one, &one, &one], "which runs are side A"),
        (vec!["compare", &one, &one], "named more than once"),
        (vec!["compare", &one, other], "no cell was measured on both sides"),
        (vec!["compare", &one, bare.to_str().unwrap(), "--fail-on", "1%"], "no cell has figures for wall"),
        (vec!["compare", &one, "missing.json"], "missing.json"),
        (vec!["compare", &one, broken.to_str().unwrap()], "not a whole JSON document"),
        (vec!["compare", &one, other, "--metric", "time"], "metric"),
        (vec!["compare", &one, other, "--fail-on", "much"], "much"),
    ] {
        let output = place.run(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = text(&output.stderr);
        assert!(error.contains(says) && error.lines().count() == 1, "{args:?}: {error}");
    }
}

#[test]
fn every_output_says_the_same() {
    let place = Place::new();
    let document = measured(&place);
    let one = again(&place, &document, "1.json", 1, "rr/unix/64/c1", 1.0);
    let slow = again(&place, &document, "2.json", 2, "rr/unix/64/c1", 4.0);
    let outputs = [
        "--json", "c.json", "--html", "c.html", "--csv", "c.csv", "--markdown", "c.md", "--svg", "c.svg",
        "--png", "c.png",
    ];
    let output = place.run(&[&["compare", &one, &slow], &outputs[..]].concat());
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("rr/unix/64/c1"), "{}", text(&output.stdout));
    let read = |name: &str| std::fs::read_to_string(place.file(name)).unwrap();
    let comparison: Value = serde_json::from_str(&read("c.json")).unwrap();
    assert_schema("comparison", &comparison);
    let rows =
        comparison["costs"].as_array().unwrap().len() + comparison["relative"].as_array().unwrap().len();
    let csv = read("c.csv");
    let of_cells: Vec<&str> =
        csv.lines().filter(|line| line.starts_with("cell,") || line.starts_with("relative,")).collect();
    assert_eq!(of_cells.len(), rows, "{csv}");
    assert!(of_cells[0].starts_with("cell,rr/unix/64/c1,,1,") && of_cells[0].contains(",true,"), "{csv}");
    for name in ["c.html", "c.svg", "c.md"] {
        let written = read(name);
        assert!(written.contains("rr/unix/64/c1") && written.contains("4.0"), "{name}: {written}");
        assert!(!written.contains("<script") && !written.contains("src="), "{name}: nothing is loaded");
    }
    assert!(std::fs::read(place.file("c.png")).unwrap().starts_with(b"\x89PNG"));
    let two = place.run(&["compare", &one, &slow, "--csv", "-", "--markdown", "-"]);
    assert_eq!((two.status.code(), text(&two.stderr).lines().count()), (Some(2), 1), "{}", text(&two.stderr));
}
