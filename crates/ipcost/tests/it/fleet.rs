//! What many hosts say together, as a user sees it: a directory with everything that may lie in one.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Place, argument, assert_refused, assert_schema, scripted, text};
use crate::replicate::MINE;

/// Every output that is text.
const OUTPUTS: [&str; 10] =
    ["--json", "f.json", "--html", "f.html", "--csv", "f.csv", "--markdown", "f.md", "--svg", "f.svg"];

/// A run of two cells.
fn document(place: &Place) -> Value {
    place.document(&[
        "run", "--transports", "unix,tcp", "--patterns", "rr", "--placement", "together", "--epochs", "20",
        "--quiet",
    ])
}

/// A number from 0 to 1 that looks random (splitmix64).
fn random(seed: u64) -> f64 {
    let mut mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// The same as another host would have it, with the ratio of its costs changed by a factor.
fn on_host(document: &Value, name: &str, factor: f64) -> Value {
    let mut document = document.clone();
    document["host"]["name"] = name.into();
    let number = name.bytes().fold(7_u64, |number, byte| number.wrapping_mul(31).wrapping_add(byte.into()))
        & 0xffff_ffff_ffff;
    document["host"]["machine"] = format!("{number:012x}").into();
    let contrast = document["contrasts"].as_array_mut().unwrap();
    for contrast in contrast.iter_mut().filter(|contrast| contrast["metric"] == "wall") {
        for key in ["ratio", "lo", "hi"] {
            if let Some(value) = contrast[key].as_f64() {
                contrast[key] = (value * factor).into();
            }
        }
        let above = contrast["lo"].as_f64().is_some_and(|lo| lo > 1.0);
        let below = contrast["hi"].as_f64().is_some_and(|hi| hi < 1.0);
        contrast["verdict"] = if above || below { "different" } else { "undecided" }.into();
    }
    // Planted, whatever this machine did meanwhile: 8 µs over a Unix socket, 10 µs over TCP, and epochs that do not depend on each other.
    let cells = document["cells"].as_array().unwrap().clone();
    for sample in document["samples"].as_array_mut().unwrap() {
        let (cell, epoch) = (sample["cell"].as_u64().unwrap(), sample["epoch"].as_u64().unwrap());
        let is_unix = cells[cell as usize]["transport"] == "unix";
        let cost = if is_unix { 8_000.0 * factor } else { 10_000.0 };
        let wall_ns = sample["ops"].as_f64().unwrap() * cost * (1.0 + 0.02 * random(epoch * 2 + cell + 400));
        sample["wall_ns"] = (wall_ns as u64).into();
    }
    document
}

/// Five hosts of one kind and one in a sandbox, on which the Unix socket costs four times as much.
fn fleet_of(place: &Place) -> Value {
    let document = document(place);
    fs::create_dir(place.file("fleet")).unwrap();
    for (number, factor) in [0.97, 1.0, 1.02, 0.99, 1.01].into_iter().enumerate() {
        let host = on_host(&document, &format!("web{number}"), factor);
        place.write(&format!("fleet/web{number}.json"), &host.to_string());
    }
    let mut sandbox = on_host(&document, "sandbox", 4.0);
    sandbox["host"]["container"] = "gVisor".into();
    place.write("fleet/sandbox.json", &sandbox.to_string());
    document
}

#[test]
fn hosts_are_joined_and_every_output_says_the_same() {
    let place = Place::new();
    fleet_of(&place);
    let output = place.run(&[&["fleet", "fleet", "--png", "f.png"], &OUTPUTS[..]].concat());
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.starts_with("6 hosts in 2 groups, from 6 files\n"), "{shown}");
    let fleet: Value = serde_json::from_slice(&fs::read(place.file("f.json")).unwrap()).unwrap();
    assert_schema("fleet", &fleet);
    let contrast = &fleet["contrasts"][0];
    assert_eq!(contrast["hosts"].as_array().unwrap().len(), 6);
    let sum: u64 =
        contrast["counts"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(sum, 6);
    let csv = fs::read_to_string(place.file("f.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 6, "{csv}");
    let columns = csv.lines().next().unwrap().split(',').count();
    assert!(csv.lines().all(|line| line.split(',').count() >= columns), "{csv}");
    let html = fs::read_to_string(place.file("f.html")).unwrap();
    let svg = fs::read_to_string(place.file("f.svg")).unwrap();
    let markdown = fs::read_to_string(place.file("f.md")).unwrap();
    for written in [&html, &svg, &markdown] {
        assert!(written.contains("unix / tcp"), "{written}");
    }
    assert!(
        html.contains("sandbox") && !html.contains("<script") && !html.contains("://"),
        "nothing is loaded"
    );
    assert!(fs::read(place.file("f.png")).unwrap().starts_with(b"\x89PNG"));
    // Host by host.
    let output = place.run(&["fleet", "fleet", "--svg", "-", "--contrast", "unix/tcp"]);
    let svg = text(&output.stdout);
    assert!(svg.contains("sandbox") && svg.contains("web0"), "{svg}{}", text(&output.stderr));
}

#[test]
fn whatever_lies_in_a_directory_is_named_and_the_rest_counts() {
    let place = Place::new();
    let document = fleet_of(&place);
    let mut newer = on_host(&document, "web0", 1.0);
    newer["started"] = "2999-01-01T00:00:00Z".into();
    place.write("fleet/zz-newer.json", &newer.to_string());
    let mut future = document.clone();
    future["schema"] = "ipcost/9".into();
    place.write("fleet/future.json", &future.to_string());
    let mut other = on_host(&document, "other", 1.0);
    other["job"]["cells"] = json!([{"pattern": "stream", "transport": "unix", "size": 1}]);
    place.write("fleet/other-job.json", &other.to_string());
    let whole = document.to_string();
    place.write("fleet/truncated.json", &whole[..whole.len() / 2]);
    place.write("fleet/empty.json", "");
    place.write("fleet/hostile\u{1b}[31m.json", &"[".repeat(100_000));
    place.write("fleet/notes.txt", "not a document, and not asked for");
    fs::create_dir(place.file("fleet/dir.json")).unwrap();
    for number in 0..200 {
        place.write(&format!("fleet/x{number}.json"), "null");
    }
    let output = place.run(&["fleet", "fleet", "missing.json", "--json", "f.json", "--details"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let fleet: Value = serde_json::from_slice(&fs::read(place.file("f.json")).unwrap()).unwrap();
    assert_eq!(fleet["hosts"].as_array().unwrap().len(), 6);
    assert_eq!((&fleet["files"], &fleet["skipped_files"]), (&json!(6 + 6 + 200 + 1), &json!(6 + 200 + 1)));
    let shown = text(&output.stdout);
    for (file, reason) in [
        ("fleet/web0.json", "another document of the same host is newer"),
        ("fleet/future.json", "ipcost/9"),
        ("fleet/other-job.json", "its job is not the one that most hosts ran"),
        ("fleet/truncated.json", "not a whole JSON document"),
        ("fleet/empty.json", ""),
        ("missing.json", "cannot read"),
    ] {
        let line =
            shown.lines().find(|line| line.contains(file)).unwrap_or_else(|| panic!("{file}: {shown}"));
        // Long lines go on below.
        let from = shown.find(line).unwrap();
        assert!(
            shown[from..].chars().take(300).collect::<String>().replace("\n", " ").contains(reason),
            "{file}: {shown}"
        );
    }
    assert!(!shown.contains('\u{1b}'), "{shown}");
    // On a screen only a few are named.
    let shown = text(&place.run(&["fleet", "fleet"]).stdout);
    assert!(
        shown.contains("Not counted: 206 of 212 files.")
            && shown.contains("--details shows every host, group and file."),
        "{shown}"
    );
}

#[test]
fn ledgers_and_checks_count_as_their_commands_write_them() {
    let place = Place::new();
    fleet_of(&place);
    place.write("mine.toml", MINE);
    let output =
        place.run(&["replicate", "mine.toml", "--quiet", "--no-save", "--json", "fleet/ledger.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let claims_text = "[[cells]]\ntransport = [\"unix\", \"tcp\"]\nplacement = \"free\"\n[[claims]]\ncell = \"unix\"\nat_most = \"10s\"\n";
    let planted = format!(
        "{}[[cells]]\nclient = \"planted\"\nserver = \"planted\"\n",
        scripted::table("peers", "planted", &["1000"])
    );
    place.write("claims.toml", &claims_text.replacen("[[cells]]\n", &planted, 1));
    let output = place.run(&["check", "claims.toml", "--quiet", "--no-save", "--json", "check.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let fleet = |arguments: &[&str]| -> Value {
        let output = place.run(&[&["fleet"], arguments, &["--json", "-"]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let of_directory = fleet(&["fleet"]);
    let document: Value =
        serde_json::from_slice(&fs::read(place.file("fleet/ledger.json")).unwrap()).unwrap();
    let record = &document["answer"];
    let claims = record["claims"].as_array().unwrap();
    let counted = of_directory["claims"].as_array().unwrap();
    assert_eq!(
        counted.iter().map(|claim| &claim["text"]).collect::<Vec<_>>(),
        claims.iter().map(|claim| &claim["text"]).collect::<Vec<_>>()
    );
    assert!(counted.iter().all(|claim| claim["hosts"].as_array().unwrap().len() == 1), "{of_directory}");
    assert_eq!((&of_directory["files"], &of_directory["skipped_files"]), (&json!(7), &json!(0)));
    // Several in a file before others, ledgers alone among them: claims are decided on the hosts of the other files all the same.
    let three = Value::Array(vec![record.clone(), document.clone(), record.clone()]);
    place.write("fleet/ledger.json", &three.to_string());
    place.write("together.toml", &claims_text.replace("\"free\"", "\"together\""));
    let of_cells = ["check", "together.toml", "--fleet", "fleet", "--benchfmt", "cells.txt"];
    assert_refused(&place.run(&of_cells), &["--benchfmt", "leave it out"]);
    let output = place.run(&["check", "together.toml", "--fleet", "fleet", "--json", "-", "--quiet"]);
    let decided: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&decided["counts"][0]["holds"], &decided["files"], &decided["skipped_files"]),
        (&json!(6), &json!(7), &json!(1)),
        "{decided}"
    );
    let of_check = fleet(&["check.json"]);
    assert_eq!(
        (&of_check["claims"][0]["of"], &of_check["claims"][0]["counts"]["holds"]),
        (&json!("check"), &json!(1))
    );
}

#[test]
fn names_of_hosts_are_nowhere_in_a_redacted_fleet() {
    let place = Place::new();
    let document = fleet_of(&place);
    let mut secret = on_host(&document, "topsecret-db7", 1.0);
    secret["host"]["machine"] = Value::Null;
    secret["warnings"] = json!([{"code": "x", "message": "on topsecret-db7"}]);
    place.write("fleet/topsecret-db7.json", &secret.to_string());
    place.write("fleet/topsecret-db8.json", "{");
    let files = ["f.json", "f.html", "f.csv", "f.md", "f.svg"];
    let output = place.run(&[&["fleet", "fleet", "--redact", "--details"], &OUTPUTS[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let written = files.map(|file| fs::read_to_string(place.file(file)).unwrap());
    for text in written.iter().chain([&text(&output.stdout), &text(&output.stderr)]) {
        for name in ["topsecret", "web0", "sandbox"] {
            assert!(!text.contains(name), "{name} is in {text}");
        }
    }
    let fleet: Value = serde_json::from_str(&written[0]).unwrap();
    assert_eq!(fleet["hosts"].as_array().unwrap().len(), 7, "they are told apart all the same");
}

#[test]
fn mistakes_are_one_line_that_says_what_to_do() {
    let place = Place::new();
    fleet_of(&place);
    fs::create_dir(place.file("nothing")).unwrap();
    place.write("bad.json", "{");
    assert_refused(&place.run(&["fleet", "nothing"]), &["no document", "ipcost run --json FILE"]);
    assert_refused(
        &place.run(&["fleet", "bad.json"]),
        &["no document counts", "bad.json", "not a whole JSON document"],
    );
    assert_refused(&place.run(&["fleet", "fleet", "--contrast", "unix/tcp"]), &["--svg", "--png"]);
    assert_refused(
        &place.run(&["fleet", "fleet", "--svg", "x.svg", "--contrast", "unix/udp"]),
        &["unknown contrast \"unix/udp\"", "rr/unix/64/c1/together"],
    );
    assert_refused(&place.run(&["fleet", "fleet", "--json", "-", "--csv", "-"]), &["only one output"]);
    assert_refused(&place.run(&["fleet", "fleet", "--metric", "wal"]), &["wal", "wall"]);
}

#[test]
fn claims_are_checked_over_a_fleet() {
    let place = Place::new();
    fleet_of(&place);
    let cells = "[[cells]]\ntransport = [\"unix\", \"tcp\"]\nplacement = \"together\"\n";
    let claim = |bound: &str| format!("\n[[claims]]\ncell = \"unix\"\nagainst = \"tcp\"\n{bound}\n");
    place.write("holds.toml", &format!("{cells}{}", claim("at_least = 0.001\nat_most = 1000")));
    let output =
        place.run(&["check", "holds.toml", "--fleet", "fleet", "--json", "c.json", "--junit", "c.xml"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", text(&output.stderr));
    assert!(shown.contains("(holds on 6 of 6 hosts; shown: ") && shown.contains("1 claim holds"), "{shown}");
    let check: Value = serde_json::from_slice(&fs::read(place.file("c.json")).unwrap()).unwrap();
    assert_eq!((&check["schema"], &check["counts"][0]["holds"]), (&json!("ipcost-fleet-check/1"), &json!(6)));
    assert_eq!(check["claims"][0]["tests"].as_array().unwrap().len(), 6);
    assert!(
        fs::read_to_string(place.file("c.xml")).unwrap().contains("tests=\"1\" failures=\"0\" errors=\"0\"")
    );
    // It fails everywhere; and a share of the hosts is enough where that is said.
    place.write("fails.toml", &format!("{cells}{}", claim("at_least = 1000")));
    assert_eq!(place.run(&["check", "fails.toml", "--fleet", "fleet"]).status.code(), Some(1));
    // Four times as much, on the sandbox alone: not on all hosts, but on most.
    let sandbox = &check["claims"][0]["tests"]
        .as_array()
        .unwrap()
        .iter()
        .find(|test| test["host"] == "sandbox")
        .unwrap()["lo"];
    let bound = format!("at_most = {:.4}", sandbox.as_f64().unwrap() * 0.999);
    place.write("all.toml", &format!("{cells}{}", claim(&bound)));
    place.write("most.toml", &format!("{cells}{}", claim(&format!("{bound}\nhosts = \"60%\""))));
    assert_ne!(place.run(&["check", "all.toml", "--fleet", "fleet"]).status.code(), Some(0));
    let output = place.run(&["check", "most.toml", "--fleet", "fleet", "--quiet"]);
    assert!(text(&output.stdout).contains("on 60 % of hosts at least"), "{}", text(&output.stdout));
    // What a fleet cannot say.
    place.write("baseline.toml", &format!("{cells}\n[[claims]]\nbaseline = \"b.json\"\nat_most = 1.1\n"));
    assert_refused(
        &place.run(&["check", "baseline.toml", "--fleet", "fleet"]),
        &["baseline.toml:6:", "a baseline belongs to one host"],
    );
    place.write("share.toml", &format!("{cells}{}", claim("at_most = 1\nhosts = \"0%\"")));
    assert_refused(
        &place.run(&["check", "share.toml", "--fleet", "fleet"]),
        &["share.toml:9:9: ", "hosts is a share"],
    );
    place.write(
        "other.toml",
        &format!("{cells}\n[[claims]]\ncell = \"pipe\"\nagainst = \"tcp\"\nat_most = 1\n"),
    );
    assert_refused(
        &place.run(&["check", "other.toml", "--fleet", argument(&place.file("fleet"))]),
        &["no document has the cells of the claims", "pipe"],
    );
    assert_refused(&place.run(&["check", "holds.toml", "--fleet", "fleet", "--plan"]), &["--plan"]);
}
