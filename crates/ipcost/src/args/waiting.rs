//! Whether to wait for other runs.

use std::time::Duration;

use clap::Args;
use ipcost_model::units::parse_duration;

/// For every command that measures.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Waiting {
    /// Wait until no other ipcost measures on this machine, but no longer than this [without TIME: 1h]; without it, a warning names the other
    #[arg(long, value_name = "TIME", value_parser = parse_duration, num_args = 0..=1, require_equals = true, default_missing_value = "1h")]
    pub wait: Option<Duration>,
}
