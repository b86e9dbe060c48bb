//! Parts of a document by their ids. A document may be a stranger's, with thousands of cells and as many references to each of them.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::cell_record::CellRecord;
use crate::contrast_record::ContrastRecord;
use crate::document::{Document, Metric};

/// The places of cells and contrasts, found when they are first asked for.
#[derive(Debug, Default)]
pub struct Lookup {
    cells: OnceLock<HashMap<String, usize>>,
    contrasts: OnceLock<HashMap<(Metric, String), usize>>,
}

impl Clone for Lookup {
    /// A copy may be changed: it finds places of its own.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Lookup {
    /// It follows from the rest of the document.
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Document {
    /// The place of a cell, by its id.
    pub fn cell_index(&self, id: &str) -> Option<usize> {
        let places = self.lookup.cells.get_or_init(|| {
            self.cells.iter().enumerate().map(|(index, cell)| (cell.id.clone(), index)).collect()
        });
        let known =
            places.get(id).copied().filter(|index| self.cells.get(*index).is_some_and(|cell| cell.id == id));
        // The cells have changed since.
        known.or_else(|| {
            (places.len() != self.cells.len())
                .then(|| self.cells.iter().position(|cell| cell.id == id))
                .flatten()
        })
    }

    pub fn cell(&self, id: &str) -> Option<&CellRecord> {
        self.cell_index(id).map(|index| &self.cells[index])
    }

    /// The contrast of a cell with what it is compared with.
    pub fn contrast(&self, metric: Metric, a: &str) -> Option<&ContrastRecord> {
        let places = self.lookup.contrasts.get_or_init(|| {
            // The first of several counts.
            let contrasts = self.contrasts.iter().enumerate().rev();
            contrasts.map(|(index, contrast)| ((contrast.metric, contrast.a.clone()), index)).collect()
        });
        let index = places.get(&(metric, a.to_owned()))?;
        self.contrasts.get(*index).filter(|contrast| contrast.metric == metric && contrast.a == a)
    }
}
