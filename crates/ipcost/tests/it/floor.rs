//! Floors, measured for real: what they are, how they hang together, and that no one is left spinning.

use crate::common::{Place, assert_refused, signal, text, wait};
use serde_json::Value;

fn cell<'a>(document: &'a Value, id: &str) -> &'a Value {
    let cells = document["cells"].as_array().unwrap();
    cells.iter().find(|cell| cell["id"] == id).unwrap_or_else(|| panic!("no cell {id} in {cells:#?}"))
}

fn cost(document: &Value, id: &str) -> f64 {
    cell(document, id)["wall_ns_per_op"]["median"].as_f64().unwrap()
}

#[test]
fn every_floor_costs_what_it_must() {
    let place = Place::new();
    let document = place.document(&[
        "run", "--patterns", "floor", "--sizes", "64,1MiB", "--placement", "together", "--epochs", "3",
        "--quiet",
    ]);
    let switch = "floor/switch/c1/together";
    // Far apart on every machine, so that no noise turns them round: some twenty times, and ten thousand times.
    assert!(cost(&document, switch) > 2.0 * cost(&document, "floor/syscall/c1/together"));
    assert!(
        cost(&document, "floor/memcpy/1048576/c1/together")
            > 100.0 * cost(&document, "floor/memcpy/64/c1/together")
    );
    // On one core, every hand-over is one switch: of the side that waits.
    let usage = &cell(&document, switch)["usage_per_op"];
    let switches = ["voluntary_switches", "involuntary_switches"].map(|key| usage[key].as_f64().unwrap());
    assert!((0.5..5.0).contains(&(switches[0] + switches[1])), "{usage}");
    // A spinning pair on one core gets on: it gives the core away.
    assert!(cost(&document, "floor/cacheline/c1/together") > 0.0);
    for cell in document["cells"].as_array().unwrap() {
        assert!(cell["latency_ns"].is_null() && cell["floor"].is_null(), "{cell}");
    }
    place.assert_clean();
}

#[test]
fn copies_twice_and_out_of_cache_are_options() {
    let place = Place::new();
    let document = place.document(&[
        "run", "--placement", "free", "--patterns", "floor", "--transports", "memcpy", "--sizes", "4KiB",
        "--option", "copies=1,2", "--option", "working_set=4KiB,64MiB", "--epochs", "2", "--quiet",
    ]);
    let id = |copies: u32, set: u64| format!("floor/memcpy/4096/c1/copies={copies},working_set={set}");
    assert_eq!(document["cells"].as_array().unwrap().len(), 4);
    // That copies go around in the whole of it is told in `ipcost-sys`; by how much that is costlier differs by machine.
    assert!(cost(&document, &id(1, 64 << 20)) > 0.0);
    let figure = |id: &str, key: &str| cell(&document, id)[key].as_f64().unwrap();
    // Rates come from means.
    let rate = |id: &str| figure(id, "bytes_per_s") * figure(id, "wall_ns_per_op_mean") / 1e9;
    assert!((rate(&id(1, 4 << 10)) - 4_096.0).abs() < 1.0);
    assert!((rate(&id(2, 4 << 10)) - 8_192.0).abs() < 1.0, "what is copied twice counts twice");
}

#[test]
fn costs_are_shown_as_multiples_of_floors_from_the_same_rounds() {
    let place = Place::new();
    let file = place.file("document.json");
    let output = place.run(&[
        "run",
        "--floor",
        "--transports",
        "pipe,unix",
        "--patterns",
        "rr,stream",
        "--placement",
        "together",
        "--epochs",
        "2",
        "--json",
        crate::common::argument(&file),
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("× floor") && shown.contains("What this machine allows, one core"), "{shown}");
    assert!(shown.contains("floor: 2 hand-overs + 4 copies of 64 B = "), "{shown}");
    let document: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(document["job"]["floor"], true);
    for id in ["rr/pipe/64/c1/together", "rr/unix/64/c1/together", "stream/pipe/64/c1/together"] {
        let floor = &cell(&document, id)["floor"];
        let ratio = cost(&document, id) / floor["ns_per_op"].as_f64().unwrap();
        let multiple = floor["multiple"]["median"].as_f64().unwrap();
        // Paired by round and not: the same up to how much the machine changed meanwhile.
        assert!((ratio / multiple).ln().abs() < 10f64.ln(), "{id}: {floor}");
    }
    let output = place.run(&["report", crate::common::argument(&file)]);
    assert_eq!(text(&output.stdout), shown, "it is shown again as it was");
}

#[test]
fn a_pair_that_spins_leaves_nobody_behind() {
    let run = [
        "run", "--placement", "free", "--patterns", "floor", "--transports", "cacheline,switch", "--epochs",
        "100000",
    ];
    // One peer dies, or the engine does, or it is interrupted.
    for (whom, name, status) in
        [(Some(" peer "), "KILL", Some(1)), (None, "KILL", None), (None, "INT", Some(130))]
    {
        let place = Place::new();
        let child = place.start(&run);
        place.wait_for_peers(4);
        let peer = |ending: &str| {
            place.processes().iter().find(|(_, words)| words.ends_with(ending)).map(|(id, _)| *id)
        };
        signal(whom.map_or(child.id(), |ending| peer(ending).unwrap()), name);
        let output = wait(child);
        assert_eq!(output.status.code(), status, "{}", text(&output.stderr));
        place.assert_clean();
    }
}

#[test]
fn mistakes_are_told_in_one_line() {
    let place = Place::new();
    let refused = |args: &[&str], part: &str| {
        assert_refused(&place.run(&[&["run", "--epochs", "1"], args].concat()), &[part]);
    };
    refused(&["--transports", "switch"], "moves no messages");
    refused(&["--patterns", "floor", "--transports", "unix"], "known: syscall, switch, cacheline, memcpy");
    refused(&["--patterns", "floor", "--concurrency", "2"], "one worker");
    refused(&["--patterns", "floor", "--transports", "memcpy", "--option", "copies=3"], "from 1 to 2");
    refused(&["--patterns", "floor", "--baseline", "switch"], "not compared");
}
