//! The peers in other languages that travel inside the binary, and the suite that every peer passes.
//!
//! A [`BuiltIn`] is an entry of one table: its sources under `peers/`, what it is written in, what it needs.
//! [`BuiltIn::prepare`] makes it ready on first use, in a [`Cache`] of the user's: the sources are written
//! down, compiled where there is something to compile, and checked byte by byte each time before they are run.
//! What the machine lacks makes a peer [`Unavailable`], and nothing else fails for it.
//!
//! [`conformance`] talks with any peer, built-in or not, as the engine does, and as a broken engine, a broken
//! client or a broken server would.

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

/// Why a peer cannot be used on this machine, and the way out; one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

impl From<String> for Unavailable {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}
