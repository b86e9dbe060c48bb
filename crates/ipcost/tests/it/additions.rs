//! To add one thing is to touch what CONTRIBUTING.md says: a copy of the tree gets one of each kind, and builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::common::text;

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

struct Tree {
    dir: TempDir,
    page: String,
}

impl Tree {
    fn copy() -> Self {
        let (dir, root) = (TempDir::new().unwrap(), root());
        copy(&root, dir.path());
        Self { dir, page: fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap() }
    }

    fn file(&self, path: &str) -> PathBuf {
        self.dir.path().join("crates").join(path)
    }

    /// Adds one thing: a new file in place of the `NAME.rs` of its row, made of another, and a line before another in each of some files. Each
    /// of them is one that the row of the page names.
    fn add(&self, what: &str, file: (&str, String), lines: &[(&str, &str, &str)]) {
        let row = self.page.lines().find(|line| line.starts_with(&format!("| {what} |")));
        let row = row.unwrap_or_else(|| panic!("CONTRIBUTING.md has no row for {what}"));
        let (path, content) = file;
        fs::write(self.file(path), content).unwrap();
        let directory = Path::new(path).parent().unwrap().to_str().unwrap();
        assert!(row.contains(directory), "{what}: the page does not name {directory}\n{row}");
        for (path, before, line) in lines {
            let name = Path::new(path).file_name().unwrap().to_str().unwrap();
            assert!(row.contains(name), "{what}: the page does not name {path}\n{row}");
            let text = fs::read_to_string(self.file(path)).unwrap();
            let at = text.find(before).unwrap_or_else(|| panic!("{path} has no {before:?}"));
            fs::write(self.file(path), format!("{}{line}{}", &text[..at], &text[at..])).unwrap();
        }
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.file(path)).unwrap()
    }
}

/// All but what is built or of git.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (name, path) = (entry.file_name(), entry.path());
        if name == "target" || name == ".git" {
            continue;
        }
        let target = to.join(&name);
        match fs::symlink_metadata(&path).unwrap().file_type() {
            kind if kind.is_dir() => copy(&path, &target),
            kind if kind.is_symlink() => {
                std::os::unix::fs::symlink(fs::read_link(&path).unwrap(), target).unwrap();
            }
            _ => drop(fs::copy(&path, target).unwrap()),
        }
    }
}

