//! What to type to run it again.

use ipcost_model::{Document, escaped};

/// The document's job as a job file, with its seed; where it cannot be one, as JSON.
pub fn job(document: &Document) -> (&'static str, String) {
    let (kind, text) = match toml::to_string(&document.job) {
        Ok(text) => ("toml", text),
        // A job file's numbers end at 2⁶³.
        Err(_) => ("json", serde_json::to_string(&document.job).unwrap_or_default()),
    };
    (kind, text.lines().map(|line| escaped(line) + "\n").collect())
}
