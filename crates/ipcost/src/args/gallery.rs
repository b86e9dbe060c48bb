//! What `ipcost gallery` takes.

use std::path::PathBuf;

use clap::Args;

use crate::redact::Redacting;

#[derive(Debug, Args)]
#[command(
    after_long_help = "The site needs no server, no network and no script: open index.html, or copy the directory to any static host. Of several documents of one host the newest of each job counts; files that are no documents are named and not counted.\n\nExit status: 0 done, 1 something failed, 2 wrong usage, or nothing that counts."
)]
pub struct GalleryArgs {
    /// Documents of runs, checks and replications, or directories of them; saved runs by identifier or name
    #[arg(value_name = "DOCUMENT", required = true)]
    pub documents: Vec<String>,
    /// Write the site into this directory: a new or empty one, or that of an earlier gallery, whose pages are replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// The title of the site
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Write every document's own page, too, as report --html does
    #[arg(long = "documents")]
    pub with_documents: bool,
    /// Show neither progress nor warnings
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub redacting: Redacting,
}
