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

/// The pages of help that the reference has, in its order.
const PAGES: [&[&str]; 19] = [
    &[],
    &["run"],
    &["explain"],
    &["compare"],
    &["check"],
    &["replicate"],
    &["sweep", "size"],
    &["sweep", "cores"],
    &["sweep", "layout"],
    &["report"],
    &["list"],
    &["show"],
    &["resume"],
    &["prune"],
    &["doctor"],
    &["selftest"],
    &["conformance"],
    &["schema"],
    &["completions"],
];

/// Run with `IPCOST_WRITE_DOCS=1` it writes the page.
#[test]
fn the_reference_in_the_docs_is_what_the_program_says() {
    let mut page =
        "# Command line\n\nThe help of every command, as the program prints it with `--help`.\n".to_owned();
    for command in PAGES {
        let name = [&["ipcost"][..], command].concat().join(" ");
        page.push_str(&format!(
            "\n## {name}\n\n```text\n{}\n```\n",
            help(&[command, &["--help"][..]].concat()).trim_end()
        ));
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/command-line.md");
    if std::env::var_os("IPCOST_WRITE_DOCS").is_some() {
        std::fs::write(file, &page).unwrap();
    }
    let written = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        written == page,
        "docs/command-line.md is not what --help says; IPCOST_WRITE_DOCS=1 cargo test -p ipcost reference writes it"
    );
}
