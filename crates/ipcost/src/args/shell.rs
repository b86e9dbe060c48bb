//! What the commands that serve the shell and the manual take.

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Your shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

#[cfg(feature = "man")]
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
