//! The C peer keeps to the control protocol under the sanitizers of addresses, undefined behaviour and threads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Place, argument, missing, text};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../ipcost-foreign/peers/c");

/// Builds C files with sanitizers; every report ends the program with a status that no peer should have.
fn built(place: &Place, files: &[PathBuf], sanitizers: &str) -> PathBuf {
    let program = place.file(&format!("checked-{sanitizers}"));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-O1", "-g", "-pthread", "-fno-sanitize-recover=all", "-o"]).arg(&program);
    let output = compiler.arg(format!("-fsanitize={sanitizers}")).args(files).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    program
}

fn sources() -> Vec<PathBuf> {
    let entries = fs::read_dir(SOURCES).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "c")).collect()
}

#[track_caller]
fn conforms(place: &Place, program: &Path) {
    let checked = format!("checked={}", argument(program));
    // What a process still holds as it leaves is for the system to take.
    let mut command = place.command(&["conformance", "--quiet", &checked]);
    command.env("ASAN_OPTIONS", "detect_leaks=0");
    // The sanitizer of threads would wait a second in every process that ends.
    let output = command.env("TSAN_OPTIONS", "atexit_sleep_ms=0").output().unwrap();
    let shown = text(&output.stdout);
    assert!(
        output.status.success() && shown.contains(" passed, 0 failed"),
        "{shown}{}",
        text(&output.stderr)
    );
    place.assert_clean();
}

#[test]
fn addresses_and_undefined_behaviour() {
    let place = Place::new();
    conforms(&place, &built(&place, &sources(), "address,undefined"));
}

#[test]
fn threads() {
    let place = Place::new();
    // The run-time library of this sanitizer does not fit every kernel's layout of memory.
    let plain = place.write("plain.c", "int main(void) { return 0; }\n");
    if !Command::new(built(&place, &[plain], "thread")).status().unwrap().success() {
        missing("thread-sanitizer", "a program that does nothing fails under it");
        return;
    }
    conforms(&place, &built(&place, &sources(), "thread"));
}

#[test]
fn a_program_that_breaks_the_rules_is_noticed() {
    let place = Place::new();
    let status = |text: &str, sanitizers: &str| {
        let file = place.write("broken.c", text);
        Command::new(built(&place, &[file], sanitizers)).output().unwrap().status.success()
    };
    assert!(!status(
        "int main(int c, char **v) { (void)v; int a[2]; a[0] = 0; a[1] = 0; return a[c + 5]; }\n",
        "address,undefined"
    ));
    assert!(!status(
        "int main(int c, char **v) { (void)v; int most = 2147483647; return (most + c) == 0; }\n",
        "address,undefined"
    ));
}
