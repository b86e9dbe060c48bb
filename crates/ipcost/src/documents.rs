//! Finding documents that users name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::Context;
use ipcost_model::{Document, MAX_DOCUMENT_BYTES, read_document};

/// The document that a user means: a file, or `-` for standard input.
///
/// # Errors
/// Where there is none, or it cannot be read.
pub fn load(name: &str) -> anyhow::Result<Document> {
    let bytes = match name {
        "-" => bounded(std::io::stdin().lock()).context("cannot read standard input")?,
        path => {
            let path = Path::new(path);
            let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
            bounded(file).with_context(|| format!("cannot read {}", path.display()))?
        }
    };
    read_document(&bytes).with_context(|| name.to_owned())
}

/// Everything, but not endlessly much: one byte beyond the limit is enough to refuse it.
fn bounded(from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
