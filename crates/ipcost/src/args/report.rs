//! What `ipcost report` takes.

use std::path::PathBuf;

use clap::Args;

use super::TableArgs;

/// Without a flag for an output, the document is shown on the terminal as its run was.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A document; - is standard input
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Write the document, with every sample, as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show no warnings
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub tables: TableArgs,
}
