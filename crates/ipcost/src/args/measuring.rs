//! What every command takes that measures a job.

use std::time::Duration;

use clap::Args;
use ipcost_model::Job;
use ipcost_model::units::{parse_duration, parse_proportion};

/// How long, how exactly, and from which seed. Commands that end otherwise, or have another budget, say so in its help.
#[derive(Debug, Default, Clone, Args)]
pub struct MeasuringArgs {
    /// How long it may take; it ends earlier once every question is answered
    #[arg(long, alias = "duration", value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// The relative difference that matters [default: 5%]
    #[arg(long, value_name = "PERCENT", value_parser = parse_proportion)]
    pub margin: Option<f64>,
    /// Run exactly this many epochs, whatever the budget
    #[arg(long, value_name = "N")]
    pub epochs: Option<u32>,
    /// The seed of every random order [default: a fresh one, shown with the result]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

impl MeasuringArgs {
    /// A job with these settings instead of its own, as far as they are given.
    pub fn over(&self, job: Job) -> Job {
        Job {
            budget: self.budget.or(job.budget),
            margin: self.margin.or(job.margin),
            epochs: self.epochs.or(job.epochs),
            seed: self.seed.or(job.seed),
            ..job
        }
    }
}
