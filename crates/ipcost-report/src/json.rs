//! The document as it is, and JSON of other forms.

use std::io::{self, Write};

use ipcost_model::{Document, is_invisible};

/// Writes the document as one line of JSON.
pub fn write(document: &Document, to: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(Visible(to), document)?;
    to.write_all(b"\n")
}

/// Where a serialiser of JSON writes to: escapes what JSON itself leaves as it is and a terminal would obey. Outside of texts JSON has
/// nothing but ASCII.
pub struct Visible<'a>(pub &'a mut dyn Write);

impl Write for Visible<'_> {
    /// Whole characters, as the serialiser writes them.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) if text.contains(is_escaped) => self.0.write_all(visible(text).as_bytes())?,
            _ => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn is_escaped(c: char) -> bool {
    is_invisible(c) && c != '\n'
}

/// A piece of JSON whose texts hold nothing invisible.
fn visible(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        match is_escaped(c) {
            true => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| shown.push_str(&format!("\\u{unit:04x}")))
            }
            false => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn nothing_invisible_is_written_and_everything_is_read_again() {
        let value = json!({"\u{9b}31m": ["\u{1b}]0;x\u{7}\u{7f}\u{85}\u{202e}\u{feff}\u{e0001}\n", "ü 日本 \u{1f600}"]});
        let mut written = Vec::new();
        serde_json::to_writer_pretty(Visible(&mut written), &value).unwrap();
        let text = String::from_utf8(written).unwrap();
        assert!(!text.contains(is_escaped) && text.contains("日本"), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
