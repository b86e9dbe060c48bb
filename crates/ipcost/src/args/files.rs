//! Where a record that is not a document of its own goes.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Args;

use super::{OutputArgs, TableArgs};

#[derive(Debug, Default, Args)]
pub struct RecordFiles {
    #[command(flatten)]
    pub texts: TextFiles,
    /// Draw the result as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// The same as PNG
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
}

/// Those of a record that has no picture.
#[derive(Debug, Clone, Default, Args)]
pub struct TextFiles {
    /// Write the result as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a page that loads nothing
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write comma-separated values
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write Markdown, fit for a pull request
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
}

impl RecordFiles {
    /// Texts alone.
    pub fn without_pictures(texts: &TextFiles) -> Self {
        Self { texts: texts.clone(), ..Self::default() }
    }

    /// Those of a document that a record has, too.
    ///
    /// # Errors
    /// If others were asked for.
    pub fn of(outputs: &OutputArgs) -> anyhow::Result<Self> {
        let OutputArgs { json, html, svg, png, tables, .. } = outputs;
        let TableArgs { csv, markdown, benchfmt, .. } = tables;
        ensure!(
            benchfmt.is_none(),
            "nothing was measured by this command, and --benchfmt is about cells that were; leave it out"
        );
        let [json, html, csv, markdown, svg, png] = [json, html, csv, markdown, svg, png].map(Clone::clone);
        Ok(Self { texts: TextFiles { json, html, csv, markdown }, svg, png })
    }

    /// The files that were asked for.
    pub fn all(&self) -> impl Iterator<Item = &Path> {
        let TextFiles { json, html, csv, markdown } = &self.texts;
        let files = [json, html, csv, markdown, &self.svg, &self.png];
        files.into_iter().flatten().map(PathBuf::as_path)
    }

    /// Whether a picture is among them.
    pub fn draws(&self) -> bool {
        self.svg.is_some() || self.png.is_some()
    }
}
