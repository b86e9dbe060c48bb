//! A document in which everything occurs that a rendering must cope with.

use std::collections::BTreeMap;

use ipcost_model::{ContrastWithin, Document, Pattern, Placement, Ran, RanRecord, Sample, Usage, Verdict};
use serde_json::{Value, json};

use crate::page::Page;

/// The same with the floors of its round trips.
pub fn with_floors() -> Document {
    let mut document = serde_json::to_value(document()).expect("a document is plain data");
    let floor = |id: &str, label: &str, size: u64, median: f64| {
        let mut cell = document["cells"][0].clone();
        for (key, value) in [
            ("id", json!(id)),
            ("label", json!(label)),
            ("pattern", json!("floor")),
            ("size", json!(size)),
            ("reply", json!(0)),
            ("latency_ns", Value::Null),
            ("ops_per_s", json!(1e9 / median)),
            ("bytes_per_s", json!(1e9 / median * size as f64)),
            ("wall_ns_per_op", json!({"median": median, "lo": null, "hi": null})),
        ] {
            cell[key] = value;
        }
        cell.as_object_mut().expect("a cell is an object").remove("modes");
        cell
    };
    let floors =
        [floor("floor/switch/c1", "switch", 0, 1_900.0), floor("floor/memcpy/64/c1", "memcpy 64 B", 64, 2.5)];
    for (index, multiple) in [(0, 1.87), (1, 2.58), (3, 3.54)] {
        document["cells"][index]["floor"] = json!({
            "ns_per_op": 3_810.0,
            "multiple": {"median": multiple, "lo": multiple * 0.98, "hi": multiple * 1.03},
            "parts": [
                {"cell": "floor/switch/c1", "count": 2.0, "ns": 3_800.0},
                {"cell": "floor/memcpy/64/c1", "count": 4.0, "ns": 10.0},
            ],
            "made_of": "2 hand-overs + 4 copies of 64 B",
        });
    }
    document["cells"].as_array_mut().expect("cells are a list").extend(floors);
    document["workloads"].as_array_mut().expect("workloads are a list").push(json!({
        "pattern": "floor", "size": 0, "reply": 0, "concurrency": 1, "speaks_first": "client", "placement": "free",
        "cells": ["floor/switch/c1", "floor/memcpy/64/c1"], "baseline": null, "fastest": null,
    }));
    serde_json::from_value(document).expect("the fixture is a document")
}

