//! Bytes that are not a document, or a corrupted one: one line says what is wrong, and nothing is believed.

use ipcost_model::{Document, MAX_DOCUMENT_BYTES, MAX_NAME_BYTES, Metric, read_document, read_record};
use serde_json::{Value, json};

/// A small whole document.
fn whole() -> Value {
    let cell = |id: &str| {
        json!({
            "id": id, "label": id, "pattern": "rr", "transport": "unix", "size": 64, "reply": 64, "concurrency": 1,
            "speaks_first": "client", "placement": "free", "client": "native", "server": "native",
            "options": {"so_sndbuf": 4096}, "effective": {"client": {"so_sndbuf": 4608}}, "available": true,
            "reason": null, "epochs": 9, "batches": 9, "ops": 900,
            "wall_ns_per_op": {"median": 7e3, "lo": 6.5e3, "hi": null}, "cpu_ns_per_op": null,
            "ops_per_s": 1.4e5, "bytes_per_s": 1.8e7,
            "latency_ns": {"p50": 7, "p90": 8, "p99": 9, "p999": 10, "max": 11, "count": 12},
            "usage_per_op": {"client_user_ns": 1.0, "client_sys_ns": 2.0, "server_user_ns": 1.0, "server_sys_ns": 2.0,
                "voluntary_switches": 2.0, "involuntary_switches": 0.0},
            "modes": [{"share": 1.0, "epochs": 9, "wall_ns_per_op": 7e3}], "measures": {"calls_per_call": 1.5},
        })
    };
    let usage = json!({"user_ns": 1, "sys_ns": 2, "voluntary_switches": 3, "involuntary_switches": 4});
    json!({
        "schema": "ipcost/1", "tool": {"name": "ipcost", "version": "0.1.0"},
        "host": {"os": "linux", "kernel": "6.1.0", "arch": "x86_64", "cpu": "A processor", "cores": 2,
            "physical_cores": 2, "governor": "performance"},
        "job": {"seed": 7, "cells": [{"pattern": ["rr"], "transport": ["unix"], "size": [64]}]},
        "seed": 7, "started": "2026-01-01T00:00:00Z", "elapsed_s": 9.5, "stopped": "budget",
        "schedule": {"rounds": 1, "epochs": 9, "batch_ms": 20.0, "lead_in_ms": 5.0, "budget_s": 30.0, "latency": "off",
            "timing": {"calibration_s": 0.3, "processes_s": 2.0, "batches_s": 3.0, "lead_ins_s": 5.0, "other_s": 1.1}},
        "analysis": {"alpha": 0.05, "family": 1, "alpha_each": 0.05, "margin": 0.02, "epochs_needed": 8,
            "looks": [{"after": 0, "share": 0.95, "size": 0.02, "looks": [{"epochs": 9, "level": 0.02}]},
                {"after": 4, "share": 0.05, "size": 0.001, "looks": []}]},
        "cells": [cell("one"), cell("two")],
        "workloads": [{"pattern": "rr", "size": 64, "reply": 64, "concurrency": 1, "speaks_first": "client",
            "placement": "free", "cells": ["one", "two"], "baseline": "two",
            "fastest": {"cell": "one", "runner_up": "two", "ratio": 1.1, "lo": 1.0, "hi": 1.2, "verdict": "direction",
                "claimed": true, "open_within": 1.1}}],
        "contrasts": [{"metric": "wall", "a": "one", "b": "two", "ratio": 0.9, "lo": 0.8, "hi": 1.0,
            "verdict": "direction", "epochs": 9, "headline": true}],
        "samples": [{"cell": 0, "epoch": 1, "round": 1, "position": 1, "ops": 100, "wall_ns": 700_000, "sent_ns": null,
            "client": usage, "server": usage, "measures": {"calls": 3.0}}],
        "warnings": [{"code": "steal", "message": "much"}],
    })
}

/// The error for bytes that are not a document; always one line that a terminal may show.
#[track_caller]
fn refused(bytes: &[u8]) -> String {
    let error = read_document(bytes).expect_err("it is no document").to_string();
    assert!(!error.contains(char::is_control), "one line, and nothing a terminal obeys: {error:?}");
    assert!(error.chars().count() < 500, "short: {} characters", error.chars().count());
    error
}

