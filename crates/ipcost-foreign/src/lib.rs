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

use ipcost_sys::programs::INSTALL;

pub use cache::Cache;
pub use manifest::Manifest;
pub use table::{BuiltIn, all, find, states};

/// Why a peer cannot be used on this machine, and the fix; one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}{}", package.as_ref().map_or_else(String::new, |package| format!("; {INSTALL} {package}")))]
pub struct Unavailable {
    /// What is missing or wrong, with the fix if no package is one.
    pub reason: String,
    /// The Debian packages that bring what is missing.
    pub package: Option<String>,
}

impl From<String> for Unavailable {
    fn from(reason: String) -> Self {
        Self { reason, package: None }
    }
}
