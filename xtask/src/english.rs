//! Habits of English that a pattern can find, in README, docs/, help texts, messages and comments.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::shell::root;

/// Words that have a plainer one.
const STIFF: [&str; 8] =
    ["whoever", "somebody", "nobody", "everybody", "in the place of", "anew", "dear", "dearer"];
/// The same for readers of pages and help; in comments, what is said and told is mostly so of a program's own output.
const STIFF_FOR_READERS: [&str; 9] = [
    "beside", "bends", "is told", "are told", "is said", "are said", "what is seen", "what is made",
    "what is measured",
];
/// The same for messages, too.
const STIFF_IN_MESSAGES: [&str; 11] = [
    "beside", "bends", "bend", "in vain", "plainest", "can mend", "no part in it", "hangs on",
    "take into account", "the own", "taken back",
];
/// The longest sentence, in words; in comments, formulas count as words.
const MOST_WORDS: usize = 40;
const MOST_WORDS_OF_COMMENTS: usize = 48;
/// Where comments are help texts.
const HELP: &str = "crates/ipcost/src/args";

pub fn check() -> Result<()> {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    pages.extend(crate::docs::pages(&root().join("docs"))?);
    pages.sort();
    let mut wrong = Vec::new();
    for page in &pages {
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(page).with_context(|| page.display().to_string())?;
        let found = for_readers(&text);
        wrong.extend(found.into_iter().map(|(line, what)| format!("{name}:{line}: {what}")));
    }
    let stiff = [&STIFF[..], &STIFF_IN_MESSAGES].concat();
    for path in sources()? {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        let said = comments(&text);
        let found = if name.starts_with(HELP) {
            for_readers(&said)
        } else {
            findings(&said, &STIFF, MOST_WORDS_OF_COMMENTS)
        };
        wrong.extend(found.into_iter().map(|(line, what)| format!("{name}:{line}: {what}")));
        if name.starts_with("crates") && name.contains("/src/") && !name.contains("tests") {
            let found = findings(&messages(&text), &stiff, usize::MAX);
            wrong.extend(found.into_iter().map(|(line, what)| format!("{name}:{line}: {what}")));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Every source of the program.
fn sources() -> Result<Vec<PathBuf>> {
    let mut dirs = vec![root().join("crates"), root().join("bench"), root().join("xtask")];
    let mut found = Vec::new();
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).with_context(|| dir.display().to_string())? {
            let path = entry?.path();
            match path.extension().and_then(|end| end.to_str()) {
                _ if path.is_dir() => dirs.push(path),
                Some("rs") => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The comments of a source, each in its line; help texts are comments, too. What is code is an empty line.
fn comments(source: &str) -> String {
    let comment = |line: &str| {
        let line = line.trim_start();
        let text = ["///", "//!", "//"].iter().find_map(|mark| line.strip_prefix(mark));
        text.unwrap_or_default().trim().to_owned()
    };
    source.lines().map(comment).collect::<Vec<_>>().join("\n")
}

/// The strings of more than one word of a source up to its tests, each in its line.
fn messages(source: &str) -> String {
    let source = source.split("mod tests {").next().unwrap_or_default();
    let of_line = |line: &str| {
        let strings = line.split('"').skip(1).step_by(2);
        let said: Vec<String> =
            strings.filter(|text| text.trim().contains(' ')).map(without_values).collect();
        if line.trim_start().starts_with("//") { String::new() } else { said.join(". ") }
    };
    source.lines().map(of_line).collect::<Vec<_>>().join("\n")
}

/// A message without the names of what is written into it, which are code.
fn without_values(text: &str) -> String {
    let parts = text.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
    parts.collect::<Vec<_>>().join("X")
}

/// What to rewrite in a text that users read.
fn for_readers(text: &str) -> Vec<(usize, String)> {
    findings(text, &[&STIFF[..], &STIFF_FOR_READERS[..]].concat(), MOST_WORDS)
}

/// Lines and what to rewrite there.
fn findings(text: &str, stiff: &[&str], most_words: usize) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, sentence) in sentences(text) {
        let words = sentence.split_whitespace().count();
        if words > most_words {
            let start: Vec<&str> = sentence.split_whitespace().take(6).collect();
            found.push((line, format!("a sentence of {words} words: {} …", start.join(" "))));
        }
        let plain = format!(" {} ", sentence.to_lowercase().replace(|c: char| !c.is_alphanumeric(), " "));
        let stiff = stiff.iter().filter(|stiff| plain.contains(&format!(" {stiff} ")));
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
        if is_code || line.starts_with("<!--") {
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
        let all = for_readers(&long);
        assert_eq!(all.len(), 1);
        assert!(all[0].0 == 3 && all[0].1.contains("42 words"), "{all:?}");
        assert_eq!(for_readers("A peer stands beside\nit."), [(1, "\"beside\"".to_owned())]);
        assert!(for_readers("Besides, `beside` is a word, and 1.5 is a number.").is_empty());
        assert!(for_readers("```text\nwhoever\n```\n").is_empty());
    }

    #[test]
    fn comments_are_read_and_code_is_not() {
        let source = "/// A peer stands\n/// beside it.\nlet beside = 1; // beside\n    // whoever\n";
        let all = for_readers(&comments(source));
        assert_eq!(all, [(1, "\"beside\"".to_owned()), (4, "\"whoever\"".to_owned())]);
    }

    #[test]
    fn messages_are_read_without_what_is_written_into_them() {
        let source = "let text = format!(\"{beside} polls in vain\");\nlet one = \"beside\";\n#[cfg(test)]\nmod tests {\n\"a beside b\"";
        assert_eq!(findings(&messages(source), &STIFF_IN_MESSAGES, 99), [(1, "\"in vain\"".to_owned())]);
    }

    #[test]
    fn items_and_cells_are_sentences_of_their_own() {
        let items = format!("- {}\n- {}\n", "word ".repeat(30), "word ".repeat(30));
        assert!(for_readers(&items).is_empty());
        let cells = format!("| {} | {} |\n", "word ".repeat(30), "word ".repeat(30));
        assert!(for_readers(&cells).is_empty());
    }
}