#[track_caller]
fn spoilt(place: &str, new: Value, says: &str) {
    let mut value = whole();
    *value.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = new;
    let error = refused(value.to_string().as_bytes());
    assert!(error.contains(says), "{place}: {error}");
}

#[test]
fn the_whole_is_read() {
    read_document(whole().to_string().as_bytes()).unwrap();
}

#[test]
fn a_document_cut_off_anywhere_is_refused() {
    let text = whole().to_string();
    for length in 0..text.len() {
        assert!(refused(&text.as_bytes()[..length]).contains("not a whole JSON document"), "{length}");
    }
}

#[test]
fn bytes_that_are_no_text() {
    let mut bytes = whole().to_string().into_bytes();
    let at = bytes.windows(5).position(|word| word == b"linux").unwrap();
    bytes[at] = 0xff;
    assert!(refused(&bytes).contains("invalid unicode"), "{}", refused(&bytes));
    refused(&[0; 64]);
    refused(b"\xef\xbb\xbf{}");
    refused(b"\"\\ud800\"");
}

#[test]
fn numbers_that_are_none() {
    let text = whole().to_string();
    for (number, says) in [
        ("NaN", "not a whole JSON"),
        ("Infinity", "not a whole JSON"),
        ("-Infinity", "not a whole JSON"),
        ("1e999", "out of range"),
    ] {
        let spoilt = text.replace("9.5", number);
        assert_ne!(spoilt, text);
        assert!(refused(spoilt.as_bytes()).contains(says), "{}", refused(spoilt.as_bytes()));
    }
    spoilt("/samples/0/ops", json!(-1), "invalid value: integer `-1`");
    spoilt("/cells/0/epochs", json!(-1), "invalid value");
    spoilt("/cells/0/epochs", json!(u64::MAX), "expected u32");
    spoilt("/seed", json!(1.5), "floating point");
    spoilt("/samples/0/ops", json!(0), "no operations");
    spoilt("/cells/0/wall_ns_per_op/median", json!(-7.0), "not a positive number");
    spoilt("/cells/0/wall_ns_per_op/lo", json!(9e9), "inside its interval");
    spoilt("/cells/0/ops_per_s", json!(-1), "a rate");
    spoilt("/cells/0/modes/0/share", json!(7), "a mode");
    spoilt("/cells/0/usage_per_op/client_sys_ns", json!(-7), "the usage");
    spoilt("/contrasts/0/ratio", json!(2.0), "outside its interval");
    spoilt("/contrasts/0/hi", json!(null), "a verdict without an interval");
    spoilt("/elapsed_s", json!(-1.0), "elapsed time");
    spoilt("/analysis/alpha", json!(2), "out of range");
    spoilt("/analysis/looks/0/share", json!(-0.1), "looks");
    spoilt("/analysis/looks/0/share", json!(0.99), "looks");
    spoilt("/analysis/looks/1/size", json!(0), "looks");
    spoilt("/analysis/looks/0/looks/0/level", json!(1.5), "looks");
    spoilt("/workloads/0/fastest/open_within", json!(7), "not near it");
    for bound in [0.0, -1.0, 1.3, 0.7] {
        let mut document = whole();
        document["contrasts"][0]["bound"] = json!({"at_least": bound});
        assert!(refused(document.to_string().as_bytes()).contains("not near 1"), "{bound}");
    }
}

