//! The rules of docs/contributing/architecture.md that a pattern can check.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::shell::root;

/// The heading of the table of rules: what must not occur, and where it may.
const HEADING: &str = "| rule | must not occur | but in |";

/// A row: any of `words` occurs in no file whose path begins with none of `exceptions`.
#[derive(Debug, PartialEq, Eq)]
struct SourceRule {
    words: Vec<String>,
    exceptions: Vec<String>,
}

/// Checks every rule of the page.
pub fn check() -> Result<()> {
    let page = fs::read_to_string(root().join("docs/contributing/architecture.md"))?;
    let rules = rules(&page);
    ensure!(!rules.is_empty(), "docs/contributing/architecture.md has no table \"{HEADING}\"");
    let mut files = Vec::new();
    collect(&root().join("crates"), &mut files)?;
    let mut broken = Vec::new();
    for file in &files {
        let name = name(file)?;
        let text = fs::read_to_string(file).with_context(|| name.clone())?;
        broken.extend(rules.iter().flat_map(|rule| rule.broken_in(&name, &text)));
    }
    ensure!(
        broken.is_empty(),
        "{}\ndocs/contributing/architecture.md says where these may be",
        broken.join("\n")
    );
    let forgotten = files.iter().filter(|file| is_forgotten(file)).map(|file| name(file));
    let forgotten = forgotten.collect::<Result<Vec<String>>>()?;
    ensure!(forgotten.is_empty(), "no module names these sources: {}", forgotten.join(", "));
    Ok(())
}

/// A file as messages name it.
fn name(file: &Path) -> Result<String> {
    Ok(file.strip_prefix(root())?.to_string_lossy().replace('\\', "/"))
}

/// Whether the compiler never sees a source, since the module around it does not name it.
fn is_forgotten(file: &Path) -> bool {
    /// What begins a crate or is named by its directory.
    const ROOTS: [&str; 4] = ["lib", "main", "mod", "build"];
    let Some((stem, dir)) = file.file_stem().and_then(|stem| stem.to_str()).zip(file.parent()) else {
        return false;
    };
    let is_source = file.extension().is_some_and(|end| end == "rs");
    if !is_source || ROOTS.contains(&stem) {
        return false;
    }
    let around = [dir.join("mod.rs"), dir.join("lib.rs"), dir.join("main.rs"), dir.with_extension("rs")];
    // By its name, or by a path where one of two is chosen.
    let named = [format!("mod {stem};"), format!("#[path = \"{stem}.rs\"]")];
    !around
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .any(|text| named.iter().any(|named| text.contains(named)))
}

/// The sources of a directory, without tests and what only tests use.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let is_tests = path.file_stem().is_some_and(|stem| stem == "tests" || stem == "ipcost-testing");
        match path.is_dir() {
            _ if is_tests => {}
            true => collect(&path, files)?,
            false if path.extension().is_some_and(|end| end == "rs" || end == "toml") => files.push(path),
            false => {}
        }
    }
    Ok(())
}

/// The rows of the table.
fn rules(page: &str) -> Vec<SourceRule> {
    let rows =
        page.lines().skip_while(|line| *line != HEADING).skip(2).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        let code =
            |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
        Some(SourceRule { words: code(cells.get(2)?), exceptions: code(cells.get(3)?) })
    })
    .collect()
}

impl SourceRule {
    /// The lines of a file that break it, each with the word; comments and tests at the end of a file do not count.
    fn broken_in(&self, name: &str, text: &str) -> Vec<String> {
        if self.exceptions.iter().any(|place| name.starts_with(place.as_str())) {
            return Vec::new();
        }
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let lines = (1..).zip(code.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"));
        let found = |(number, line): (usize, &str)| {
            let word = self.words.iter().find(|word| line.contains(word.as_str()))?;
            Some(format!("{name}:{number}: {word}"))
        };
        lines.filter_map(found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_no_module_names_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("words")).unwrap();
        for (file, text) in [
            ("lib.rs", "mod words;\n"),
            ("words.rs", "pub mod known;\n"),
            ("words/known.rs", ""),
            ("words/left.rs", ""),
            ("left.rs", ""),
        ] {
            fs::write(at(file), text).unwrap();
        }
        for file in ["lib.rs", "words.rs", "words/known.rs"] {
            assert!(!is_forgotten(&at(file)), "{file}");
        }
        assert!(is_forgotten(&at("left.rs")) && is_forgotten(&at("words/left.rs")));
    }

    #[test]
    fn rows_of_the_page_find_lines_outside_their_exceptions() {
        let page = format!(
            "text\n\n{HEADING}\n|---|---|---|\n| a rule | `forbidden(`, `also` | `crates/one/` |\n\nmore"
        );
        let rules = rules(&page);
        assert_eq!(
            rules,
            [SourceRule {
                words: vec!["forbidden(".into(), "also".into()],
                exceptions: vec!["crates/one/".into()]
            }]
        );
        let text = "// forbidden(\nlet x = forbidden(7);\n#[cfg(test)]\nmod tests { also }\n";
        assert_eq!(
            rules[0].broken_in("crates/two/src/lib.rs", text),
            ["crates/two/src/lib.rs:2: forbidden("]
        );
        assert!(rules[0].broken_in("crates/one/src/lib.rs", text).is_empty());
    }
}
