//! What `ipcost report` takes.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;
use crate::redact::Redacting;

/// Without a flag for an output, the document is shown on the terminal as its run was.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A document, - for standard input, or a saved run: its identifier, its name, or last; with --otava several, or
    /// directories of documents
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
    /// Write costs for Apache Otava, one row a run, one column a cell; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Table of one or many RUNs")]
    pub otava: Option<PathBuf>,
}
