//! What `ipcost check` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ipcost_model::units::{parse_duration, parse_proportion};

use super::Common;

#[derive(Debug, Default, Args)]
#[command(
    after_long_help = "Exit status: 0 every claim holds, 1 one fails, or something went wrong, 2 wrong usage (nothing was measured), 3 one stays undecided and none fails, 130 interrupted (what was measured is shown)."
)]
pub struct CheckArgs {
    /// A file of claims (TOML): a job, and what is claimed of its cells
    #[arg(value_name = "CLAIMS.toml", required_unless_present = "init", conflicts_with = "init")]
    pub file: Option<PathBuf>,
    /// Print a file of claims to start from
    #[arg(long)]
    pub init: bool,
    /// List the claims and measure nothing
    #[arg(long, conflicts_with_all = ["plan", "record"])]
    pub list: bool,
    /// Show what would run and measure nothing
    #[arg(long, conflicts_with = "record")]
    pub plan: bool,
    /// Only record a baseline: measure the cells for the whole budget, write the document, and decide no claim
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "junit", "github"])]
    pub record: Option<PathBuf>,
    /// Compare with these documents, instead of those that claims name as their baseline; several are runs of one build and tell how
    /// much its runs differ
    #[arg(long, alias = "baseline", value_name = "DOCUMENT", num_args = 1.., conflicts_with_all = ["record", "fleet"])]
    pub before: Vec<String>,
    /// How much runs of one build differ here (standard deviation), where fewer than three baselines tell it; without this, from
    /// saved runs of the same claims on this host, or 5%
    #[arg(long, value_name = "PERCENT", value_parser = parse_proportion, conflicts_with_all = ["record", "fleet"])]
    pub run_to_run: Option<f64>,
    /// Measure nothing; decide the claims from the newest document of each host: files, saved runs, or directories of documents
    #[arg(
        long,
        value_name = "DOCUMENT",
        num_args = 1..,
        conflicts_with_all = ["list", "plan", "record", "init", "budget", "seed"]
    )]
    pub fleet: Vec<String>,
    /// How long it may take; it ends earlier once every claim is decided [default: the file's, or 30s]
    #[arg(long, alias = "duration", value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// The seed of every random order [default: the file's, or a fresh one]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write the claims as JUnit XML, a test case each; - is standard output
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Annotate the file's lines on GitHub, and add the claims to the step's summary [default: if GITHUB_ACTIONS is true]
    #[arg(long, overrides_with = "no_github")]
    pub github: bool,
    /// Never annotate
    #[arg(long, overrides_with = "github")]
    pub no_github: bool,
    /// Start the commands that the file names without asking
    #[arg(long, short)]
    pub yes: bool,
    // What comes after these would stand under their headings.
    #[command(flatten)]
    pub common: Common,
}
