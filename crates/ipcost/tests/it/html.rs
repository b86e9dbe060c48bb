//! The page in a real browser: what it shows, what it refuses, and how long it takes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::browser::Browser;
use crate::common::{Place, argument, assert_refused, text};
use serde_json::{Value, json};

/// A cell with all that the page draws; costs differ by transport and by size.
fn cell(transport: &str, label: &str, pattern: &str, size: u64, wall: f64) -> Value {
    let latency = json!({"p50": 7_000, "p90": 8_000, "p99": (wall * 2.0) as u64, "p999": 40_000, "max": 1_200_000, "count": 20_000});
    json!({
        "id": format!("{pattern}/{label}/{size}/c1"), "label": label, "pattern": pattern, "transport": transport, "size": size,
        "reply": if pattern == "stream" { 0 } else { size }, "concurrency": 1, "speaks_first": "client", "placement": "free",
        "client": "native", "server": "native", "options": {}, "available": true, "reason": null,
        "epochs": 20, "batches": 20, "ops": 56_000,
        "wall_ns_per_op": {"median": wall, "lo": wall * 0.95, "hi": wall * 1.06},
        "cpu_ns_per_op": {"median": wall * 0.9, "lo": null, "hi": null},
        "ops_per_s": 1e9 / wall, "bytes_per_s": 1e9 / wall * size as f64,
        "latency_ns": if pattern == "stream" { Value::Null } else { latency },
        "usage_per_op": {"client_user_ns": 300.0, "client_sys_ns": 3_000.0, "server_user_ns": 250.0,
            "server_sys_ns": 2_900.0, "voluntary_switches": 2.0, "involuntary_switches": 0.01},
    })
}

fn contrast(a: &Value, b: &Value, ratio: f64, verdict: &str) -> Value {
    let bounds = (verdict != "undecided").then_some((ratio * 0.97, ratio * 1.02));
    json!({"metric": "wall", "a": a["id"], "b": b["id"], "ratio": ratio, "lo": bounds.map(|b| b.0), "hi": bounds.map(|b| b.1),
        "verdict": verdict, "epochs": 20, "headline": true})
}

fn workload(cells: &[&Value], baseline: &Value, fastest: Value) -> Value {
    let first = cells[0];
    let ids: Vec<&Value> = cells.iter().map(|cell| &cell["id"]).collect();
    json!({"pattern": first["pattern"], "size": first["size"], "reply": first["reply"], "concurrency": 1,
        "speaks_first": "client", "placement": "free", "cells": ids, "baseline": baseline["id"], "fastest": fastest})
}

fn document(cells: Vec<Value>, workloads: Vec<Value>, contrasts: Vec<Value>) -> Value {
    let usage =
        json!({"user_ns": 1_000, "sys_ns": 90_000, "voluntary_switches": 3, "involuntary_switches": 0});
    let sample = |cell: usize, epoch: u32| {
        json!({"cell": cell, "epoch": epoch, "round": 1, "position": 1, "ops": 10, "wall_ns": 70_000 + 1_000 * epoch,
            "sent_ns": null, "client": usage, "server": usage})
    };
    // Of so many cells as fill a page, fewer batches each.
    let epochs = if cells.len() > 100 { 5 } else { 20 };
    let samples: Vec<Value> = (0..cells.len())
        .flat_map(|cell| (1..=epochs).map(move |epoch| (cell, epoch)))
        .map(|(cell, epoch)| sample(cell, epoch))
        .collect();
    json!({
        "schema": "ipcost/1", "tool": {"name": "ipcost", "version": "0.1.0"},
        "host": {"os": "linux", "kernel": "6.1.0", "arch": "x86_64", "cpu": "A processor", "cores": 2, "physical_cores": 2},
        "job": {"cells": [{"pattern": ["rr"], "transport": ["unix"], "size": [64]}]},
        "seed": 7, "started": "2026-01-01T00:00:00Z", "elapsed_s": 29.4, "stopped": "budget",
        "schedule": {"rounds": 1, "epochs": 20, "batch_ms": 20.0, "lead_in_ms": 5.0, "budget_s": 30.0, "latency": "lead-in",
            "timing": {"calibration_s": 0.3, "processes_s": 2.0, "batches_s": 21.0, "lead_ins_s": 5.0, "other_s": 1.1}},
        "analysis": {"alpha": 0.05, "family": 6, "alpha_each": 0.008, "margin": 0.02, "epochs_needed": 11},
        "cells": cells, "workloads": workloads, "contrasts": contrasts, "samples": samples,
        "warnings": [{"code": "steal", "message": "the hypervisor took 3.0 % of the processors' time for others"}],
    })
}

