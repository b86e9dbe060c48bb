//! What `ipcost sweep` takes.

use anyhow::Context;
use clap::{Args, Subcommand};
use ipcost_model::units::{parse_proportion, parse_size, parse_time_ns};
use ipcost_model::{ModelError, NATIVE, PAGE_BYTES, Pattern, Placement};

use super::as_typed::transport;
use super::{Common, MeasuringArgs, SearchArgs};

const BUDGET_OF_30_S: &str = "How long it may take; it ends earlier once every question is answered [default: 30s, or what the first intervals take]";
const BUDGET_OF_60_S: &str = "How long it may take; it ends earlier once every question is answered [default: 60s, or what the first intervals take]";

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
    /// Cost by offset of the receive buffer in its page
    Layout(LayoutSweepArgs),
    /// Cost of pauses between operations
    Pace(PaceSweepArgs),
    /// Find how slow a request must be before the transport stops mattering
    Work(WorkSweepArgs),
}

#[derive(Debug, Args)]
pub struct SizeSweepArgs {
    /// The two transports
    #[arg(long, alias = "transport", value_name = "A,B", value_delimiter = ',', num_args = 1, value_parser = transport, default_value = "unix,tcp")]
    pub transports: Vec<String>,
    /// What is done over them: rr, stream
    #[arg(long = "patterns", alias = "pattern", value_name = "PATTERN", default_value = "rr")]
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
    /// Where the two processes run: free, one-core, two-cores [default: two-cores; free where there is one core only]
    #[arg(long, value_name = "PLACEMENT")]
    pub placement: Option<Placement>,
    /// The peer that plays the client
    #[arg(long, value_name = "PEER", default_value = NATIVE)]
    pub client: String,
    /// The peer that plays the server
    #[arg(long, value_name = "PEER", default_value = NATIVE)]
    pub server: String,
    #[command(flatten)]
    pub search: SearchArgs,
}

/// What sweeps take that measure in one run.
#[derive(Debug, Args)]
pub struct OneRunArgs {
    #[command(flatten)]
    pub measuring: MeasuringArgs,
    // What comes after these would stand under their headings.
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
#[command(mut_arg("budget", |arg| arg.help(BUDGET_OF_30_S)))]
pub struct CoreSweepArgs {
    /// Transports to measure
    #[arg(long, alias = "transport", value_name = "LIST", value_delimiter = ',', value_parser = transport, default_value = "pipe,unix,tcp")]
    pub transports: Vec<String>,
    /// What is done over them: connect, rr, stream
    #[arg(long, alias = "pattern", value_name = "LIST", value_delimiter = ',', default_value = "rr")]
    pub patterns: Vec<Pattern>,
    /// Bytes of a message
    #[arg(long, alias = "size", value_name = "LIST", value_delimiter = ',', value_parser = parse_size, default_value = "64")]
    pub sizes: Vec<u64>,
    /// The peer that plays the client
    #[arg(long, value_name = "PEER", default_value = NATIVE)]
    pub client: String,
    /// The peer that plays the server
    #[arg(long, value_name = "PEER", default_value = NATIVE)]
    pub server: String,
    #[command(flatten)]
    pub run: OneRunArgs,
}

/// Transports, pattern and size of a sweep over one option. Commands with other patterns or defaults say so themselves.
#[derive(Debug, Args)]
pub struct SweptArgs {
    /// Transports to measure
    #[arg(long, alias = "transport", value_name = "LIST", value_delimiter = ',', value_parser = transport, default_value = "unix,tcp")]
    pub transports: Vec<String>,
    /// What is done over them: connect, rr, stream
    #[arg(long = "patterns", alias = "pattern", value_name = "PATTERN", default_value = "rr")]
    pub pattern: Pattern,
    /// Bytes of a message
    #[arg(long = "sizes", alias = "size", value_name = "SIZE", value_parser = parse_size, default_value = "64")]
    pub size: u64,
}

#[derive(Debug, Args)]
#[command(
    mut_arg("pattern", |arg| arg.default_value("stream")),
    mut_arg("size", |arg| arg.default_value("32769")),
    mut_arg("budget", |arg| arg.help(BUDGET_OF_60_S))
)]
pub struct LayoutSweepArgs {
    #[command(flatten)]
    pub swept: SweptArgs,
    /// Where send buffers begin, bytes after a page
    #[arg(long, value_name = "BYTES", value_parser = within_page, default_value = "16")]
    pub send_offset: u64,
    /// Where receive buffers begin, bytes after a page
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = within_page,
        default_value = "0,16,32,64,128,256,512,1024,2048,3072,3584,3840,4032,4064,4080"
    )]
    pub recv_offsets: Vec<u64>,
    /// Where the two processes run: free, one-core, two-cores [default: two-cores; free where there is one core only]
    #[arg(long, value_name = "PLACEMENT")]
    pub placement: Option<Placement>,
    /// The peer on both sides
    #[arg(long, value_name = "PEER", default_value = NATIVE)]
    pub peer: String,
    #[command(flatten)]
    pub run: OneRunArgs,
}

#[derive(Debug, Args)]
#[command(
    mut_arg("transports", |arg| arg.help("Transports to measure; the others are compared with the last")),
    mut_arg("budget", |arg| arg.help(BUDGET_OF_60_S))
)]
pub struct PaceSweepArgs {
    #[command(flatten)]
    pub swept: SweptArgs,
    /// How long a worker pauses before every operation
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = amount,
        default_value = "0,100us,1ms,10ms,100ms"
    )]
    pub think: Vec<u64>,
    /// Where the two processes run: free, one-core, two-cores [default: one-core,two-cores; free where there is one core only]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub placement: Vec<Placement>,
    /// The peer that plays the client
    #[arg(long, value_name = "PEER", default_value = NATIVE)]
    pub client: String,
    /// The peer that plays the server
    #[arg(long, value_name = "PEER", default_value = NATIVE)]
    pub server: String,
    #[command(flatten)]
    pub run: OneRunArgs,
}

#[derive(Debug, Args)]
#[command(
    mut_arg("transports", |arg| arg.value_name("A,B").help("The two transports")),
    mut_arg("pattern", |arg| arg.help("What is done over them: connect, rr")),
    mut_arg("budget", |arg| arg.help(BUDGET_OF_30_S))
)]
pub struct WorkSweepArgs {
    #[command(flatten)]
    pub swept: SweptArgs,
    /// How long the server computes before it answers
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = amount,
        default_value = "0,10us,30us,100us,300us,1ms"
    )]
    pub work: Vec<u64>,
    /// Where the two processes run: free, one-core, two-cores [default: two-cores; free where there is one core only]
    #[arg(long, value_name = "PLACEMENT")]
    pub placement: Option<Placement>,
    #[command(flatten)]
    pub run: OneRunArgs,
}

/// Whole nanoseconds, or none.
fn amount(text: &str) -> Result<u64, ModelError> {
    if text == "0" {
        return Ok(0);
    }
    parse_time_ns(text).map(|ns| ns.round() as u64)
}

fn within_page(text: &str) -> anyhow::Result<u64> {
    let bytes = text.parse().ok().filter(|bytes| *bytes < PAGE_BYTES);
    bytes.with_context(|| format!("a place within a page is a number from 0 to {}", PAGE_BYTES - 1))
}
