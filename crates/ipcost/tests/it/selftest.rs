//! `ipcost selftest` as a user runs it.

use crate::common::{Place, assert_schema, text};
use serde_json::Value;

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

#[test]
fn it_can_be_disturbed_and_leaves_nothing_behind() {
    let place = Place::new();
    let output = place.run(&["selftest", "--budget", "3s", "--noise", "cpu"]);
    assert!(matches!(output.status.code(), Some(1 | 3)), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("next to processes that take the processors"),
        "{}",
        text(&output.stdout)
    );
    place.assert_clean();

    let output = place.run(&["selftest", "--budget", "3s", "--noise", "quota"]);
    match output.status.code() {
        Some(1 | 3) => {}
        // Where this user may not set one.
        Some(code) => assert_eq!(code, 0),
        None => panic!("{}", text(&output.stderr)),
    }
    if output.status.code() == Some(1) && output.stdout.is_empty() {
        assert!(text(&output.stderr).contains("cannot set a CPU quota here"), "{}", text(&output.stderr));
    }
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