/// Whichever part of a record they are in, and whatever that part means.
#[test]
fn numbers_beyond_all_bounds() {
    let century = "a century is the longest time";
    for place in ["/elapsed_s", "/schedule/budget_s", "/schedule/batch_ms", "/schedule/timing/other_s"] {
        for number in [1e300, 4e18, -1e300] {
            spoilt(place, json!(number), century);
        }
    }
    spoilt("/samples/0/wall_ns", json!(u64::MAX), century);
    spoilt("/cells/0/ops_per_s", json!(1e300), "\"ops_per_s\" is 1e300, which is out of range");
    spoilt("/cells/0/ops_per_s", json!(f64::MIN_POSITIVE), "out of range");
    spoilt("/samples/0/measures/calls", json!(f64::MAX), "out of range");
    // Each fits, and both together do not.
    let mut document = whole();
    document["cells"][0]["ops"] = json!(u64::MAX - 1000);
    let error = refused(document.to_string().as_bytes());
    assert!(error.contains("add up to more than 64 bits hold"), "{error}");
    // Seeds and facts of the system are never added up.
    let mut document = whole();
    document["seed"] = json!(u64::MAX);
    document["host"]["shmmax"] = json!([u64::MAX, u64::MAX]);
    read_document(document.to_string().as_bytes()).unwrap();
    // The answer of a command is read later, from what passed here.
    for (key, value) in [("elapsed_s", json!(1e300)), ("ratio", json!(1e300)), ("count", json!(u64::MAX))] {
        let mut document = whole();
        document["answer"] = json!({"schema": "x", "runs": [{key: value, "one": 1}]});
        assert!(refused(document.to_string().as_bytes()).contains("a number that cannot be used"), "{key}");
        let list = json!([{key: value, "one": 1}]).to_string();
        let error = read_record::<Value>(list.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("a number that cannot be used"), "{key}: {error}");
    }
}

#[test]
fn a_direction_may_rest_on_the_range_of_many_epochs() {
    let mut document = whole();
    let contrast = document["contrasts"][0].as_object_mut().unwrap();
    for (key, value) in [
        ("lo", json!(null)),
        ("hi", json!(null)),
        ("range", json!([0.1, 0.9])),
        ("verdict", json!("direction")),
    ] {
        contrast.insert(key.to_owned(), value);
    }
    read_document(document.to_string().as_bytes()).unwrap();
    document["contrasts"][0]["ratio"] = json!(0.95);
    assert!(refused(document.to_string().as_bytes()).contains("outside its interval"));
}

#[test]
fn keys_given_twice() {
    let text = whole().to_string();
    for (key, again) in [
        ("\"seed\":7,\"started\"", "\"seed\":7,\"seed\":8,\"started\""),
        ("\"schema\":\"ipcost/1\"", "\"schema\":\"ipcost/1\",\"schema\":\"ipcost/1\""),
        ("\"wall_ns\":700000", "\"wall_ns\":700000,\"wall_ns\":1"),
    ] {
        let spoilt = text.replacen(key, again, 1);
        assert_ne!(spoilt, text, "{key}");
        assert!(refused(spoilt.as_bytes()).contains("duplicate field"), "{}", refused(spoilt.as_bytes()));
    }
    let spoilt = text.replace("\"so_sndbuf\":4096", "\"so_sndbuf\":4096,\"so_sndbuf\":1");
    assert!(refused(spoilt.as_bytes()).contains("option so_sndbuf is given twice"));
}

#[test]
fn every_value_with_a_wrong_type() {
    let mut all = Vec::new();
    places(&whole(), "", &mut all);
    assert!(all.len() > 100, "{}", all.len());
    for place in &all {
        for new in [json!(null), json!(true), json!(-1), json!(0.5), json!("x"), json!([1]), json!({"x": 1})]
        {
            let mut value = whole();
            *value.pointer_mut(place).unwrap() = new;
            let bytes = value.to_string().into_bytes();
            if read_document(&bytes).is_err() {
                refused(&bytes);
            }
        }
    }
    for place in [
        "/cells", "/tool/name", "/samples/0", "/host/cores", "/job/cells", "/warnings/0/code",
        "/contrasts/0/a",
    ] {
        spoilt(place, json!(true), "does not match its schema");
    }
}

fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in below {
        let at = format!("{at}/{key}");
        places(value, &at, out);
        out.push(at);
    }
}

