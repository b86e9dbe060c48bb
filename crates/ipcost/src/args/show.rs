//! What `ipcost show` takes.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;
use super::output::of_documents;
use crate::redact::Redacting;

/// RUN is a document, - for standard input, an identifier of a saved run or an unmistakable beginning of it, a name that was given
/// with --name, or last; last~2 and NAME~2 are two runs before those. Without a flag for an output, the run is shown on the terminal.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A saved run or a document; with --otava several, or directories of documents
    #[arg(value_name = "RUN", default_value = "last")]
    pub runs: Vec<String>,
    /// Show nothing but its warnings and notes, in full
    #[arg(long, conflicts_with_all = of_documents().chain(["details", "quiet", "json", "otava"]))]
    pub warnings: bool,
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
