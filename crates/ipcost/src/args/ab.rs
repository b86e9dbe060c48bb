//! What `ipcost ab` takes.

use std::time::Duration;

use clap::Args;
use ipcost_model::units::parse_duration;

use super::RunArgs;

const ARMS: &str = "The two arms";

#[derive(Debug, Args)]
#[command(
    override_usage = "ipcost ab --a COMMAND --b COMMAND [OPTIONS] [JOB.toml]\n       ipcost ab --b-env NAME=VALUE [OPTIONS] [JOB.toml]"
)]
pub struct AbArgs {
    /// A shell command that puts the machine into state A, run before each epoch of that arm
    #[arg(long, value_name = "COMMAND", help_heading = ARMS)]
    pub a: Option<String>,
    /// The same for state B
    #[arg(long, value_name = "COMMAND", help_heading = ARMS)]
    pub b: Option<String>,
    /// A shell command that puts the machine back at the end, even if the run is killed; a sysctl or a file of /proc or /sys is
    /// written back without one
    #[arg(long, value_name = "COMMAND", help_heading = ARMS)]
    pub restore: Option<String>,
    /// The file that holds the setting, if no command names it: it is read before the run and written back after it
    #[arg(long, value_name = "FILE", help_heading = ARMS)]
    pub keep: Vec<String>,
    /// How long to wait after each command before peers start [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = ARMS)]
    pub settle: Option<Duration>,
    /// How long a command may take [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = ARMS)]
    pub command_timeout: Option<Duration>,
    /// An environment variable of the peers in arm A
    #[arg(long, value_name = "NAME=VALUE", help_heading = ARMS)]
    pub a_env: Vec<String>,
    /// The same for arm B
    #[arg(long, value_name = "NAME=VALUE", help_heading = ARMS)]
    pub b_env: Vec<String>,
    /// A program that starts the peers in arm A, such as 'taskset -c 0': the peer's command follows it
    #[arg(long, value_name = "COMMAND", help_heading = ARMS)]
    pub a_exec: Option<String>,
    /// The same for arm B
    #[arg(long, value_name = "COMMAND", help_heading = ARMS)]
    pub b_exec: Option<String>,
    /// The command of a peer in arm A; without NAME, of the built-in one
    #[arg(long, value_name = "[NAME=]COMMAND", help_heading = ARMS)]
    pub a_peer: Vec<String>,
    /// The same for arm B
    #[arg(long, value_name = "[NAME=]COMMAND", help_heading = ARMS)]
    pub b_peer: Vec<String>,
    #[command(flatten)]
    pub run: RunArgs,
}
