//! `ipcost list --trend`: when the cost of a cell changed over the saved runs.

use std::io::Write;

use crate::common::{Place, assert_refused, assert_schema, text};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

const RUN: [&str; 12] = [
    "run", "--transports", "pipe,unix", "--patterns", "rr", "--sizes", "64", "--placement", "free",
    "--epochs", "12", "--quiet",
];
pub const UNIX: &str = "rr/unix/64/c1";
pub const PIPE: &str = "rr/pipe/64/c1";

/// Saves a run of that night in which operations of the cell over `unix` take so many times as long.
pub fn save(place: &Place, document: &Value, night: usize, factor: f64, change: impl Fn(&mut Value)) {
    let mut run = document.clone();
    let day = format!("2026-{:02}-{:02}", 3 + night / 28, 1 + night % 28);
    run["started"] = json!(format!("{day}T02:15:34Z"));
    let cells = run["cells"].as_array_mut().unwrap();
    let index = cells.iter().position(|cell| cell["id"] == UNIX).unwrap();
    cells[index]["wall_ns_per_op"] =
        json!({"median": 7_000.0 * factor, "lo": 6_900.0 * factor, "hi": 7_100.0 * factor});
    for sample in run["samples"].as_array_mut().unwrap() {
        let each_ns = if sample["cell"] == index { 7_000.0 * factor } else { 5_000.0 };
        sample["wall_ns"] = json!((sample["ops"].as_f64().unwrap() * each_ns) as u64);
    }
    change(&mut run);
    let dir = place.data.path().join("runs");
    std::fs::create_dir_all(&dir).unwrap();
    let id = format!("{}-021534-{night:04x}", day.replace('-', ""));
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&serde_json::to_vec(&run).unwrap()).unwrap();
    std::fs::write(dir.join(format!("{id}.json.gz")), packer.finish().unwrap()).unwrap();
}

/// Thirty nights, of which the 18th and later have another kernel and cost 12 % more; and four runs that are not like these.
pub fn nights(place: &Place) {
    let document = place.document(&[&RUN[..], &["--no-save"]].concat());
    for night in 0..30 {
        let noise = 1.0 + (night * 7 % 5) as f64 / 100.0;
        let is_new = night >= 17;
        save(place, &document, night, if is_new { 1.12 } else { 1.0 } * noise, |run| {
            run["host"]["kernel"] = json!(if is_new { "6.18.0" } else { "6.17.0" });
        });
    }
    save(place, &document, 31, 3.0, |run| run["host"]["name"] = json!("elsewhere"));
    save(place, &document, 32, 3.0, |run| run["host"]["name"] = json!("elsewhere"));
    save(place, &document, 33, 3.0, |run| run["job"]["floor"] = json!(true));
    // The newest tells which runs are followed, unless it is of a debug build, as all of these are.
    save(place, &document, 34, 1.12, |run| run["host"]["kernel"] = json!("6.18.0"));
}

fn trend(place: &Place, more: &[&str]) -> Value {
    let output = place.run(&[&["list", "--json", "--trend"], more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_planted_step_is_found_with_what_changed_and_other_runs_are_left_out() {
    let place = Place::new();
    nights(&place);
    let output = place.run(&["list", "--trend", "rr/unix/64"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for part in [
        "rr/unix/64/c1 over 31 runs",
        "▶ from 2026-03-18 on 1.12 × (1.11–1.13) what it was; between the two runs the kernel changed from 6.17.0 to 6.18.0.\n",
        "20260317-021534-0010",
        "20260318-021534-0011",
        "20260407-021534-0022",
        "1 change in 31 runs; 8.00 µs in the latest 14.",
        "Left out: 2 of another host, 1 of another job; --like RUN",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let found = trend(&place, &[UNIX]);
    assert_eq!((&found["schema"], &found["changes"][0]["at"]), (&json!("ipcost-trend/1"), &json!(17)));
    assert_eq!(found["runs"].as_array().unwrap().len(), 31);
    // The ratio to a cell of the same run changed as well.
    let ratio = trend(&place, &[UNIX, "--against", PIPE]);
    assert_eq!((&ratio["changes"][0]["at"], &ratio["against"]), (&json!(17), &json!(PIPE)));
    assert!((ratio["runs"][0]["value"]["median"].as_f64().unwrap() - 1.4).abs() < 0.01);
    // What did not change did not, and processor time was not planted.
    assert_eq!(trend(&place, &[PIPE])["changes"], json!([]));
    let cpu = trend(&place, &[UNIX, "--metric", "cpu"]);
    assert_eq!((&cpu["metric"], &cpu["changes"]), (&json!("cpu"), &json!([])));
    for found in [&found, &ratio, &cpu] {
        assert_schema("trend", found);
    }
    let shown = text(&place.run(&["list", "--trend", UNIX, "--metric", "cpu"]).stdout);
    assert!(
        shown.contains("Processor time of rr/unix/64/c1 over 31 runs") && shown.contains("CPU/op"),
        "{shown}"
    );
    place.assert_clean();
}

#[test]
fn which_runs_are_followed_and_how_many_are_needed_can_be_chosen() {
    let place = Place::new();
    nights(&place);
    let elsewhere = trend(&place, &[UNIX, "--like", "20260404"]);
    assert_eq!((&elsewhere["host"], elsewhere["runs"].as_array().unwrap().len()), (&json!("elsewhere"), 2));
    let redacted = trend(&place, &[UNIX, "--like", "20260404", "--redact"]);
    assert_eq!(redacted["host"], "[host]");
    assert!(!redacted.to_string().contains("elsewhere"), "{redacted}");
    let few = text(&place.run(&["list", "--trend", UNIX, "--limit", "7"]).stdout);
    assert!(few.contains("7 runs are too few to look for changes: 10 are needed, 3 more."), "{few}");
    let all = text(&place.run(&["list", "--trend", UNIX, "--details"]).stdout);
    assert_eq!(all.matches("-021534-").count(), 31);
    let files = ["--svg", "a.svg", "--csv", "a.csv", "--png", "a.png"];
    let output = place.run(&[&["list", "--trend", UNIX], &files[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(place.file(name)).unwrap();
    assert!(read("a.svg").contains("1.12 ×") && read("a.csv").lines().count() == 32);
    assert!(std::fs::read(place.file("a.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn what_cannot_be_followed_says_what_to_do() {
    let place = Place::new();
    assert_refused(&place.run(&["list", "--trend", UNIX]), &["no saved runs in", "run ipcost first"]);
    assert_refused(&place.run(&["list", "--against", UNIX]), &["--trend <CELL>"]);
    let document = place.document(&[&RUN[..], &["--no-save"]].concat());
    save(&place, &document, 1, 1.0, |_| {});
    for (asked, parts) in [
        (
            &["rr/unx/64/c1"][..],
            &["no saved run has a cost of rr/unx/64/c1; did you mean rr/unix/64/c1?"][..],
        ),
        (&["rr/uni"], &["did you mean rr/unix/64/c1?"]),
        (&["nonsense"], &["the newest runs have rr/pipe/64/c1, rr/unix/64/c1"]),
        (&[UNIX, "--against", "rr/pip/64/c1"], &["has both", "did you mean rr/pipe/64/c1?"]),
        (&[UNIX, "--like", "nothing"], &["neither a file nor a saved run"]),
        (&[UNIX, "--csv", "-", "--json", "-"], &["only one output can go to standard output"]),
        (&[UNIX, "--limit", "0"], &["--limit 0 leaves no run"]),
    ] {
        assert_refused(&place.run(&[&["list", "--trend"], asked].concat()), parts);
    }
}
