//! The Go and C peers on Windows, or what Wine makes of them, and the article that was measured with Go.
//!
//! Under Wine there are no compilers for Windows, so small programs stand in their places. Go's tells a version, and
//! copies the peer that this system's Go has built. The C compiler's hands all that it is told to MinGW-w64's of this
//! system, so that what is built is what would be built on Windows.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::common::{Place, answer, assert_refused, assert_schema, one_by_one, text};
use crate::wine::{MINGW, assert_passed, command, is_windows, windows_path};
use serde_json::Value;

const PEER: &str = "ipcost-peer-go.exe";

/// All that the Makefile has the compiler warn of, as errors.
const CC: &str = "gcc -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror";

/// The sources of the stand-ins.
const STAND_INS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/wine");

/// The directory of the stand-ins, with the Go peer for Windows.
fn tools() -> &'static Path {
    static TOOLS: OnceLock<PathBuf> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let _making = one_by_one("windows-tools");
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("windows-tools");
        std::fs::create_dir_all(&dir).unwrap();
        let mut go = Command::new("go");
        go.args(["build", "-trimpath", "-buildvcs=false", "-o"]).arg(dir.join(PEER)).arg(".");
        go.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../ipcost-foreign/peers/go"));
        go.env("GOOS", "windows").env("GOARCH", "amd64").env("CGO_ENABLED", "0").env("GOFLAGS", "");
        done(&mut go);
        for name in ["go", "gcc"] {
            let source = Path::new(STAND_INS).join(name).with_extension("c");
            let mut compiler = Command::new(MINGW);
            done(compiler.arg("-o").arg(dir.join(name).with_extension("exe")).arg(source));
        }
        std::fs::copy(Path::new(STAND_INS).join("gcc.sh"), dir.join("gcc.sh")).unwrap();
        dir
    })
}

fn done(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
}

fn run(place: &Place, args: &[&str]) -> Output {
    let mut command = command(place, args);
    command.env("CC", CC);
    if !is_windows() {
        command.env("WINEPATH", windows_path(tools())).env("STAND_INS", tools());
        command.env("BUILT_ELSEWHERE", windows_path(&tools().join(PEER)));
    }
    command.stdin(Stdio::null()).output().unwrap()
}