/// Round trips of two sizes, between which pipe and tcp are known to cross, and a stream without latency.
fn usual() -> Value {
    let [pipe, unix, tcp] = [("pipe", 7_130.0), ("unix", 9_845.0), ("tcp", 13_500.0)]
        .map(|(name, wall)| cell(name, name, "rr", 64, wall));
    let [large_pipe, large_tcp] =
        [("pipe", 45_000.0), ("tcp", 19_400.0)].map(|(name, wall)| cell(name, name, "rr", 65_536, wall));
    let [stream, mut missing] =
        [("unix", 1_290.0), ("tcp6", 1.0)].map(|(name, wall)| cell(name, name, "stream", 64, wall));
    for key in ["wall_ns_per_op", "cpu_ns_per_op", "ops_per_s", "bytes_per_s", "latency_ns", "usage_per_op"] {
        missing[key] = Value::Null;
    }
    missing["available"] = json!(false);
    missing["reason"] = json!("IPv6 loopback cannot be used");
    missing["epochs"] = json!(0);
    let workloads = vec![
        workload(
            &[&pipe, &unix, &tcp],
            &tcp,
            json!({"cell": pipe["id"], "runner_up": unix["id"], "ratio": 1.38,
            "lo": 1.3, "hi": 1.45, "verdict": "different", "claimed": true}),
        ),
        workload(&[&large_pipe, &large_tcp], &large_tcp, Value::Null),
        workload(&[&stream, &missing], &stream, Value::Null),
    ];
    let contrasts = vec![
        contrast(&pipe, &tcp, 0.531, "different"),
        contrast(&unix, &tcp, 0.729, "undecided"),
        contrast(&large_pipe, &large_tcp, 2.28, "different"),
    ];
    document(vec![pipe, unix, tcp, large_pipe, large_tcp, stream, missing], workloads, contrasts)
}

/// Writes the page of a document, as a user does.
fn page(place: &Place, document: &Value) -> PathBuf {
    let run = place.write("run.json", &document.to_string());
    let page = place.file("report.html");
    let output = place.run(&["report", argument(&run), "--html", argument(&page)]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "");
    page
}

fn opened(place: &Place, document: &Value) -> Browser {
    let page = page(place, document);
    let mut browser = Browser::start();
    browser.open(&page);
    browser
}

#[test]
fn it_opens_quietly_loads_nothing_and_says_what_a_terminal_does() {
    let place = Place::new();
    let page = page(&place, &usual());
    let mut browser = Browser::start();
    browser.open(&page);
    let terminal = place.run(&["report", argument(&place.file("run.json"))]);
    let page_text = browser.run("document.querySelector('main').textContent").as_str().unwrap().to_owned();
    let shown = text(&terminal.stdout);
    let figures =
        |word: &&str| word.starts_with('(') && word.ends_with(')') || ["cheaper", "open"].contains(word);
    let words: Vec<&str> = shown.split_whitespace().filter(figures).collect();
    assert!(words.contains(&"cheaper") && words.len() > 3, "{words:?}");
    words.iter().for_each(|word| assert!(page_text.contains(word), "{word:?} is not in {page_text}"));
    assert!(page_text.contains("tcp6: IPv6 loopback cannot be used"), "{page_text}");
    assert!(page_text.contains("ipcost run --transports unix --patterns rr --sizes 64 --seed 7"));
    // Every chart that has something to show, the first one open; points say what they are.
    let charts =
        "[...document.querySelectorAll('#charts svg')].map((svg) => svg.querySelector('title').textContent)";
    assert!(browser.run(charts).as_array().unwrap().len() >= 4);
    let visible =
        "[...document.querySelectorAll('#charts svg')].filter((svg) => svg.checkVisibility()).length";
    assert_eq!(browser.run(visible), 1);
    browser.run("document.querySelector('#charts summary').click()");
    assert_eq!(browser.run(visible), 2);
    assert_eq!(browser.run("document.querySelectorAll('script').length"), 0);
    assert_eq!(browser.complaints(), [""; 0]);
    assert_eq!(browser.requests(), [format!("file://{}", page.display())]);
}

