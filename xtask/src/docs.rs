//! The book: every page is in its summary, and every link works.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::shell::root;

/// Checks README, CHANGELOG and docs/.
///
/// # Errors
/// Every dead link, and every page missing from the summary.
pub fn check() -> Result<()> {
    eprintln!("xtask: links of README and docs/");
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).context("docs/SUMMARY.md")?;
    let mut wrong = Vec::new();
    for page in pages(&docs)? {
        let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name != "SUMMARY.md" && !summary.contains(&format!("({name})")) {
            wrong.push(format!("docs/{name} is not in docs/SUMMARY.md"));
        }
        wrong.extend(dead_links(&page)?);
    }
    for page in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"] {
        wrong.extend(dead_links(&root().join(page))?);
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn pages(docs: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(docs)?.collect::<Result<Vec<_>, _>>()?;
    Ok(entries
        .into_iter()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect())
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
