//! JSON Schemas (draft 2020-12) of what this program writes.
//!
//! They are derived from the types that write it (feature `schema`), which takes far longer to compile than the types
//! themselves. So the texts are kept under `schemas/`, and a test derives them anew.

#[cfg(feature = "schema")]
mod derived;

#[cfg(feature = "schema")]
pub use derived::derive as derived_schema;

use crate::named::named;

named! {
    /// What there is a schema of.
    Subject, "kind of schema" {
        /// The document of a run.
        Document = "document",
        /// What `ipcost selftest --json` writes.
        SelfTest = "selftest",
        /// What `ipcost replicate --json` writes.
        Replication = "replication",
        /// One message of the control protocol, from either side.
        Protocol = "protocol",
    }
}

/// The schema of what is written, as JSON: a key that every program of this version of it writes is required, and further
/// keys are allowed.
pub fn schema(subject: Subject) -> &'static str {
    match subject {
        Subject::Document => include_str!("../schemas/document.json"),
        Subject::SelfTest => include_str!("../schemas/selftest.json"),
        Subject::Replication => include_str!("../schemas/replication.json"),
        Subject::Protocol => include_str!("../schemas/protocol.json"),
    }
}
