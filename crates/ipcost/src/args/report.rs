//! What `ipcost report` takes.

use std::path::PathBuf;

use clap::Args;
use ipcost_report::picture::{Background, Chart};

use super::TableArgs;
use crate::redact::Redacting;

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
    /// Write a picture as SVG; - is standard output
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write a picture as PNG; - is standard output
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
    /// What the picture shows: cost (each workload), size (cost against size of message), forest (ratios to the
    /// baseline), throughput (bits a second of streams) [default: cost]
    #[arg(long, value_name = "CHART")]
    pub chart: Option<Chart>,
    /// What lies behind the picture: white, transparent [default: white]
    #[arg(long, value_name = "KIND")]
    pub background: Option<Background>,
    /// Show no warnings
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub tables: TableArgs,
    #[command(flatten)]
    pub redacting: Redacting,
}
