//! What `ipcost fleet` takes.

use clap::Args;
use ipcost_model::Metric;

use super::RecordFiles;
use crate::redact::Redacting;

#[derive(Debug, Args)]
#[command(
    after_long_help = "A host is a name and a machine id; of several documents of one host the newest counts. Runs of other jobs than most, and files that are no documents, are named and not counted.\n\nExit status: 0 done, 1 something failed, 2 wrong usage, or nothing that counts."
)]
pub struct FleetArgs {
    /// Documents of runs, checks and replications, or directories of them; saved runs by identifier or name
    #[arg(value_name = "DOCUMENT", required = true)]
    pub documents: Vec<String>,
    /// What is compared: wall, cpu
    #[arg(long, value_name = "METRIC", default_value = "wall")]
    pub metric: Metric,
    /// Show every host, every sentence and every file that is not counted
    #[arg(long)]
    pub details: bool,
    /// With --svg and --png: draw one contrast host by host instead of the overview; A and B are labels or ids of two cells
    #[arg(long, value_name = "A/B")]
    pub contrast: Option<String>,
    #[command(flatten)]
    pub files: RecordFiles,
    /// Show neither progress nor warnings
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub redacting: Redacting,
}
