//! The book: every page is in its summary, and every link works.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::shell::root;

/// Checks README, CHANGELOG and docs/.
pub fn check() -> Result<()> {
    eprintln!("xtask: links of README and docs/");
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).context("docs/SUMMARY.md")?;
    let mut wrong = Vec::new();
    for page in pages(&docs)? {
        let name = page.strip_prefix(&docs).unwrap_or(&page).to_string_lossy().into_owned();
        if name != "SUMMARY.md" && !summary.contains(&format!("({name})")) {
            wrong.push(format!("docs/{name} is not in docs/SUMMARY.md"));
        }
        wrong.extend(dead_links(&page)?);
        let text = fs::read_to_string(&page)?;
        let without = without_origin(&text).into_iter();
        wrong.extend(without.map(|line| {
            format!("docs/{name}:{line}: measured figures, and no caption after them with their machine and `of version`")
        }));
    }
    for page in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"] {
        wrong.extend(dead_links(&root().join(page))?);
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// The pages of a folder, and of the folders in it.
pub fn pages(docs: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(docs)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(pages(&path)?);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
    Ok(found)
}

/// The dead relative links of a page; links to the web are not checked.
fn dead_links(page: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(page).with_context(|| page.display().to_string())?;
    let dir = page.parent().unwrap_or(root());
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let local = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    let dead = local.filter(|target| !dir.join(target.split('#').next().unwrap_or(target)).exists());
    Ok(dead.map(|target| format!("{}: {target} is not there", page.display())).collect())
}

/// What a block of figures that is written from documents begins and ends with.
const WRITTEN: [&str; 2] = ["<!-- figures: ", "<!-- /figures -->"];
/// What a caption has: where figures come from that no document gives.
const OF_VERSION: &str = "of version ";
/// So many figures are measured ones, and no example.
const LEAST: usize = 3;

/// The lines at which a block of output or a table with measured figures ends that is neither written from a document nor says where it is from.
fn without_origin(page: &str) -> Vec<usize> {
    let lines: Vec<&str> = page.lines().collect();
    let mut found = Vec::new();
    let (mut is_written, mut fence, mut figures) = (false, None, 0);
    for (at, line) in lines.iter().enumerate() {
        is_written = (is_written || line.starts_with(WRITTEN[0])) && !line.starts_with(WRITTEN[1]);
        let is_row = fence.is_none() && line.starts_with('|');
        let is_output = matches!(fence, Some("text" | "console"));
        let ends = match (fence, line.strip_prefix("```")) {
            (None, Some(kind)) => {
                fence = Some(kind);
                false
            }
            (Some(_), Some(_)) => {
                fence = None;
                true
            }
            _ => is_row && !lines.get(at + 1).is_some_and(|next| next.starts_with('|')),
        };
        if is_row || is_output {
            figures += measured(line, is_row);
        }
        if ends {
            let after = lines[at + 1..].iter().find(|line| !line.is_empty());
            let has_caption = after.is_some_and(|line| line.contains(OF_VERSION));
            if figures >= LEAST && !is_written && !has_caption {
                found.push(at + 1);
            }
            figures = 0;
        }
    }
    found
}

/// How many measured figures a line has: times with a unit, and intervals. In tables, whole cells count: others name settings.
fn measured(line: &str, is_row: bool) -> usize {
    let is_number = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let is_time = |number: &str, unit: &str| {
        is_number(number) && number.contains('.') && ["ns", "µs", "ms", "s", "GB/s"].contains(&unit)
    };
    let is_interval = |text: &str| {
        let ends = text.trim_matches(['(', ')', ',']).split_once('–');
        text.starts_with('(')
            && ends.is_some_and(|(lo, hi)| is_number(lo) && is_number(hi) && lo.contains('.'))
    };
    let times = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let times = words.windows(2).filter(|pair| is_time(pair[0], pair[1])).count();
        times + words.iter().filter(|word| is_interval(word)).count()
    };
    match is_row {
        false => times(line),
        true => line.split('|').map(str::trim).filter(|cell| times(cell) > 0 && cell.len() < 40).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_say_where_they_are_from() {
        let table = "| load | unix | tcp |\n|---|---|---|\n| rr | 8.25 µs | 12.0 µs |\n| 64 B | 0.69 (0.67–0.72) | 1 |\n";
        let output = "```text\nunix  8.25 µs  0.69 (0.67–0.72)\ntcp  12.0 µs\n```\n";
        let setting =
            "| option | default |\n|---|---|\n| batch | 10 to 200 ms |\n| budget | 45 s |\n| lead | 5 ms |\n";
        assert_eq!(without_origin(&format!("a\n\n{table}\nb\n")), [6]);
        assert_eq!(without_origin(&format!("a\n\n{output}\nb\n")), [6]);
        assert!(without_origin(setting).is_empty());
        for block in [table, output] {
            assert!(without_origin(&format!("{block}\n*AMD EPYC, of version 0.1.0.*\n")).is_empty());
            assert!(without_origin(&format!("<!-- figures: x -->\n{block}\n<!-- /figures -->\n")).is_empty());
        }
        assert!(without_origin(&output.replace("text", "json")).is_empty());
    }
}
