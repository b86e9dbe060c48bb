//! What `ipcost schema` takes.

use clap::Args;
use ipcost_features::schema::Subject;

/// What --json writes, and the messages of peers and engine (protocol).
#[derive(Debug, Args)]
#[command(mut_arg("of", |arg| arg.help(format!("Of what: {}", Subject::ALL.iter().map(|of| of.name()).collect::<Vec<_>>().join(", ")))))]
pub struct SchemaArgs {
    #[arg(value_name = "OF", default_value = "document")]
    pub of: Subject,
}
