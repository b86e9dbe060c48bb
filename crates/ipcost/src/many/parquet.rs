//! Documents as Parquet files in a directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ipcost_model::Document;
use ipcost_report::dataset::{self, FILES};
use ipcost_sys::file_writer::NewFile;

use crate::exit::Problem;

/// Three files that get their names once they are complete.
pub struct Dataset {
    dir: PathBuf,
    files: [NewFile; FILES.len()],
    written: dataset::Dataset<File>,
}

impl Dataset {
    /// An empty one in a directory, which is made if it is missing.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(dir: &Path) -> Result<Self, Problem> {
        Self::created(dir).with_context(|| format!("cannot write {}", dir.display())).map_err(Problem::failed)
    }

    fn created(dir: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(dir)?;
        let create = || NewFile::public_in(dir);
        let files = [create()?, create()?, create()?];
        let open = |file: &NewFile| file.file().try_clone();
        let written = dataset::Dataset::new([open(&files[0])?, open(&files[1])?, open(&files[2])?])?;
        Ok(Self { dir: dir.to_owned(), files, written })
    }

    /// Adds a document.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, document: &Document) -> anyhow::Result<()> {
        self.written.add(document).with_context(|| self.dir.display().to_string())
    }

    /// Completes the files.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish(self) -> anyhow::Result<()> {
        let Self { dir, files, written } = self;
        written.finish().with_context(|| dir.display().to_string())?;
        for (file, name) in files.into_iter().zip(FILES) {
            let named = file.replace(name.as_ref());
            named.with_context(|| format!("cannot write {}", dir.join(name).display()))?;
        }
        Ok(())
    }
}
