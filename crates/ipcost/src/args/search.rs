//! What commands take that look for something step by step.

use std::time::Duration;

use clap::Args;
use ipcost_model::units::{parse_duration, parse_proportion};

use super::Common;

#[derive(Debug, Args)]
pub struct SearchArgs {
    /// The relative difference that matters
    #[arg(long, value_name = "PERCENT", value_parser = parse_proportion, default_value = "5%")]
    pub margin: f64,
    /// How long it may take [default: 60s]
    #[arg(long, alias = "duration", value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// The seed of every random order [default: a fresh one, shown with the result]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    // What comes after these would stand under their headings.
    #[command(flatten)]
    pub common: Common,
}

impl SearchArgs {
    /// Without a budget of the user's.
    pub const BUDGET: Duration = Duration::from_secs(60);
}
