//! What `ipcost conformance` takes.

use clap::Args;
use ipcost_model::units::parse_size;

#[derive(Debug, Args)]
pub struct ConformanceArgs {
    /// A built-in peer, or one of your own by the command that starts it
    #[arg(value_name = "NAME[=COMMAND]")]
    pub peer: String,
    /// It carries messages of this size only [default: any]
    #[arg(long = "sizes", alias = "size", value_name = "SIZE", value_parser = parse_size, requires = "reply")]
    pub size: Option<u64>,
    /// It answers with messages of this size only [default: any]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "size")]
    pub reply: Option<u64>,
    /// Its two sides understand each other only, so it is examined with itself alone
    #[arg(long)]
    pub own_wire: bool,
    /// Make only the checks whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub only: String,
    /// Show neither progress nor warnings: of the checks, those that fail
    #[arg(long, short)]
    pub quiet: bool,
}