/// The cells of a run, each of which has been measured.
fn measured(place: &Place, args: &[&str]) -> Vec<Value> {
    let output = run(place, &[args, &["--epochs", "1", "--json", "document.json"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document = std::fs::read(place.file("document.json")).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    let cells = document["cells"].as_array().unwrap();
    for cell in cells {
        assert!(cell["available"] == true && cell["ops"].as_u64() > Some(0), "{cell}");
    }
    cells.clone()
}

#[test]
fn go_plays_both_roles_over_every_transport_with_the_native_peer() {
    let place = Place::new();
    let args = [
        "run", "--transports", "npipe,pipe,tcp", "--placement", "free", "--patterns", "rr,stream", "--sizes",
        "70000",
    ];
    let cells =
        measured(&place, &[args.as_slice(), &["--client", "go,native", "--server", "go,native"]].concat());
    // Transports and patterns, a stream over tcp with TCP_NODELAY beside; pairs of peers.
    assert_eq!(cells.len(), (3 * 2 + 1) * 4, "{cells:?}");
    place.assert_nothing_of_the_program_is_left();
}

#[test]
fn c_plays_both_roles_in_every_pattern_with_the_native_peer() {
    let place = Place::new();
    let peers = ["--client", "c,native", "--server", "c,native", "--concurrency"];
    let args = [
        "run", "--transports", "pipe,tcp", "--placement", "free", "--patterns", "rr,stream", "--sizes",
        "70000",
    ];
    let cells = measured(&place, &[args.as_slice(), &peers, &["3"]].concat());
    // Pairs of peers; transports and patterns, a stream over tcp with TCP_NODELAY beside.
    assert_eq!(cells.len(), 4 * (2 * 2 + 1), "{cells:?}");
    let args =
        ["run", "--transports", "tcp", "--placement", "free", "--patterns", "connect", "--sizes", "64"];
    let cells = measured(&place, &[args.as_slice(), &peers, &["1,3"]].concat());
    // Pairs of peers, numbers of workers.
    assert_eq!(cells.len(), 4 * 2, "{cells:?}");
    place.assert_nothing_of_the_program_is_left();
}

#[test]
fn what_c_cannot_do_here_it_does_not_promise() {
    let place = Place::new();
    let said = assert_passed(&run(&place, &["conformance", "c"]));
    assert!(said.contains("tcp") && !said.contains("npipe") && !said.contains("fifo"), "{said}");
    let args = [
        "run", "--client", "c", "--server", "native", "--transports", "npipe", "--placement", "free",
        "--patterns", "rr",
    ];
    assert_refused(&run(&place, &args), &["lacks transport npipe", "tcp"]);
    place.assert_nothing_of_the_program_is_left();
}

/// Of the article's thirteen sizes: enough to see how they are measured.
const SIZES: [i64; 2] = [1_024, 16_384];

/// The article's experiment with these sizes alone, and the tests that ask about them.
fn article() -> String {
    let text = include_str!("../../../ipcost-features/replications/go-pingpong.toml");
    let mut article: toml::Table = toml::from_str(text).unwrap();
    let kept = |size: &toml::Value| size.as_integer().is_none_or(|size| SIZES.contains(&size));
    for run in article["runs"].as_array_mut().unwrap() {
        for cells in run["cells"].as_array_mut().unwrap() {
            if let Some(sizes) = cells["size"].as_array_mut() {
                sizes.retain(kept);
            }
        }
    }
    for claim in article["claims"].as_array_mut().unwrap() {
        let asks = |test: &toml::Value| {
            ["a", "b"].iter().all(|side| test.get(side).and_then(|cell| cell.get("size")).is_none_or(kept))
        };
        claim["tests"].as_array_mut().unwrap().retain(asks);
    }
    toml::to_string(&article).unwrap()
}

#[test]
fn the_article_is_measured_as_it_was_and_its_claims_are_decided_as_far_as_can_be() {
    let place = Place::new();
    place.write("article.toml", &article());
    // Just what planning asks for; without Unix sockets there is less to measure.
    let budget = if is_windows() { "1min" } else { "30s" };
    let output = run(&place, &["replicate", "article.toml", "--budget", budget, "--json", "ledger.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).contains("is not Windows"), !is_windows(), "{}", text(&output.stderr));
    let record = answer(&std::fs::read(place.file("ledger.json")).unwrap());
    assert_schema("replication", &record);
    let record = &record;
    let runs = record["runs"].as_array().unwrap();
    assert!(runs[0]["stratum"].is_null() && runs[0]["epochs"].as_u64() > Some(0), "{runs:?}");
    let measured = runs.iter().filter(|run| run["epochs"].as_u64() > Some(0)).count();
    let tests = |claim: usize| record["claims"][claim]["tests"].as_array().unwrap();
    let about = |claim: usize, what: &str| {
        tests(claim).iter().filter(|test| test["about"].as_str().unwrap().contains(what)).count()
    };
    // As published and under each condition that there was time for; two buffers against TCP.
    let tests_of_each = SIZES.len() * measured;
    assert_eq!((about(0, "unix over tcp"), about(2, "unix over npipe")), (tests_of_each * 2, tests_of_each));
    let ratio = |what: &str| {
        let found = tests(3).iter().find(|test| test["about"].as_str().unwrap().contains(what));
        found.unwrap_or_else(|| panic!("no {what}"))["value"].as_f64()
    };
    assert!(ratio(", npipe,") > Some(0.0) && ratio(", tcp,") > Some(0.0), "{:?}", tests(3));
    place.assert_nothing_of_the_program_is_left();
}
