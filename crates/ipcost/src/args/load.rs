//! What `ipcost load` takes.

use clap::Args;
use ipcost_model::ModelError;
use ipcost_model::units::{parse_proportion, parse_size, parse_time_ns};
use ipcost_model::{NATIVE, Pattern, Placement};

use super::as_typed::transport;
use super::{SearchArgs, ServerArgs};

#[derive(Debug, Args)]
#[command(mut_arg("budget", |arg| arg.help("How long it may take [default: 60s; 100s for a server]")))]
pub struct LoadArgs {
    /// Load a server instead, with the request of ipcost app: app and its name
    #[arg(value_names = ["app", "NAME"], num_args = 1..=2, conflicts_with_all = ["transports", "pattern", "size", "client", "server", "peer", "option"])]
    pub app: Vec<String>,
    /// Transports to measure; the others are compared with the last
    #[arg(long, alias = "transport", value_name = "LIST", value_delimiter = ',', value_parser = transport, default_value = "unix,tcp")]
    pub transports: Vec<String>,
    /// What is done over them: connect, rr
    #[arg(long = "patterns", alias = "pattern", value_name = "PATTERN", default_value = "rr")]
    pub pattern: Pattern,
    /// Bytes of a message
    #[arg(long = "sizes", alias = "size", value_name = "SIZE", value_parser = parse_size, default_value = "64")]
    pub size: u64,
    /// Connections that share the load
    #[arg(long, value_name = "N", default_value = "1")]
    pub concurrency: u32,
    /// Where the two processes run: free, one-core, two-cores [default: two-cores; free where there is one core only]
    #[arg(long, value_name = "PLACEMENT")]
    pub placement: Option<Placement>,
    /// Upper limit of the 99th percentile
    #[arg(long, value_name = "TIME", value_parser = limit, default_value = "1ms")]
    pub limit: u64,
    /// Narrow each knee to a range of this width
    #[arg(long, value_name = "PERCENT", value_parser = parse_proportion, default_value = "10%")]
    pub resolution: f64,
    /// The peer that plays the client
    #[arg(long, value_name = "PEER", default_value = NATIVE)]
    pub client: String,
    /// The peer that plays the server
    #[arg(long, value_name = "PEER", default_value = NATIVE)]
    pub server: String,
    /// Declare a peer of your own
    #[arg(long, value_name = "NAME=COMMAND")]
    pub peer: Vec<String>,
    /// Set an option of all cells
    #[arg(long, value_name = "KEY=VALUE")]
    pub option: Vec<String>,
    #[command(flatten)]
    pub asked: ServerArgs,
    #[command(flatten)]
    pub search: SearchArgs,
}

fn limit(text: &str) -> Result<u64, ModelError> {
    parse_time_ns(text).map(|ns| ns.round() as u64)
}
