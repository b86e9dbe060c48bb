//! What `ipcost doctor` takes.

use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use ipcost_model::units::parse_duration;

use super::{TextFiles, Waiting};
use crate::redact::Redacting;

/// Looks at processors, neighbours, limits, network, permissions and tools. It changes nothing, except to undo what
/// a killed run of ab left changed; with --look-only it only shows that. Commands that it shows are for you to judge, and mostly for
/// root to run.
#[derive(Debug, Args)]
#[command(after_long_help = "Exit status: 0 checks completed, 1 something failed, 2 wrong usage.")]
pub struct DoctorArgs {
    /// Show everything, including passed and unknown checks
    #[arg(long, short)]
    pub all: bool,
    /// How long to watch other processes; then steal time and quotas for as long
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = parse_window)]
    pub window: Duration,
    /// Only look: do not measure what another congestion control than cubic changes for streams
    #[arg(long)]
    pub look_only: bool,
    /// Show neither progress nor warnings
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub files: TextFiles,
    #[command(flatten)]
    pub waiting: Waiting,
    #[command(flatten)]
    pub redacting: Redacting,
}

/// From the least in which the kernel's clock ticks say anything to what someone would wait for.
fn parse_window(text: &str) -> anyhow::Result<Duration> {
    const LEAST: Duration = Duration::from_millis(100);
    const MOST: Duration = Duration::from_secs(60);
    let window = parse_duration(text)?;
    ensure!(window >= LEAST, "too short to see anything; give 100ms or more");
    ensure!(window <= MOST, "too long; give 1min or less");
    Ok(window)
}
