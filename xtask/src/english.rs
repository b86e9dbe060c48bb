//! Habits of English that a pattern can find, in README and docs/.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::shell::root;

/// Words that have a plainer one.
const STIFF: [&str; 17] = [
    "whoever",
    "somebody",
    "nobody",
    "everybody",
    "in the place of",
    "anew",
    "beside",
    "bends",
    "dear",
    "dearer",
    "is told",
    "are told",
    "is said",
    "are said",
    "what is seen",
    "what is made",
    "what is measured",
];
/// The longest sentence, in words.
const MOST_WORDS: usize = 40;
/// Pages whose sentences are mostly quotations and lists.
const QUOTING: [&str; 1] = ["ledgers.md"];

/// Checks every page.
///
/// # Errors
/// Every sentence to rewrite, with its page and line.
pub fn check() -> Result<()> {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    for entry in fs::read_dir(root().join("docs"))? {
        pages.push(entry?.path());
    }
    pages.retain(|page| page.extension().is_some_and(|end| end == "md"));
    pages.sort();
    let mut wrong = Vec::new();
    for page in &pages {
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        if QUOTING.contains(&&*name) {
            continue;
        }
        let text = fs::read_to_string(page).with_context(|| page.display().to_string())?;
        wrong.extend(findings(&text).into_iter().map(|(line, what)| format!("{name}:{line}: {what}")));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Lines and what to rewrite there.
fn findings(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, sentence) in sentences(text) {
        let words = sentence.split_whitespace().count();
        if words > MOST_WORDS {
            let start: Vec<&str> = sentence.split_whitespace().take(6).collect();
            found.push((line, format!("a sentence of {words} words: {} …", start.join(" "))));
        }
        let plain = format!(" {} ", sentence.to_lowercase().replace(|c: char| !c.is_alphanumeric(), " "));
        let stiff = STIFF.iter().filter(|stiff| plain.contains(&format!(" {stiff} ")));
        found.extend(stiff.map(|stiff| (line, format!("\"{stiff}\""))));
    }
    found
}

/// Sentences with the lines they begin in; code is one word, and a cell of a table is a sentence.
fn sentences(text: &str) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    let mut current = (0, String::new());
    let mut is_code = false;
    let end = |current: &mut (usize, String), all: &mut Vec<(usize, String)>| {
        if !current.1.trim().is_empty() {
            all.push(std::mem::take(current));
        }
        current.1.clear();
    };
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
            end(&mut current, &mut all);
            continue;
        }
        if is_code {
            continue;
        }
        let starts_item = ["- ", "* ", "#", "|", ">"].iter().any(|mark| line.starts_with(mark))
            || line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        if line.is_empty() || starts_item {
            end(&mut current, &mut all);
        }
        // A sentence may end in bold.
        let parts = line.replace("**", "");
        let plain: String =
            parts.split('`').enumerate().map(|(part, text)| if part % 2 == 0 { text } else { "X" }).collect();
        let cells: Vec<&str> = if line.starts_with('|') { plain.split('|').collect() } else { vec![&plain] };
        for cell in cells {
            for piece in cell.split_inclusive(['.', '?', '!', ';']) {
                if current.1.is_empty() {
                    current.0 = number;
                }
                current.1.push_str(piece);
                current.1.push(' ');
                // A point within a number or a name ends nothing.
                let is_end = piece.ends_with(['.', '?', '!', ';']) && ends_sentence(cell, piece);
                if is_end {
                    end(&mut current, &mut all);
                }
            }
            if line.starts_with('|') {
                end(&mut current, &mut all);
            }
        }
    }
    end(&mut current, &mut all);
    all
}

/// Whether a space or the end of the line follows a piece.
fn ends_sentence(line: &str, piece: &str) -> bool {
    let after = piece.as_ptr() as usize - line.as_ptr() as usize + piece.len();
    line[after..].chars().next().is_none_or(|next| next.is_whitespace() || next == ')' || next == '"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sentences_and_stiff_words_are_found_where_they_begin() {
        let long = format!("Short one.\n\n{}end.", "word ".repeat(41));
        let found = findings(&long);
        assert_eq!(found.len(), 1);
        assert!(found[0].0 == 3 && found[0].1.contains("42 words"), "{found:?}");
        assert_eq!(findings("A peer stands beside\nit."), [(1, "\"beside\"".to_owned())]);
        assert!(findings("Besides, `beside` is a word, and 1.5 is a number.").is_empty());
        assert!(findings("```text\nwhoever\n```\n").is_empty());
    }

    #[test]
    fn items_and_cells_are_sentences_of_their_own() {
        let items = format!("- {}\n- {}\n", "word ".repeat(30), "word ".repeat(30));
        assert!(findings(&items).is_empty());
        let cells = format!("| {} | {} |\n", "word ".repeat(30), "word ".repeat(30));
        assert!(findings(&cells).is_empty());
    }
}
