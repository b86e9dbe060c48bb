//! What the commands that serve the shell and the manual take.

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Your shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// A command with a page of its own; without it, the page of the whole program
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}

#[derive(Debug, Args)]
pub struct HelpArgs {
    /// A command, or one of transports, peers, options and formats
    #[arg(value_name = "COMMAND")]
    pub words: Vec<String>,
}

#[derive(Debug, Args)]
pub struct PeerArgs {
    /// A peer that drives a real program, such as redis or socat, instead of the built-in one
    pub name: Option<String>,
    /// The arguments of that peer
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

#[derive(Debug, Args)]
pub struct ShellArgs {
    #[arg(long)]
    pub lock: Option<i32>,
    pub line: String,
}

#[derive(Debug, Args)]
pub struct NoArgs {}
