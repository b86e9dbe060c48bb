//! Text broken into lines between words.

use ipcost_model::escaped_lines;
use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter};
use unicode_width::UnicodeWidthStr;

/// Narrower than this, lines are broken as if there were so many columns.
const LEAST_ROOM: usize = 40;

/// Text in lines of at most `room` columns; what a terminal would obey in it is escaped.
pub fn wrapped(text: &str, room: usize) -> String {
    wrapped_under(text, room, "")
}

/// The same, with all lines but the first after `indent`.
pub fn wrapped_under(text: &str, room: usize, indent: &str) -> String {
    textwrap::fill(&escaped_lines(text), options(room.max(LEAST_ROOM)).subsequent_indent(indent))
}

/// A text in lines of so many columns, broken after spaces, and within names after slashes and commas.
pub fn folded(text: &str, width: usize) -> Vec<String> {
    if text.width() <= width {
        return vec![text.to_owned()];
    }
    let options = options(width.max(1)).word_separator(WordSeparator::Custom(parts));
    textwrap::wrap(text, options).into_iter().map(|line| line.into_owned()).collect()
}

/// How wide the longest part of a text is that [`folded`] does not break.
pub fn longest_part(text: &str) -> usize {
    parts(text).map(|part| part.trim_end().width()).max().unwrap_or(0)
}

/// Where a text may be broken; a number keeps its unit.
fn parts(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let is_break = |at: &usize| {
        let (before, after) = line.split_at(*at);
        before.ends_with([' ', '/', ',']) && !after.starts_with([' ', '/', '%'])
    };
    let breaks = line.char_indices().map(|(at, _)| at).skip(1).filter(is_break);
    let ends: Vec<usize> = breaks.chain([line.len()]).collect();
    let begins: Vec<usize> = std::iter::once(0).chain(ends.iter().copied()).collect();
    Box::new(begins.into_iter().zip(ends).map(|(begin, end)| Word::from(&line[begin..end])))
}

/// Names and codes have hyphens, and are easier to find and to copy whole.
fn options<'a>(width: usize) -> Options<'a> {
    Options::new(width).word_splitter(WordSplitter::NoHyphenation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_long_as_the_room_but_not_absurdly_short() {
        let text = "x ".repeat(100);
        assert!(wrapped(&text, 60).lines().all(|line| (55..=60).contains(&line.len()) || line.len() == 19));
        assert_eq!(wrapped(&text, 1), wrapped(&text, LEAST_ROOM));
        assert!(wrapped_under(&text, 60, "  ").lines().skip(1).all(|line| line.starts_with("  x")));
    }

    #[test]
    fn a_number_keeps_its_unit() {
        assert_eq!(folded("two cores (17 % / 18 %)", 18), ["two cores (17 % /", "18 %)"]);
    }
}
