//! What the shell and the manual need, made from the same table of flags as everything else.

mod completions;
mod help;
#[cfg(feature = "man")]
mod manual;

pub use completions::run as completions;
pub use help::run as help;
#[cfg(feature = "man")]
pub use manual::run as man;

/// The manual is a part of packages, and of builds that ask for it.
#[cfg(not(feature = "man"))]
pub fn man(_: &crate::args::ManArgs) -> Result<std::process::ExitCode, crate::exit::Problem> {
    let error = anyhow::anyhow!(
        "this build has no manual; ipcost help COMMAND has the same, or build with --features man"
    );
    Err(crate::exit::Problem::usage(error))
}

use crate::args::is_internal;
use clap::Command;

/// Every command with its flags, names filled in.
fn table() -> Command {
    let mut table = crate::args::whole_table();
    table.build();
    table
}

/// The commands that users see, without the help that clap adds.
fn visible(table: &Command) -> impl Iterator<Item = &Command> {
    table.get_subcommands().filter(|command| !is_internal(command) && command.get_name() != "help")
}
