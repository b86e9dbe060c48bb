//! The page in a real browser: what it shows, what it refuses, and how long it takes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::browser::Browser;
use crate::common::{Place, argument, assert_refused, text};
use ipcost_report::numbers;
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

/// The rows of numbers below a figure, drawn or not yet in sight.
#[track_caller]
fn figures(browser: &mut Browser, figure: &str) -> Vec<Vec<String>> {
    let rows = browser.run(&format!(
        "(async () => {{
            document.querySelector('#figure-{figure}').scrollIntoView();
            const rows = () => [...document.querySelectorAll('#figure-{figure} .figures tbody tr')];
            for (let tries = 0; tries < 600 && !rows().length; tries += 1) await new Promise(requestAnimationFrame);
            return rows().map((row) => [...row.cells].map((cell) => cell.textContent));
        }})()"
    ));
    serde_json::from_value(rows).unwrap()
}

fn choose(browser: &mut Browser, name: &str, value: &str) {
    browser.run(&format!("document.querySelector('[name={name}][value={value}]').click()"));
}

fn select(browser: &mut Browser, name: &str, shown: &str) {
    browser.run(&format!(
        "(() => {{
            const select = document.querySelector('select[name={name}]');
            select.value = [...select.options].find((option) => option.textContent === {shown:?}).value;
            select.dispatchEvent(new Event('change', {{ bubbles: true }}));
        }})()"
    ));
}

