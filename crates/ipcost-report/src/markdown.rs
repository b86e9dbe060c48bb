//! Text as Markdown as code hosts read it (GFM): it stays text whatever it contains.

use crate::words::escaped;

/// A block of code that no text can end.
pub fn block(kind: &str, code: &str) -> String {
    let fence = "`".repeat(longest_run_of_backticks(code).max(2) + 1);
    let lines: String = code.lines().map(|line| escaped(line) + "\n").collect();
    format!("{fence}{kind}\n{lines}{fence}\n")
}

fn longest_run_of_backticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// A command to copy, between more backticks than it has in a row.
pub fn code(command: &str) -> String {
    let safe = escaped(command).replace('\n', " ");
    let most = safe.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(most + 1);
    let space = if most > 0 { " " } else { "" };
    format!("{fence}{space}{safe}{space}{fence}")
}

/// Text that stays text: no markup, no HTML, no mention of people, no reference to issues, no link.
pub fn text(raw: &str) -> String {
    /// Takes no room, and parts what would be read together.
    const PART: &str = "&#8203;";
    let safe = escaped(raw);
    let mut out = String::with_capacity(safe.len());
    let mut rest = safe.as_str();
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' | '#' => out.push_str(&format!("{c}{PART}")),
            ':' if after.starts_with("//") => out.push_str(&format!(":{PART}")),
            '.' if out.to_ascii_lowercase().ends_with("www") => out.push_str(&format!("{PART}.")),
            '_' if out.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric) => {
                out.push(c)
            }
            // At the beginning it would number a list.
            '.' | ')'
                if after.starts_with(' ')
                    && !out.is_empty()
                    && out.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                out.extend(['\\', c])
            }
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '|' | '~' | '$' => out.extend(['\\', c]),
            c => out.push(c),
        }
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        for (raw, safe) in [
            ("a|b", "a\\|b"),
            ("`rm`", "\\`rm\\`"),
            ("<img src=x>", "&lt;img src=x&gt;"),
            ("two\nlines", "two\\\\nlines"),
            ("so_sndbuf=4096", "so_sndbuf=4096"),
            ("_it_ *is*", "\\_it\\_ \\*is\\*"),
            ("@torvalds #1", "@&#8203;torvalds #&#8203;1"),
            ("https://example.org www.example.org", "https:&#8203;//example.org www&#8203;.example.org"),
            ("&lt;", "&amp;lt;"),
            ("[a](b)", "\\[a\\](b)"),
        ] {
            assert_eq!(text(raw), safe);
        }
    }
}
