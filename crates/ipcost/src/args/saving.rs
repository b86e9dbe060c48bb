//! Whether what was measured is kept.

use clap::Args;

/// For every command whose measurements are kept among the saved runs.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct SavingArgs {
    /// Do not save what was measured; otherwise list and show find it again
    #[arg(long)]
    pub no_save: bool,
}