#[test]
fn what_leads_nowhere() {
    spoilt("/samples/0/cell", json!(2), "cell 2, which does not exist");
    spoilt("/samples/0/cell", json!(u32::MAX), "which does not exist");
    spoilt("/cells/1/id", json!("one"), "two cells have the id \"one\"");
    spoilt("/contrasts/0/b", json!("three"), "refers to cell \"three\"");
    spoilt("/workloads/0/baseline", json!("three"), "refers to cell \"three\"");
    spoilt("/workloads/0/fastest/runner_up", json!("three"), "refers to cell \"three\"");
    // What is named again and again would be looked up, drawn and compared as often.
    spoilt("/workloads/0/cells", json!(["one", "two", "one"]), "workloads list cell \"one\" twice");
    let contrast = whole()["contrasts"][0].clone();
    spoilt("/contrasts", json!([contrast, contrast]), "two contrasts compare");
}

#[test]
fn parts_are_found_by_their_ids_also_after_a_change() {
    let mut document = read_document(whole().to_string().as_bytes()).unwrap();
    let costs = |document: &Document| document.contrast(Metric::Wall, "one").map(|found| found.b.clone());
    assert_eq!((document.cell_index("one"), document.cell_index("two")), (Some(0), Some(1)));
    assert_eq!((document.cell("three").is_none(), costs(&document).as_deref()), (true, Some("two")));
    let again = document.clone();
    document.cells.swap(0, 1);
    document.cells.truncate(1);
    assert_eq!((document.cell_index("two"), document.cell_index("one")), (Some(0), None));
    assert_eq!(again.cell_index("one"), Some(0));
}

#[test]
fn an_error_quotes_nothing_that_a_terminal_obeys() {
    for place in ["/cells/0/pattern", "/stopped", "/contrasts/0/a", "/cells/0/size"] {
        spoilt(place, json!("\u{1b}]0;title\u{7}\r\n\u{202e}"), "\\u{1b}");
    }
    spoilt("/schema", json!("ipcost/\u{1b}[31m"), "\\u{1b}");
    // Nor an endless amount of it.
    spoilt("/cells/0/pattern", json!("x".repeat(1_000_000)), "unknown pattern");
    spoilt("/contrasts/0/a", json!("x".repeat(1_000_000)), "which does not exist");
}

#[test]
fn deep_and_wide_and_long() {
    let mut value = whole();
    value["host"]["deep"] = json!("DEEP");
    let text = value.to_string();
    let nested = text.replace("\"DEEP\"", &format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    assert!(refused(nested.as_bytes()).contains("recursion limit"), "{}", refused(nested.as_bytes()));

    let wide = text.replace("\"DEEP\"", &format!("[{}0]", "0,".repeat(100_000)));
    assert!(refused(wide.as_bytes()).contains("more than 100000 values in its \"host\""));
    let wide = whole()
        .to_string()
        .replace("\"job\":{\"cells\":[", &format!("\"job\":{{\"cells\":[{}", "{},".repeat(1_000_000)));
    assert!(refused(wide.as_bytes()).contains("more than 1000000 values in its \"job\""));

    // Parts that are built as general values, at whatever key. A map takes as much memory as many values.
    let spoilt_by = |key: &str, item: &str, count: usize| {
        let mut value = whole();
        value[key] = json!("DEEP");
        let text = value.to_string().replace("\"DEEP\"", &format!("[{}0]", format!("{item},").repeat(count)));
        refused(text.as_bytes())
    };
    for key in ["answer", "notes", "unknown", "cells"] {
        let error = spoilt_by(key, "{\"\":0}", 800_000);
        assert!(error.contains("more than 16000000 values in its \"other parts\""), "{key}: {error}");
    }
    assert!(spoilt_by("runs", "{\"host\":[0,0,0,0]}", 30_000).contains("in its \"host\""));
    // Samples are bounded by the size of the text, unless they are read as general values.
    let many = format!("{{\"samples\":[{}0]}}", "{\"\":0},".repeat(800_000));
    assert!(read_record::<Value>(many.as_bytes()).unwrap_err().to_string().contains("more than 16000000"));
    // Looked at first, and not kept.
    assert!(spoilt_by("schema", "{\"\":0}", 10).contains("no \"schema\""));

    spoilt("/cells/0/label", json!("x".repeat(MAX_NAME_BYTES + 1)), "longer than 4096 bytes");
    let zeros = vec![0; MAX_DOCUMENT_BYTES as usize + 1];
    assert!(refused(&zeros).contains("too many for a document"));
}
