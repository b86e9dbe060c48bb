//! Dependencies that no source uses.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell::{command, root};

/// Checks every package's dependencies, and those of the workspace.
pub fn check() -> Result<()> {
    eprintln!("xtask: unused dependencies");
    let output = command(&["cargo", "metadata", "--format-version", "1", "--no-deps"]).output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("what cargo metadata prints")?;
    let mut wrong = Vec::new();
    let mut taken = BTreeSet::new();
    for package in metadata["packages"].as_array().context("packages")? {
        let manifest = Path::new(package["manifest_path"].as_str().context("a path")?);
        let dir = manifest.parent().context("it lies in a directory")?;
        let of_the_program = sources(&[dir.join("src"), dir.join("build.rs")])?;
        let of_its_tests = sources(&[dir.join("tests"), dir.join("benches"), dir.join("examples")])?;
        for dependency in package["dependencies"].as_array().context("dependencies")? {
            let name = dependency["name"].as_str().context("a name")?;
            taken.insert(name.to_owned());
            let is_used = is_named(name, &of_the_program)
                || dependency["kind"] == "dev" && is_named(name, &of_its_tests)
                // A package that its own tests depend on again, with more features, is not named.
                || dependency["name"] == package["name"];
            if !is_used {
                wrong.push(format!("{} does not use {name}", package["name"].as_str().unwrap_or_default()));
            }
        }
    }
    wrong.extend(
        offered()?.difference(&taken).map(|name| format!("no package takes {name} of the workspace")),
    );
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// The dependencies in the manifest of the workspace.
fn offered() -> Result<BTreeSet<String>> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let lines = manifest.lines().skip_while(|line| *line != "[workspace.dependencies]").skip(1);
    let entries = lines.take_while(|line| !line.starts_with('['));
    // Continuation lines and comments lack a name and " = ".
    let names = entries
        .filter(|line| line.starts_with(char::is_alphanumeric))
        .filter_map(|line| line.split_once(" = "));
    Ok(names.map(|(name, _)| name.to_owned()).collect())
}

/// All Rust in these files and directories, without comments.
fn sources(paths: &[PathBuf]) -> Result<String> {
    let mut text = String::new();
    for path in paths {
        if path.is_dir() {
            let entries = fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
            text += &sources(&entries.into_iter().map(|entry| entry.path()).collect::<Vec<_>>())?;
        } else if path.extension().is_some_and(|end| end == "rs") && path.exists() {
            let source = fs::read_to_string(path)?;
            for line in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    Ok(text)
}

/// Whether sources contain a path that begins with the crate, as in `name::item` and `use name;`.
fn is_named(package: &str, sources: &str) -> bool {
    let name = package.replace('-', "_");
    let part_of_a_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    sources.match_indices(&name).any(|(at, _)| {
        let (before, after) = (&sources[..at], &sources[at + name.len()..]);
        !before.ends_with(part_of_a_word)
            && (after.starts_with("::") || before.ends_with("use ") && !after.starts_with(part_of_a_word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_named_where_a_path_begins_with_it() {
        for source in [
            "use serde_json::Value;", "serde_json::to_vec(x)", "use serde_json as json;",
            "[serde_json::json!()]",
        ] {
            assert!(is_named("serde-json", source), "{source}");
        }
        for source in ["my_serde_json::Value", "serde_json_more::Value", "\"serde_json\"", "use serde::json;"]
        {
            assert!(!is_named("serde-json", source), "{source}");
        }
    }
}
