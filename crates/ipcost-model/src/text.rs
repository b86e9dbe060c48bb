//! Text from outside, made safe to show.

/// Escapes everything that a terminal would obey or that would mislead a reader: control characters, line separators,
/// and characters that change the writing direction or have no width.
pub fn escaped(text: &str) -> String {
    let visible = |c: char| if is_invisible(c) { c.escape_default().collect() } else { c.to_string() };
    text.chars().map(visible).collect()
}

/// [`escaped`] of each line: what is written to a file, or said on a terminal without styles.
pub fn escaped_lines(text: &str) -> String {
    let visible = |c: char| match is_invisible(c) && c != '\n' {
        true => c.escape_default().collect(),
        false => c.to_string(),
    };
    text.chars().map(visible).collect()
}

/// The styles of this program's own texts: none, bold, dimmed, underlined, red, green, yellow, cyan.
const STYLES: [&str; 8] = ["0", "1", "2", "4", "31", "32", "33", "36"];

/// [`escaped_lines`] of a text for a terminal, which keeps the styles of this program and no other sequence.
pub fn escaped_but_styles(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut shown = escaped_lines(parts.next().unwrap_or_default());
    for part in parts {
        let style = part.split_once('m').filter(|(code, _)| STYLES.contains(code));
        match style {
            Some((code, rest)) => shown.push_str(&format!("\u{1b}[{code}m{}", escaped_lines(rest))),
            None => shown.push_str(&escaped_lines(&format!("\u{1b}[{part}"))),
        }
    }
    shown
}

/// Whether a character does something on a terminal, or misleads a reader, instead of being seen.
pub fn is_invisible(c: char) -> bool {
    // The joiners U+200C and U+200D stay: several scripts need them.
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}')
        // Letters without ink, which push what matters out of sight.
        || matches!(c, '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
}

/// The same, in at most this many characters: longer text loses its middle.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return escaped(text);
    }
    let half = most / 2;
    let begin: String = text.chars().take(half).collect();
    let end: Vec<char> = text.chars().rev().take(half).collect();
    escaped(&format!("{begin} … {}", end.iter().rev().collect::<String>()))
}

/// `a`, `a and b`, `a, b and c`.
pub fn and_joined(items: &[impl AsRef<str>]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// `a, b and 3 more`: at most `most` items by name.
pub fn first_few(items: &[impl AsRef<str>], most: usize) -> String {
    let named: Vec<&str> = items.iter().take(most).map(AsRef::as_ref).collect();
    let more = items.len() - named.len();
    if more > 0 { format!("{} and {more} more", named.join(", ")) } else { named.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_invisible_stays() {
        assert_eq!(escaped("a\u{1b}[31m\nb"), "a\\u{1b}[31m\\nb");
        assert_eq!(escaped("\u{202e}txt"), "\\u{202e}txt");
        assert_eq!(escaped("ü × → 日本 \u{1f600}"), "ü × → 日本 \u{1f600}");
    }

    #[test]
    fn of_what_a_terminal_obeys_lines_and_own_styles_stay() {
        let own = "\u{1b}[1m\u{1b}[31mred\u{1b}[0m\nnext";
        assert_eq!(escaped_but_styles(own), own);
        assert_eq!(
            escaped_lines("\u{1b}]0;x\u{7}\n\u{9b}31m\u{202e}"),
            "\\u{1b}]0;x\\u{7}\n\\u{9b}31m\\u{202e}"
        );
        for other in [
            "\u{1b}[41m", "\u{1b}[2J", "\u{1b}[31;5m", "\u{1b}]0;x\u{7}", "\u{1b}c", "\u{9b}31m", "\r",
            "\u{1b}[", "\u{1b}",
        ] {
            let shown = escaped_but_styles(&format!("{own}{other}{own}"));
            let rest = shown.replace("\u{1b}[1m", "").replace("\u{1b}[31m", "").replace("\u{1b}[0m", "");
            assert!(!rest.contains(|c: char| c.is_control() && c != '\n'), "{other:?}: {shown:?}");
        }
    }

    #[test]
    fn of_long_text_both_ends_stay() {
        let text = format!("begin {} end", "x".repeat(1_000_000));
        let short = shortened(&text, 20);
        assert!(short.starts_with("begin xxxx … ") && short.ends_with("xxxxxx end"), "{short}");
    }
    #[test]
    fn lists_read_as_sentences() {
        assert_eq!(and_joined(&[] as &[&str]), "");
        assert_eq!(and_joined(&["a"]), "a");
        assert_eq!(and_joined(&["a", "b", "c"]), "a, b and c");
        assert_eq!(first_few(&["a", "b", "c"], 3), "a, b, c");
        assert_eq!(first_few(&["a", "b", "c", "d"], 2), "a, b and 2 more");
    }
}
