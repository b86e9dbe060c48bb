//! What `ipcost report` takes.

use clap::Args;

use super::{ManyArgs, OutputArgs};
use crate::redact::Redacting;

/// Without a flag for an output, the document is shown on the terminal as its run was.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A document, - for standard input, or a saved run: its identifier, its name, or last; with --parquet or --otava several,
    /// or directories of documents
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Show neither progress nor warnings
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub redacting: Redacting,
    // What comes after these would stand under their heading.
    #[command(flatten)]
    pub outputs: OutputArgs,
    #[command(flatten)]
    pub many: ManyArgs,
}
