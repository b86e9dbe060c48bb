//! Saved runs as a user meets them: saved, found again, listed, removed, and never lost.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Instant;

use crate::common::{Place, assert_refused, missing, signal, text, wait};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

/// The shortest run that measures something.
const RUN: [&str; 9] =
    ["run", "--transports", "null", "--placement", "free", "--patterns", "rr", "--epochs", "1"];

fn run(place: &Place, more: &[&str]) -> std::process::Output {
    let output = place.run(&[&RUN, more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    output
}

/// The saved documents' files by name.
fn files(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.data.path().join("runs")).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// A document of a real run, without running one for every test.
fn document(place: &Place) -> Value {
    place.document(&[&RUN[..], &["--no-save", "--quiet"]].concat())
}

/// Puts a file among the saved runs.
fn put(place: &Place, id: &str, bytes: &[u8]) -> PathBuf {
    let dir = place.data.path().join("runs");
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join(format!("{id}.json.gz"));
    std::fs::write(&path, bytes).unwrap();
    path
}

fn put_document(place: &Place, id: &str, document: &Value, name: Option<&str>) -> PathBuf {
    let mut document = document.clone();
    if let Some(name) = name {
        document["name"] = json!(name);
    }
    put(place, id, &packed(&serde_json::to_vec(&document).unwrap()))
}

fn list(place: &Place) -> Value {
    let output = place.run(&["list", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn ids(list: &Value) -> Vec<&str> {
    list["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect()
}

#[test]
fn an_explanation_is_saved_with_what_it_rests_on_unless_it_is_not_to_be() {
    let place = Place::new();
    let explain = ["explain", "rr/unix/64/c1/free", "--epochs", "3", "--no-floor"];
    let unsaved = place.run(&[&explain[..], &["--no-save", "--quiet"]].concat());
    assert!(unsaved.status.success(), "{}", text(&unsaved.stderr));
    assert_eq!(list(&place)["total"].as_u64(), Some(0));
    let output = place.run(&explain);
    assert!(text(&output.stderr).contains("; ipcost show last\n"), "{}", text(&output.stderr));
    let listed = list(&place);
    assert_eq!((&listed["runs"][0]["kind"], &listed["runs"][0]["epochs"]), (&json!("explain"), &json!(3)));
    assert!(text(&place.run(&["list"]).stdout).contains("explain, rr, unix, 64 B"));
    let again = place.run(&["show", "last", "--quiet"]);
    assert_eq!(text(&again.stdout), text(&output.stdout));
    // The tables beneath it, and every other output of a run.
    assert!(text(&place.run(&["show", "--wide", "--quiet"]).stdout).contains("64 B round trip\ntransport"));
    let document = place.run(&["report", "last", "--json", "-", "--redact"]);
    let document: Value = serde_json::from_slice(&document.stdout).unwrap();
    crate::common::assert_schema("document", &document);
    assert_eq!(document["answer"]["schema"], "ipcost-explanation/1");
    assert_eq!(document["samples"].as_array().unwrap().len() as u64 % 3, 0);
    let page = place.run(&["report", "last", "--html", "-"]);
    assert!(page.status.success() && text(&page.stdout).contains("Where the time goes: unix"));
    place.assert_clean();
}

#[test]
fn a_run_is_saved_told_listed_and_shown_again() {
    let place = Place::new();
    let first = run(&place, &["--name", "before"]);
    let told = text(&first.stderr);
    let line = told.lines().find(|line| line.starts_with("saved as ")).expect(&told);
    let (id, hint) = line["saved as ".len()..].split_once("; ").unwrap();
    assert_eq!(hint, "ipcost show before");
    for word in ["before", "last", "last~0", id, &id[..9], &id[16..]] {
        let again = place.run(&["show", word]);
        assert_eq!(text(&again.stdout), text(&first.stdout), "{word}: {}", text(&again.stderr));
        assert_eq!(text(&place.run(&["report", word]).stdout), text(&first.stdout));
    }
    assert_eq!(text(&place.run(&["show"]).stdout), text(&first.stdout), "the newest");

    let second = run(&place, &[]);
    assert!(text(&second.stderr).contains("; ipcost show last\n"));
    let listed = list(&place);
    assert_eq!((&listed["schema"], listed["total"].as_u64()), (&json!("ipcost-runs/1"), Some(2)));
    let newest = &listed["runs"][0];
    assert_eq!((&newest["name"], &listed["runs"][1]["name"]), (&Value::Null, &json!("before")));
    assert_eq!((&newest["transports"], &newest["patterns"]), (&json!(["null"]), &json!(["rr"])));
    assert!(newest["kernel"].as_str().is_some_and(|kernel| !kernel.is_empty()));
    assert_eq!(text(&place.run(&["show", "last~1"]).stdout), text(&first.stdout));
    let shown = place.run(&["list"]);
    assert_eq!(text(&shown.stderr), "");
    let lines = text(&shown.stdout);
    assert_eq!(lines.lines().count(), 3, "{lines}");
    assert!(lines.lines().nth(2).unwrap().contains(&format!("{id}  before")), "{lines}");
    assert!(lines.contains("just now") && lines.contains("rr, null, 64 B"), "{lines}");
}

#[test]
fn nothing_is_saved_where_nothing_was_asked_for_or_measured() {
    let place = Place::new();
    run(&place, &["--no-save"]);
    run(&place, &["--plan"]);
    assert_eq!(files(&place), Vec::<String>::new());
    let quiet = run(&place, &["--quiet"]);
    assert_eq!((text(&quiet.stderr).as_str(), files(&place).len()), ("", 1));
    let none = Place::new();
    assert_refused(&none.run(&["show"]), &["no saved runs in", "run ipcost first"]);
    let listed = none.run(&["list"]);
    assert!(listed.status.success() && text(&listed.stderr).starts_with("note: no saved runs in "));
    assert_eq!(list(&none)["runs"], json!([]));
}

#[test]
fn the_saved_document_is_the_documents_every_byte() {
    let place = Place::new();
    run(&place, &["--json", "document.json", "--name", "mine", "--quiet"]);
    let written = std::fs::read(place.file("document.json")).unwrap();
    let saved = place.data.path().join("runs").join(&files(&place)[0]);
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(&std::fs::read(&saved).unwrap()[..]).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, written);
    let shown = |run: &str| text(&place.run(&["report", run]).stdout);
    assert_eq!(
        shown(crate::common::argument(&saved)),
        shown("document.json"),
        "packed files are read as they are"
    );
}

#[test]
fn a_run_that_was_interrupted_or_failed_is_saved_and_marked() {
    for (how, status) in [("INT", 130), ("KILL", 1)] {
        let place = Place::new();
        let mut child = place.start(&[
            "run", "--transports", "unix", "--placement", "free", "--patterns", "rr", "--epochs", "100000",
            "--budget", "10min",
        ]);
        place.wait_until("two epochs are complete", || {
            let dir = std::fs::read_dir(place.tmp.path()).unwrap().flatten().next();
            let sockets = dir.and_then(|dir| std::fs::read_dir(dir.path()).ok());
            sockets.is_some_and(|mut all| {
                all.any(|entry| entry.is_ok_and(|it| it.file_name().to_string_lossy().starts_with("e3")))
            })
        });
        if how == "INT" {
            signal(child.id(), how);
        } else {
            // Peers, until the run fails: one that is killed as its epoch ends has done its work already.
            place.wait_until("the run fails", || {
                let peers = place.processes();
                if let Some((peer, _)) = peers.iter().find(|(_, words)| words.ends_with(" peer ")) {
                    let _ = std::process::Command::new("kill").args(["-s", how, &peer.to_string()]).output();
                }
                child.try_wait().unwrap().is_some()
            });
        }
        let output = wait(child);
        assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("saved as "), "{}", text(&output.stderr));
        let word = if how == "INT" { "interrupted" } else { "failed" };
        assert_eq!(list(&place)["runs"][0]["stopped"], word);
        assert!(text(&place.run(&["list"]).stdout).contains(&format!("{word}: ")));
        assert!(place.run(&["show", "last"]).status.success());
    }
}

#[test]
fn where_it_cannot_be_saved_the_result_stands() {
    let place = Place::new();
    place.write("file", "");
    for (data, reason) in [("file", "Not a directory"), ("/proc/none", "No such file or directory")] {
        let output = place.command(&RUN).env("IPCOST_DATA_DIR", data).output().unwrap();
        let told = text(&output.stderr);
        assert!(output.status.success() && text(&output.stdout).contains("64 B round trip"), "{told}");
        let warning = told.lines().find(|line| line.starts_with("warning: the run could not be saved: "));
        assert!(warning.expect(&told).contains(reason), "{told}");
    }
    let mut homeless = place.command(&RUN);
    for variable in ["IPCOST_DATA_DIR", "XDG_DATA_HOME", "HOME"] {
        homeless.env_remove(variable);
    }
    let output = homeless.output().unwrap();
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("none of IPCOST_DATA_DIR, XDG_DATA_HOME and HOME"));
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let place = Place::new();
    let script = format!(
        "mount -t tmpfs -o size=4k tmpfs {data} && mkdir -p {data}/runs {data}/summaries && \
         head -c 4096 /dev/zero > {data}/filler; {program} {run} && ls -A {data}/runs",
        data = place.data.path().display(),
        program = env!("CARGO_BIN_EXE_ipcost"),
        run = RUN.join(" ")
    );
    let allowed = std::process::Command::new("unshare").args(["--mount", "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        missing("mount-namespaces", "unshare --mount fails");
        return;
    }
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).env("TMPDIR", place.tmp.path());
    let output = command.env("IPCOST_DATA_DIR", place.data.path()).output().unwrap();
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("could not be saved") && told.contains("No space left on device"), "{told}");
    let shown = text(&output.stdout);
    assert!(shown.contains("64 B round trip") && !shown.contains(".unfinished"), "{shown}");
}

#[test]
fn runs_that_end_at_once_are_all_saved() {
    let place = Place::new();
    let children: Vec<_> = (0..4).map(|_| place.start(&RUN)).collect();
    for child in children {
        assert!(wait(child).status.success());
    }
    assert_eq!(files(&place).len(), 4);
    assert_eq!(list(&place)["total"], 4);
}

#[test]
fn what_is_no_run_is_told_skipped_and_kept() {
    let place = Place::new();
    let document = document(&place);
    let bytes = packed(&serde_json::to_vec(&document).unwrap());
    let (mut newer, mut older) = (document.clone(), document.clone());
    (newer["schema"], older["schema"]) = (json!("ipcost/2"), json!("ipcost/0"));
    put_document(&place, "20260101-000000-0001", &document, None);
    put(&place, "20260102-000000-0002", &bytes[..bytes.len() / 2]);
    put(&place, "20260103-000000-0003", b"");
    put(&place, "20260104-000000-0004", b"{\"mine\": 1}");
    put_document(&place, "20260105-000000-0005", &newer, None);
    put_document(&place, "20260106-000000-0006", &older, None);
    put(&place, "notes", b"mine");
    // What a kill between writing and renaming leaves behind.
    std::fs::write(place.data.path().join("runs/.unfinished-x"), &bytes).unwrap();
    let before = files(&place);
    // The second time, what is known of them is not read from the files again.
    for _ in 0..2 {
        let listed = list(&place);
        assert_eq!(ids(&listed), ["20260101-000000-0001"]);
        let reasons: Vec<String> =
            listed["unreadable"].as_array().unwrap().iter().map(Value::to_string).collect();
        assert_eq!(reasons.len(), 6, "{reasons:?}");
        for (reason, says) in reasons.iter().zip([
            "it is older", "it is newer", "not an ipcost document", "not a whole JSON", "half-written",
            "notes.json.gz",
        ]) {
            assert!(reason.contains(says), "{says}: {reason}");
        }
        let output = place.run(&["list"]);
        assert!(output.status.success());
        let told = text(&output.stderr);
        assert!(
            told.contains("6 files in") && told.contains("--verbose") && told.lines().count() == 1,
            "{told}"
        );
        assert_eq!(text(&place.run(&["list", "--verbose"]).stderr).lines().count(), 6);
    }
    let last = place.run(&["show", "last"]);
    assert!(last.status.success());
    assert_eq!(text(&last.stderr).matches(" is passed over: ").count(), 5, "{}", text(&last.stderr));
    assert_refused(&place.run(&["show", "20260105"]), &["saved run 20260105-000000-0005", "it is newer"]);
    assert_eq!(files(&place), before);
    // Asked for the runs, what cannot be read stays; asked for that, strangers stay.
    let pruned = place.run(&["prune", "--keep", "0"]);
    assert!(text(&pruned.stdout).contains("removed 1 of 6 saved runs"), "{}", text(&pruned.stdout));
    assert_eq!(files(&place).len(), before.len() - 1);
    let pruned = place.run(&["prune", "--damaged"]);
    assert!(text(&pruned.stdout).contains("removed 5 of 5 saved runs"), "{}", text(&pruned.stdout));
    assert_eq!(files(&place), [".unfinished-x", "notes.json.gz"]);
}

#[test]
fn a_file_goes_before_a_run_and_what_is_neither_names_the_nearest() {
    let place = Place::new();
    let document = document(&place);
    put_document(&place, "20260101-000000-00aa", &document, Some("before"));
    put_document(&place, "20260102-000000-00bb", &document, Some("before"));
    put_document(&place, "20260102-000001-00aa", &document, Some("after"));
    let mut seeded = document.clone();
    seeded["seed"] = json!(987_654_321);
    place.write("after", &seeded.to_string());
    let shown = |word: &str| text(&place.run(&["show", word, "--details"]).stdout);
    assert!(shown("after").contains("seed 987654321"));
    assert!(!shown("20260102-000001").contains("seed 987654321"));
    std::fs::create_dir(place.file("before")).unwrap();
    assert!(place.run(&["show", "before"]).status.success(), "a directory is no document");
    for (word, parts) in [
        ("2026", &["fits 3 saved runs", "20260102-000001-00aa, 20260102-000000-00bb, 20260101"][..]),
        ("00aa", &["fits 2 saved runs"]),
        ("befroe", &["neither a file nor a saved run", "did you mean \"before\"", "ipcost list"]),
        ("lsat", &["did you mean \"last\""]),
        ("20260103-000000-00bb", &["did you mean \"20260102-000000-00bb\""]),
        ("last~3", &["last~2 is the oldest such run, 20260101-000000-00aa"]),
        ("before~2", &["before~1 is the oldest such run"]),
        ("last~x", &["how many runs to go back"]),
        ("none.json", &["cannot read none.json: No such file"]),
        ("./before", &["cannot read ./before"]),
        ("", &["cannot read"]),
    ] {
        assert_refused(&place.run(&["report", word]), parts);
    }
    let json = |word: &str| {
        let output = place.run(&["report", word, "--json", "-"]);
        assert!(output.status.success(), "{word}: {}", text(&output.stderr));
    };
    ["before", "before~1", "last~", "last~2", "00bb"].into_iter().for_each(json);
}

#[test]
fn names_that_could_be_taken_for_something_else_are_refused() {
    let place = Place::new();
    for (name, says) in
        [("last", "the newest run"), ("2026", "is not a valid name"), ("a b", "is not a valid name")]
    {
        assert_refused(&place.run(&["run", "--name", name]), &[says]);
    }
    assert_refused(&place.run(&["run", "--name", "a", "--no-save"]), &["cannot be used with"]);
}

#[test]
fn prune_removes_what_every_criterion_holds_for() {
    let place = Place::new();
    let document = document(&place);
    for (id, name) in [
        ("20200101-000000-0001", Some("kept")),
        ("20200102-000000-0002", None),
        ("20200103-000000-0003", None),
        ("20990101-000000-0004", None),
    ] {
        put_document(&place, id, &document, name);
    }
    assert_refused(&place.run(&["prune"]), &["choose what to remove", "--keep N"]);
    assert_refused(&place.run(&["prune", "--dry-run"]), &["choose what to remove"]);
    assert_refused(&place.run(&["prune", "--older-than", "90"]), &["lacks a unit", "90d"]);
    assert_refused(&place.run(&["prune", "--older-than", "old"]), &["is not a duration"]);
    assert_refused(&place.run(&["prune", "--keep", "-1"]), &["--keep -1", "0 or more"]);
    let dry = text(&place.run(&["prune", "--older-than", "90d", "--keep", "2", "--dry-run"]).stdout);
    assert!(
        dry.starts_with("20200102-000000-0002  rr, null, 64 B\nwould remove 1 of 4 saved runs, "),
        "{dry}"
    );
    assert_eq!(files(&place).len(), 4);
    let pruned = text(&place.run(&["prune", "--older-than", "90d", "--keep", "2"]).stdout);
    assert_eq!(pruned, dry.replace("would remove", "removed"));
    place.run(&["prune", "--older-than", "90d"]);
    assert_eq!(files(&place), ["20200101-000000-0001.json.gz", "20990101-000000-0004.json.gz"]);
    place.run(&["prune", "--older-than", "90d", "--named"]);
    assert_eq!(files(&place), ["20990101-000000-0004.json.gz"]);
    let summaries = std::fs::read_dir(place.data.path().join("summaries")).unwrap().count();
    assert_eq!(summaries, 1, "summaries go with their runs");
}

#[test]
fn summaries_can_always_be_made_again() {
    let place = Place::new();
    run(&place, &["--name", "mine"]);
    let listed = list(&place);
    let summaries = place.data.path().join("summaries");
    for spoilt in ["", "{}", "{\"schema\": \"ipcost-summary/9\"}"] {
        for entry in std::fs::read_dir(&summaries).unwrap().flatten() {
            std::fs::write(entry.path(), spoilt).unwrap();
        }
        assert_eq!(list(&place), listed, "{spoilt:?}");
    }
    std::fs::remove_dir_all(&summaries).unwrap();
    assert_eq!(list(&place), listed);
    assert!(summaries.is_dir());
}

#[test]
fn ten_thousand_runs_are_listed_without_reading_them() {
    const RUNS: usize = 10_000;
    let place = Place::new();
    let document = document(&place);
    put_document(&place, "20260101-000000-0000", &document, None);
    list(&place);
    let summaries = place.data.path().join("summaries");
    // Runs of which a summary is kept are not read: no one can read these.
    let bytes = std::fs::read(place.data.path().join("runs/20260101-000000-0000.json.gz")).unwrap();
    let unreadable = vec![0; bytes.len()];
    let summary = std::fs::read_to_string(summaries.join("20260101-000000-0000.json")).unwrap();
    for index in 1..RUNS {
        let id = format!("20260101-{:02}{:02}{:02}-{index:04x}", index / 3600, index / 60 % 60, index % 60);
        put(&place, &id, &unreadable);
        let own = summary.replace("20260101-000000-0000", &id);
        std::fs::write(summaries.join(format!("{id}.json")), own).unwrap();
    }
    let began = Instant::now();
    let output = place.run(&["list"]);
    eprintln!("a list of {RUNS} runs took {:?}", began.elapsed());
    assert_eq!(text(&output.stdout).lines().count(), 21);
    assert_eq!(text(&output.stderr), "note: 9980 older ones are not listed; --all lists them\n");
    assert_eq!(text(&place.run(&["list", "--all"]).stdout).lines().count(), RUNS + 1);
    assert_eq!(text(&place.run(&["list", "--limit", "7"]).stdout).lines().count(), 8);
}

#[test]
fn a_list_is_written_as_a_page_a_table_and_data() {
    let place = Place::new();
    let document = document(&place);
    put_document(&place, "20260101-000000-0001", &document, Some("<b>first</b>"));
    put_document(&place, "20260102-000000-0002", &document, None);
    let output = place.run(&["list", "--html", "l.html", "--markdown", "l.md", "--csv", "-"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let csv = text(&output.stdout);
    let rows: Vec<&str> = csv.lines().collect();
    assert!(rows[0].starts_with("id,name,saved,host,kernel,tool_version,state,"), "{csv}");
    assert_eq!(rows.len(), 3, "{csv}");
    let [html, markdown] = ["l.html", "l.md"].map(|name| std::fs::read_to_string(place.file(name)).unwrap());
    for page in [html, markdown] {
        assert!(page.contains("20260102-000000-0002") && page.contains("&lt;b&gt;first"), "{page}");
    }
    let refused = place.run(&["list", "--csv", "-", "--json", "-"]);
    assert_eq!(refused.status.code(), Some(2), "two outputs cannot share standard output");
}
