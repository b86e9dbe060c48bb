//! What the help says: a change of it is seen in review.

use crate::common::{Place, text};

fn help(args: &[&str]) -> String {
    let output = Place::new().command(args).env("COLUMNS", "100").output().unwrap();
    assert!(output.status.success());
    assert_eq!(text(&output.stderr), "");
    without_this_machine(&text(&output.stdout))
}

/// Leaves out what depends on the machine: that a transport is unavailable, which may go on for lines, up to its last parenthesis.
fn without_this_machine(shown: &str) -> String {
    const REMARK: &str = " (unavailable here";
    let depth = |text: &str| text.matches('(').count() as i64 - text.matches(')').count() as i64;
    let mut open = 0;
    let mut lines = Vec::new();
    for line in shown.lines() {
        if open > 0 {
            open += depth(line);
        } else if let Some((kept, _)) = line.split_once(REMARK) {
            open = depth(&line[kept.len()..]);
            lines.push(kept);
        } else {
            lines.push(line);
        }
    }
    lines.join("\n")
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
