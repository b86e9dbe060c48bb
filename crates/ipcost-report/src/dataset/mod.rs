//! Many documents as three Parquet files: samples, cells, contrasts. Each row names its run, so that queries join them.

mod columns;
mod table;

use std::io::Write;

use ipcost_model::{CellRecord, ContrastRecord, Document, Sample};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use thiserror::Error;

use crate::run_id::run_id;
use columns::{CELLS, CONTRASTS, SAMPLES};
use table::Table;

/// The names of the files, in the order in which [`Dataset::new`] takes them.
pub const FILES: [&str; 3] = ["samples.parquet", "cells.parquet", "contrasts.parquet"];

/// Why a file could not be written.
#[derive(Debug, Error)]
#[error("cannot write Parquet: {0}")]
pub struct DatasetError(#[from] ParquetError);

/// What every row of a document needs of it.
struct Run<'a> {
    document: &'a Document,
    id: ByteArray,
    host: ByteArray,
    started_us: Option<i64>,
    /// Ids by index.
    cells: Vec<ByteArray>,
}

impl<'a> Run<'a> {
    fn of(document: &'a Document) -> Self {
        let started = humantime::parse_rfc3339(&document.started).ok();
        let since = started.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        Self {
            document,
            id: run_id(document).as_str().into(),
            host: document.host.name().into(),
            started_us: since.and_then(|since| i64::try_from(since.as_micros()).ok()),
            cells: document.cells.iter().map(|cell| cell.id.as_str().into()).collect(),
        }
    }
}

/// Three files that grow with every document. At most 131,072 rows of each are held.
pub struct Dataset<W: Write + Send> {
    samples: Table<Sample, W>,
    cells: Table<CellRecord, W>,
    contrasts: Table<ContrastRecord, W>,
}

impl<W: Write + Send> Dataset<W> {
    /// An empty one, into files in the order of [`FILES`].
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn new([samples, cells, contrasts]: [W; 3]) -> Result<Self, DatasetError> {
        Ok(Self {
            samples: Table::new(SAMPLES, samples)?,
            cells: Table::new(CELLS, cells)?,
            contrasts: Table::new(CONTRASTS, contrasts)?,
        })
    }

    /// Adds a document, and the further runs within it as runs of their own. Samples during which the machine was suspended
    /// count for nothing and are left out, as in CSV.
    ///
    /// # Errors
    /// If the files cannot be written.
    pub fn add(&mut self, document: &Document) -> Result<(), DatasetError> {
        let run = Run::of(document);
        for sample in document.samples.iter().filter(|sample| !sample.suspended) {
            self.samples.push(&run, sample)?;
        }
        for cell in &document.cells {
            self.cells.push(&run, cell)?;
        }
        for contrast in &document.contrasts {
            self.contrasts.push(&run, contrast)?;
        }
        document.runs.iter().try_for_each(|run| self.add(run))
    }

    /// Writes what is left, and the files' ends.
    ///
    /// # Errors
    /// If the files cannot be written.
    pub fn finish(self) -> Result<(), DatasetError> {
        self.samples.finish()?;
        self.cells.finish()?;
        Ok(self.contrasts.finish()?)
    }
}

/// The columns of each file: names and types.
pub fn schema() -> [Vec<(&'static str, &'static str)>; 3] {
    [table::names(SAMPLES), table::names(CELLS), table::names(CONTRASTS)]
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;
    use crate::fixture;

    fn written(documents: &[Document]) -> [SerializedFileReader<std::fs::File>; 3] {
        let dir = tempfile::tempdir().unwrap();
        let create = |name: &str| std::fs::File::create(dir.path().join(name)).unwrap();
        let mut dataset = Dataset::new(FILES.map(create)).unwrap();
        documents.iter().for_each(|document| dataset.add(document).unwrap());
        dataset.finish().unwrap();
        FILES.map(|name| {
            SerializedFileReader::new(std::fs::File::open(dir.path().join(name)).unwrap()).unwrap()
        })
    }

    #[test]
    fn a_row_a_record_of_every_document() {
        let first = fixture::measured();
        let mut second = Document { seed: 8, ..first.clone() };
        second.samples[0].suspended = true;
        let whole = Document { runs: vec![second.clone()], ..first.clone() };
        let rows = written(&[whole]).map(|file| file.metadata().file_metadata().num_rows() as usize);
        let of = |count: fn(&Document) -> usize| count(&first) + count(&second);
        assert_eq!(
            rows,
            [
                of(|document| document.samples.len()) - 1,
                of(|document| document.cells.len()),
                of(|document| document.contrasts.len())
            ]
        );
    }

    #[test]
    fn the_schema_is_stable() {
        let lines = |columns: &Vec<(&str, &str)>| -> String {
            columns.iter().map(|(name, kind)| format!("{name} {kind}\n")).collect()
        };
        insta::assert_snapshot!(schema().each_ref().map(lines).join("\n"));
    }

    #[test]
    fn no_documents_make_empty_files() {
        assert!(written(&[]).iter().all(|file| file.metadata().file_metadata().num_rows() == 0));
    }
}
