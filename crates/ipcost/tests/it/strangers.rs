//! Files of strangers: what lies in a directory, takes memory, or speaks to the terminal.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::common::{Place, assert_refused, text, wait};

/// What a stranger may write wherever there is text.
const HOSTILE: &str = "\u{1b}]0;x\u{7}\u{1b}[31m\u{202e}\u{9b}2J\r\n";

/// A document of the fuzzers' corpus.
fn seed(name: &str) -> String {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    fs::read_to_string(corpus.join(name)).unwrap()
}

fn packed(content: &str) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(content.as_bytes()).unwrap();
    packer.finish().unwrap()
}

fn fifo(place: &Place, name: &str) -> PathBuf {
    let path = place.file(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

fn toml_text(text: &str) -> String {
    let escaped: String = text.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect();
    format!("\"{escaped}\"")
}

/// Nothing in it does anything on a terminal, or misleads a reader.
#[track_caller]
fn assert_plain(what: &str, bytes: &[u8]) {
    let shown = text(bytes);
    let raw = shown.find(|c: char| ipcost_model::is_invisible(c) && c != '\n');
    let around = raw.map(|at| shown[at..].chars().take(60).collect::<String>());
    assert_eq!(around, None, "{what}");
}

#[test]
fn of_a_directory_only_regular_files_are_opened() {
    let place = Place::new();
    fs::create_dir(place.file("fleet")).unwrap();
    place.write("fleet/good.json", &seed("document/run2.json"));
    // Opening one would never return, or never end.
    let pipe = fifo(&place, "fleet/a.json");
    symlink(pipe, place.file("fleet/b.json")).unwrap();
    symlink("/dev/zero", place.file("fleet/c.json")).unwrap();
    let _listener = UnixListener::bind(place.file("fleet/d.json")).unwrap();
    let output = place.run(&["fleet", "fleet", "--json", "-"]);
    let fleet: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&fleet["files"], &fleet["skipped_files"]), (&json!(5), &json!(4)), "{fleet}");
    let reasons = fleet["skipped"].as_array().unwrap();
    assert!(
        reasons.iter().all(|one| one["reason"].as_str().unwrap().contains("not a regular file")),
        "{fleet}"
    );
    let output = place.run(&["report", "fleet", "--otava", "-"]);
    assert_eq!(
        text(&output.stderr).matches("it is not a regular file").count(),
        4,
        "{}",
        text(&output.stderr)
    );
    // Nor among saved runs.
    let runs = place.data.path().join("runs");
    fs::create_dir_all(&runs).unwrap();
    fifo(&place, "x");
    for name in ["20260101-000000-0000.json.gz", "20260101-000000-0001.samples.jsonl"] {
        fs::rename(place.file("x"), runs.join(name)).unwrap();
        fifo(&place, "x");
    }
    assert!(place.run(&["list"]).status.success());
}

#[test]
fn a_pipe_that_the_user_names_is_read() {
    let place = Place::new();
    let (document, records) = (seed("document/ledger.json"), seed("answers/ledgers.json"));
    let read = |args: &[&str], content: &str| -> Output {
        let mut child = place.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(content.as_bytes()).unwrap();
        wait(child)
    };
    for name in ["-", "/dev/stdin"] {
        let output = read(&["report", name, "--json", "-"], &document);
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
    }
    // Answers, too, which are tried after a document: they can be read only once.
    let path = fifo(&place, "named");
    let writer = std::thread::spawn(move || fs::write(path, records));
    let output = place.run(&["fleet", "named", "--json", "-"]);
    writer.join().unwrap().unwrap();
    let fleet: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(fleet["skipped_files"], json!(0), "{fleet}");
}

/// Small when packed; as general values they would take gigabytes.
#[test]
fn memory_is_bounded_by_the_size_of_a_file() {
    const ITEMS: usize = 1_500_000;
    const MOST_KIB: u64 = 700_000;
    let place = Place::new();
    let many = format!("[{}0]", "{\"\":0},".repeat(ITEMS));
    let with = |key: &str| {
        let mut document: Value = serde_json::from_str(&seed("document/run2.json")).unwrap();
        document[key] = json!("MANY");
        document.to_string().replace("\"MANY\"", &many)
    };
    let limited = |args: &str| {
        let script = format!("ulimit -v {MOST_KIB}; exec {} {args}", env!("CARGO_BIN_EXE_ipcost"));
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(place.files.path());
        command.env("IPCOST_DATA_DIR", place.data.path()).output().unwrap()
    };
    for (key, says) in [
        ("schema", "no \"schema\""),
        ("answer", "more than"),
        ("unknown", "more than"),
        ("warnings", "more than"),
    ] {
        fs::write(place.file("x.json.gz"), packed(&with(key))).unwrap();
        let output = limited("report x.json.gz");
        assert_refused(&output, &[says]);
    }
    // Ledgers are an array.
    fs::write(place.file("x.json.gz"), packed(&many)).unwrap();
    assert_refused(&limited("fleet x.json.gz"), &["no document counts"]);
    // What is unpacked ends.
    fs::write(place.file("x.json.gz"), packed(&" ".repeat(1 << 28))).unwrap();
    assert_refused(&limited("report x.json.gz"), &["not a whole JSON document"]);
    fs::write(place.file("x.json.gz"), packed(&" ".repeat((1 << 28) + 1))).unwrap();
    assert_refused(&limited("report x.json.gz"), &["too many for a document"]);
}

