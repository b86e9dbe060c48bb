//! Text broken into lines between words.

use ipcost_model::escaped_lines;

/// Narrower than this, lines are broken as if there were so many columns.
const LEAST_ROOM: usize = 40;

/// Text in lines of at most `room` columns; what a terminal would obey in it is escaped.
pub fn wrapped(text: &str, room: usize) -> String {
    wrapped_under(text, room, "")
}

/// The same, with all lines but the first after `indent`.
pub fn wrapped_under(text: &str, room: usize, indent: &str) -> String {
    // Names and codes have hyphens, and are easier to find and to copy whole.
    let options = textwrap::Options::new(room.max(LEAST_ROOM))
        .subsequent_indent(indent)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(&escaped_lines(text), options)
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
}
