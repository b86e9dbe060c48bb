//! The absence of Parquet, which is a feature of the build.

use std::path::Path;

use anyhow::anyhow;
use ipcost_model::Document;

use crate::exit::Problem;

/// There is none.
pub enum Dataset {}

impl Dataset {
    /// Fails.
    ///
    /// # Errors
    /// Always: how to build the program with it.
    pub fn create(_dir: &Path) -> Result<Self, Problem> {
        Err(Problem::usage(anyhow!(
            "this build cannot write Parquet; in a clone of the repository, cargo install --locked --path crates/ipcost --features parquet makes one that can"
        )))
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn add(&mut self, _document: &Document) -> anyhow::Result<()> {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn finish(self) -> anyhow::Result<()> {
        match self {}
    }
}
