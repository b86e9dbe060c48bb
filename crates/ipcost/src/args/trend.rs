//! What `ipcost list --trend` takes.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use ipcost_model::Metric;

#[derive(Debug, Args)]
#[command(
    next_help_heading = "Changes over time",
    group(ArgGroup::new("over-time").args(["trend", "otava"]))
)]
pub struct TrendArgs {
    /// Show what a cell cost in each saved run, and when that changed: its id, such as rr/unix/64/c1
    #[arg(long, value_name = "CELL")]
    pub trend: Option<String>,
    /// Divide by the cost of this cell in the same run, so that what affects whole runs cancels out
    #[arg(long, value_name = "CELL", requires = "trend")]
    pub against: Option<String>,
    /// What is followed: wall, cpu
    #[arg(long, value_name = "METRIC", default_value = "wall", requires = "trend")]
    pub metric: Metric,
    /// Follow the runs with the job, host and kind of build of this one [default: the newest release build with the cell]
    #[arg(long, value_name = "RUN", requires = "over-time")]
    pub like: Option<String>,
    /// Show every run, not only the latest and those around changes
    #[arg(long, requires = "trend")]
    pub details: bool,
    /// Draw the runs and their levels as SVG; - is standard output
    #[arg(long, value_name = "FILE", requires = "trend")]
    pub svg: Option<PathBuf>,
    /// The same as PNG
    #[arg(long, value_name = "FILE", requires = "trend")]
    pub png: Option<PathBuf>,
    /// Write what every cell cost in each of the runs that belong together, for Apache Otava: one row a run, one column a cell
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub otava: Option<PathBuf>,
    /// Write placeholders for the names of host and user and home directories
    #[arg(long, requires = "trend")]
    pub redact: bool,
}
