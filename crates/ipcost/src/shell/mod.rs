//! What the shell and the manual need, made from the same table of flags as everything else.

mod completions;
mod manual;

pub use completions::run as completions;
pub use manual::run as man;

use clap::{Command, CommandFactory};

use crate::args::Cli;

/// Every command with its flags, names filled in.
fn table() -> Command {
    let mut table = Cli::command();
    table.build();
    table
}

/// The commands that users see, without the help that clap adds.
fn visible(table: &Command) -> impl Iterator<Item = &Command> {
    table.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}