#[test]
fn nothing_that_is_quoted_reaches_a_terminal_as_it_is() {
    let place = Place::new();
    // Where the commands' own outputs are drawn, texts are tried in every place: crates/ipcost-features/tests/inputs.
    let mut document: Value = serde_json::from_str(&seed("document/run2.json")).unwrap();
    for place in ["/host/kernel", "/host/cpu", "/started", "/tool/version", "/cells/0/label", "/name"] {
        if let Some(spot) = document.pointer_mut(place) {
            *spot = json!(format!("{}{HOSTILE}", spot.as_str().unwrap_or_default()));
        }
    }
    document["warnings"] = json!([{"code": HOSTILE, "message": HOSTILE}, {"code": "x", "message": HOSTILE}]);
    fs::create_dir(place.file("dir")).unwrap();
    let odd = format!("dir/{}.json", HOSTILE.replace('\n', ""));
    let whole = document.to_string();
    document["seed"] = json!(8);
    let other = document.to_string();
    for (name, content) in
        [("a.json", whole.as_str()), ("b.json", &other), (&odd, "{"), ("bad.json", HOSTILE)]
    {
        place.write(name, content);
    }
    place.write("dir/a.json", &whole);
    let cells = "[[cells]]\ntransport = [\"unix\", \"tcp\"]\n[[claims]]\n";
    let claim =
        format!("{cells}text = {}\ncell = \"unix\"\nagainst = \"tcp\"\nat_most = 0.95\n", toml_text(HOSTILE));
    place.write("claims.toml", &claim);
    let baseline = format!("{cells}baseline = {}\nslower_by_at_most = \"10%\"\n", toml_text(&odd));
    place.write("baseline.toml", &baseline);
    let id = "20260101-000000-0000";
    fs::create_dir_all(place.data.path().join("runs")).unwrap();
    let runs = place.data.path().join("runs");
    fs::write(runs.join(format!("{id}.json.gz")), packed(&whole)).unwrap();
    fs::write(runs.join(HOSTILE.replace('\n', "")), "").unwrap();
    place.write(
        "peer.sh",
        "printf '\\033]0;x\\007\\033[31m\\302\\2332J\\n'; printf '\\033[31m' >&2; exec cat\n",
    );
    let missing = format!("missing{HOSTILE}");
    let mut tried = 0;
    for args in [
        &["report", "a.json"][..],
        &["report", "a.json", "--wide"],
        &["report", "a.json", "--html", "-"],
        &["report", "a.json", "--svg", "-"],
        &["report", "a.json", "--csv", "-"],
        &["report", "a.json", "--csv", "-", "--samples"],
        &["report", "a.json", "--markdown", "-"],
        &["report", "a.json", "--benchfmt", "-"],
        &["report", "a.json", "--json", "-"],
        &["report", "dir", "--otava", "-"],
        &["report", "bad.json"],
        &["report", &odd],
        &["report", &missing],
        &["report", "a.json", "--json", &format!("none/{missing}")],
        &["report", "a.json", &format!("--{missing}")],
        &["report", "a.json", "--chart", &missing],
        &["show", id],
        &["show", id, "--warnings"],
        &["show", &missing],
        &["compare", "a.json", "b.json", "--details"],
        &["compare", "a.json", "b.json", "--html", "-"],
        &["compare", "a.json", "b.json", "--json", "-"],
        &["compare", "a.json", &odd],
        &["fleet", "dir", "--details"],
        &["fleet", "dir", "--json", "-"],
        &["fleet", "dir", &missing],
        &["fleet", "dir", "--contrast", &missing, "--svg", "-"],
        &["list", "--verbose"],
        &["list", "--json", "-"],
        &["list", "--trend", &missing],
        &["check", "baseline.toml"],
        &["check", &missing],
        &["check", "claims.toml", "--fleet", "dir", "--github"],
        &["check", "claims.toml", "--fleet", "dir", "--junit", "-"],
        &["run", &missing],
        &["run", "--transports", &missing],
        &["run", "--peer", &missing],
        &["run", "--transports", "unix", "--server", "x", "--peer", "x=sh peer.sh"],
        &["resume", &missing],
        &["sweep", "size", "--transports", &missing],
        &["replicate", &missing],
        &["replicate", &format!("{missing}.toml")],
        &["explain", &missing, &missing],
        &["prune", "--keep", &missing],
        &[&missing],
    ] {
        let output = place.run(args);
        assert_plain(&format!("standard output of {args:?}"), &output.stdout);
        assert_plain(&format!("standard error of {args:?}"), &output.stderr);
        tried += usize::from(!output.stdout.is_empty() || !output.stderr.is_empty());
    }
    assert_eq!(tried, 45, "each says something");
    // A name that is no text at all.
    let output = place.command(&["report"]).arg(OsStr::from_bytes(b"\x9b31m\xff.json")).output().unwrap();
    assert_plain("standard error", &output.stderr);
    assert_eq!(output.status.code(), Some(2));
}
