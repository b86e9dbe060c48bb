//! What `ipcost sweep` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use ipcost_model::units::{parse_duration, parse_proportion, parse_size};
use ipcost_model::{NATIVE, Pattern, Placement};

use crate::redact::Redacting;

#[derive(Debug, Args)]
pub struct SweepArgs {
    #[command(subcommand)]
    pub over: SweepOver,
}

#[derive(Debug, Subcommand)]
pub enum SweepOver {
    /// Find the size at which one transport overtakes another
    Size(SizeSweepArgs),
    /// Measure a pair of processes over every relation that two processors have here: one and the same, threads of a
    /// core, a shared cache, another package
    Cores(CoreSweepArgs),
}

#[derive(Debug, Args)]
pub struct SizeSweepArgs {
    /// The two transports
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1, default_value = "unix,tcp")]
    pub transports: Vec<String>,
    /// What is done over them: rr, stream
    #[arg(long, value_name = "PATTERN", default_value = "rr")]
    pub pattern: Pattern,
    /// The smallest size
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "64")]
    pub from: u64,
    /// The largest size
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1MiB")]
    pub to: u64,
    /// How close the ends of a crossing's range are to come
    #[arg(long, value_name = "PERCENT", value_parser = parse_proportion, default_value = "20%")]
    pub resolution: f64,
    /// Where the two processes run: free, together, apart
    #[arg(long, value_name = "PLACEMENT", default_value = "free")]
    pub placement: Placement,
    /// The peer that plays the client
    #[arg(long, value_name = "PEER", default_value = NATIVE)]
    pub client: String,
    /// The peer that plays the server
    #[arg(long, value_name = "PEER", default_value = NATIVE)]
    pub server: String,
    /// The relative difference that matters
    #[arg(long, value_name = "PERCENT", value_parser = parse_proportion, default_value = "5%")]
    pub margin: f64,
    /// How long it may take
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "60s")]
    pub budget: Duration,
    /// The seed of every random order [default: a fresh one, shown with the result]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write the result as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub redacting: Redacting,
}

#[derive(Debug, Args)]
pub struct CoreSweepArgs {
    /// Transports to measure
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "pipe,unix,tcp")]
    pub transports: Vec<String>,
    /// What is done over them: connect, rr, stream
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "rr")]
    pub patterns: Vec<Pattern>,
    /// Bytes of a message
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_size, default_value = "64")]
    pub sizes: Vec<u64>,
    /// The peer that plays the client
    #[arg(long, value_name = "PEER", default_value = NATIVE)]
    pub client: String,
    /// The peer that plays the server
    #[arg(long, value_name = "PEER", default_value = NATIVE)]
    pub server: String,
    /// How long it may take
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "30s")]
    pub budget: Duration,
    /// Run exactly this many epochs, whatever the budget
    #[arg(long, value_name = "N")]
    pub epochs: Option<u32>,
    /// The seed of every random order [default: a fresh one, shown with the result]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write the document, with every sample, as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show neither progress nor warnings
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub redacting: Redacting,
}