/// Whatever stands in the pictures of a figure.
fn drawn(browser: &mut Browser, figure: &str) -> String {
    figures(browser, figure);
    browser
        .run(&format!("document.querySelector('#figure-{figure} .panels').innerHTML"))
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn it_opens_quietly_loads_nothing_and_shows_the_documents_figures() {
    let place = Place::new();
    let document = usual();
    let page = page(&place, &document);
    let mut browser = Browser::start();
    browser.open(&page);
    let rows = figures(&mut browser, "cost");
    for row in &rows {
        let of = |cell: &&Value| {
            cell["label"] == row[1] && row[0].starts_with(if cell["size"] == 64 { "64 B" } else { "64 KiB" })
        };
        let cell = document["cells"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|cell| cell["pattern"] == "rr")
            .find(of)
            .unwrap();
        assert_eq!(row[2], numbers::time(cell["wall_ns_per_op"]["median"].as_f64().unwrap()));
        let bounds = ["lo", "hi"].map(|bound| numbers::time(cell["wall_ns_per_op"][bound].as_f64().unwrap()));
        assert_eq!(row[3], bounds.join(" – "));
    }
    assert_eq!(rows.len(), 5);
    let contrasts = figures(&mut browser, "forest");
    assert_eq!(contrasts[0][1..], ["pipe", "tcp", "0.53", "0.52–0.54", "cheaper", "the run's contrast"]);
    assert_eq!(contrasts[1][3..6], ["0.73", "no interval yet", "open"]);
    for figure in ["size", "epochs", "latency", "processor"] {
        assert!(!figures(&mut browser, figure).is_empty(), "{figure}");
        assert!(drawn(&mut browser, figure).contains("<svg"), "{figure}");
    }
    assert_eq!(figures(&mut browser, "epochs").len(), 20);
    assert_eq!(
        browser.run("document.querySelector('.crossings').innerText"),
        "pipe is cheaper up to 64 B, tcp from 64 KiB: the two cross between."
    );
    // The page has the figures of the terminal's tables, too.
    let terminal = place.run(&["report", argument(&place.file("run.json"))]);
    let page_text = browser.run("document.querySelector('main').textContent").as_str().unwrap().to_owned();
    let words: Vec<String> = text(&terminal.stdout)
        .lines()
        .take_while(|line| *line != "Cheapest")
        .flat_map(str::split_whitespace)
        .filter(|word| word.starts_with('(') && word.ends_with(')') || ["cheaper", "open"].contains(word))
        .map(str::to_owned)
        .collect();
    assert!(words.contains(&"cheaper".to_owned()) && words.len() > 3, "{words:?}");
    for word in words {
        assert!(page_text.contains(&word), "{word:?} is not in {page_text}");
    }
    assert!(page_text.contains("unavailable: IPv6 loopback cannot be used"));
    assert!(page_text.contains("ipcost run --transports unix --patterns rr --sizes 64 --seed 7"));
    assert_eq!(browser.complaints(), [""; 0]);
    assert_eq!(browser.requests(), [format!("file://{}", page.display())]);
}

#[test]
fn switches_change_what_is_shown_and_invent_no_interval() {
    let place = Place::new();
    let mut browser = opened(&place, &usual());
    let wall = figures(&mut browser, "cost");
    let logarithmic = drawn(&mut browser, "cost");
    choose(&mut browser, "scale", "linear");
    assert_ne!(drawn(&mut browser, "cost"), logarithmic);
    choose(&mut browser, "metric", "cpu");
    let cpu = figures(&mut browser, "cost");
    assert_eq!((cpu[0][2].as_str(), cpu[0][3].as_str()), ("6.42 µs", "no interval yet"));
    assert_ne!(cpu, wall);
    choose(&mut browser, "metric", "p99");
    let p99 = figures(&mut browser, "forest");
    assert!(p99.iter().all(|row| row[3] == "baseline" || row[4] == "no interval"), "{p99:?}");
    choose(&mut browser, "metric", "wall");

    select(&mut browser, "baseline", "pipe");
    let turned = figures(&mut browser, "forest");
    let row = |label: &str| {
        turned.iter().find(|row| row[1] == label && row[0].starts_with("64 B")).unwrap()[2..].to_vec()
    };
    assert_eq!(row("pipe")[1], "baseline");
    assert_eq!(row("tcp"), ["pipe", "1.88", "1.85–1.94", "", "the run's contrast, inverted"]);
    // The runner-up against the cheapest is known from the table's own verdict.
    assert_eq!(row("unix")[..4], ["pipe", "1.38", "1.30–1.45", "dearer"]);
    select(&mut browser, "baseline", "unix");
    let against_unix = figures(&mut browser, "forest");
    assert_eq!(against_unix[2][2..5], ["unix", "1.37", "no interval yet"]);

    browser.run("[...document.querySelectorAll('[name=transport]')][1].click()");
    assert!(figures(&mut browser, "cost").iter().all(|row| row[1] != "unix"));
    choose(&mut browser, "pattern", "stream");
    browser.run("[...document.querySelectorAll('[name=transport]')][1].click()");
    assert_eq!(figures(&mut browser, "cost").len(), 1);
    let colours = "getComputedStyle(document.body).backgroundColor";
    let before = browser.run(colours);
    browser.run("document.getElementById('theme').click()");
    assert_ne!(browser.run(colours), before);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn tables_sort_and_keep_what_has_no_figure_last() {
    let place = Place::new();
    let mut browser = opened(&place, &usual());
    let names = |table: u32| {
        format!(
            "[...document.querySelectorAll('table.cells')[{table}].querySelectorAll('td.name')].map((cell) => cell.textContent)"
        )
    };
    let by = |table: u32, column: u32| {
        format!(
            "document.querySelectorAll('table.cells')[{table}].querySelectorAll('th button')[{column}].click()"
        )
    };
    assert_eq!(browser.run(&names(0)), json!(["pipe", "unix", "tcp"]));
    browser.run(&by(0, 2));
    assert_eq!(browser.run(&names(0)), json!(["tcp", "unix", "pipe"]), "by operations a second");
    browser.run(&by(0, 1));
    browser.run(&by(0, 1));
    assert_eq!(browser.run(&names(0)), json!(["tcp", "unix", "pipe"]), "by cost, downwards");
    browser.run(&by(0, 1));
    assert_eq!(browser.run(&names(0)), json!(["pipe", "unix", "tcp"]), "as in the document");
    browser.run(&by(0, 0));
    assert_eq!(browser.run(&names(0)), json!(["pipe", "tcp", "unix"]), "by name");
    browser.run(&by(0, 0));
    assert_eq!(browser.run(&names(0)), json!(["unix", "tcp", "pipe"]), "by name, downwards");
    browser.run(&by(2, 1));
    browser.run(&by(2, 1));
    assert_eq!(browser.run(&names(2)), json!(["unix", "tcp6"]));
    assert_eq!(browser.complaints(), [""; 0]);
}

/// The texts of an SVG picture.
fn texts_of(picture: &str) -> Vec<&str> {
    let ends = picture.split("<text ").skip(1).filter_map(|rest| rest.split("</text>").next());
    ends.filter_map(|text| Some(text.split_once('>')?.1.trim())).collect()
}

#[test]
fn the_page_says_what_pictures_say() {
    let place = Place::new();
    let mut browser = opened(&place, &usual());
    let picture = |chart: &str| {
        let output =
            place.run(&["report", argument(&place.file("run.json")), "--svg", "-", "--chart", chart]);
        text(&output.stdout).to_owned()
    };
    let has = |texts: &[&str], part: &str| {
        assert!(texts.iter().any(|text| text.contains(part)), "{part:?}: {texts:?}")
    };
    let (cost, forest, size) = (picture("cost"), picture("forest"), picture("size"));
    for pattern in ["rr", "stream"] {
        choose(&mut browser, "pattern", pattern);
        for row in figures(&mut browser, "cost") {
            let [_, label, value, interval, _] = row.as_slice() else { panic!("{row:?}") };
            has(&texts_of(&cost), label);
            has(&texts_of(&cost), &format!("{value} ({interval})"));
        }
    }
    choose(&mut browser, "pattern", "rr");
    for row in figures(&mut browser, "forest").iter().filter(|row| row[3] != "baseline") {
        has(&texts_of(&forest), &format!("{} ({}) {}", row[3], row[4], row[5]));
    }
    let shown = drawn(&mut browser, "size");
    for part in ["pipe", "tcp", "64 B", "64 KiB"] {
        has(&texts_of(&size), part);
        has(&texts_of(&shown), part);
    }
    // A transport has one colour.
    let blue = "getComputedStyle(document.querySelector('#figure-cost .plot .line, #figure-cost .plot .whisker')).stroke";
    choose(&mut browser, "pattern", "rr");
    drawn(&mut browser, "cost");
    assert_eq!(browser.run(blue), "rgb(0, 114, 178)");
    assert!(cost.contains("#0072b2"));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn it_fits_a_phone_and_follows_its_width() {
    let place = Place::new();
    let mut browser = opened(&place, &usual());
    drawn(&mut browser, "forest");
    let width = "document.querySelector('#figure-forest svg').getAttribute('width')";
    let before = browser.run(width);
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": true}),
    );
    let after = browser.run(&format!(
        "(async () => {{
            for (let tries = 0; tries < 600 && {width} === {before}; tries += 1) await new Promise(requestAnimationFrame);
            return Number({width});
        }})()"
    ));
    assert!(after.as_f64().unwrap() < 390.0, "{after}");
    for figure in ["cost", "size", "forest", "epochs", "latency", "processor"] {
        drawn(&mut browser, figure);
    }
    assert_eq!(browser.run("document.documentElement.scrollWidth"), 390, "nothing sticks out");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn on_paper_every_chart_is_drawn_and_the_choice_is_named() {
    let place = Place::new();
    let mut browser = opened(&place, &usual());
    browser.run("document.getElementById('theme').click()");
    browser.run("[...document.querySelectorAll('[name=transport]')][1].click()");
    let theme = "document.documentElement.dataset.theme ?? null";
    let before = browser.run(theme);
    browser.run("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(browser.run(theme), "light");
    let drawn = "[...document.querySelectorAll('figure')].filter((figure) => figure.querySelector('.plot svg')).length";
    assert_eq!(browser.run(drawn), 6);
    assert_eq!(
        browser.run("document.getElementById('shown').textContent"),
        "Shown: pattern rr, cost (elapsed time per operation), baseline as in the run, log scale; without unix."
    );
    browser.run("dispatchEvent(new Event('afterprint'))");
    assert_eq!(browser.run(theme), before);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn hostile_texts_stay_texts() {
    const HOSTILE: &str = "</script><img src=x onerror=hacked=1><script>hacked=1</script> \\u003c \\\\u003c \u{2028} \"'` {a|b} <!--";
    let place = Place::new();
    let mut document = usual();
    document["cells"][0]["label"] = json!(HOSTILE);
    document["cells"][0]["transport"] = json!(HOSTILE);
    document["cells"][1]["label"] = json!("__proto__");
    document["cells"][1]["transport"] = json!("constructor");
    document["cells"][6]["reason"] = json!(HOSTILE);
    document["warnings"][0]["message"] = json!(HOSTILE);
    document["host"]["cpu"] = json!(HOSTILE);
    document["host"][HOSTILE] = json!(HOSTILE);
    document["started"] = json!(HOSTILE);
    document["job"]["cells"][0]["label"] = json!(HOSTILE);
    let mut browser = opened(&place, &document);
    for figure in ["cost", "size", "forest", "epochs", "latency", "processor"] {
        assert!(drawn(&mut browser, figure).contains("<svg"), "{figure}");
    }
    // A character that ends a line is shown, and not obeyed.
    let shown = HOSTILE.replace('\u{2028}', "\\u{2028}");
    assert_eq!(figures(&mut browser, "cost")[0][1], shown);
    // What hovering shows is made of the same labels.
    let point = browser.run(
        "(() => {
            document.querySelector('#figure-cost').scrollIntoView();
            const box = document.querySelector('#figure-cost .plot').getBoundingClientRect();
            return [box.left + box.width / 2, box.top + 18];
        })()",
    );
    browser.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": point[0], "y": point[1]}));
    let tip = browser.run(
        "(async () => {
            const tip = () => document.querySelector('.tip')?.textContent;
            for (let tries = 0; tries < 600 && !tip(); tries += 1) await new Promise(requestAnimationFrame);
            return tip();
        })()",
    );
    assert!(tip.as_str().unwrap().starts_with(&shown), "{tip}");
    assert!(tip.as_str().unwrap().contains("7.13 µs"), "{tip}");
    assert_eq!(browser.run("typeof hacked"), "undefined");
    assert_eq!(
        browser.run("document.querySelectorAll('img, script').length"),
        3,
        "the page's own scripts alone"
    );
    assert_eq!(browser.complaints(), [""; 0], "nor did the page's policy have anything to forbid");
}

