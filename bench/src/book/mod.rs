//! The figures of README and docs/, from documents: what stands between two marks is written by the view that the first names.

mod pictures;
mod shelf;
mod views;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use xtask::shell::root;

use shelf::Shelf;

/// What a block begins with: `<!-- figures: VIEW DOCUMENT ... -->`.
const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- /figures -->";
const CHECK: &str = "--check";

/// Writes every figure, table and picture again from the documents of a directory, which are kept compressed in docs/figures; with
/// `--check` it writes nothing.
///
/// # Errors
/// A document that is missing or cannot be read, a mark that names no view, or, with `--check`, what is not as the documents have it.
pub fn run(words: &[&str]) -> Result<()> {
    let (checks, dirs): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| **word == CHECK);
    let kept = root().join("docs/figures");
    match dirs[..] {
        [] => {}
        [dir] => Shelf::keep(Path::new(dir), &kept)?,
        _ => bail!("figures takes one directory"),
    }
    let shelf = Shelf::open(&kept)?;
    let mut stale = Vec::new();
    let mut offer = |path: PathBuf, text: &str| -> Result<()> {
        if fs::read_to_string(&path).unwrap_or_default() == text {
            return Ok(());
        }
        stale.push(path.strip_prefix(root()).unwrap_or(&path).display().to_string());
        if checks.is_empty() { Ok(fs::write(&path, text)?) } else { Ok(()) }
    };
    for page in pages()? {
        let text = fs::read_to_string(&page).with_context(|| page.display().to_string())?;
        let renewed =
            renewed(&text, |view| views::view(view, &shelf)).with_context(|| page.display().to_string())?;
        offer(page, &renewed)?;
    }
    for (name, svg) in pictures::all(&shelf)? {
        offer(root().join("docs/pictures").join(name), &svg)?;
    }
    ensure!(
        checks.is_empty() || stale.is_empty(),
        "not as docs/figures has it, renewed by `cargo xtask figures`: {}",
        stale.join(", ")
    );
    stale.iter().for_each(|path| println!("{path}"));
    Ok(())
}

/// README and every page.
fn pages() -> Result<Vec<PathBuf>> {
    let mut pages = vec![root().join("README.md")];
    for dir in ["docs", "docs/reference", "docs/contributing"] {
        for entry in fs::read_dir(root().join(dir))? {
            pages.push(entry?.path());
        }
    }
    pages.retain(|page| page.extension().is_some_and(|end| end == "md"));
    pages.sort();
    Ok(pages)
}

/// A page with its blocks as `view` writes them, by the words of their marks.
fn renewed(page: &str, view: impl Fn(&[&str]) -> Result<String>) -> Result<String> {
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (mark, after) = after.split_once(" -->").context("a mark is not closed by -->")?;
        let (old, after) = after.split_once(END).with_context(|| format!("{mark}: no {END}"))?;
        ensure!(!old.contains(BEGIN), "{mark}: no {END} before the next mark");
        let words: Vec<&str> = mark.split_whitespace().collect();
        let block = view(&words).with_context(|| format!("{BEGIN}{mark} -->"))?;
        out.push_str(&format!("{before}{BEGIN}{mark} -->\n{}\n{END}", block.trim_end()));
        rest = after;
    }
    ensure!(!rest.contains(END), "{END} closes nothing");
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_as_its_document_has_it() {
        run(&[CHECK]).unwrap();
    }

    #[test]
    fn what_stands_between_marks_is_written_and_nothing_else() {
        let page = "a\n\n<!-- figures: x 1 -->\nold\n<!-- /figures -->\n\nb\n<!-- figures: y -->\n<!-- /figures -->\n";
        let renewed = |page| renewed(page, |words| Ok(words.join("+")));
        let written = renewed(page).unwrap();
        assert_eq!(
            written,
            "a\n\n<!-- figures: x 1 -->\nx+1\n<!-- /figures -->\n\nb\n<!-- figures: y -->\ny\n<!-- /figures -->\n"
        );
        assert_eq!(renewed(&written).unwrap(), written, "it stays so");
        for wrong in [
            "<!-- figures: x -->\nold\n",
            "<!-- figures: x\n",
            "<!-- figures: x -->\n<!-- figures: y -->\n<!-- /figures -->\n",
            "old\n<!-- /figures -->\n",
        ] {
            assert!(renewed(wrong).is_err(), "{wrong}");
        }
    }
}
