//! The documents that claims compare with, and saved runs that tell how much runs of one build differ.

use std::collections::BTreeMap;

use ipcost_model::Document;

use crate::FeatureError;
use crate::compare::{DEFAULT_SPREAD, PastRuns};

/// What claims about a baseline compare with.
#[derive(Debug, Clone)]
pub struct Baselines {
    /// The documents that claims name, by those names.
    pub documents: BTreeMap<String, Document>,
    /// Saved runs of the same job on the same host, none of which is among the documents.
    pub past: PastRuns,
    /// How much runs of one build differ where too few tell it: the standard deviation, relative.
    pub assumed_spread: f64,
}

impl Default for Baselines {
    fn default() -> Self {
        Self { documents: BTreeMap::new(), past: PastRuns::default(), assumed_spread: DEFAULT_SPREAD }
    }
}

impl Baselines {
    /// Some of the documents.
    pub(super) fn named<'a>(
        &'a self,
        names: &'a [String],
    ) -> Result<Vec<(&'a str, &'a Document)>, FeatureError> {
        let mut found: Vec<(&str, &Document)> = Vec::new();
        for name in names {
            let document =
                self.documents.get(name).ok_or_else(|| FeatureError::BaselineUnread(name.clone()))?;
            let twin = found
                .iter()
                .find(|(_, other)| (&other.started, other.seed) == (&document.started, document.seed));
            if let Some((other, _)) = twin {
                return Err(FeatureError::SameRun { one: (*other).to_owned(), other: name.clone() });
            }
            found.push((name, document));
        }
        Ok(found)
    }
}