/// Two tables: one with a clear winner, two modes and a cell that is missing; one that is open.
pub fn document() -> Document {
    let cell = |id: &str, label: &str, pattern: &str, size: u64, median: f64| -> Value {
        json!({
            "id": id, "label": label, "pattern": pattern, "transport": label, "size": size,
            "reply": if pattern == "stream" { 0 } else { size }, "concurrency": 1, "speaks_first": "client",
            "placement": "free", "client": "native", "server": "native", "options": {}, "available": true,
            "reason": null, "epochs": 20, "batches": 20, "ops": 56_000,
            "wall_ns_per_op": {"median": median, "lo": median * 0.95, "hi": median * 1.06},
            "cpu_ns_per_op": {"median": median * 0.9, "lo": null, "hi": null},
            "ops_per_s": 1e9 / median, "bytes_per_s": 1e9 / median * size as f64,
            "latency_ns": if pattern == "stream" { Value::Null } else {
                json!({"p50": 7_000, "p90": 8_000, "p99": 15_500, "p999": 40_000, "max": 1_200_000, "count": 20_000})
            },
            "usage_per_op": {"client_user_ns": 300.0, "client_sys_ns": 3_000.0, "server_user_ns": 250.0,
                "server_sys_ns": 2_900.0, "voluntary_switches": 2.0, "involuntary_switches": 0.01},
        })
    };
    let mut pipe = cell("rr/pipe/64/c1", "pipe", "rr", 64, 7_130.0);
    pipe["modes"] = json!([
        {"share": 0.75, "epochs": 15, "wall_ns_per_op": 7_080.0},
        {"share": 0.25, "epochs": 5, "wall_ns_per_op": 16_020.0},
    ]);
    let mut missing = cell("rr/tcp6/64/c1", "tcp6", "rr", 64, 1.0);
    for key in ["wall_ns_per_op", "cpu_ns_per_op", "ops_per_s", "bytes_per_s", "latency_ns", "usage_per_op"] {
        missing[key] = Value::Null;
    }
    missing["available"] = json!(false);
    missing["reason"] = json!("IPv6 loopback cannot be used");
    missing["epochs"] = json!(0);
    let contrast = |a: &str, b: &str, ratio: f64, bounds: Option<(f64, f64)>, verdict: &str| {
        json!({"metric": "wall", "a": a, "b": b, "ratio": ratio, "lo": bounds.map(|b| b.0), "hi": bounds.map(|b| b.1),
            "verdict": verdict, "epochs": 20, "headline": true})
    };
    let workload = |pattern: &str, size: u64, cells: Value, baseline: &str, fastest: Value| {
        json!({"pattern": pattern, "size": size, "reply": if pattern == "stream" { 0 } else { size }, "concurrency": 1,
            "speaks_first": "client", "placement": "free", "cells": cells, "baseline": baseline, "fastest": fastest})
    };
    serde_json::from_value(json!({
        "schema": "ipcost/1", "tool": {"name": "ipcost", "version": "0.1.0"},
        "host": {"os": "linux", "kernel": "6.1.0", "arch": "x86_64", "cpu": "A processor", "cores": 2, "physical_cores": 2},
        "job": {"cells": []}, "seed": 7, "started": "2026-01-01T00:00:00Z", "elapsed_s": 29.4, "stopped": "budget",
        "schedule": {"rounds": 1, "epochs": 20, "batch_ms": 20.0, "lead_in_ms": 5.0, "budget_s": 30.0, "latency": "lead-in",
            "timing": {"calibration_s": 0.3, "processes_s": 2.0, "batches_s": 21.0, "lead_ins_s": 5.0, "other_s": 1.1}},
        "analysis": {"alpha": 0.05, "family": 6, "alpha_each": 0.05 / 6.0, "margin": 0.02, "epochs_needed": 11},
        "cells": [
            pipe,
            cell("rr/unix/64/c1", "unix", "rr", 64, 9_840.0),
            missing,
            cell("rr/tcp/64/c1", "tcp", "rr", 64, 13_500.0),
            cell("stream/unix/64/c1", "unix", "stream", 64, 1_000.0),
            cell("mine", "mine \u{1b}[31m", "stream", 64, 1_005.0),
        ],
        "workloads": [
            workload("rr", 64, json!(["rr/pipe/64/c1", "rr/unix/64/c1", "rr/tcp6/64/c1", "rr/tcp/64/c1"]), "rr/tcp/64/c1",
                json!({"cell": "rr/pipe/64/c1", "runner_up": "rr/unix/64/c1", "ratio": 1.38, "lo": 1.3, "hi": 1.45,
                    "verdict": "different", "claimed": true})),
            workload("stream", 64, json!(["stream/unix/64/c1", "mine"]), "mine",
                json!({"cell": "stream/unix/64/c1", "runner_up": "mine", "ratio": 1.004, "lo": 0.97, "hi": 1.05,
                    "verdict": "undecided", "claimed": false})),
        ],
        "contrasts": [
            contrast("rr/pipe/64/c1", "rr/tcp/64/c1", 0.531, Some((0.512, 0.552)), "different"),
            contrast("rr/unix/64/c1", "rr/tcp/64/c1", 0.729, None, "undecided"),
            contrast("stream/unix/64/c1", "mine", 0.996, Some((0.952, 1.031)), "undecided"),
        ],
        "samples": [],
        "warnings": [{"code": "steal", "message": "the hypervisor took 3.0 % of the processors' time for others"}],
    }))
    .expect("the fixture is a document")
}

