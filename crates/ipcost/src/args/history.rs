//! What the commands for saved runs take.

use std::time::Duration;

use anyhow::{anyhow, ensure};
use clap::Args;
use ipcost_model::units::parse_duration;

use super::{OutputArgs, RecordFiles, TextFiles, TrendArgs, Waiting};
use crate::redact::Redacting;

#[derive(Debug, Args)]
#[command(
    mut_arg("json", |arg| {
        arg.help("Write the list, by default of all runs, or the trend as JSON; - or no FILE is standard output")
            .num_args(0..=1)
            .default_missing_value("-")
    }),
    mut_arg("html", |arg| arg.conflicts_with("otava")),
    mut_arg("csv", |arg| arg.conflicts_with("otava")),
    mut_arg("markdown", |arg| arg.conflicts_with("otava")),
    override_usage = "ipcost list [OPTIONS]\n       ipcost list [OPTIONS] --trend CELL [--against CELL]\n       ipcost list [OPTIONS] --otava FILE"
)]
pub struct ListArgs {
    /// List so many of the newest [default: 20, or what the terminal shows at once; with --trend or --otava all]
    #[arg(long, short = 'n', value_name = "N", allow_negative_numbers = true, conflicts_with = "all")]
    pub limit: Option<usize>,
    /// List all
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub texts: TextFiles,
    /// Name each file that cannot be read as a saved run
    #[arg(long, short)]
    pub verbose: bool,
    // What comes after these would stand under their heading.
    #[command(flatten)]
    pub trend: TrendArgs,
}

impl ListArgs {
    /// The files that were asked for.
    pub fn files(&self) -> RecordFiles {
        let TrendArgs { svg, png, .. } = &self.trend;
        RecordFiles { texts: self.texts.clone(), svg: svg.clone(), png: png.clone() }
    }
}

/// It goes on where it was killed: the same seed, random orders and operation counts, in what is left of its budget. The
/// machine and ipcost must be the same.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// A run that was killed, by its identifier or name; last is the newest
    #[arg(value_name = "RUN", default_value = "last")]
    pub run: String,
    #[command(flatten)]
    pub waiting: Waiting,
    #[command(flatten)]
    pub redacting: Redacting,
    /// Show neither progress nor warnings
    #[arg(long, short)]
    pub quiet: bool,
    // What comes after these would stand under their heading.
    #[command(flatten)]
    pub outputs: OutputArgs,
}

/// Runs go for which every criterion holds; those with a name stay, unless --named is given.
#[derive(Debug, Args)]
pub struct PruneArgs {
    /// Keep the newest N; runs that stay for their names are not counted
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub keep: Option<usize>,
    /// Only what was saved longer ago than this, such as 90d
    #[arg(long, value_name = "TIME", value_parser = parse_age)]
    pub older_than: Option<Duration>,
    /// Runs with a name, too
    #[arg(long)]
    pub named: bool,
    /// Saved runs that cannot be read, too: half-written, or of another version of the document
    #[arg(long)]
    pub damaged: bool,
    /// Say what would go, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// A duration with a unit: a bare number might be meant as days, and what was removed is gone.
fn parse_age(text: &str) -> anyhow::Result<Duration> {
    let lacks_unit = text.trim().parse::<f64>().is_ok();
    ensure!(!lacks_unit, "\"{text}\" lacks a unit; write it as {0}d or {0}h", text.trim());
    parse_duration(text).map_err(|_| anyhow!("\"{text}\" is not a duration; write it as 12h, 90d or 1y"))
}