#[test]
fn the_document_is_given_back_byte_for_byte() {
    let place = Place::new();
    let mut document = usual();
    document["cells"][0]["label"] =
        json!("< \\u003c \\\\u003c \\\\\\u003c </script> \u{2028} \u{1b}[31m é \u{1f600}");
    let mut browser = opened(&place, &document);
    let down = place.file("down");
    browser.call(
        "Browser.setDownloadBehavior",
        json!({"behavior": "allow", "downloadPath": down, "eventsEnabled": true}),
    );
    browser.run("document.getElementById('download').click()");
    browser.wait_for(|event| {
        event["method"] == "Browser.downloadProgress" && event["params"]["state"] == "completed"
    });
    let again = place.file("again.json");
    place.run(&["report", argument(&place.file("run.json")), "--json", argument(&again)]);
    assert_eq!(std::fs::read(down.join("ipcost-7.json")).unwrap(), std::fs::read(again).unwrap());
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
    assert!(!figures(&mut browser, "cost").is_empty());
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
        "[...document.querySelectorAll('.cells tbody')].filter((row) => row.getClientRects().length).length";
    assert_eq!(browser.run(shown), 300);
    browser.run("document.querySelector('.whole input').click()");
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
    let command = written.split("<pre id=\"command\">").nth(1).unwrap().split("</pre>").next().unwrap();
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
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).starts_with("error: cannot write no/such/place.html: "),
        "{}",
        text(&output.stderr)
    );
    assert_refused(&place.run(&["report", argument(&run), "--html"]), &["--html"]);
    let both = ["report", argument(&run), "--html", "-", "--json", "-"];
    assert_refused(&place.run(&both), &["only one output can go to standard output"]);
    assert!(!Path::new("no").exists());
    let shown = place.run(&["report", argument(&run), "--html", "-"]);
    assert!(text(&shown.stdout).starts_with("<!doctype html>"));
}