/// The same where the scheduler was watched.
pub fn scheduled() -> Document {
    let mut document = document();
    let record = |ran, batches, cost| RanRecord { ran, batches, migrations: 7, wall_ns_per_op: Some(cost) };
    document.cells[0].ran = vec![record(Ran::Together, 15, 7_080.0), record(Ran::Apart, 5, 16_020.0)];
    document.cells[1].ran = vec![
        record(Ran::Apart, 11, 40_200.0),
        record(Ran::Together, 8, 9_600.0),
        record(Ran::Mixed, 1, 12_000.0),
    ];
    document.cells[3].ran = vec![record(Ran::Together, 20, 13_500.0)];
    document.contrasts[0].within = vec![
        ContrastWithin {
            ran: Ran::Together,
            ratio: 0.524,
            lo: Some(0.51),
            hi: Some(0.54),
            verdict: Verdict::Different,
            epochs: 15,
        },
        ContrastWithin {
            ran: Ran::Apart,
            ratio: 0.4,
            lo: None,
            hi: None,
            verdict: Verdict::Undecided,
            epochs: 3,
        },
    ];
    document
}

/// The same with samples: three epochs of two rounds of the cells that were measured, and what else was measured.
pub fn measured() -> Document {
    let mut document = document();
    let usage =
        |ns: u64| Usage { user_ns: ns / 8, sys_ns: ns, voluntary_switches: 100, involuntary_switches: 1 };
    for epoch in 1..=3 {
        for round in 1..=2 {
            for (position, cell) in [3, 0, 1, 4].into_iter().enumerate() {
                let record = &document.cells[cell];
                let cost = record.wall_ns_per_op.expect("it was measured").median;
                let wall_ns = (100.0 * cost) as u64 + u64::from(epoch * 10 + round);
                document.samples.push(Sample {
                    cell: cell as u32,
                    epoch,
                    round,
                    position: position as u32 + 1,
                    ops: 100,
                    wall_ns,
                    sent_ns: (record.pattern == Pattern::Stream).then_some(wall_ns / 2),
                    client: usage(wall_ns / 4),
                    server: usage(wall_ns / 2),
                    measures: BTreeMap::from([("context_switches".to_owned(), 200.0 + f64::from(epoch))]),
                    ..Sample::default()
                });
            }
        }
    }
    for cell in [0, 1, 3, 4] {
        document.cells[cell].measures.insert("context_switches".to_owned(), 2.02);
    }
    document
}

/// The same run with every table once on one core and once on two, where the ratios lie apart and two cells are equal.
pub fn on_one_core_and_on_two() -> Document {
    let whole = document();
    let mut both =
        Document { workloads: Vec::new(), cells: Vec::new(), contrasts: Vec::new(), ..whole.clone() };
    for table in &whole.workloads {
        for placement in [Placement::Together, Placement::Apart] {
            let id = |id: &String| format!("{id}/{placement}");
            let mut beside = table.clone();
            beside.work.placement = placement;
            beside.cells = table.cells.iter().map(id).collect();
            beside.baseline = table.baseline.as_ref().map(id);
            if let Some(fastest) = &mut beside.fastest {
                (fastest.cell, fastest.runner_up) = (id(&fastest.cell), id(&fastest.runner_up));
                if placement == Placement::Apart {
                    fastest.equals = vec![fastest.runner_up.clone()];
                    fastest.claimed = false;
                }
            }
            both.workloads.push(beside);
            for cell in whole.cells.iter().filter(|cell| table.cells.contains(&cell.id)) {
                let point = ipcost_model::Point { placement, ..cell.point.clone() };
                both.cells.push(ipcost_model::CellRecord { id: id(&cell.id), point, ..cell.clone() });
            }
            for contrast in whole.contrasts.iter().filter(|contrast| table.cells.contains(&contrast.a)) {
                let (a, b) = (id(&contrast.a), id(&contrast.b));
                both.contrasts.push(ipcost_model::ContrastRecord { a, b, ..contrast.clone() });
            }
        }
    }
    both
}

