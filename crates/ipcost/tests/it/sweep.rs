//! `ipcost sweep` as a user runs it: sizes that come to where the order changes, and a pair over every core relation.

use crate::common::{Place, assert_refused, missing, text};
use serde_json::Value;

fn json(place: &Place, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(place.file(name)).unwrap()).unwrap()
}

/// Which of the two is known to be cheaper at a size.
fn a_is_cheaper(point: &Value) -> Option<bool> {
    match (point["lo"].as_f64(), point["hi"].as_f64()) {
        (_, Some(hi)) if hi < 1.0 => Some(true),
        (Some(lo), _) if lo > 1.0 => Some(false),
        _ => None,
    }
}

#[test]
fn sizes_come_to_where_the_order_changes() {
    let place = Place::new();
    let output = place.run(&[
        "sweep", "size", "--transports", "pipe,tcp", "--pattern", "stream", "--placement", "apart",
        "--resolution", "50%", "--budget", "34s", "--seed", "7", "--quiet", "--json", "sweep.json",
    ]);
    if text(&output.stderr).contains("cannot be measured here") {
        missing("two-cores", &text(&output.stderr));
        return;
    }
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("pipe against tcp: a message of a stream, by size"), "{shown}");
    let again = place.run(&["show", "last", "--quiet"]);
    assert_eq!(text(&again.stdout), shown, "{}", text(&again.stderr));
    let document: Value = serde_json::from_slice(&std::fs::read(place.file("sweep.json")).unwrap()).unwrap();
    let sweep = &document["answer"];
    assert_eq!((&sweep["schema"], &document["seed"]), (&"ipcost-sweep/1".into(), &7.into()));
    let points = sweep["points"].as_array().unwrap();
    let sizes: Vec<u64> = points.iter().map(|point| point["size"].as_u64().unwrap()).collect();
    assert!(sizes.len() >= 7 && sizes.len() <= 24 && sizes.is_sorted(), "{sizes:?}");
    assert_eq!((sizes[0], sizes[sizes.len() - 1]), (64, 1 << 20));
    // Whatever this machine's crossings are, they are between sizes at which the order is known, and differs.
    let known = |size: &Value| a_is_cheaper(points.iter().find(|point| point["size"] == *size).unwrap());
    let changes: Vec<bool> = points.iter().filter_map(a_is_cheaper).collect();
    let crossings = sweep["crossings"].as_array().unwrap();
    assert_eq!(crossings.len(), changes.windows(2).filter(|pair| pair[0] != pair[1]).count());
    for crossing in crossings {
        let below = crossing["a_cheaper_below"].as_bool();
        assert_eq!(
            (known(&crossing["from"]), known(&crossing["to"])),
            (below, below.map(|below| !below)),
            "{sweep}"
        );
    }
    if !crossings.is_empty() {
        assert!(sizes.len() > 7 || sweep["out_of_budget"] == true, "it looks within a crossing: {sizes:?}");
    }
    place.assert_clean();
}

#[test]
fn a_pair_is_measured_over_every_relation() {
    let place = Place::new();
    let args =
        ["sweep", "cores", "--transports", "pipe,unix", "--epochs", "2", "--quiet", "--json", "cores.json"];
    let output = place.run(&args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.starts_with("Cost by core placement") && shown.contains("one processor"), "{shown}");
    let document = json(&place, "cores.json");
    let cells = document["cells"].as_array().unwrap();
    let placed =
        |cell: &Value| (cell["options"]["client_cpu"].as_u64(), cell["options"]["server_cpu"].as_u64());
    let relations: std::collections::BTreeSet<_> = cells.iter().map(placed).collect();
    assert_eq!(cells.len(), 2 * relations.len(), "each transport over each relation");
    let one = relations.iter().filter(|(client, server)| client == server && client.is_some()).count();
    assert_eq!(one, 1, "one of them is the same processor for both: {relations:?}");
    if document["host"]["physical_cores"].as_u64() > Some(1) {
        assert!(relations.len() > 1, "two cores are another relation: {relations:?}");
    }
    // What was saved shows the same.
    let again = place.run(&["show", "last", "--quiet"]);
    assert_eq!(text(&again.stdout), shown, "{}", text(&again.stderr));
    assert!(text(&place.run(&["list"]).stdout).contains("sweep cores"));
    let page = place.run(&["report", "last", "--html", "page.html"]);
    assert!(page.status.success(), "{}", text(&page.stderr));
    let page = std::fs::read_to_string(place.file("page.html")).unwrap();
    assert!(page.contains("Cost by core placement"));
}

#[test]
fn an_output_that_fails_keeps_no_other_from_being_written() {
    let place = Place::new();
    let sweep =
        ["sweep", "work", "--transports", "pipe,unix", "--work", "0,10us", "--epochs", "2", "--quiet"];
    let files = ["--json", "/dev/full", "--html", "/proc/version", "--csv", "cells.csv"];
    let output = place.run(&[&sweep[..], &files].concat());
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert!(told.contains("/dev/full") && told.contains("/proc/version"), "each that failed: {told}");
    assert!(text(&output.stdout).contains("by how long the server works"), "{}", text(&output.stdout));
    assert_eq!(std::fs::read_to_string(place.file("cells.csv")).unwrap().lines().count(), 1 + 4);
    assert!(text(&place.run(&["list"]).stdout).contains("sweep work"), "it is saved all the same");
}

#[test]
fn mistakes_are_told_before_anything_is_measured() {
    let place = Place::new();
    for (args, parts) in [
        (&["sweep", "size", "--transports", "unix"][..], &["takes two", "unix,tcp"][..]),
        (&["sweep", "size", "--transports", "unix,unix"], &["names unix twice"]),
        (&["sweep", "size", "--transports", "unix,tpc"], &["did you mean \"tcp\""]),
        (&["sweep", "size", "--pattern", "connect"], &["rr or stream"]),
        (&["sweep", "size", "--from", "10", "--to", "5"], &["--from must be below --to"]),
        (&["sweep", "size", "--from", "0"], &["without a byte"]),
        (&["sweep", "size", "--resolution", "0%"], &["at least 1%"]),
        (&["sweep", "size", "--budget", "10ms"], &["too short", "--budget"]),
        (&["sweep", "size", "--client", "nobody"], &["nobody", "--peer"]),
        (&["sweep", "cores", "--transports", "nix"], &["did you mean \"unix\""]),
        (&["sweep", "cores", "--transports", "syscall"], &["syscall is a floor"]),
    ] {
        assert_refused(&place.run(args), parts);
    }
    let output = place.run(&["sweep"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("sweep <COMMAND>") && said.contains("cores"), "{said}");
}

#[test]
fn work_is_not_asked_of_a_server_that_nobody_waits_for() {
    let place = Place::new();
    let refused = place.run(&["sweep", "work", "--transports", "null,pipe", "--work", "0,10us"]);
    assert_refused(&refused, &["server_work", "null"]);
}
