//! The document as it is.

use std::io::{self, Write};

use ipcost_model::Document;

/// Writes the document as one line of JSON.
///
/// # Errors
/// Where it cannot be written.
pub fn write(document: &Document, mut to: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut to, document)?;
    to.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use ipcost_model::{Subject, read_document, schema};

    #[test]
    fn what_is_written_is_as_the_schema_says_and_reads_back() {
        let schema = serde_json::from_str(schema(Subject::Document)).unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        for document in [fixture::document(), fixture::measured()] {
            let mut bytes = Vec::new();
            write(&document, &mut bytes).unwrap();
            let value = serde_json::from_slice(&bytes).unwrap();
            let errors: Vec<String> = validator
                .iter_errors(&value)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{errors:#?}");
            assert_eq!(read_document(&bytes).unwrap(), document);
        }
    }
}
