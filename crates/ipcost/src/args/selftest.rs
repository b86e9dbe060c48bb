//! What `ipcost selftest` takes.

use std::time::Duration;

use clap::Args;
use ipcost_features::selftest::Noise;
use ipcost_model::units::parse_duration;

use super::{TextFiles, Waiting};
use crate::redact::Redacting;

#[derive(Debug, Default, Args)]
#[command(
    after_long_help = "Exit status: 0 every rate is as promised, 1 a rate is worse than promised or something failed, 2 wrong usage, 3 too few campaigns to tell, 130 interrupted (what was measured is shown)."
)]
pub struct SelfTestArgs {
    /// How long it may take [default: 3min]
    #[arg(long, alias = "duration", value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// Disturb the machine meanwhile: cpu (other processes take the processors in bursts), quota (a CPU quota of half a processor), none [default: none]
    #[arg(long, value_name = "KIND")]
    pub noise: Option<Noise>,
    /// The seed of every random order [default: a fresh one, shown with the result]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub files: TextFiles,
    /// Show neither progress nor warnings
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub waiting: Waiting,
    #[command(flatten)]
    pub redacting: Redacting,
}
