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
fn of_lists() {
    for list in ["transports", "peers", "options", "formats"] {
        let shown = help(&["help", list]);
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
        assert!(shown.lines().count() > 10, "{shown}");
        assert!(!shown.contains("over ;"), "{shown}");
    }
    assert_eq!(help(&["help"]), help(&["--help"]));
    assert_eq!(help(&["help", "sweep", "size"]), help(&["sweep", "size", "--help"]));
}

#[test]
fn of_what_is_not_there() {
    for words in [&["help", "transport"][..], &["help", "runn"], &["help", "sweep", "sizes"]] {
        let output = Place::new().command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let line = text(&output.stderr);
        assert!(line.lines().count() == 1 && line.contains("did you mean"), "{line}");
    }
}

#[test]
fn nothing_follows_a_list_or_a_command_without_others() {
    for words in
        [&["help", "transports", "peers"][..], &["help", "run", "x"], &["help", "sweep", "size", "x"]]
    {
        let output = Place::new().command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let line = text(&output.stderr);
        assert!(line.lines().count() == 1 && line.contains("nothing follows it"), "{line}");
    }
}

/// The help of a command and of all below it, in the program's order, each under its name.
fn reference(command: &[&str]) -> String {
    let shown = help(&[command, &["--help"][..]].concat());
    let name = [&["ipcost"][..], command].concat().join(" ");
    let page = format!("\n## {name}\n\n```text\n{}\n```\n", shown.trim_end());
    // A command a line, under the title of its group.
    let listed =
        shown.lines().skip_while(|line| !line.ends_with(':')).take_while(|line| *line != "Examples:");
    let mut is_list = false;
    let names = listed.filter_map(|line| {
        if line.ends_with(':') {
            is_list = command.is_empty() || line == "Commands:";
        }
        line.strip_prefix("  ")?.split(' ').next().filter(|name| is_list && !name.is_empty())
    });
    let below = names.filter(|name| *name != "help");
    std::iter::once(page).chain(below.map(|name| reference(&[command, &[name][..]].concat()))).collect()
}

/// Run with `IPCOST_WRITE_DOCS=1` it writes the page.
#[test]
fn the_reference_in_the_docs_is_what_the_program_says() {
    let page = format!(
        "# Command line\n\nThe help of every command, as the program prints it with `--help`, and \
         at the end the lists of `ipcost help`.\n{}{}",
        reference(&[]),
        ["transports", "peers", "options", "formats"]
            .map(|list| format!(
                "\n## ipcost help {list}\n\n```text\n{}\n```\n",
                help(&["help", list]).trim_end()
            ))
            .concat()
    );
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/command-line.md");
    if std::env::var_os("IPCOST_WRITE_DOCS").is_some() {
        std::fs::write(file, &page).unwrap();
    }
    let written = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        written == page,
        "docs/reference/command-line.md is not what --help says; IPCOST_WRITE_DOCS=1 cargo test -p ipcost reference writes it"
    );
}
