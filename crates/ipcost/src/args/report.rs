//! What `ipcost report` takes.

use std::path::PathBuf;

use clap::Args;

/// Without a flag for an output, the document is shown on the terminal as its run was.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A document, - for standard input, or a saved run: its identifier, its name, or last
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Write the document, with every sample, as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a page with verdicts, tables and charts, in one file that opens anywhere; - is standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Show no warnings
    #[arg(long, short)]
    pub quiet: bool,
}
