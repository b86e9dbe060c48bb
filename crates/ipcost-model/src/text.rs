//! Text from outside, made safe to show.

/// Escapes everything that a terminal would obey or that would mislead a reader: control characters, line separators,
/// and characters that change the writing direction or have no width.
pub fn escaped(text: &str) -> String {
    let visible = |c: char| if is_invisible(c) { c.escape_default().collect() } else { c.to_string() };
    text.chars().map(visible).collect()
}

fn is_invisible(c: char) -> bool {
    // The joiners U+200C and U+200D stay: several scripts need them.
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}')
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
    fn of_long_text_both_ends_stay() {
        let text = format!("begin {} end", "x".repeat(1_000_000));
        let short = shortened(&text, 20);
        assert!(short.starts_with("begin xxxx … ") && short.ends_with("xxxxxx end"), "{short}");
    }
}