#[test]
#[ignore = "alone: it builds the program"]
fn to_add_one_thing_is_to_touch_what_the_page_says() {
    let tree = Tree::copy();
    let transport = tree.text("ipcost-sys/src/transport/socketpair.rs");
    tree.add(
        "a transport",
        ("ipcost-sys/src/transport/twin.rs", transport.replace("name: \"socketpair\"", "name: \"twin\"")),
        &[
            ("ipcost-sys/src/transport/mod.rs", "mod socketpair;", "mod twin;\n"),
            ("ipcost-sys/src/transport/mod.rs", "    &tcp::TCP,", "    &twin::Socketpair,\n"),
        ],
    );
    let server = tree.text("ipcost-peer/src/adapters/app/memcached.rs");
    let server = server.replace("name: \"memcached\"", "name: \"cachetwo\"");
    tree.add(
        "a kind of server for `app`",
        (
            "ipcost-peer/src/adapters/app/cachetwo.rs",
            server
                .replace("aliases: &[Alias::new(\"memcache\", \"Memcached\", None)]", "aliases: &[]")
                .replace("    Alias, ", "    "),
        ),
        &[
            ("ipcost-peer/src/adapters/app/mod.rs", "mod memcached;", "mod cachetwo;\n"),
            ("ipcost-peer/src/adapters/app/mod.rs", "memcached::KIND", "cachetwo::KIND, "),
        ],
    );
    tree.add(
        "a cause of `explain`",
        (
            "ipcost-features/src/explain/judge/causes/moon.rs",
            "use ipcost_lab::rules;\n\nuse super::cause;\nuse crate::explain::{ExplainedCell, NamedCause};\n\n\
             pub(super) fn full_moon(cell: &ExplainedCell) -> Option<NamedCause> {\n    \
             Some(cause(rules::FULL_MOON, cell, 0.5, \"the moon is full\".to_owned(), \"wait two weeks\"))\n}\n"
                .to_owned(),
        ),
        &[
            (
                "ipcost-lab/src/rules/causes.rs",
                "    NAGLE =",
                "    FULL_MOON = \"full-moon\", \"the moon\", \"It pulls.\", \"full\", [Explain], \"A test\";\n",
            ),
            ("ipcost-features/src/explain/judge/causes/mod.rs", "mod network;", "mod moon;\n"),
            (
                "ipcost-features/src/explain/judge/causes/mod.rs",
                "    |facts, at, _| network::nagle",
                "    |facts, at, _| moon::full_moon(&facts.cells[at]).into_iter().collect(),\n",
            ),
        ],
    );
    tree.add(
        "an output",
        (
            "ipcost-report/src/plainest.rs",
            "use ipcost_model::Document;\n\npub fn render(document: &Document) -> String {\n    \
             document.cells.iter().map(|cell| format!(\"{}\\n\", cell.id)).collect()\n}\n"
                .to_owned(),
        ),
        &[
            ("ipcost-report/src/lib.rs", "pub mod plan;", "mod plainest;\n"),
            (
                "ipcost-report/src/formats.rs",
                "    Format {\n        flag: \"csv\"",
                "    Format {\n        flag: \"plainest\",\n        help: \"Write ids\", brief: \"ids\",\n        of_record: None,\n        \
                 is_table: true,\n        render: |content| content.document.map(crate::plainest::render).unwrap_or_default(),\n    },\n",
            ),
        ],
    );
    let arguments = "use clap::Args;\n\n#[derive(Debug, Args)]\npub struct GreetArgs {\n    /// Whom\n    pub name: String,\n}\n";
    fs::write(tree.file("ipcost/src/args/greet.rs"), arguments).unwrap();
    tree.add(
        "a command",
        (
            "ipcost/src/greet.rs",
            "use std::process::ExitCode;\n\nuse crate::args::GreetArgs;\nuse crate::exit::Problem;\nuse crate::output::print;\n\n\
             pub fn run(args: &GreetArgs) -> Result<ExitCode, Problem> {\n    \
             print(&format!(\"hello, {}\\n\", args.name)).map_err(Problem::failed)?;\n    Ok(ExitCode::SUCCESS)\n}\n"
                .to_owned(),
        ),
        &[
            ("ipcost/src/args/mod.rs", "mod help;", "mod greet;\n"),
            ("ipcost/src/args/mod.rs", "pub use help::", "pub use greet::GreetArgs;\n"),
            ("ipcost/src/main.rs", "mod history;", "mod greet;\n"),
            (
                "ipcost/src/commands.rs",
                "        /// Show a saved run again",
                "        /// Greet someone\n        greet: Greet(GreetArgs), |args| crate::greet::run(&args), &[(\"ipcost greet ann\", \"hello\")];\n",
            ),
        ],
    );

    let target = tree.dir.path().join("target");
    let mut build = Command::new("cargo");
    build.args(["build", "--quiet", "--package", "ipcost"]).current_dir(&tree.dir);
    build.env("CARGO_TARGET_DIR", &target).env("CARGO_INCREMENTAL", "0");
    let output = build.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));

    let shown = |words: &[&str]| {
        let mut program = Command::new(target.join("debug/ipcost"));
        let output =
            program.args(words).env("IPCOST_DATA_DIR", tree.dir.path().join("data")).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    assert!(shown(&["help", "transports"]).contains("\n  twin "));
    assert!(shown(&["app"]).contains("\ncachetwo "));
    assert!(shown(&["help", "formats"]).contains("--plainest FILE"));
    assert!(shown(&["--help"]).contains("\n  greet        Greet someone\n"));
    assert_eq!(shown(&["greet", "ann"]), "hello, ann\n");
    let cell = ["--patterns", "rr", "--sizes", "64", "--placement", "free", "--epochs", "1", "--quiet"];
    let ids = shown(&[&["run", "--transports", "twin,unix", "--plainest", "-"], &cell[..]].concat());
    assert_eq!(ids, "rr/twin/64/c1\nrr/unix/64/c1\n");
    let explained = shown(&["explain", "rr/twin/64/c1", "--epochs", "1", "--quiet"]);
    assert!(explained.contains("the moon is full"), "{explained}");
}
