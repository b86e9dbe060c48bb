//! Tables as outputs.

use std::path::{Path, PathBuf};

use clap::Args;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Tables (- is standard output)")]
pub struct TableArgs {
    /// Write comma-separated values, one row a cell
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// With --csv: one row a sample, that is, a timed batch
    #[arg(long, requires = "csv")]
    pub samples: bool,
    /// Write Markdown that fits a pull request
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write Go benchmark lines, for benchstat
    #[arg(long, value_name = "FILE")]
    pub benchfmt: Option<PathBuf>,
}

impl TableArgs {
    /// The files that were asked for.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.csv, &self.markdown, &self.benchfmt].into_iter().flatten().map(PathBuf::as_path)
    }
}
