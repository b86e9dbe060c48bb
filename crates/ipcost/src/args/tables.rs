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
    /// Write Bencher Metric Format
    #[arg(long, value_name = "FILE")]
    pub bmf: Option<PathBuf>,
    /// Write benchmark results as the API of Conbench takes them
    #[arg(long, value_name = "FILE")]
    pub conbench: Option<PathBuf>,
    /// Write lines of key: value, for the parsers of LKP
    #[arg(long, value_name = "FILE")]
    pub lkp: Option<PathBuf>,
}

impl TableArgs {
    /// The files that were asked for.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let files = [&self.csv, &self.markdown, &self.benchfmt, &self.bmf, &self.conbench, &self.lkp];
        files.into_iter().flatten().map(PathBuf::as_path)
    }
}
