//! The peers in other languages that are bundled in the binary, and the suite that every peer passes.
//!
//! A [`BuiltIn`] is an entry of one table: its sources under `peers/`, its language, and what it needs.
//! [`BuiltIn::prepare`] makes it ready on first use, in the user's [`Cache`]: it writes the sources, compiles them if
//! needed, and checks them byte by byte before every run. A missing tool makes a peer [`Unavailable`], and affects
//! nothing else.
//!
//! [`conformance`] talks to any peer, built-in or not, as the engine does, and as a broken engine, client or server
//! would.

mod cache;
pub mod conformance;
mod manifest;
mod prepare;
mod sources;
mod table;
mod tools;

pub use cache::Cache;
pub use manifest::Manifest;
pub use table::{BuiltIn, all, find, states};

/// Why a peer cannot be used on this machine, and the fix; one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

impl From<String> for Unavailable {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}
