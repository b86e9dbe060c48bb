//! Text from outside as XML and HTML, in which it can neither end an element or an attribute nor be obeyed.

use ipcost_model::is_invisible;

/// Text between tags; ends of lines stay.
pub fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    raw.chars().for_each(|letter| push(&mut out, letter));
    out
}

/// The value of an attribute in quotes of either kind, and text between tags too.
pub fn attribute(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for letter in raw.chars() {
        match letter {
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            // Readers make a space of a bare one.
            '\n' => out.push_str("&#10;"),
            other => push(&mut out, other),
        }
    }
    out
}

fn push(out: &mut String, letter: char) {
    match letter {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '\n' => out.push('\n'),
        // XML 1.0 has no way at all to write some of these, and readers show others as if they were there.
        letter if is_invisible(letter) || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
            out.extend(letter.escape_default());
        }
        letter => out.push(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_as_it_was_and_what_xml_does_not_allow_is_shown() {
        let raw = "<a href=\"x\" title='&'>\n\u{1b}\u{ffff}]]>";
        let xml = format!("<x y=\"{0}\" z='{0}'>{1}</x>", attribute(raw), text(raw));
        let document = roxmltree::Document::parse(&xml).unwrap();
        let shown = "<a href=\"x\" title='&'>\n\\u{1b}\\u{ffff}]]>";
        let root = document.root_element();
        assert_eq!([root.attribute("y"), root.attribute("z"), root.text()], [Some(shown); 3]);
    }
}