#[test]
fn boxes_show_more_columns_without_a_script() {
    let place = Place::new();
    let mut browser = opened(&place, &usual());
    let shown = "[...document.querySelectorAll('#table-1 th')].filter((it) => it.checkVisibility()).map((it) => it.textContent)";
    let columns =
        |browser: &mut Browser| -> Vec<String> { serde_json::from_value(browser.run(shown)).unwrap() };
    let all = columns(&mut browser);
    assert!(all.contains(&"CPU/op".to_owned()) && all.contains(&"p99".to_owned()), "{all:?}");
    browser.run("document.querySelector('#table-1 .columns input').click()");
    let few = columns(&mut browser);
    assert!(few.contains(&"cost".to_owned()) && !few.contains(&"CPU/op".to_owned()), "{few:?}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn it_fits_a_phone() {
    let place = Place::new();
    let mut browser = opened(&place, &usual());
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": true}),
    );
    browser.run("document.querySelectorAll('details').forEach((it) => { it.open = true; })");
    assert_eq!(browser.run("document.documentElement.scrollWidth"), 390, "nothing sticks out");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn hostile_texts_stay_texts() {
    const HOSTILE: &str =
        "</script><img src=x onerror=hacked=1><script>hacked=1</script> \\u003c \u{2028} \"'` {a|b} <!--";
    let place = Place::new();
    let mut document = usual();
    document["cells"][0]["label"] = json!(HOSTILE);
    document["cells"][0]["transport"] = json!(HOSTILE);
    document["cells"][6]["reason"] = json!(HOSTILE);
    document["warnings"][0]["message"] = json!(HOSTILE);
    document["host"]["cpu"] = json!(HOSTILE);
    document["host"][HOSTILE] = json!(HOSTILE);
    document["started"] = json!(HOSTILE);
    document["job"]["cells"][0]["label"] = json!(HOSTILE);
    let mut browser = opened(&place, &document);
    // A character that ends a line is shown, and not obeyed.
    let shown = HOSTILE.replace('\u{2028}', "\\u{2028}");
    assert_eq!(browser.run("document.querySelector('#table-1 td').textContent"), shown);
    assert_eq!(browser.run("typeof hacked"), "undefined");
    assert_eq!(browser.run("document.querySelectorAll('img, script').length"), 0);
    assert_eq!(browser.complaints(), [""; 0], "nor did the page's policy have anything to forbid");
}

#[test]
fn the_document_is_given_back() {
    let place = Place::new();
    let mut document = usual();
    document["cells"][0]["label"] = json!("< \\u003c \\\\u003c </script> \u{2028} \u{1b}[31m é \u{1f600}");
    let mut browser = opened(&place, &document);
    let down = place.file("down");
    browser.call(
        "Browser.setDownloadBehavior",
        json!({"behavior": "allow", "downloadPath": down, "eventsEnabled": true}),
    );
    browser.run("document.querySelector('.download').click()");
    browser.wait_for(|event| {
        event["method"] == "Browser.downloadProgress" && event["params"]["state"] == "completed"
    });
    let again = |from: &Path| place.run(&["report", argument(from), "--json", "-"]).stdout;
    assert_eq!(again(&down.join("ipcost-7.json.gz")), again(&place.file("run.json")));
}

/// Ten cells of each of five hundred sizes.
fn five_thousand_cells() -> Vec<Vec<Value>> {
    let wall = |index: u64, size: u64| (1_000 + index * 300 + size) as f64;
    let of_one = |size: u64| -> Vec<Value> {
        let name = |index: u64| format!("t{index}");
        (0..10)
            .map(|index| cell(&name(index), &format!("t{index} {size}"), "rr", size, wall(index, size)))
            .collect()
    };
    (1..=500).map(of_one).collect()
}

/// What a page may take of a processor until it is drawn: many times what it does take. A page that drew all of it at
/// once would take minutes.
const SOON: Duration = Duration::from_secs(60);

#[track_caller]
fn assert_opens_soon(document: &Value) -> Browser {
    let place = Place::new();
    let page = page(&place, document);
    let mut browser = Browser::start();
    browser.open(&page);
    let took = browser.busy();
    let size = std::fs::metadata(&page).unwrap().len() / 1_000_000;
    eprintln!("{size} MB opened in {} ms", took.as_millis());
    assert!(took < SOON, "it took {took:?}");
    assert_eq!(browser.complaints(), [""; 0]);
    browser
}

#[test]
fn five_thousand_cells_open_soon() {
    let tables = five_thousand_cells();
    let compared = |table: &Vec<Value>| -> Vec<Value> {
        table[1..].iter().map(|one| contrast(one, &table[0], 1.3, "different")).collect()
    };
    let contrasts = tables.iter().flat_map(compared).collect();
    let workloads = tables
        .iter()
        .map(|table| workload(&table.iter().collect::<Vec<_>>(), &table[0], Value::Null))
        .collect();
    assert_opens_soon(&document(tables.concat(), workloads, contrasts));
}

#[test]
fn a_table_of_five_thousand_rows_opens_soon_and_shows_them_when_asked() {
    let cells = five_thousand_cells().concat();
    let workload = workload(&cells.iter().collect::<Vec<_>>(), &cells[0], Value::Null);
    let mut browser = assert_opens_soon(&document(cells, vec![workload], vec![]));
    let shown =
        "[...document.querySelectorAll('#table-1 tbody tr')].filter((row) => row.checkVisibility()).length";
    assert_eq!(browser.run(shown), 300);
    browser.run("document.querySelector('#table-1 .rows input').click()");
    assert_eq!(browser.run(shown), 5000);
}

#[test]
fn a_run_writes_it_and_says_how_to_measure_again() {
    let place = Place::new();
    let page = place.file("report.html");
    let flags = [
        "--transports", "unix,socketpair", "--placement", "free", "--patterns", "rr", "--sizes", "64,1KiB",
        "--option", "so_sndbuf=8192", "--epochs", "1", "--margin", "3%", "--baseline", "unix",
    ];
    let run = [&["run"], &flags[..], &["--html", argument(&page)]].concat();
    let document = place.document(&run);
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.starts_with("<!doctype html>") && written.ends_with("</html>\n"));
    let command = written.split("<pre class=\"sh\">").nth(1).unwrap().split("</pre>").next().unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    let plan = |args: &[&str]| text(&place.run(&[args, &["--plan"]].concat()).stdout);
    let seed = document["seed"].to_string();
    let original = plan(&[&["run"], &flags[..], &["--seed", &seed]].concat());
    assert!(original.contains("socketpair"), "{original}");
    assert_eq!(plan(&words[1..]), original, "{command}");
}

#[test]
fn what_cannot_be_written_is_said() {
    let place = Place::new();
    let run = place.write("run.json", &usual().to_string());
    let output = place.run(&["report", argument(&run), "--html", "no/such/place.html"]);
    assert_refused(&output, &["cannot write no/such/place.html: "]);
    assert_refused(&place.run(&["report", argument(&run), "--html"]), &["--html"]);
    let both = ["report", argument(&run), "--html", "-", "--json", "-"];
    assert_refused(&place.run(&both), &["only one output can go to standard output"]);
    assert!(!Path::new("no").exists());
    let shown = place.run(&["report", argument(&run), "--html", "-"]);
    assert!(text(&shown.stdout).starts_with("<!doctype html>"));
}
