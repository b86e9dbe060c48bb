//! What the help says: a change of it is seen in review.

use crate::common::{Place, text};

fn help(args: &[&str]) -> String {
    let output = Place::new().command(args).env("COLUMNS", "100").output().unwrap();
    assert!(output.status.success());
    assert_eq!(text(&output.stderr), "");
    // Whether this machine has IPv6 is not the help's doing.
    let shown = text(&output.stdout);
    let lines = shown.lines().map(|line| line.split(" (unavailable here").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn of_the_program() {
    insta::assert_snapshot!(help(&["--help"]));
}

#[test]
fn of_run() {
    insta::assert_snapshot!(help(&["run", "--help"]));
}

#[test]
fn the_version_is_the_packages() {
    assert_eq!(help(&["--version"]), format!("ipcost {}", env!("CARGO_PKG_VERSION")));
}
