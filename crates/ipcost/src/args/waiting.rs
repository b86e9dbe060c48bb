//! Whether to wait for other runs.

use clap::Args;

/// For every command that measures.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Waiting {
    /// Wait until no other ipcost measures on this machine; without it, a warning names the other
    #[arg(long)]
    pub wait: bool,
}
