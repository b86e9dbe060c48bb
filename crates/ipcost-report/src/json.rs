//! The document as it is, and JSON of other forms.

use std::io::{self, Write};

use ipcost_model::Document;
use serde_json::Value;

/// Writes the document as one line of JSON.
///
/// # Errors
/// Where it cannot be written.
pub fn write(document: &Document, mut to: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut to, document)?;
    to.write_all(b"\n")
}

/// A value with line breaks.
pub(crate) fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
