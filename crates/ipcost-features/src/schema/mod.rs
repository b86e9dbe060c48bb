//! JSON Schemas (draft 2020-12) of what this program writes.
//!
//! They are derived from the types that write it (feature `schema`), which takes far longer to compile than the types
//! themselves. So the texts are kept under `schemas/`, and a test derives them again.

#[cfg(feature = "schema")]
mod derived;

#[cfg(feature = "schema")]
pub use derived::derive as derived_schema;

use ipcost_model::named;

use crate::texts;

named! {
    /// What there is a schema of.
    Subject, "kind of schema" {
        /// The document of a run.
        Document = "document",
        /// What `ipcost selftest --json` writes.
        SelfTest = "selftest",
        /// The answer of a document of `ipcost replicate`.
        Replication = "replication",
        /// What `ipcost fleet --json` writes.
        Fleet = "fleet",
        /// What `ipcost compare --json` writes.
        Comparison = "comparison",
        /// What `ipcost list --trend CELL --json` writes.
        Trend = "trend",
        /// One message of the control protocol, from either side.
        Protocol = "protocol",
    }
}

/// The schema of what is written, as JSON: a key that every program of this version of it writes is required, and further
/// keys are allowed.
pub fn schema(subject: Subject) -> &'static str {
    texts::text(&format!("schemas/{subject}.json"))
}

#[cfg(test)]
mod tests {
    use ipcost_model::read_document;
    use ipcost_report::fixture;

    use super::*;

    #[test]
    fn what_is_written_is_as_the_schema_says_and_reads_back() {
        let schema = serde_json::from_str(schema(Subject::Document)).unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        for document in [fixture::document(), fixture::measured()] {
            let mut bytes = Vec::new();
            ipcost_report::json::write(&document, &mut bytes).unwrap();
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
