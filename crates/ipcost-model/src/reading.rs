//! From bytes to a document that the rest of the program can rely on.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::consistency;
use crate::document::{Document, SCHEMA};
use crate::json_scan::JsonScan;
use crate::text::shortened;

/// The largest document that is read, bytes: a thousand times a usual one.
pub const MAX_DOCUMENT_BYTES: u64 = 1 << 28;

/// The most characters of an error.
const LONGEST_ERROR: usize = 300;

/// Why something is not a document that can be shown.
#[derive(Debug, Error)]
pub enum ReadError {
    /// More bytes than [`MAX_DOCUMENT_BYTES`].
    #[error("{bytes} bytes are too many for a document; at most {MAX_DOCUMENT_BYTES} are read")]
    TooLarge {
        /// The size of the input, bytes.
        bytes: u64,
    },
    /// More values than any run writes.
    #[error("a document with more than {most} values in its {key:?}; no run writes so many")]
    TooMany { key: &'static str, most: u64 },
    /// Not JSON, or truncated.
    #[error("not a whole JSON document: {0}")]
    NotJson(String),
    /// Another kind of JSON.
    #[error("JSON, but not an ipcost document: it has no \"schema\" of the kind \"{SCHEMA}\"")]
    Foreign,
    /// A document of another version.
    #[error("the document's schema is {schema:?}, and this program reads {SCHEMA:?}; {advice}")]
    OtherSchema { schema: String, advice: &'static str },
    /// Missing keys, or values of the wrong kind.
    #[error("a document of {SCHEMA:?} that does not match its schema: {0}")]
    Shape(String),
    /// A time of more than a century, or numbers whose sums or products overflow.
    #[error("a number that cannot be used: {0}")]
    Number(String),
    /// Parts that contradict one another.
    #[error("a document of {SCHEMA:?} that contradicts itself: {0}")]
    Inconsistent(String),
}

/// Reads a document, and checks what every rendering relies on: indices and ids exist, numbers are finite, costs are
/// positive, intervals contain their medians.
pub fn read_document(bytes: &[u8]) -> Result<Document, ReadError> {
    let census = census(bytes)?;
    check_schema(census.schema.as_deref())?;
    let document = bounded(bytes, &census, true)?;
    check_document(&document)?;
    Ok(document)
}

/// Reads the documents of a file: one, or the list of them that a command writes which measures several experiments.
pub fn read_documents(bytes: &[u8]) -> Result<Vec<Document>, ReadError> {
    if !bytes.trim_ascii_start().starts_with(b"[") {
        return Ok(vec![read_document(bytes)?]);
    }
    #[derive(Deserialize)]
    struct ObjectEntry {
        schema: String,
    }
    let census = census(bytes)?;
    let entries: Vec<ObjectEntry> = serde_json::from_slice(bytes).map_err(|_| ReadError::Foreign)?;
    if entries.is_empty() {
        return Err(ReadError::Foreign);
    }
    entries.iter().try_for_each(|entry| check_schema(Some(&entry.schema)))?;
    let documents: Vec<Document> = bounded(bytes, &census, true)?;
    documents.iter().try_for_each(check_document)?;
    Ok(documents)
}

/// Whether it is a document, and of this version.
fn check_schema(schema: Option<&str>) -> Result<(), ReadError> {
    match schema {
        Some(SCHEMA) => Ok(()),
        Some(other) if other.starts_with("ipcost/") => Err(other_schema(other)),
        _ => Err(ReadError::Foreign),
    }
}

/// Reads any record, or a list of them: everything that is read from JSON passes here. It takes no more memory than its size allows, its
/// times are within a century, and sums and products of its numbers do not overflow.
pub fn read_record<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ReadError> {
    bounded(bytes, &census(bytes)?, false)
}

/// [`read_record`] of one with measurements, which may be many, since they are read as such and not as general values.
pub(crate) fn read_measured<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ReadError> {
    bounded(bytes, &census(bytes)?, true)
}

/// Looks through a record without storing it.
fn census(bytes: &[u8]) -> Result<JsonScan, ReadError> {
    if bytes.len() as u64 > MAX_DOCUMENT_BYTES {
        return Err(ReadError::TooLarge { bytes: bytes.len() as u64 });
    }
    serde_json::from_slice(bytes).map_err(|error| ReadError::NotJson(error_text(error)))
}

fn bounded<T: DeserializeOwned>(
    bytes: &[u8],
    census: &JsonScan,
    lists_are_typed: bool,
) -> Result<T, ReadError> {
    if let Some((key, most)) = census.excess(lists_are_typed) {
        return Err(ReadError::TooMany { key, most });
    }
    let record = serde_json::from_slice(bytes).map_err(|error| ReadError::Shape(error_text(error)))?;
    match census.flaw() {
        Some(flaw) => Err(ReadError::Number(error_text(flaw))),
        None => Ok(record),
    }
}

/// Whether the parts of a document fit together, regardless of its source.
pub fn check_document(document: &Document) -> Result<(), ReadError> {
    consistency::check(document).map_err(|flaw| ReadError::Inconsistent(error_text(flaw)))
}

/// The error in one line: it may quote the document, which may hold anything.
fn error_text(error: impl ToString) -> String {
    shortened(&error.to_string(), LONGEST_ERROR)
}

fn other_schema(schema: &str) -> ReadError {
    let version = |text: &str| text.split_once('/').and_then(|(_, number)| number.parse::<u32>().ok());
    let advice = match (version(schema), version(SCHEMA)) {
        (Some(theirs), Some(ours)) if theirs < ours => "it is older; read it with the version that wrote it",
        _ => "it is newer; take a newer ipcost",
    };
    ReadError::OtherSchema { schema: schema.chars().take(40).collect(), advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        read_document(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_document_is_told_in_one_line() {
        let deep = "[".repeat(100_000);
        for (text, says) in [
            ("", "not a whole JSON document"),
            ("{\"schema\": \"ipcost/1\"", "not a whole JSON document"),
            (deep.as_str(), "not a whole JSON document"),
            ("{\"schema\": NaN}", "not a whole JSON document"),
            ("[1]", "not an ipcost document"),
            ("{}", "not an ipcost document"),
            ("{\"schema\": 3}", "not an ipcost document"),
            ("{\"schema\": \"other/1\"}", "not an ipcost document"),
            ("{\"schema\": \"ipcost/0\"}", "it is older"),
            ("{\"schema\": \"ipcost/2\"}", "it is newer"),
            ("{\"schema\": \"ipcost/1\"}", "missing field"),
        ] {
            let error = error(text);
            assert!(error.contains(says) && !error.contains('\n'), "{text:.40}: {error}");
        }
    }

    #[test]
    fn a_list_of_something_else_is_told_as_one_of_it_is() {
        for (text, says) in [
            ("[", "not a whole JSON document"),
            ("[]", "not an ipcost document"),
            ("[1]", "not an ipcost document"),
            ("[null]", "not an ipcost document"),
            ("[{\"schema\": 3}]", "not an ipcost document"),
            ("[{\"schema\": \"ipcost-replication/1\"}]", "not an ipcost document"),
            ("[{\"schema\": \"ipcost/0\"}]", "it is older"),
            ("[{\"schema\": \"ipcost/1\"}]", "missing field"),
        ] {
            let error = read_documents(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(says) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
