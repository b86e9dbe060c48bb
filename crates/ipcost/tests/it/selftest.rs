//! `ipcost selftest` as a user runs it.

use std::process::Output;

use serde_json::Value;

use crate::common::{Place, assert_schema, missing, text};

#[test]
fn rates_have_intervals_and_too_few_campaigns_are_undecided() {
    let place = Place::new();
    let output = place.run(&["selftest", "--budget", "4s", "--seed", "5", "--json", "result.json"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(
        shown.contains("How often it is wrong on this machine\n") && shown.contains("larger --budget"),
        "{shown}"
    );
    let result: Value = serde_json::from_slice(&std::fs::read(place.file("result.json")).unwrap()).unwrap();
    assert_eq!(result["schema"], "ipcost-selftest/1");
    assert_schema("selftest", &result);
    let rates = result["rates"].as_array().unwrap();
    let codes: Vec<&str> = rates.iter().map(|rate| rate["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["aa", "relabelled", "coverage", "repeatability"]);
    for rate in rates.iter().filter(|rate| rate["of"].as_u64() > Some(0)) {
        let share = rate["count"].as_f64().unwrap() / rate["of"].as_f64().unwrap();
        assert!(rate["lo"].as_f64().unwrap() <= share && share <= rate["hi"].as_f64().unwrap(), "{rate}");
    }
    assert_eq!(rates[0]["at_most"], 0.05);
    assert_eq!(result["detections"].as_array().unwrap().len(), 4);
    place.assert_clean();
}

/// What it exits with follows from what is promised of each rate.
#[track_caller]
fn assert_exits_with_what_it_found(output: &Output, place: &Place) {
    let result: Value = serde_json::from_slice(&std::fs::read(place.file("result.json")).unwrap()).unwrap();
    let rates = result["rates"].as_array().unwrap();
    let is_any = |promise: &str| rates.iter().any(|rate| rate["promise"] == promise);
    let expected = if is_any("broken") { 1 } else { 3 };
    assert!(expected == 1 || is_any("undecided"), "three seconds decide nothing: {result:#}");
    assert_eq!(output.status.code(), Some(expected), "{}", text(&output.stderr));
}

#[test]
fn it_can_be_disturbed_and_leaves_nothing_behind() {
    let place = Place::new();
    let disturbed =
        |by: &str| place.run(&["selftest", "--budget", "3s", "--noise", by, "--json", "result.json"]);
    let output = disturbed("cpu");
    assert_exits_with_what_it_found(&output, &place);
    let shown = text(&output.stdout);
    assert!(shown.contains("next to processes that take the processors"), "{shown}");
    place.assert_clean();

    let output = disturbed("quota");
    if text(&output.stderr).contains("cannot set a CPU quota here") {
        return missing("quotas", &text(&output.stderr));
    }
    assert_exits_with_what_it_found(&output, &place);
    place.assert_clean();
}

#[test]
fn mistakes_are_told() {
    let place = Place::new();
    for (args, part) in
        [(&["selftest", "--noise", "cp"][..], "cpu"), (&["selftest", "--budget", "x"], "budget")]
    {
        let output = place.run(args);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(part), "{}", text(&output.stderr));
    }
}