/// Streams in three sizes on one core and on two, with every kind of answer: one is cheapest, two cost the same, it is open, the
/// cheapest spins, nothing to compare.
pub fn in_sizes() -> Document {
    let whole = document();
    let mut sizes =
        Document { workloads: Vec::new(), cells: Vec::new(), contrasts: Vec::new(), ..whole.clone() };
    let names = ["unix", "tcp", "tcp nodelay", "pipe"];
    for placement in [Placement::Together, Placement::Apart] {
        for size in [64, 4_096, 65_536] {
            let mut table = whole.workloads[1].clone();
            (table.work.size, table.work.placement, table.cells) = (size, placement, Vec::new());
            for label in names {
                let mut cell = whole.cells[4].clone();
                cell.id = format!("stream/{label}/{size}/{placement}");
                cell.label = label.to_owned();
                (cell.size, cell.placement) = (size, placement);
                cell.transport = label.split(' ').next().unwrap_or_default().to_owned();
                table.cells.push(cell.id.clone());
                sizes.cells.push(cell);
            }
            let [unix, tcp, nodelay, pipe] = [0, 1, 2, 3].map(|index| table.cells[index].clone());
            let known = |a: &String, ratio: f64, verdict| ipcost_model::ContrastRecord {
                a: a.clone(),
                b: tcp.clone(),
                ratio,
                lo: Some(ratio * 0.9),
                hi: Some(ratio * 1.1),
                verdict,
                ..whole.contrasts[0].clone()
            };
            sizes.contrasts.extend([
                known(&unix, 0.7, Verdict::Different),
                known(&pipe, 0.5, Verdict::Different),
                match size {
                    64 => known(&nodelay, 2.5, Verdict::Different),
                    4_096 => known(&nodelay, 0.99, Verdict::Undecided),
                    _ => known(&nodelay, 1.0, Verdict::Equivalent),
                },
            ]);
            let winner = |claimed, equals: Vec<String>, open: Vec<String>| ipcost_model::Fastest {
                cell: pipe.clone(),
                runner_up: unix.clone(),
                ratio: 1.25,
                lo: Some(1.2),
                hi: Some(1.6),
                verdict: Verdict::Different,
                claimed,
                equals,
                means_differ: false,
                open,
                open_within: None,
                open_cheaper_by: None,
            };
            table.baseline = Some(tcp);
            table.fastest = match (placement, size) {
                (Placement::Together, 64) => Some(winner(true, Vec::new(), Vec::new())),
                (Placement::Together, 4_096) => Some(winner(false, vec![unix.clone()], Vec::new())),
                (Placement::Together, _) => Some(winner(false, Vec::new(), vec![unix.clone(), nodelay])),
                (_, 64) => {
                    sizes.cells.last_mut().expect("a cell").wait = ipcost_model::Wait::Spin;
                    let open = vec![nodelay];
                    table.fastest_blocking = Some(ipcost_model::Fastest {
                        cell: unix.clone(),
                        runner_up: open[0].clone(),
                        ..winner(false, Vec::new(), open)
                    });
                    Some(winner(true, Vec::new(), Vec::new()))
                }
                (_, 4_096) => Some(winner(false, Vec::new(), Vec::new())),
                _ => None,
            };
            sizes.workloads.push(table);
        }
    }
    sizes
}

/// Looks that no line of a page is wider than the screen, however narrow that is. Commands stay whole, so that they can be copied.
///
/// # Panics
/// If one is.
#[track_caller]
pub fn assert_fits(page: &Page<'_>) {
    for room in [60, 80, 120] {
        let shown = page.terminal(false, room);
        let shown = anstream::adapter::strip_str(&shown).to_string();
        let is_long = |line: &&str| {
            let line = line.trim_start();
            let is_whole = line.starts_with("→ ") || !line.contains(' ');
            line.chars().count() > room && !is_whole
        };
        let long: Vec<&str> = shown.lines().filter(is_long).collect();
        assert!(long.is_empty(), "wider than {room}: {long:#?}");
    }
}

/// Gives every cell a name of twice as many letters as most have.
pub fn with_long_names(mut document: Document) -> Document {
    for cell in &mut document.cells {
        cell.label = format!("{} recv_buffer=131072 send_buffer=65536 in a peer", cell.label);
    }
    document
}
