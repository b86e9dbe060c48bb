//! What every command takes that measures and gives a document.

use clap::Args;

use super::{OutputArgs, SavingArgs, Waiting};
use crate::redact::Redacting;

/// How loud, when, and where what was measured goes.
#[derive(Debug, Default, Args)]
pub struct Common {
    /// Show neither progress nor warnings
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub waiting: Waiting,
    #[command(flatten)]
    pub saving: SavingArgs,
    #[command(flatten)]
    pub redacting: Redacting,
    // What comes after these would stand under their headings.
    #[command(flatten)]
    pub outputs: OutputArgs,
}
