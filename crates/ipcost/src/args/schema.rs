//! What `ipcost schema` takes.

use clap::Args;
use ipcost_features::schema::Subject;

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Of what: document, selftest, replication (what --json writes), protocol (messages of peers and engine)
    #[arg(value_name = "OF", default_value = "document")]
    pub of: Subject,
}
